"""Whether the Markdown of a stored report is the rendering of its parts, in our words of today or in earlier ones.

What a report says of a page that was not read is a code in its parts and words in its Markdown. The words belong to the
version of Pincite that made the report, so other words there are no proof of a change by hand.
"""

from collections.abc import Iterator

from pincite.domain.markdown import escape, lead_head, render_markdown, restyle
from pincite.domain.report import Report, ReportLead

_SHOWN_CHARS = 60


def differences(report: Report) -> Iterator[tuple[str, str, bool]]:
    """(where, what, whether it is surely wrong) of the first thing that is not the rendering of the parts.

    Other words for why a page was not read are not surely wrong, and each of them is given.
    """
    wanted, got = (text.split("\n") for text in (render_markdown(report), restyle(report.markdown, "[n]")))
    heads = {lead_head(lead): lead for lead in report.leads}
    reworded: list[tuple[str, str, bool]] = []
    for number, (one, other) in enumerate(zip(wanted, got, strict=False), 1):
        if one == other:
            continue
        said = _said(heads.get(one), other)
        if said is None:
            yield f"markdown line {number}", _shown(one, other), True
            return
        if said:
            what = f"“{said[:_SHOWN_CHARS]}” are not this version's words for {heads[one].reason!r}: they are another "
            reworded.append((f"markdown line {number}", what + "version's, or were changed", False))
    if len(wanted) != len(got):
        line = min(len(wanted), len(got))
        one, other = (lines[line] if line < len(lines) else "(end)" for lines in (wanted, got))
        yield f"markdown line {line + 1}", _shown(one, other), True
        return
    yield from reworded


def _said(lead: ReportLead | None, line: str) -> str | None:
    """Why the line says this page was not read; empty for its code, as once printed; None if it is no such line."""
    if lead is None or not lead.reason:
        return None
    before = lead_head(lead, why="")
    if not (line.startswith(f"{before} (") and line.endswith(")")):
        return None
    said = line[len(before) + 2 : -1]
    if not said or any(mark in said for mark in "()[]<>"):
        return None
    return "" if said == escape(lead.reason) else said


def _shown(one: str, other: str) -> str:
    column = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    at = max(0, column - 20)
    found, wanted = other[at : at + _SHOWN_CHARS], one[at : at + _SHOWN_CHARS]
    return f"is not the rendering of the parts: “{found}” instead of “{wanted}”"

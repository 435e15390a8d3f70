"""An audit for readers: a table for the terminal, the report annotated in Markdown and in HTML, JSON for machines."""

import json
from collections import Counter
from html import escape
from typing import TYPE_CHECKING, cast

from pincite.audit.findings import OPEN, WRONG, Audit, AuditedSentence, AuditVerdict, ListedReference, ReferenceState
from pincite.domain.citation import cut_on_word
from pincite.domain.codec import to_json
from pincite.domain.evidence import Proof
from pincite.domain.reasons import plural

if TYPE_CHECKING:
    from collections.abc import ItemsView

    from pincite.domain.events import Json

# Counted up when a member of the JSON changes its meaning or goes (docs/audit.md).
SCHEMA_VERSION = 2
WORDS = {
    **{verdict: verdict.value.replace("_", " ") for verdict in AuditVerdict},
    AuditVerdict.PARTIAL: "partly supported",
    AuditVerdict.MISQUOTED: "quotation not verbatim",
    AuditVerdict.NO_ENTRY: "marker without entry",
    AuditVerdict.INVENTED_URL: "invented or unreachable URL",
    AuditVerdict.UNCITED: "uncited fact",
    AuditVerdict.NOT_A_CLAIM: "no claim",
}
_SIGNS = {
    AuditVerdict.SUPPORTED: "✓",
    AuditVerdict.PARTIAL: "~",
    AuditVerdict.COULD_NOT_CHECK: "?",
    AuditVerdict.UNCHECKED: "?",
}
_STYLE = """body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
pre{white-space:pre-wrap;font:inherit}mark{padding:.05em .15em;border-radius:.2em;color:inherit}
.supported{background:#d9f2dd}.partial,.could_not_check,.unchecked{background:#fff1c2}.wrong{background:#ffd9d6}
small{color:#555}table{border-collapse:collapse;width:100%}td,th{border-top:1px solid #ddd;padding:.4em;text-align:left;
vertical-align:top}@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}small{color:#aaa}
.supported{background:#1d4426}.partial,.could_not_check,.unchecked{background:#54450f}.wrong{background:#5c1f1a}}"""


def summary(audit: Audit) -> str:
    """The figures in a few lines: what was checked, what was found, precision and recall of the citations."""
    lines = [audit.shortfall[0].upper() + audit.shortfall[1:] + "."] if audit.shortfall else []
    if audit.coverage is not None:
        judged = "" if audit.shortfall else f"{audit.checked} of {len(audit.claims)} statements judged, "
        lines.append(f"{plural(len(audit.claims), 'claim')}, {judged}{audit.coverage:.0%} coverage")
        lines += _by_whom(audit)
    counts = audit.counts()
    lines += [
        f"  {_sign(outcome)} {counts[outcome]:4} {WORDS[outcome]}"
        for outcome in AuditVerdict
        if outcome in counts and outcome is not AuditVerdict.NOT_A_CLAIM
    ]
    if audit.precision is not None:
        lines.append(
            f"citation precision {audit.precision:.0%} ({plural(audit.citations_checked, 'citation')} checked)"
        )
    if audit.recall is not None:
        lines.append(f"citation recall {audit.recall:.0%} (claims carried by a page they cite)")
    unread = [r for r in audit.references if r.state is not ReferenceState.READ]
    if audit.references:
        lines.append(f"{plural(len(audit.references), 'page')} named, {len(audit.references) - len(unread)} read")
    if audit.never_cited:
        lines.append("entries never cited: " + ", ".join(r.name for r in audit.never_cited))
    return "\n".join(lines)


def table(audit: Audit, *, everything: bool = False) -> str:
    """What is wrong or could not be checked, one finding after another; `everything` lists each claim."""
    parts: list[str] = []
    for number, sentence in enumerate(audit.claims, 1):
        if sentence.outcome is AuditVerdict.SUPPORTED and not everything:
            continue
        parts.append(
            f"{_sign(sentence.outcome)} {number}. {WORDS[sentence.outcome]}: {cut_on_word(sentence.text, 160)}"
        )
        detail = _detail_of(sentence)
        if detail:
            parts.append(f"     {detail}")
        if sentence.passage and sentence.outcome is not AuditVerdict.SUPPORTED:
            parts.append(f"     the page: {cut_on_word(sentence.passage, 220)}")
    parts += [f"✗ entry never cited: {r.name} {cut_on_word(r.text, 100)}" for r in audit.never_cited]
    parts += [
        f"? {r.name} {r.state.value.replace('_', ' ')}: {r.reason}"
        for r in audit.references
        if r.state is not ReferenceState.READ
    ]
    return "\n".join((*parts, "", summary(audit)) if parts else (summary(audit),))


def annotated_markdown(audit: Audit) -> str:
    """The report with a note after each claim, and the figures on top."""
    parts: list[str] = ["> **Pincite audit**\n"]
    parts += [f"> {line.strip()}  \n" for line in summary(audit).splitlines()]
    parts.append("\n")
    done = 0
    for sentence in audit.sentences:
        if sentence.outcome is AuditVerdict.NOT_A_CLAIM:
            continue
        parts.append(audit.text[done : sentence.end])
        detail = f": {_detail_of(sentence)}" if sentence.detail else ""
        parts.append(f" **⟦{_sign(sentence.outcome)} {WORDS[sentence.outcome]}{_plain(detail)}⟧**")
        done = sentence.end
    parts.append(audit.text[done:])
    return "".join(parts)


def annotated_html(audit: Audit) -> str:
    """One self-contained page: the figures, every finding, and the report with each claim coloured and explained."""
    rows = "".join(
        f"<tr><td>{_sign(s.outcome)} {escape(WORDS[s.outcome])}</td><td>{escape(s.text)}"
        f"<br><small>{escape(_detail_of(s))}</small>"
        f"{f'<blockquote>{escape(cut_on_word(s.passage, 600))}</blockquote>' if s.passage else ''}</td></tr>"
        for s in audit.claims
        if s.outcome is not AuditVerdict.SUPPORTED
    )
    body: list[str] = []
    done = 0
    for sentence in audit.sentences:
        if sentence.outcome is AuditVerdict.NOT_A_CLAIM:
            continue
        style = "wrong" if sentence.outcome in WRONG else sentence.outcome.value
        # In an attribute: quotation marks of the page would end it.
        title = escape(f"{WORDS[sentence.outcome]}. {_detail_of(sentence)}", quote=True)
        body.append(escape(audit.text[done : sentence.start]))
        body.append(f'<mark class="{style}" title="{title}">{escape(audit.text[sentence.start : sentence.end])}</mark>')
        done = sentence.end
    body.append(escape(audit.text[done:]))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pincite audit</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><h1>Audit</h1><pre>{escape(summary(audit))}</pre>"
        f'<h2>Findings</h2><table>{rows}</table><h2>Report</h2><pre dir="auto">{"".join(body)}</pre></body></html>\n'
    )


def as_json(audit: Audit) -> "Json":
    """The audit as plain JSON values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "claims_total": len(audit.claims),
        "claims_checked": audit.checked,
        "coverage": _share(audit.coverage),
        "citation_precision": _share(audit.precision),
        "citation_recall": _share(audit.recall),
        "clean": audit.clean,
        "strict": audit.strict,
        "judge": audit.judge,
        "shortfall": audit.shortfall,
        "counts": {outcome.value: count for outcome, count in audit.counts().items()},
        "entries_never_cited": [reference.name for reference in audit.never_cited],
        "sentences": [
            {"missing_markers" if name == "missing" else name: value for name, value in _members(sentence)}
            for sentence in audit.sentences
        ],
        "references": [
            {name: value for name, value in _members(reference) if name not in ("start", "end")}
            for reference in audit.references
        ],
    }


def _members(part: AuditedSentence | ListedReference) -> "ItemsView[str, Json]":
    return cast("dict[str, Json]", to_json(part)).items()


def json_text(audit: Audit) -> str:
    """The audit as JSON text."""
    return json.dumps(as_json(audit), ensure_ascii=False, indent=1) + "\n"


def _by_whom(audit: Audit) -> list[str]:
    """How the claims with a verdict came by it, in a line."""
    decided = [s for s in audit.claims if s.outcome not in OPEN]
    quoted = sum(s.proof is Proof.QUOTED for s in decided)
    judges = Counter(s.judge for s in decided if s.judge)
    parts = [f"{quoted} in their source's own words"] if quoted else []
    parts += [f"{count} by {name}" for name, count in judges.items()]
    left = len(decided) - quoted - judges.total()
    parts += [f"{left} by their citations, quotations and exact facts"] if left else []
    return [f"  judged: {', '.join(parts)}"] if parts else []


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _sign(outcome: AuditVerdict) -> str:
    return _SIGNS.get(outcome, "✗")


def _detail_of(sentence: AuditedSentence) -> str:
    """The detail; "could not check" is said once."""
    return sentence.detail.removeprefix(f"{WORDS[AuditVerdict.COULD_NOT_CHECK]}: ")


def _plain(text: str) -> str:
    return text.replace("*", "").replace("⟦", "[").replace("⟧", "]")

"""Parts of reports, and summaries, as plain JSON: the same at every door."""

from typing import TYPE_CHECKING, Any, Literal

from pincite.domain.codec import to_json
from pincite.domain.report import Report

if TYPE_CHECKING:
    from pincite.research.summary import Summarised

Part = Literal["claims", "sources", "findings", "citations"]


def part_json(report: Report, part: Part) -> dict[str, Any]:
    """Claims with verdicts and quotes, sources with leads, each statement once (findings), or camelCase citations."""
    if part == "citations":
        return {"citations": [citation.as_dict(camel_case=True) for citation in report.citations()]}
    if part == "findings":
        return {"findings": to_json(report.findings(), outside=True)}
    names = ("references", "leads") if part == "sources" else ("claims",)
    return {name: to_json(getattr(report, name), outside=True) for name in names}


def summary_json(found: "Summarised") -> dict[str, Any]:
    """The title, and each point with the passages that state it; `mode` says whether a model wrote it."""
    points = [
        {"text": one.text, "url": one.url, "passages": [" ".join(quote.text.split()) for quote in one.quotes]}
        for one in found.sentences
    ]
    return {"title": found.title, "mode": str(found.mode), "points": points, "dropped": found.dropped}

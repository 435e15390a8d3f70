"""The main points of a page or a report, as every door gives them."""

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from pincite.research.summary import Summarised


class SummaryPoint(BaseModel):
    """A sentence with the passages that state it; `url` is the page of the first."""

    text: str
    url: str
    passages: list[str]


class Summary(BaseModel):
    """The main points of a page or a report."""

    title: str
    mode: str = Field(description="`model` where one wrote it, `extractive` where sentences were chosen.")
    points: list[SummaryPoint]
    dropped: int = Field(description="Sentences of the model that did not pass their check.")


def summary_json(found: "Summarised") -> dict[str, Any]:
    """The title, and each point with the passages that state it; `mode` says whether a model wrote it."""
    points = [
        {"text": one.text, "url": one.url, "passages": [" ".join(quote.text.split()) for quote in one.quotes]}
        for one in found.sentences
    ]
    return {"title": found.title, "mode": str(found.mode), "points": points, "dropped": found.dropped}

"""Claims as the sentences of a paragraph: a term or heading that was just said is not said again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import VerifiedClaim
from pincite.research.extractive.passages import HEADING_NUMBER
from pincite.research.extractive.standing import stands_alone

_SAME_PARAGRAPH_CHARS = 300
"""Statements of one page no further apart than this are one train of thought."""


@dataclass(frozen=True, slots=True)
class Told:
    """The versions that pages hold for, by URL; empty for pages that have no near-copy of another version."""

    labels: Mapping[str, str]

    def label(self, item: VerifiedClaim) -> str:
        """The version of the claim's pages, when all of them are of that one."""
        found = {self.labels.get(evidence.url, "") for evidence in item.claim.evidence}
        return found.pop() if len(found) == 1 else ""


def tell(items: Sequence[VerifiedClaim], told: Told, heading: str) -> Iterator[tuple[str, str, bool]]:
    """For each claim its words, its label, and whether it opens a paragraph, read under `heading` in this order."""
    before: VerifiedClaim | None = None
    lead_before = _plain(heading)
    for item in items:
        lead, rest = _parts(item)
        follows = before is not None and _follows(before, item)
        said = bool(lead) and _plain(lead) == lead_before and (follows or before is None or stands_alone(rest))
        yield (rest if said else item.claim.text), told.label(item), not (said and before is not None) and not follows
        lead_before = _plain(lead) if lead else lead_before if follows else _plain(heading)
        before = item


def _parts(item: VerifiedClaim) -> tuple[str, str]:
    """The term or heading in front of a claim, and what it says of it; no term when it has none."""
    first = " ".join(item.claim.evidence[0].quote.text.split())
    for lead in (first, first.rstrip(" ¶"), first.rstrip(" ,;")):
        rest = item.claim.text.removeprefix(f"{lead}: ")
        if lead and rest != item.claim.text and len(item.claim.evidence) > 1:
            return lead, rest
    return "", item.claim.text


def _follows(before: VerifiedClaim, item: VerifiedClaim) -> bool:
    """Whether the claim stands shortly after the one before on the same page."""
    last, first = before.claim.evidence[-1], item.claim.evidence[-1]
    return last.url == first.url and 0 <= first.quote.start - last.quote.end <= _SAME_PARAGRAPH_CHARS


def _plain(text: str) -> str:
    return HEADING_NUMBER.sub("", " ".join(text.split()), count=1).strip(" ¶:").lower()

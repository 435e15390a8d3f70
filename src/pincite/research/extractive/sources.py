"""How many independent sources stand behind a claim, by the rules of `verification.independence`."""

from collections.abc import Iterable, Mapping

from pincite.domain.evidence import Claim, Relation
from pincite.domain.plan import ReadPage
from pincite.research.extractive.versions import Versions, versions_of
from pincite.verification.independence import Backing, independent_count


def independent_sources(claims: Iterable[Claim], pages: Mapping[str, ReadPage]) -> int:
    """Sources behind claims that say the same: copies, mirrors and one publisher's pages count once.

    Near-copies were found when the pages were read. A page of a local library counts as its own publisher: who wrote
    the files of a folder is not known, and what they copy from each other counts once all the same.
    """
    passages: dict[str, str] = {}
    for claim in claims:
        for evidence in claim.evidence:
            if evidence.relation is Relation.SUPPORTS:
                passages[evidence.url] = f"{passages.get(evidence.url, '')} {evidence.quote.text}".strip()
    versions = versions_of(tuple(pages.values()))
    return independent_count([_backing(url, passage, pages, versions) for url, passage in passages.items()])


def _backing(url: str, passage: str, pages: Mapping[str, ReadPage], versions: Versions) -> Backing:
    """Near-copies are one page, and versions of a page have one publisher."""
    original = pages[url].duplicate_of or url
    own = original if original.startswith("local:") else ""
    return Backing(original, "", passage, publisher=versions.group(original) or own)

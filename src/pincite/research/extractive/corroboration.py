"""Other pages that say what a claim says: word for word, or in words of their own."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.domain.evidence import Claim, Evidence, Relation, page_texts
from pincite.domain.plan import ReadPage
from pincite.research.extractive.claims import evidence_of
from pincite.research.extractive.passages import Span
from pincite.research.extractive.scoring import Scored
from pincite.research.extractive.words import key_terms
from pincite.urls import registrable_domain

_MORE_PAGES = 2
_DISTINCT_CHARS = 40
"""Shorter texts occur on many pages by chance ("The default is 10.") and corroborate nothing."""
_LIKE = 0.45
_LEAST_TERMS = 4


def corroborated(claim: Claim, pages: Sequence[ReadPage], scored: Sequence[Scored]) -> Claim:
    """The claim with quotes from other pages that say the same, at most two more pages.

    Pages that have its very words come first, in page order; then statements of other publishers that share nearly half
    of its terms and all of its figures. Those still have to carry the claim when it is checked.
    """
    more = _same_words(claim, pages)
    taken = {evidence.url for evidence in (*claim.evidence, *more)}
    known = {page.url: page for page in pages}
    for item in _similar(claim, scored, taken):
        if len({evidence.url for evidence in more}) >= _MORE_PAGES:
            break
        url, span = item.passage.url, item.statement.span
        if url in known and _publisher(url) not in {_publisher(other) for other in taken}:
            head = item.passage.head
            spans = [span] if head is None or head == span else [head, span]
            more += [evidence_of(known[url], part) for part in spans]
            taken.add(url)
    return replace(claim, evidence=(*claim.evidence, *more)) if more else claim


def verbatim(claim: Claim, url: str) -> bool:
    """Whether the page says the claim in the very words of the claim's first page."""
    first = [e.quote.text for e in claim.evidence if e.url == claim.evidence[0].url]
    return [e.quote.text for e in claim.evidence if e.url == url] == first


def texts_of(claim: Claim) -> tuple[str, ...]:
    """The supporting quotes of each page joined: what the claim may rest on, and nothing more."""
    return page_texts((e.url, e.quote.text) for e in claim.evidence if e.relation is Relation.SUPPORTS)


def _same_words(claim: Claim, pages: Sequence[ReadPage]) -> list[Evidence]:
    first = claim.evidence[0].url
    more: list[Evidence] = []
    cited = 0
    for page in pages:
        if page.url == first or cited >= _MORE_PAGES:
            continue
        places = [(page.document.text.find(e.quote.text), len(e.quote.text)) for e in claim.evidence]
        if all(start >= 0 for start, _ in places) and max(size for _, size in places) >= _DISTINCT_CHARS:
            more.extend(evidence_of(page, Span(start, start + size)) for start, size in places)
            cited += 1
    return more


def _similar(claim: Claim, scored: Sequence[Scored], taken: set[str]) -> list[Scored]:
    """Statements of other pages with much the same terms and the same figures, most alike first."""
    wanted = set(key_terms(claim.text))
    figures = _figures(wanted)
    found: list[tuple[float, Scored]] = []
    if len(wanted) < _LEAST_TERMS:
        return []
    for item in scored:
        own = set(item.statement.terms)
        if item.passage.url in taken or not figures <= _figures(own) or len(own) < _LEAST_TERMS:
            continue
        alike = len(wanted & own) / min(len(wanted), len(own) + 2)
        if alike >= _LIKE:
            found.append((alike, item))
    return [item for _, item in sorted(found, key=lambda pair: -pair[0])]


def _figures(terms: set[str]) -> set[str]:
    return {term for term in terms if any(character.isdigit() for character in term)}


def _publisher(url: str) -> str:
    return url if url.startswith("local:") else registrable_domain(url)

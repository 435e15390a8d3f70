"""No domain fills a report alone where others have as much to say."""

from collections import Counter
from collections.abc import Sequence

from pincite.research.extractive.scoring import Scored
from pincite.urls import registrable_domain

_AS_GOOD = 0.85
"""A statement of another domain is an alternative when it scores this much of the best one."""


class DomainShares:
    """Counts the claims of each domain against the largest share of `limit` that one may have."""

    def __init__(self, scored: Sequence[Scored], limit: int, max_share: float) -> None:
        best: dict[str, float] = {}
        for item in scored:
            domain = registrable_domain(item.passage.url)
            best[domain] = max(best.get(domain, 0.0), item.score)
        top = max(best.values(), default=0.0)
        self._alternatives = sum(score >= _AS_GOOD * top for score in best.values()) > 1
        self._most = max(int(limit * max_share), 1)
        self._taken: Counter[str] = Counter()

    def full(self, url: str) -> bool:
        """Whether the page's domain has its share and other domains could fill the rest."""
        return self._alternatives and self._taken[registrable_domain(url)] >= self._most

    def take(self, url: str) -> None:
        """Count a claim of the page's domain."""
        self._taken[registrable_domain(url)] += 1

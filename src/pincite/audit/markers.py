"""Citation markers in running text: `[1]`, `[1, 3]`, `【1】`, footnotes, superscripts, inline links, (Author 2024)."""

import re
from collections.abc import Callable, Iterator

from pincite.domain.frozen import dataclass

_NUMBERS = r"\d{1,4}(?:\s*[,;、，–-]\s*\d{1,4})*"
_URL = r"https?://[^\s<>\"\]\[{}|\\^`【】]+"
_MARKER = re.compile(
    r"(?P<footnote>\[\^(?P<note>[\w.-]{1,40})\](?!:))"
    rf"|(?P<linked>\[?\[\^?(?P<linked_text>[^\[\]\n]{{1,300}})\]\]?\(\s*<?(?P<href>{_URL}?|#[^\s)]*|citation:\d+)>?"
    r"(?:\s+[\"'][^\"'\n]*[\"'])?\s*\))"
    rf"|(?P<bracket>\\?[\[［]\s?\[?(?P<numbers>{_NUMBERS})\]?\s?\\?[\]］])(?::\d{{1,4}}(?:[–-]\d{{1,4}})?(?=\s|$))?"
    rf"|(?P<lens>【(?P<lens_numbers>{_NUMBERS})(?:[†:][^】\n]{{0,80}})?】)"
    rf"|(?P<named>[\[(](?:see )?(?:citation|cite|source|reference|ref|note|quelle)s?[:.]?\s*"
    rf"(?P<named_numbers>{_NUMBERS})[\])])"
    rf"|(?P<sup><sup>\s*\[?(?P<sup_numbers>{_NUMBERS})\]?\s*</sup>|\^(?P<caret_numbers>{_NUMBERS})\^)"
    r"|(?P<raised>(?<=[\w.,;:!?)\"'”’])[¹²³⁰⁴-⁹]+(?:[,⸴˒]\s?[¹²³⁰⁴-⁹]+)*)"
    r"|(?P<glued>(?:(?<=[^\W\d_][.!?])|(?<=[)\"”’%][.!?])|(?<=(?:19|20)\d\d[.!?]))\d{1,3}(?:,\s?\d{1,3})*(?=\s|$))"
    rf"|(?P<round>(?<=[\w%\"”’»] )\((?P<round_numbers>{_NUMBERS})\)(?=[\s.,;:!?]|$))"
    rf"|(?P<bare><?{_URL}>?)"
    r"|(?P<mla>\((?P<mla_name>[A-ZÀ-Þ][\w'’-]+)(?: (?:and|&) [A-ZÀ-Þ][\w'’-]+| et al\.?)?"
    r"(?:,? (?:pp?\. ?)?\d{1,4}(?:[-–]\d{1,4})?)?\))"
    r"|(?P<author>\((?P<works>[^()\n]{0,200}?\b(?:1[89]|20)\d\d[a-z]?[^()\n]{0,80})\))",
    re.IGNORECASE,
)
_WORK = re.compile(
    r"(?P<name>[A-ZÀ-Þ][\w'’-]+)(?P<others>(?: et al\.?)?(?:,? (?:&|and) [A-ZÀ-Þ][\w'’-]+)?)(?P<comma>,?) "
    r"(?P<year>(?:1[89]|20)\d\d[a-z]?)"
)
_MONTHS = frozenset(
    "january february march april may june july august september october november december "
    "spring summer autumn winter since until from in by after before".split()
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_UNITS = re.compile(r"(?:\b(?:k|c|m|d|µ|n)?m|\bft|\bin|\byd|\bmi|\bs|\b10)$")
# `[1-49]` may be sources; `[1990-2020]` and the like are years.
_RANGE_LIMIT = 50
# What stands between two sources in the same brackets: separators and the title of the second.
_BETWEEN = re.compile(r">?[\s,;&|]*(?:[^()\[\]\n.!?]{0,160}[,:–—-]\s+)?<?")
_CLOSING = re.compile(r">?\s*\)")
# What names a source in brackets: two words at most, or a title: a capital first, and no second sentence.
_TITLE = re.compile(r"\s*(?:(?:[^\s\d()]+\s+){0,2}|[\"'“‘„«*_]*[A-ZÀ-Þ\d](?:[^()\n.!?]|[.!?](?!\s+\S{3,}\s+\S))*)")
_LONGEST_TITLE = 200  # as long as the titles that audits read out of reference lists


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker at `[start, end)`: the keys it names, or the URL it links. `keep` is the link text that stays."""

    start: int
    end: int
    keys: tuple[str, ...] = ()
    url: str = ""
    keep: tuple[int, int] | None = None


def markers(text: str, known: Callable[[str], bool]) -> Iterator[Marker]:
    """The markers in the text, in order. `known` says whether a key has an entry: it decides the doubtful forms."""
    yield from _with_brackets(text, _single(text, known))


def _single(text: str, known: Callable[[str], bool]) -> Iterator[Marker]:
    position = 0
    while match := _MARKER.search(text, position):
        marker = _marker(match, known)
        # What only looked like a marker may have one inside: "(opened in 2019, https://...)".
        position = match.start() + 1 if marker is None else match.end()
        if marker is not None:
            yield marker


def _with_brackets(text: str, found: Iterator[Marker]) -> Iterator[Marker]:
    """The markers, each URL with the round brackets that only name its source: "(Title, URL)", "([a](u), [b](v))"."""
    group: list[Marker] = []
    for marker in found:
        if group and not _BETWEEN.fullmatch(text, group[-1].end, marker.start):
            yield from _bracketed(text, group)
            group = []
        group.append(marker)
    yield from _bracketed(text, group)


def _bracketed(text: str, group: list[Marker]) -> Iterator[Marker]:
    """Markers that stand side by side; in brackets of their own these and the titles in front are no text."""
    if not group or not any(marker.url for marker in group):
        yield from group
        return
    first, last = group[0], group[-1]
    opening = text.rfind("(", max(0, first.start - _LONGEST_TITLE), first.start)
    title = text[opening + 1 : first.start]
    closing = _CLOSING.match(text, last.end)
    if opening < 0 or closing is None or not _TITLE.fullmatch(title):
        yield from group
        return
    starts = [opening, *(marker.end for marker in group[:-1])]
    ends = [*(marker.end for marker in group[:-1]), closing.end()]
    for marker, start, end in zip(group, starts, ends, strict=True):
        yield Marker(start, end, marker.keys, marker.url)


def _marker(match: re.Match[str], known: Callable[[str], bool]) -> Marker | None:
    start, end = match.span()
    if match["linked"]:
        return _linked(match)
    if match["footnote"]:
        return Marker(start, end, (match["note"].lower(),))
    if match["bare"]:
        url = trim_url(match["bare"].strip("<>"))
        return Marker(start, start + match["bare"].index(url) + len(url), url=url)
    if match["glued"]:  # the raised figures of a page that was copied as plain text
        keys = tuple(re.findall(r"\d+", match["glued"]))
        return Marker(start, end, keys) if all(map(known, keys)) else None
    if match["author"]:
        keys = tuple(_works(match["works"], known))
        return Marker(start, end, keys) if keys else None
    if match["mla"]:
        name = author_key(match["mla_name"])
        return Marker(start, end, (name,)) if match["mla_name"][0].isupper() and known(name) else None
    if match["raised"]:
        keys = tuple(re.split(r"\D+", match["raised"].translate(_RAISED)))
        # "m²" is an area and no second source.
        unit = _UNITS.search(match.string[max(0, start - 6) : start])
        return Marker(start, end, keys) if all(map(known, keys)) and not unit else None
    forms = ("", "round_", "lens_", "named_", "sup_", "caret_")
    keys = tuple(expand(next(filter(None, (match[f"{form}numbers"] for form in forms)))))
    # A number in round brackets is a marker only where the list has it.
    if match["round"] and not all(map(known, keys)):
        return None
    if match["bracket"] and len(keys) == 1 and len(keys[0]) == 4 and not known(keys[0]):
        return None  # [2019] is a year
    return Marker(start, end, keys) if keys else None


def _linked(match: re.Match[str]) -> Marker:
    start, end = match.span()
    label, href = match["linked_text"], match["href"]
    numbers = re.fullmatch(rf"\^?({_NUMBERS})", label.strip())
    url = trim_url(href) if href.startswith("http") else ""
    if numbers:
        return Marker(start, end, () if url else tuple(expand(numbers[1])), url)
    keep = match.span("linked_text")
    if re.fullmatch(rf"{_URL}", label):
        return Marker(start, end, url=url)
    return Marker(start, end, url=url, keep=keep)


def expand(numbers: str) -> Iterator[str]:
    """The single numbers of `1, 3-5`."""
    for part in re.split(r"\s*[,;、，]\s*", numbers.strip()):
        ends = re.split(r"\s*[–-]\s*", part)
        if len(ends) == 2 and 0 < int(ends[1]) - int(ends[0]) < _RANGE_LIMIT:
            yield from (str(number) for number in range(int(ends[0]), int(ends[1]) + 1))
        else:
            yield from (str(int(number)) for number in ends if number)


def _works(text: str, known: Callable[[str], bool]) -> Iterator[str]:
    """Keys of the works named in "(Smith et al., 2024; Jones 2023)", when they look like works."""
    for match in _WORK.finditer(text):
        key = work_key(match["name"], match["year"])
        plain = not match["others"] and not match["comma"]
        if match["name"].lower() in _MONTHS or (not known(key) and (plain or len(text) > match.end() + 40)):
            continue
        yield key


def work_key(name: str, year: str) -> str:
    """The key of a work by its first author's last name and year."""
    return f"{name.lower().replace('’', chr(39))} {year.lower()}"


def author_key(name: str) -> str:
    """The key of a work by its first author's last name alone, as in "(Norr 3)"."""
    return f"{name.lower().replace('’', chr(39))} *"


def trim_url(url: str) -> str:
    """The URL without the punctuation of the sentence around it; brackets stay when they are in pairs."""
    while url and (url[-1] in ".,;:!?'\"*_>”’" or (url[-1] == ")" and url.count(")") > url.count("("))):
        url = url[:-1]
    return url

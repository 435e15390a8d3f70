"""Reference lists in the usual forms, anywhere in a report, more than one if need be."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pincite.audit.findings import ListedReference
from pincite.audit.markers import author_key, markers, trim_url, work_key
from pincite.domain.frozen import dataclass

_HEADING_WORDS = (
    r"(?:references?|sources?|bibliography|works cited|citations?|notes|footnotes|endnotes|literature|"
    r"(?:source|reference) list|list of (?:references|sources)|cited (?:sources|works)|quellen|quellenverzeichnis|"
    r"literatur|literaturverzeichnis|einzelnachweise|références|sources citées|referencias|fuentes|bibliografía|"
    r"riferimenti|fonti|referências|источники|литература|参考文献|参考资料|来源|出典)"
)
_HEADING = re.compile(
    rf"^\s*+(?:#{{1,6}}\s*+|\*\*|__)?(?:\d+\.?\s+)?(?:cited |key |selected )?{_HEADING_WORDS}"
    r"\s*+:?\s*+(?:\*\*|__)?\s*+:?\s*+#*+\s*+$",
    re.IGNORECASE,
)
_ANY_HEADING = re.compile(r"^\s*#{1,6}\s+\S|^\s*\*\*[^*\n]{2,80}\*\*:?\s*$")
_NOTE = re.compile(r"^\s{0,3}\[\^?(?P<key>[\w.-]{1,40})\]:\s*(?P<rest>.*)$")
_BRACKET = re.compile(
    r"^\s*(?:[-*+]\s+)?(?:\[\^?(?P<key>\d{1,4})\](?:\(citation:\d{1,4}\))?|【(?P<lens>\d{1,4})】)\.?:?\s+(?P<rest>\S.*)$"
)
_LINKED = re.compile(r"^\s*(?:[-*+]\s+)?\[(?P<key>\d{1,4})\]\((?P<rest>https?://[^)\s]+\)?.*)$")
_NUMBERED = re.compile(r"^\s*(?:[-*+]\s+)?(?P<key>\d{1,4})[.)]\s+(?P<rest>\S.*)$")
_SPELLED = re.compile(
    r"^\s*(?:[-*+]\s+)?(?:source|ref(?:erence)?|note|quelle|fuente)\s+(?P<key>\d{1,4})\s*[:.)]\s*(?P<rest>\S.*)$",
    re.IGNORECASE,
)
_RAISED = re.compile(r"^\s*(?P<key>[¹²³⁰⁴-⁹]{1,3})\s*(?P<rest>\S.*)$")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LINKS_ONLY = re.compile(
    r"^\s*(?:\*\*)?(?:sources?|references?|links?|quellen?|fuentes?)\s*:(?:\*\*)?\s*(?:\[[^\]\n]*\]\([^)\s]+\)[\s,;·|]*)+$",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[[^\]\n]*\]\((?P<url>[^)\s]+)\)")
_BULLET = re.compile(r"^\s*[-*+•]\s+(?P<rest>\S.*)$")
# Also pages of a library, as this product's own reports cite them: "local:docs/a.md".
_URL = re.compile(r"(?:https?://|(?<![\w/@])(?:www\.|local:(?=[^\s/]+/)))[^\s<>\"\[\]{}|\\^`]+")
_DOI = re.compile(r"\b(?:doi:?\s*|doi\.org/)(10\.\d{4,9}/[^\s\"<>]+)|\b(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
_SURNAME = re.compile(r"^\W*(?P<name>[A-ZÀ-Þ][\w'’-]+), [A-ZÀ-Þ]")
_FEW_CHARS = 24  # "Available from:", "(accessed 2026-11-13)"
# "Sources and further reading:" and its kin; a longer line above a list says something of its own.
_LONGEST_CAPTION = 40
_NO_CAPTION = re.compile(r"[.!?)\]]\s*$|^\s*(?:[-*+•|]|\d+[.)])")
# A link that begins its line, or an address that ends it, with hardly a word behind.
_ONLY_LINK = re.compile(
    rf"^\s*[-*+•]\s+(?:\[[^\]\n]*\]\([^)\s]+\)|(?:[^()\n]{{0,160}}[,:.–—-]\s+)?<?https?://\S+).{{0,{_FEW_CHARS}}}$"
)
_AUTHOR = re.compile(r"^\W*(?P<name>[^\W\d_][\w'’-]+)[^()\n]{0,160}?\(?(?P<year>(?:1[89]|20)\d\d[a-z]?)\)?")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report without its end."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


def lines_of(text: str) -> list[Line]:
    """The lines with their offsets."""
    result: list[Line] = []
    position = 0
    for line in text.splitlines(keepends=True):
        result.append(Line(line.rstrip("\r\n"), position))
        position += len(line)
    return result


def find_references(text: str) -> tuple[list[ListedReference], list[tuple[int, int]]]:
    """The listed entries in order, and the spans of the report that are reference lists and not text.

    `text` has its code masked already.
    """
    lines = lines_of(text)
    entries: list[ListedReference] = []
    spans: list[tuple[int, int]] = []
    inside = bare = numbered = False  # `bare`: in a list without a heading; `numbered`: its last entry had a number
    index = 0
    unnamed = {_closing_list(lines), *_cited_lists(lines), *_lists_of_links(lines)}
    while index < len(lines):
        line = lines[index]
        if index in unnamed:
            inside, bare = True, bare or not inside
            spans += _caption(lines, index)
        if _LINKS_ONLY.match(line.text):
            spans.append((line.start, line.end))
            entries += (
                ListedReference("", m["url"], m["url"], line.start, line.end) for m in _LINK.finditer(line.text)
            )
            index += 1
            continue
        # Entries stand under this heading, and not text about sources.
        below = [line.text for line in lines[index + 1 : index + 6] if line.text.strip()][:2]
        if _HEADING.match(line.text) and any(_match(text, inside=True) is not None for text in below):
            inside, bare = True, False
            spans.append((line.start, line.end))
            index += 1
            continue
        # What follows such a list and has no number is text again: "It closes in 2030." is no author of that year.
        follows = numbered and index > 0 and not lines[index - 1].text.strip() and _number(line.text) is None
        if inside and (_ANY_HEADING.match(line.text) or (follows and line.text.strip())):
            inside = bare = numbered = False
        entry = _entry(lines, index, inside=inside)
        if entry is None:
            inside = inside and (not line.text.strip() or _URL.search(line.text) is not None)
            index += 1
            continue
        reference, index = entry
        numbered = bare and reference.key.isdigit()
        entries.append(reference)
        spans.append((reference.start, reference.end))
    return entries, spans


def _closing_list(lines: list[Line]) -> int | None:
    """Where numbered notes with addresses begin that end the text without a heading."""
    first: int | None = None
    for index in range(len(lines) - 1, -1, -1):
        text = lines[index].text
        if not text.strip():
            continue
        numbered = _NUMBERED.match(text)
        if numbered is None or not has_url(numbered["rest"]):
            break
        first = index
        if int(numbered["key"]) == 1:
            return first
    return None


def _caption(lines: Sequence[Line], index: int) -> list[tuple[int, int]]:
    """The plain line in front of a list that only names it: a few words without a full stop."""
    above = next((line for line in reversed(lines[:index]) if line.text.strip()), None)
    if above is None or len(above.text) > _LONGEST_CAPTION or _NO_CAPTION.search(above.text):
        return []
    return [(above.start, above.end)]


def _cited_lists(lines: Sequence[Line]) -> Iterator[int]:
    """Where lists begin, under whatever heading, whose numbers the text before cites.

    Most of their entries have pages; the entries of the list that ends the text need none. Of two such lists with no
    marker between them the second is meant.
    """
    runs = list(_numbered_runs(lines))
    last_line = max((index for index, line in enumerate(lines) if line.text.strip()), default=0)
    listed = {index for run in runs for index in run}
    cited = [
        (index, key)
        for index, line in enumerate(lines)
        if index not in listed
        for marker in markers(line.text, lambda _: False)
        if not marker.url
        for key in marker.keys
    ]
    first = {key: index for index, key in reversed(cited)}
    places = [index for index, _ in cited]
    later = len(lines)  # where the list behind begins
    for run in reversed(runs):
        texts = [found["rest"] for index in run if (found := _number(lines[index].text))]
        keys = {_key(found) for index in run if (found := _number(lines[index].text))}
        named = sum(first.get(key, len(lines)) < run[0] for key in keys)
        told_apart = later == len(lines) or bisect_left(places, later) > bisect_left(places, run[-1])
        ends_text = run[-1] >= last_line
        addressed = 2 * sum(has_url(text) for text in texts) >= len(texts)
        own_markers = any(not marker.url for text in texts for marker in markers(text, lambda _: False))
        if 2 * named >= len(keys) and told_apart and (addressed or (ends_text and not own_markers)):
            later = run[0]
            yield run[0]


def _key(entry: re.Match[str]) -> str:
    return str(int(entry["key"] or entry.groupdict().get("lens") or 0))


def _number(text: str) -> re.Match[str] | None:
    return _NUMBERED.match(text) or _BRACKET.match(text)


def _numbered_runs(lines: Sequence[Line]) -> Iterator[range]:
    """Runs of lines that are numbered entries, counted on from their first, with what belongs to each."""
    index = 0
    while index < len(lines):
        first = last = index
        number: int | None = None
        while index < len(lines):
            found = _number(lines[index].text)
            goes_on = number is not None and lines[index - 1].text.strip() and not _ANY_HEADING.match(lines[index].text)
            if found and (number is None or int(_key(found)) == number + 1):
                first = index if number is None else first
                number, last = int(_key(found)), index
            elif lines[index].text.strip() and (found or not goes_on):
                break
            elif lines[index].text.strip():
                last = index
            index += 1
        if number is None:
            index += 1
        else:
            yield range(first, last + 1)


def _lists_of_links(lines: Sequence[Line]) -> Iterator[int]:
    """Where parts of the text begin, behind any heading, that hold nothing but entries with pages the text links."""
    heads = [index for index, line in enumerate(lines) if _ANY_HEADING.match(line.text)]
    for head, following in pairwise([*heads, len(lines)]):
        entries = [line.text for line in lines[head + 1 : following] if line.text.strip()]
        if not entries or not all(_BULLET.match(text) and has_url(text) for text in entries):
            continue
        outside = "\n".join(line.text for line in (*lines[:head], *lines[following:]))
        linked = {marker.url.rstrip("/") for marker in markers(outside, lambda _: False) if marker.url}
        named = sum(find_url(text).rstrip("/") in linked for text in entries)
        if 2 * named >= len(entries) or (following == len(lines) and all(map(_ONLY_LINK.match, entries))):
            yield head + 1


def _match(text: str, *, inside: bool) -> tuple[str, str] | None:
    """(key, rest) when the line begins an entry. Outside a list only lines with a URL of their own do."""
    note = _NOTE.match(text)
    if note:
        return note["key"].lower(), note["rest"]
    spelled = _SPELLED.match(text) or _RAISED.match(text)
    if spelled and has_url(spelled["rest"]):
        return str(int(spelled["key"].translate(_DIGITS))), spelled["rest"]
    bracket = _BRACKET.match(text) or _LINKED.match(text)
    if bracket:
        key = bracket.groupdict().get("key") or bracket.groupdict().get("lens") or ""
        return (str(int(key)), bracket["rest"]) if inside or has_url(bracket["rest"]) else None
    if not inside:
        return None
    numbered = _NUMBERED.match(text)
    if numbered:
        return str(int(numbered["key"])), numbered["rest"]
    bullet = _BULLET.match(text)
    rest = bullet["rest"] if bullet else text.strip()
    if not rest or not (bullet or has_url(rest) or _AUTHOR.match(rest)):
        return None
    author = _AUTHOR.match(rest)
    return (work_key(author["name"], author["year"]) if author else ""), rest


def _entry(lines: list[Line], index: int, *, inside: bool) -> tuple[ListedReference, int] | None:
    found = _match(lines[index].text, inside=inside)
    if found is None:
        return None
    key, rest = found
    end = index + 1
    # An entry may run on over indented or unmarked lines, its URL on the last of them.
    while (
        end < len(lines)
        and lines[end].text.strip()
        and _match(lines[end].text, inside=False) is None
        and (
            key.isdigit()
            or lines[end].text[:2].isspace()
            # The line is the URL of the entry, with hardly a word beside it.
            or ((url := _URL.search(lines[end].text)) and len(lines[end].text.strip()) - len(url.group()) < _FEW_CHARS)
        )
        and not _ANY_HEADING.match(lines[end].text)
        and not (inside and any(begin.match(lines[end].text) for begin in (_NUMBERED, _BULLET, _SURNAME)))
    ):
        rest += " " + lines[end].text.strip()
        end += 1
    return ListedReference(key, find_url(rest), rest.strip(), lines[index].start, lines[end - 1].end), end


def has_url(text: str) -> bool:
    """Whether the text names a page or a DOI."""
    return _URL.search(text) is not None or _DOI.search(text) is not None


def find_url(text: str) -> str:
    """The first URL of the entry, else its DOI as a URL, else nothing."""
    match = _URL.search(text)
    if match:
        url = trim_url(match.group())
        return f"https://{url}" if url.startswith("www.") else url
    doi = _DOI.search(text)
    return f"https://doi.org/{trim_url(doi[1] or doi[2])}" if doi else ""


def first_author(reference: ListedReference) -> str:
    """The key by its first author alone, where the entry begins with one ("Norr, Anna."), or nothing."""
    match = _SURNAME.match(reference.text)
    return author_key(match["name"]) if match and not reference.key.isdigit() else ""

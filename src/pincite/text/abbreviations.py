"""Other names that pages give themselves: "Write-Ahead Logging (WAL)", "a page, also called a block".

Short forms as in: Schwartz and Hearst 2003, A simple algorithm for identifying abbreviation definitions in biomedical
text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pincite.domain.page import BlockKind, Document, MarkKind
from pincite.text.tokens import is_stop, words

_SHORT: Final = re.compile(r"\((?P<short>[A-Z][A-Za-z0-9]{1,9}?)s?\)")
# Ten words at most stand before the bracket; looked at from there, so that no page takes long.
_BEFORE_CHARS: Final = 160
_BREAK: Final = re.compile(r"[^\w' \n-]|\n\n")
# The long form has at most so many words more than the short one has letters, and at most twice as many (source).
_MOST_WORDS: Final = 5
# What stands between a thing and another name of it, in English, German, French and Spanish.
_ALSO: Final = re.compile(
    r",? \(?(?:(?:which|that) (?:is|are) )?(?:(?:also|sometimes|often|formerly|previously|commonly|otherwise) )+"
    r"(?:called|known as|referred to as|named|termed) (?P<en>[^,.;:()\n]{2,60})"
    r"|,? \(?auch (?P<de>[^,.;:()\n]{2,60}?) genannt"
    r"|,? \(?(?:aussi|également) (?:appelée?s?|nommée?s?) (?P<fr>[^,.;:()\n]{2,60})"
    r"|,? \(?también (?:llamad[oa]s?|conocid[oa]s? como) (?P<es>[^,.;:()\n]{2,60})",
    re.IGNORECASE,
)
# Each match of `_ALSO` has one of these, at most so far behind its beginning and before its end. Finding them first
# takes a fifth of the time that the pattern needs for a whole page (60 pages of six manuals, all matches the same).
_ALSO_WORDS: Final = (
    *("also ", "sometimes ", "often ", "formerly ", "previously ", "commonly ", "otherwise "),
    *("auch ", "aussi ", "également ", "también "),
)
_ALSO_BEFORE, _ALSO_BEHIND = 14, 200
_SEE: Final = re.compile(
    r"^\W*(?:see|siehe|voir|véase)(?: also)?:?\s+(?!below|above|there)(?P<name>[^,.;:()\n]{2,60})[.]?$", re.IGNORECASE
)
# A name has a few words; a longer run is a clause.
_NAME_WORDS: Final = 4
# Articles and copulas besides English: no name goes over one of them.
_GRAMMAR: Final = frozenset(
    "der die das den dem des ein eine einen einem einer ist sind "
    "le la les un une du est sont el los las una es son".split()
)
_QUOTES: Final = " \"'`“”‘’«»*_"


def other_names(documents: Iterable[Document]) -> dict[str, str]:
    """Names that pages say mean the same, one the key and the other its value; the first that is met counts.

    Short forms spelt out; "X, also called Y"; an entry that only says "see Y"; what an abbreviation is marked up
    to stand for. Not terms that share a definition: `--commit` and `--no-commit` do.
    """
    found: dict[str, str] = {}
    for document in documents:
        for short, long in (
            *spelt_out([document.text]).items(),
            *_spelled_out(document.text),
            *_by_structure(document),
        ):
            if short.casefold() != long.casefold():
                found.setdefault(short, long)
    return found


def _spelled_out(text: str) -> Iterator[tuple[str, str]]:
    for match in _also_called(text):
        before = _BREAK.split(text[max(match.start() - _BEFORE_CHARS, 0) : match.start()])[-1]
        other = next(filter(None, match.groupdict().values()))
        one, other = _last_name(before), _first_name(other)
        if one and other:
            yield other, one


def _also_called(text: str) -> Iterator[re.Match[str]]:
    """The matches of `_ALSO` in their order."""
    low = text.lower()
    low = low if len(low) == len(text) else text  # "İ" becomes two characters
    places = {found.start() for word in _ALSO_WORDS for found in re.finditer(word, low)}
    end = 0
    for place in sorted(places):
        match = _ALSO.search(text, max(place - _ALSO_BEFORE, end), place + _ALSO_BEHIND) if place >= end else None
        if match is not None:
            end = match.end()
            yield match


def _by_structure(document: Document) -> Iterator[tuple[str, str]]:
    """Pairs that the marks of a page give: abbreviations, and entries that only point to another."""
    for index, block in enumerate(document.blocks):
        for mark in block.marks:
            if mark.kind is MarkKind.ABBREVIATION and mark.title:
                yield block.text[mark.start : mark.end], mark.title
        before = document.blocks[index - 1] if index else block
        see = _SEE.match(block.text) if before.kind is BlockKind.TERM else None
        if see and all(1 <= len(name.split()) <= _NAME_WORDS for name in (before.text, see["name"])):
            yield before.text.strip(_QUOTES), see["name"].strip(_QUOTES)


def _is_grammar(word: str) -> bool:
    bare = word.strip(_QUOTES).lower()
    return is_stop(bare) or bare in _GRAMMAR


def _last_name(before: str) -> str:
    """The words at the end of a text behind the last one that is grammar: "heap file" of "it is the heap file"."""
    found: list[str] = []
    for word in reversed(before.split()):
        if _is_grammar(word) or len(found) == _NAME_WORDS:
            break
        found.insert(0, word.strip(_QUOTES))
    return " ".join(found)


def _first_name(after: str) -> str:
    """The words at the beginning of a text, after an article, up to one that is grammar."""
    found: list[str] = []
    for word in after.split():
        if _is_grammar(word):
            if found:
                break
            continue
        found.append(word.strip(_QUOTES))
    return " ".join(found) if 1 <= len(found) <= _NAME_WORDS and any(words(" ".join(found))) else ""


def spelt_out(texts: Iterable[str]) -> dict[str, str]:
    """The long form of each short one that a text gives in brackets behind it; the first that is met counts."""
    found: dict[str, str] = {}
    for text in texts:
        for pair in _SHORT.finditer(text):
            before = _BREAK.split(text[max(pair.start() - _BEFORE_CHARS, 0) : pair.start()])[-1]
            short = pair["short"]
            long = _long_form(short, " ".join(before.split()))
            if long:
                found.setdefault(short, long)
    return found


def other_form(text: str, forms: dict[str, str]) -> str:
    """The text with its first short form spelt out, or its first long form shortened; empty where it has neither."""
    for short, long in forms.items():
        for written, instead in ((short, long), (long, short)):
            flags = 0 if written == short else re.IGNORECASE  # "IT" is a short form, "it" is a word
            other, times = re.subn(rf"(?<!\w){re.escape(written)}(?!\w)", lambda _, new=instead: new, text, flags=flags)
            if times:
                return other
    return ""


def _long_form(short: str, before: str) -> str:
    """The shortest end of the words before the bracket that has the letters in order, the first at a word's start."""
    at = len(before)
    for index in range(len(short) - 1, -1, -1):
        at -= 1
        while at >= 0 and not (
            before[at].lower() == short[index].lower() and (index > 0 or at == 0 or not before[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return ""
    long = before[before.rfind(" ", 0, at + 1) + 1 :]
    words = len(re.split(r"[ -]", long))
    fits = 1 < words <= min(len(short) + _MOST_WORDS, 2 * len(short))
    return long if fits and short.lower() not in long.lower().split() else ""

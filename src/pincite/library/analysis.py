"""The names a page uses: acronyms with what they stand for, identifiers, proper names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, words

_MAX_NAME = 80
_NAMES_PER_PAGE = 400


@dataclass(frozen=True, slots=True)
class PageName:
    """A name as one page writes it; `key` is what it is looked up by."""

    key: str
    text: str
    expansion: str = ""


_ACRONYM = r"[A-Z][A-Z0-9]{1,9}s?"
_IN_BRACKETS = re.compile(rf"\(({_ACRONYM})\)")
_EXPLAINED = re.compile(rf"\b({_ACRONYM}) \(([^()\n]{{3,100}})\)")
_LOOK_BACK = 120
_PROPER = re.compile(
    r"\b[A-Z][\w'’-]*[\w]"
    r"(?:\s+(?:(?:of|de|da|di|del|van|von|der|the|and|&)\s+){0,2}[A-Z0-9][\w'’-]*\w)*"
)
_CODE_NAME = re.compile(r"\b[A-Za-z]\w*(?:_\w+)+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;•\n]\s*|\|\s*)$")


def name_key(text: str) -> str:
    """The lower-case words of a name, joined by single spaces: what `names_in` looks up."""
    return " ".join(word.lower() for word in words(fold(text).text))


def page_names(text: str) -> tuple[PageName, ...]:
    """The distinct acronyms, proper names and identifiers of a page, at most 400, expanded acronyms first."""
    folded = fold(text).text
    found: dict[str, PageName] = {}
    for name in (*_acronyms(folded), *_identifiers(folded), *_proper_names(folded)):
        if len(found) >= _NAMES_PER_PAGE:
            break
        if name.key and name.key not in found and len(name.text) <= _MAX_NAME:
            found[name.key] = name
    return tuple(found.values())


def _acronyms(text: str) -> Iterator[PageName]:
    for match in _IN_BRACKETS.finditer(text):
        yield from _expanded(match.group(1), text[max(0, match.start() - _LOOK_BACK) : match.start()])
    for match in _EXPLAINED.finditer(text):
        yield from _expanded(match.group(1), match.group(2))


def _expanded(acronym: str, phrase: str) -> Iterator[PageName]:
    """The acronym with the shortest tail of the phrase whose initials it is, small words counted or not."""
    letters = acronym.removesuffix("s").lower()
    pieces = list(re.finditer(r"[^\W_]+", phrase))
    for start in range(len(pieces) - 1, max(len(pieces) - 2 * len(letters) - 1, -1), -1):
        tail = [piece.group() for piece in pieces[start:]]
        initials = "".join(piece[0] for piece in tail).lower()
        content = "".join(piece[0] for piece in tail if not is_stop(piece)).lower()
        if letters in (initials, content) and not is_stop(tail[0]):
            expansion = phrase[pieces[start].start() : pieces[-1].end()]
            yield PageName(letters, acronym.removesuffix("s"), " ".join(expansion.split()))
            return


def _identifiers(text: str) -> Iterator[PageName]:
    for match in _CODE_NAME.finditer(text):
        yield PageName(name_key(match.group()), match.group())


def _proper_names(text: str) -> Iterator[PageName]:
    for match in _PROPER.finditer(text):
        name = " ".join(match.group().split())
        single = " " not in name
        plain = single and name[1:].islower()
        # A capital at the start of a sentence says nothing about a single plain word.
        if plain and (_SENTENCE_START.search(text[max(0, match.start() - 3) : match.start()]) or is_stop(name)):
            continue
        if is_stop(name.split()[0]) and not single:
            name = name.split(" ", 1)[1]
        yield PageName(name_key(name), name)

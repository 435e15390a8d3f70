"""Which of the given pages is the one that a reference names: by its address, its file name or its title."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pincite.audit.findings import ListedReference
from pincite.domain.errors import InputError, PolicyRefusal
from pincite.domain.library import ListedPage
from pincite.urls.keys import page_key

_PAGE_SUFFIX = re.compile(
    r"\.(?:html?|xhtml|php|aspx?|jsp|md|markdown|txt|rst|pdf|docx?|pptx?|xlsx?|epub|odt|rtf|csv|json|xml)$",
    re.IGNORECASE,
)
# Names that half the pages of the web have: they say something only together with the rest of the address.
_ANY_PAGE = frozenset("index default home main page article view item story post node show read".split())
_TITLE_ENDS = re.compile(r"\s+[|·–—-]\s+")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_LEAST_TITLE_WORDS = 2
_LEAST_TITLE_CHARS = 10
_NAMED = 3
"""Of several pages that fit, so many are named."""


@dataclass(frozen=True, slots=True)
class Match:
    """The given page that a reference names and how that is known; no page, and why, where it can't be told."""

    page: ListedPage | None
    how: str


def match_given(references: Sequence[ListedReference], pages: Sequence[ListedPage]) -> dict[int, Match]:
    """The given page of each reference that has one. The surest rule decides; what fits twice is not guessed."""
    found: dict[int, tuple[int, Match]] = {}
    for index, reference in enumerate(references):
        for strength, (rule, how) in enumerate(_RULES):
            fitting = rule(reference, pages)
            if len(fitting) == 1:
                found[index] = strength, Match(fitting[0], f"read from {_place(fitting[0])}, by its {how}")
            elif fitting:
                names = ", ".join(_place(page) for page in fitting[:_NAMED])
                found[index] = strength, Match(None, f"{len(fitting)} given pages fit by their {how}: {names}")
            if fitting:
                break
    return _one_address_each(references, found)


def _one_address_each(references: Sequence[ListedReference], found: dict[int, tuple[int, Match]]) -> dict[int, Match]:
    """A page answers for one address: of several that it fits the surest; where two fit equally well, for neither."""
    claims: dict[str, dict[str, int]] = {}
    for index, (strength, match) in found.items():
        if match.page is not None:
            named = claims.setdefault(match.page.url, {})
            address = _key(references[index].url) or references[index].text
            named[address] = min(strength, named.get(address, strength))
    result: dict[int, Match] = {}
    for index, (strength, match) in found.items():
        result[index] = match
        if match.page is None or not strength:
            continue
        named = claims[match.page.url]
        address = _key(references[index].url) or references[index].text
        rivals = [other for key, other in named.items() if key != address]
        if rivals and min(rivals) <= named[address]:
            result[index] = Match(None, f"{_place(match.page)} fits another reference as well")
    return result


def _by_address(reference: ListedReference, pages: Sequence[ListedPage]) -> list[ListedPage]:
    wanted = _key(reference.url)
    return [page for page in pages if wanted in {_key(page.url), *map(_key, page.states)}] if wanted else []


def _by_file_name(reference: ListedReference, pages: Sequence[ListedPage]) -> list[ListedPage]:
    """The pages whose file is called as the address ends, or whose file the entry names."""
    written = reference.text.casefold()
    named = [
        page for page in pages
        if _PAGE_SUFFIX.search(page.path)
        and re.search(rf"(?<![\w/-]){re.escape(page.path.rpartition('/')[2].casefold())}(?![\w-])", written)
    ]  # fmt: skip
    if named or not reference.url:
        return named
    address = urlsplit(reference.url)
    tail = _parts(unquote(address.path))
    whole = _slug(f"{(address.hostname or '').removeprefix('www.')} {' '.join(tail)}")
    exact = [page for page in pages if whole in {_slug(" ".join(_parts(page.path))), _slug(_parts(page.path)[-1])}]
    if exact or not tail or _slug(tail[-1]) in _ANY_PAGE:
        return exact
    agreeing = [(_in_common(tail, _parts(page.path)), page) for page in pages]
    most = max((count for count, _ in agreeing), default=0)
    return [page for count, page in agreeing if count == most] if most else []


def _by_title(reference: ListedReference, pages: Sequence[ListedPage]) -> list[ListedPage]:
    """The pages with the longest title that stands in the entry."""
    entry = f" {_slug(_ADDRESS.sub(' ', reference.text))} "
    fitting: list[tuple[int, ListedPage]] = []
    for page in pages:
        titles = {_slug(page.title), _slug(_TITLE_ENDS.split(page.title)[0]), _slug(_parts(page.path)[-1])}
        lengths = [len(title) for title in titles if _telling(title) and f" {title} " in entry]
        fitting += [(max(lengths), page)] if lengths else []
    longest = max((length for length, _ in fitting), default=0)
    return [page for length, page in fitting if length == longest]


_Rule = Callable[[ListedReference, Sequence[ListedPage]], list[ListedPage]]
_RULES: tuple[tuple[_Rule, str], ...] = (
    (_by_address, "address"),
    (_by_file_name, "file name"),
    (_by_title, "title"),
)
"""The surest first."""


def _telling(title: str) -> bool:
    return len(title) >= _LEAST_TITLE_CHARS and len(title.split()) >= _LEAST_TITLE_WORDS


def _parts(path: str) -> list[str]:
    """The folders and the name of a path, the name without a page's suffix."""
    parts = [part for part in path.casefold().split("/") if part]
    return [*parts[:-1], _PAGE_SUFFIX.sub("", parts[-1])] if parts else [""]


def _in_common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many parts two paths have in common at their ends."""
    count = 0
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if _slug(one) != _slug(other) or not _slug(one):
            break
        count += 1
    return count


def _slug(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _place(page: ListedPage) -> str:
    return page.path or page.url


def _key(url: str) -> str:
    try:
        return page_key(url)
    except (InputError, PolicyRefusal):
        return url

"""The pages a report cites: fetched, or taken from what was given. A page that can't be had keeps its reason."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from urllib.parse import unquote, urlsplit

import anyio

from pincite.audit.findings import ListedReference, ReferenceState
from pincite.domain.budget import DEADLINES_S
from pincite.domain.errors import (
    BudgetExhausted,
    DeadLink,
    DnsError,
    InvalidUrl,
    NotFound,
    PolicyRefusal,
    ProviderError,
    RemoteError,
)
from pincite.domain.fetch import FetchRequest
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.domain.search import ListedPage
from pincite.ports import Fetch, WebArchive
from pincite.urls.keys import address_key
from pincite.urls.masking import mask_secrets
from pincite.verification.claims import given_page

# Which of the given pages is the one that a reference names: by its address, its file name or its title.

_PAGE_SUFFIX = re.compile(
    r"\.(?:html?|xhtml|php|aspx?|jsp|md|markdown|txt|rst|pdf|docx?|pptx?|xlsx?|epub|odt|rtf|csv|json|xml)$",
    re.IGNORECASE,
)
# Names that half the pages of the web have: they say something only together with the rest of the address.
_ANY_PAGE = frozenset("index default home main page article view item story post node show read".split())
_TITLE_ENDS = re.compile(r"\s+[|·–—-]\s+")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
# "Home" and "Contents" are titles of any page: one word names none.
_LEAST_TITLE_WORDS = 2
# The same for two short words ("My site").
_LEAST_TITLE_CHARS = 10
# Of several pages that fit, so many are named.
_NAMED = 3


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
            address = address_key(references[index].url) or references[index].text
            named[address] = min(strength, named.get(address, strength))
    result: dict[int, Match] = {}
    for index, (strength, match) in found.items():
        result[index] = match
        if match.page is None or not strength:
            continue
        named = claims[match.page.url]
        address = address_key(references[index].url) or references[index].text
        rivals = [other for key, other in named.items() if key != address]
        if rivals and min(rivals) <= named[address]:
            result[index] = Match(None, f"{_place(match.page)} fits another reference as well")
    return result


def _by_address(reference: ListedReference, pages: Sequence[ListedPage]) -> list[ListedPage]:
    wanted = address_key(reference.url)
    return (
        [page for page in pages if wanted in {address_key(page.url), *map(address_key, page.states)}] if wanted else []
    )


def _by_file_name(reference: ListedReference, pages: Sequence[ListedPage]) -> list[ListedPage]:
    """The pages whose file is called as the address ends, or whose file the entry names."""
    written = reference.text.casefold()
    # An entry that writes out the name of a file means that file, whatever its address looks like.
    named = [
        page
        for page in pages
        if _PAGE_SUFFIX.search(page.path)
        and re.search(rf"(?<![\w/-]){re.escape(page.path.rpartition('/')[2].casefold())}(?![\w-])", written)
    ]
    if named or not reference.url:
        return named
    address = urlsplit(reference.url)
    tail = _parts(unquote(address.path))
    # Pages that somebody saved are often called by the whole address.
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
        telling = (t for t in titles if len(t) >= _LEAST_TITLE_CHARS and len(t.split()) >= _LEAST_TITLE_WORDS)
        lengths = [len(title) for title in telling if f" {title} " in entry]
        fitting += [(max(lengths), page)] if lengths else []
    longest = max((length for length, _ in fitting), default=0)
    return [page for length, page in fitting if length == longest]


_Rule = Callable[[ListedReference, Sequence[ListedPage]], list[ListedPage]]
# The surest first.
_RULES: tuple[tuple[_Rule, str], ...] = (
    (_by_address, "address"),
    (_by_file_name, "file name"),
    (_by_title, "title"),
)


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


# At six at once and a few seconds each some minutes; an audit beyond that is for a batch. Chosen, not measured.
MAX_PAGES = 300
# As many connections as browsers hold to one host; sites get their own, slower pace besides.
AT_ONCE = 6
_ASKED_ABOUT = frozenset({ReferenceState.DEAD, ReferenceState.INVENTED})
# Dead addresses that an archive is asked about: at its pace (one in 5 s) about as long as an audit may take more.
_MOST_ASKED_ABOUT = 12
# Twelve of those at one in 5 s, and the answer to the last.
_ARCHIVE_S = 75.0
# The reason of a dead link where no site is asked and the given pages do not have the address.
_UNKNOWN = "unknown_page"
_NO_MATCH = Match(None, "")
# What is longer in the first line is a paragraph.
_LONGEST_TITLE = 200
DEADLINE_S = DEADLINES_S["audit_page"]
# RFC 2606 and RFC 6761: names that belong to nobody, a model's favourite stand-ins.
_RESERVED = ("example.com", "example.org", "example.net", "example.edu", "localhost")
_RESERVED_ENDINGS = (".example", ".invalid", ".test", ".localhost", ".local")


@dataclass(frozen=True, slots=True)
class Pages:
    """The references with their states, and each page that was read, by index."""

    references: tuple[ListedReference, ...]
    documents: Mapping[int, Document]


def given_pages(references: Sequence[ListedReference], sources: Mapping[str, str]) -> Pages:
    """The pages out of a mapping of URL, or file name, to text. What is not in it could not be checked."""
    # Its first line may be a page's title.
    first = {name: text.lstrip()[:_LONGEST_TITLE].splitlines()[:1] for name, text in sources.items()}
    listed = [ListedPage(name, line[0].lstrip("# ") if line else "", name) for name, line in first.items()]
    found = match_given(references, listed)
    read = {name: given_page(text, name) for name, text in sources.items()}
    pages: dict[int, _Page] = {}
    for index, reference in enumerate(references):
        match = found.get(index, _NO_MATCH)
        if match.page is None:
            pages[index] = _unreadable(reference, match) or _NOT_AMONG_GIVEN
        elif sources[match.page.url].strip():
            pages[index] = _Page(read[match.page.url], ReferenceState.READ, match.how)
        else:
            pages[index] = _Page(None, ReferenceState.BLOCKED, "the given page has no text")
    return _with_states(references, pages)


@dataclass(frozen=True, slots=True)
class PageReading:
    """How pages are come by.

    Attributes:
        archive: asked about addresses that are dead; None: nobody is.
        is_own: whether the operator named this host, so that it is read as any other whatever it is called.
        private: whether the archive is the operator's own, so that it may hear of such hosts, too.
        max_pages: how many pages are fetched at most.
        listed: pages that were given beforehand; a reference that fits one of them is read from there.
    """

    fetch: Fetch
    archive: WebArchive | None = None
    is_own: Callable[[str], bool] = field(default=lambda host: False)
    private: bool = False
    max_pages: int = MAX_PAGES
    listed: Sequence[ListedPage] = ()


async def fetched_pages(references: Sequence[ListedReference], reading: PageReading) -> Pages:
    """The pages over the fetch service, each URL once, six at a time; then the archive about those that are gone."""
    found = match_given(references, reading.listed)
    pages: dict[int, _Page] = {}
    groups: dict[str, list[int]] = {}
    for index, reference in enumerate(references):
        match = found.get(index, _NO_MATCH)
        if match.page is not None:
            groups.setdefault(match.page.url, []).append(index)
        elif (page := _unreadable(reference, match, is_own=reading.is_own(_host(reference.url)))) is not None:
            pages[index] = page
        else:
            groups.setdefault(address_key(reference.url), []).append(index)
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def read(group: list[int]) -> None:
        match = found.get(group[0], _NO_MATCH)
        async with limiter:
            page = await _read(match.page.url if match.page else references[group[0]].url, reading.fetch)
        pages.update((index, replace(page, reason=page.reason or found.get(index, _NO_MATCH).how)) for index in group)

    # In the order of the references: what is over the limit is the end of the list.
    read_now, over = list(groups.values())[: reading.max_pages], list(groups.values())[reading.max_pages :]
    async with anyio.create_task_group() as tasks:
        for group in read_now:
            tasks.start_soon(read, group)
    late = _Page(None, ReferenceState.OVER_LIMIT, f"over the limit of {reading.max_pages} pages")
    pages.update((index, late) for group in over for index in group)
    if reading.archive is not None:
        await _ask_archive(references, read_now, pages, reading, reading.archive)
    return _with_states(references, pages)


def _with_states(references: Sequence[ListedReference], pages: Mapping[int, "_Page"]) -> Pages:
    states = (
        replace(reference, state=pages[at].state, reason=pages[at].reason) for at, reference in enumerate(references)
    )
    return Pages(tuple(states), {at: page.document for at, page in sorted(pages.items()) if page.document is not None})


def _unreadable(reference: ListedReference, match: Match, *, is_own: bool = False) -> "_Page | None":
    """What is to be said of a reference that nobody needs to ask a site about; None when it is to be read."""
    if match.how:
        return _Page(None, ReferenceState.NOT_GIVEN, match.how)
    if not reference.url:
        return _Page(None, ReferenceState.NO_URL, "the entry names no page")
    invented = "" if is_own else invalid_reason(reference.url)
    return _Page(None, ReferenceState.INVENTED, invented) if invented else None


async def _ask_archive(
    references: Sequence[ListedReference],
    groups: Sequence[list[int]],
    pages: dict[int, "_Page"],
    reading: PageReading,
    archive: WebArchive,
) -> None:
    """Put what the archive knows in the place of pages that are dead."""
    dead = [group for group in groups if pages[group[0]].state in _ASKED_ABOUT][:_MOST_ASKED_ABOUT]
    # What is not answered by then stays dead, as it was found; the audit goes on.
    with anyio.move_on_after(_ARCHIVE_S):
        for group in dead:
            url = references[group[0]].url
            own = reading.is_own(_host(url))
            # No stranger's archive hears of a host inside; and nobody needs to be asked about a reserved name.
            if (own and not reading.private) or (not own and invalid_reason(url)):
                continue
            page = await _archived(url, pages[group[0]], archive, reading.fetch)
            pages.update((index, page) for index in group)


@dataclass(frozen=True, slots=True)
class _Page:
    document: Document | None
    state: ReferenceState
    reason: str = ""


_NOT_AMONG_GIVEN = _Page(None, ReferenceState.NOT_GIVEN, "not among the given pages")


async def _archived(url: str, dead: _Page, archive: WebArchive, fetch: Fetch) -> _Page:
    """What a public archive has of an address that is dead."""
    # The archive is public, and would be told the secret.
    if mask_secrets(url) != url:
        return replace(dead, reason=f"{dead.reason}; no archive was asked, the address may hold a secret")
    try:
        copy = await archive.newest(url)
    except (RemoteError, ProviderError) as error:
        return replace(dead, reason=f"{dead.reason}; the archive did not tell: {error.message}")
    if copy is None:
        state = dead.state if dead.state is ReferenceState.INVENTED else ReferenceState.NEVER_SEEN
        return _Page(None, state, f"{dead.reason}; the web archive has never seen it")
    told = f"gone from its site ({dead.reason}), captured on {copy.captured_at:%Y-%m-%d}: {copy.url}"
    page = await _read(copy.url, fetch)
    if page.state is not ReferenceState.READ:
        return _Page(None, ReferenceState.DEAD, told)
    return _Page(page.document, ReferenceState.ARCHIVED, told)


async def _read(url: str, fetch: Fetch) -> _Page:
    try:
        with anyio.fail_after(DEADLINE_S):
            result = await fetch.fetch(FetchRequest(url=url))
    except TimeoutError:
        # Slow is not dead: the author may have read it on a better day.
        return _Page(None, ReferenceState.BLOCKED, f"no answer within {DEADLINE_S:.0f} s")
    except NotFound:
        return _NOT_AMONG_GIVEN
    except (DeadLink, DnsError, InvalidUrl) as error:
        if error.reason == _UNKNOWN:
            return _NOT_AMONG_GIVEN
        # A host that does not exist was never a page; a page that is gone may have been one.
        gone = isinstance(error, DeadLink) and "dns" not in error.reason
        timed_out = isinstance(error, DnsError) and "timeout" in error.reason
        state = ReferenceState.DEAD if gone else ReferenceState.BLOCKED if timed_out else ReferenceState.INVENTED
        return _Page(None, state, error.message)
    except (PolicyRefusal, RemoteError, ProviderError, BudgetExhausted) as error:
        return _Page(None, ReferenceState.BLOCKED, error.message)  # anything else is this machine's trouble
    if not result.document.text.strip():
        return _Page(None, ReferenceState.BLOCKED, "the page has no text")
    return _Page(result.document, ReferenceState.READ)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower().rstrip(".")


def invalid_reason(url: str) -> str:
    """Why nobody can have read a page at this URL, or nothing."""
    host = _host(url)
    bare = host.removeprefix("www.")
    if bare in _RESERVED or host.endswith(_RESERVED_ENDINGS):
        return f"{host} is a reserved name: no page can be there"
    if "." not in host and not url.startswith("local:"):
        return f"{url} is not the address of a page"
    return ""

"""The pages a report cites: fetched, or taken from what was given. A page that can't be had keeps its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from pincite.audit.findings import ListedReference, ReferenceState
from pincite.audit.given import Match, match_given
from pincite.domain.deadlines import DEADLINES_S
from pincite.domain.errors import (
    DeadLink,
    DnsError,
    InputError,
    InvalidUrl,
    NotFound,
    PinciteError,
    PolicyRefusal,
    Timeout,
)
from pincite.domain.library import ListedPage
from pincite.domain.page import FetchRequest
from pincite.ports import Fetch
from pincite.urls.keys import page_key

_AT_ONCE = 6
_UNKNOWN = "unknown_page"
"""The reason of a dead link where no site is asked and the given pages do not have the address."""
_NO_MATCH = Match(None, "")
_LONGEST_TITLE = 200
_DEADLINE_S = DEADLINES_S["audit_page"]
# RFC 2606 and RFC 6761: names that belong to nobody, a model's favourite stand-ins.
_RESERVED = ("example.com", "example.org", "example.net", "example.edu", "localhost")
_RESERVED_ENDINGS = (".example", ".invalid", ".test", ".localhost", ".local")


@dataclass(frozen=True, slots=True)
class Pages:
    """The references with their states, and the text of each page that was read, by index."""

    references: tuple[ListedReference, ...]
    texts: Mapping[int, str]


def given_pages(references: Sequence[ListedReference], sources: Mapping[str, str]) -> Pages:
    """The pages out of a mapping of URL, or file name, to text. What is not in it could not be checked."""
    found = match_given(references, [ListedPage(name, _first_line(text), name) for name, text in sources.items()])
    states: list[ListedReference] = []
    texts: dict[int, str] = {}
    for index, reference in enumerate(references):
        match = found.get(index, _NO_MATCH)
        text = sources[match.page.url] if match.page is not None else None
        if text is not None and text.strip():
            texts[index] = text
            states.append(replace(reference, state=ReferenceState.READ, reason=match.how))
        elif match.how and text is None:
            states.append(replace(reference, state=ReferenceState.NOT_GIVEN, reason=match.how))
        elif not reference.url and text is None:
            states.append(replace(reference, state=ReferenceState.NO_URL, reason="the entry names no page"))
        elif text is not None:
            states.append(replace(reference, state=ReferenceState.BLOCKED, reason="the given page has no text"))
        else:
            invented = invalid_reason(reference.url)
            state = ReferenceState.INVENTED if invented else ReferenceState.NOT_GIVEN
            states.append(replace(reference, state=state, reason=invented or "not among the given pages"))
    return Pages(tuple(states), texts)


async def fetched_pages(
    references: Sequence[ListedReference], fetch: Fetch, *, max_pages: int, listed: Sequence[ListedPage] = ()
) -> Pages:
    """The pages over the fetch front door, each URL once, six at a time.

    `listed` are pages that were given beforehand; a reference that fits one of them is read from there.
    """
    found = match_given(references, listed)
    texts: dict[int, str] = {}
    states: dict[int, ListedReference] = {}
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    indexes: dict[str, list[int]] = {}
    for index, reference in enumerate(references):
        match = found.get(index, _NO_MATCH)
        invented = invalid_reason(reference.url) if reference.url else ""
        if match.page is not None:
            indexes.setdefault(match.page.url, []).append(index)
        elif match.how:
            states[index] = replace(reference, state=ReferenceState.NOT_GIVEN, reason=match.how)
        elif not reference.url:
            states[index] = replace(reference, state=ReferenceState.NO_URL, reason="the entry names no page")
        elif invented:
            states[index] = replace(reference, state=ReferenceState.INVENTED, reason=invented)
        else:
            indexes.setdefault(_key(reference.url), []).append(index)

    async def read(group: list[int]) -> None:
        async with limiter:
            given = found.get(group[0], _NO_MATCH).page
            text, state, reason = await _read(given.url if given else references[group[0]].url, fetch)
        for index in group:
            how = found.get(index, _NO_MATCH).how
            states[index] = replace(references[index], state=state, reason=reason or how)
            if state is ReferenceState.READ:
                texts[index] = text

    groups = list(indexes.values())
    async with anyio.create_task_group() as tasks:
        for group in groups[:max_pages]:
            tasks.start_soon(read, group)
    for group in groups[max_pages:]:
        for index in group:
            reason = f"over the limit of {max_pages} pages"
            states[index] = replace(references[index], state=ReferenceState.OVER_LIMIT, reason=reason)
    return Pages(tuple(states[index] for index in range(len(references))), texts)


async def _read(url: str, fetch: Fetch) -> tuple[str, ReferenceState, str]:
    try:
        with anyio.fail_after(_DEADLINE_S):
            result = await fetch.fetch(FetchRequest(url=url))
    except TimeoutError:
        return "", ReferenceState.BLOCKED, f"no answer within {_DEADLINE_S:.0f} s"
    except NotFound:
        return "", ReferenceState.NOT_GIVEN, "not among the given pages"
    except (DeadLink, DnsError, InvalidUrl) as error:
        if error.reason == _UNKNOWN:
            return "", ReferenceState.NOT_GIVEN, "not among the given pages"
        # A host that does not exist was never a page; a page that is gone may have been one.
        gone = isinstance(error, DeadLink) and "dns" not in error.reason
        timed_out = isinstance(error, DnsError) and "timeout" in error.reason
        state = ReferenceState.DEAD if gone else ReferenceState.BLOCKED if timed_out else ReferenceState.INVENTED
        return "", state, error.message
    except (PolicyRefusal, Timeout) as error:
        return "", ReferenceState.BLOCKED, error.message
    except PinciteError as error:
        return "", ReferenceState.BLOCKED, error.message
    if not result.document.text.strip():
        return "", ReferenceState.BLOCKED, "the page has no text"
    return result.document.text, ReferenceState.READ, ""


def _first_line(text: str) -> str:
    """What may be the page's title."""
    line = text.lstrip()[:_LONGEST_TITLE].splitlines()[:1]
    return line[0].lstrip("# ") if line else ""


def invalid_reason(url: str) -> str:
    """Why nobody can have read a page at this URL, or nothing."""
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower().rstrip(".")
    bare = host.removeprefix("www.")
    if bare in _RESERVED or host.endswith(_RESERVED_ENDINGS):
        return f"{host} is a reserved name: no page can be there"
    if "." not in host and not url.startswith("local:"):
        return f"{url} is not the address of a page"
    return ""


def _key(url: str) -> str:
    try:
        return page_key(url)
    except (InputError, PolicyRefusal):
        return url

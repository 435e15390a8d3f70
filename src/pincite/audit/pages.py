"""The pages a report cites: fetched, or taken from what was given. A page that can't be had keeps its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from pincite.audit.findings import ListedReference, ReferenceState
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
from pincite.domain.page import FetchRequest
from pincite.ports import Fetch
from pincite.urls.keys import page_key

_AT_ONCE = 6
_UNKNOWN = "unknown_page"
"""The reason of a dead link where no site is asked and the given pages do not have the address."""
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
    """The pages out of a mapping of URL to text. A URL that is not in it could not be checked."""
    by_key = {_key(url): text for url, text in sources.items()}
    states: list[ListedReference] = []
    texts: dict[int, str] = {}
    for index, reference in enumerate(references):
        text = by_key.get(_key(reference.url)) if reference.url else None
        if text is not None and text.strip():
            texts[index] = text
            states.append(replace(reference, state=ReferenceState.READ))
        elif not reference.url:
            states.append(replace(reference, state=ReferenceState.NO_URL, reason="the entry names no page"))
        elif text is not None:
            states.append(replace(reference, state=ReferenceState.BLOCKED, reason="the given page has no text"))
        else:
            invented = invalid_reason(reference.url)
            state = ReferenceState.INVENTED if invented else ReferenceState.NOT_GIVEN
            states.append(replace(reference, state=state, reason=invented or "not among the given pages"))
    return Pages(tuple(states), texts)


async def fetched_pages(references: Sequence[ListedReference], fetch: Fetch, *, max_pages: int) -> Pages:
    """The pages over the fetch front door, each URL once, six at a time."""
    texts: dict[int, str] = {}
    states: dict[int, ListedReference] = {}
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    indexes: dict[str, list[int]] = {}
    for index, reference in enumerate(references):
        invented = invalid_reason(reference.url) if reference.url else ""
        if not reference.url:
            states[index] = replace(reference, state=ReferenceState.NO_URL, reason="the entry names no page")
        elif invented:
            states[index] = replace(reference, state=ReferenceState.INVENTED, reason=invented)
        else:
            indexes.setdefault(_key(reference.url), []).append(index)

    async def read(group: list[int]) -> None:
        async with limiter:
            text, state, reason = await _read(references[group[0]].url, fetch)
        for index in group:
            states[index] = replace(references[index], state=state, reason=reason)
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

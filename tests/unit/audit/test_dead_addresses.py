"""Addresses that do not answer: local hosts that the operator named, pages that are gone, pages that never were."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.fakes.small_web import SmallWeb

from pincite.audit.findings import Audit, AuditVerdict, ReferenceState
from pincite.audit.pages import PageReading
from pincite.audit.service import AuditService
from pincite.domain.citation import ArchivedCopy
from pincite.domain.errors import DeadLink, PinciteError, RateLimited
from pincite.domain.fetch import FetchRequest, FetchResult

SAYS = "The park opened in March 2019."
OLD, GONE_HOST, NEVER = "https://www.park.com/old", "https://www.nowhere-park.com/x", "https://www.park.com/never"
COPY = "https://web.archive.org/web/20200102030405id_/"
WHEN = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


class Archive:
    """Holds copies of two addresses, and knows that it never saw the others."""

    def __init__(self, copies: Mapping[str, str] = {}, failing: PinciteError | None = None) -> None:
        self.copies, self.failing, self.asked = copies, failing, list[str]()

    async def newest(self, url: str) -> ArchivedCopy | None:
        self.asked.append(url)
        if self.failing is not None:
            raise self.failing
        return ArchivedCopy(self.copies[url], WHEN) if url in self.copies else None


class Web(SmallWeb):
    async def fetch(self, request: FetchRequest) -> FetchResult:
        if "nowhere" in request.url and "archive.org" not in request.url:
            raise DeadLink("there is no host", reason="dns_failed")
        return await super().fetch(request)


async def audit(url: str, archive: Archive | None, web: SmallWeb | None = None, **more: Any) -> Audit:
    reading = PageReading(web or Web({COPY + OLD: SAYS, COPY + GONE_HOST: SAYS}), archive, **more)
    return await AuditService(None, reading).audit(f"{SAYS}[1]\n\n## Sources\n\n1. {url}\n")


@pytest.mark.parametrize("url", [OLD, GONE_HOST])
async def test_what_is_gone_is_read_from_the_archive_and_said_so(url: str) -> None:
    found = await audit(url, Archive({url: COPY + url}))
    assert found.references[0].state is ReferenceState.ARCHIVED
    assert "captured on 2020-01-02" in found.references[0].reason
    assert found.claims[0].outcome is AuditVerdict.SUPPORTED


async def test_a_copy_that_can_not_be_read_still_tells_that_the_page_was_there() -> None:
    found = await audit(OLD, Archive({OLD: COPY + "elsewhere"}))
    assert found.references[0].state is ReferenceState.DEAD
    assert COPY in found.references[0].reason
    assert found.claims[0].outcome is AuditVerdict.COULD_NOT_CHECK


async def test_never_seen_and_gone_are_two_things() -> None:
    found = await audit(NEVER, Archive())
    assert found.references[0].state is ReferenceState.NEVER_SEEN
    assert found.claims[0].outcome is AuditVerdict.INVENTED_URL
    assert "never seen" in found.claims[0].detail
    unasked = await audit(NEVER, None)
    assert unasked.references[0].state is ReferenceState.DEAD
    assert unasked.claims[0].outcome is AuditVerdict.COULD_NOT_CHECK


async def test_an_archive_that_does_not_answer_accuses_nobody() -> None:
    found = await audit(NEVER, Archive(failing=RateLimited("too many calls")))
    assert found.claims[0].outcome is AuditVerdict.COULD_NOT_CHECK
    assert "the archive did not tell: too many calls" in found.claims[0].detail


@pytest.mark.parametrize("url", ["https://www.park.com/x?token=abcdefghijklmnop", "http://wiki.intra:8080/x"])
async def test_no_archive_is_told_a_secret_or_a_local_host(url: str) -> None:
    archive = Archive()
    await audit(url, archive, is_own=lambda host: host == "wiki.intra")
    assert archive.asked == []


async def test_an_archive_of_the_operator_may_hear_of_local_hosts() -> None:
    archive = Archive()
    url = "http://wiki.intra:8080/x"
    await audit(url, archive, is_own=lambda host: host == "wiki.intra", private=True)
    assert archive.asked == [url]


async def test_only_so_many_addresses_are_asked_about() -> None:
    archive = Archive()
    entries = "\n".join(f"[{n}] https://site-{n}.com/p" for n in range(1, 31))
    text = f"Cited {' '.join(f'[{n}]' for n in range(1, 31))}.\n\n## Sources\n\n{entries}\n"
    await AuditService(None, PageReading(Web({}), archive)).audit(text)
    assert len(archive.asked) == 12


@pytest.mark.parametrize("url", ["http://git.test:8080/gc.html", "http://wiki/x", "http://intra.local/x"])
async def test_hosts_that_the_operator_named_are_read_as_any_other(url: str) -> None:
    web = Web({url: SAYS})
    own = await audit(url, None, web, is_own=lambda host: host in {"git.test", "wiki", "intra.local"})
    assert own.claims[0].outcome is AuditVerdict.SUPPORTED
    strange = await audit(url, None, web)
    assert strange.claims[0].outcome is AuditVerdict.INVENTED_URL

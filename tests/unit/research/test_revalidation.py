"""Old pages are asked for again before a report is written from them, with and without a model."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from tests.fakes.small_web import MemoryStores, SmallWeb, document_of
from tests.unit.research.model.small_run import PAGES, QUESTION, Small

from pincite.domain.errors import DeadLink, DnsError, NetworkError, PageBlocked, PinciteError, Timeout
from pincite.domain.events import EventType
from pincite.domain.evidence import VerdictStatus
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.layout import SectionKind
from pincite.domain.report import ClaimMark, Report, broken_rules
from pincite.testing.clock import FrozenClock
from pincite.testing.models import FaithfulModel

TOWER = "https://tower.test/varden"

NOW = FrozenClock().now()
Answer = str | PinciteError | None


@dataclass
class OldCopies:
    """A fetch service whose copies are ten days old; `now` says what sites answer when a copy is to be confirmed."""

    web: SmallWeb
    stores: MemoryStores
    now: dict[str, list[Answer]] = field(default_factory=dict)
    age: timedelta = timedelta(days=10)
    via: str = "direct"
    confirmed: list[str] = field(default_factory=list)

    async def fetch(self, request: FetchRequest) -> FetchResult:
        page = await self.web.fetch(request)
        at = NOW - self.age
        if request.confirms:
            self.confirmed.append(request.url)
            answers = self.now.get(request.url, [None])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, PinciteError):
                raise answer
            if answer is not None:
                page, at = replace(page, document=document_of(answer)), NOW
        body = page.document.text.encode()
        digest = sha256_hex(body)
        snapshot = replace(
            page.snapshot,
            snapshot_id=snapshot_id(request.url, at, digest),
            body=body,
            body_sha256=digest,
            fetched_at=at,
            via=self.via,
        )
        return await self.stores.keep(replace(page, snapshot=snapshot, snapshot_id=snapshot.snapshot_id))


@pytest.fixture
def run() -> Callable[..., Any]:
    async def make(model: Any, answers: dict[str, list[Answer]], small: Small | None = None, **given: Any) -> Any:
        small = small or Small()
        door = OldCopies(SmallWeb(small.pages), small.stores, answers, **given)
        small.fetch = door
        report = await small.run(model, QUESTION)
        assert not list(broken_rules(report))
        return report, door, small

    return make


MODES = pytest.mark.parametrize("model", [None, FaithfulModel()], ids=["rules", "model"])


def told(report: Report) -> str:
    return " ".join(sentence.text for sentence in report.sentences())


@MODES
async def test_cited_pages_are_confirmed_once(model: Any, run: Any) -> None:
    report, door, small = await run(model, {})
    assert "41 metres" in told(report)
    assert sorted(door.confirmed) == sorted(set(door.confirmed))
    assert {reference.url for reference in report.references} <= set(door.confirmed)
    assert {data["outcome"] for data in small.events.of(EventType.PAGE_REVALIDATED)} == {"unchanged"}
    again, silent = await small.again(model), door.confirmed[:]
    assert again.markdown == report.markdown
    assert door.confirmed == silent, "a run made again from its record asks nobody"


@MODES
@pytest.mark.parametrize(("age", "via"), [(timedelta(hours=23), "direct"), (timedelta(days=10), "archive")])
async def test_young_and_local_pages_are_not_asked_for_again(age: timedelta, via: str, model: Any, run: Any) -> None:
    _, door, _ = await run(model, {}, age=age, via=via)
    assert door.confirmed == []


@MODES
@pytest.mark.parametrize("error", [DeadLink("gone", reason="http_404"), DnsError("x", retryable=False)])
async def test_a_dead_page_carries_nothing(error: PinciteError, model: Any, run: Any) -> None:
    report, _, _ = await run(model, {TOWER: [error]})
    assert "41 metres" not in told(report)
    assert TOWER not in {reference.url for reference in report.references}
    assert TOWER in {lead.url for lead in report.leads}
    assert any("the page is gone" in rejected.why for rejected in report.rejected_claims)
    assert report.metrics.dead_links == 1


@MODES
async def test_a_claim_moves_to_the_new_copy_of_its_page(model: Any, run: Any) -> None:
    newer = PAGES[TOWER].replace("# Varden lighthouse", "# Varden lighthouse\n\nSome words were added above the rest.")
    report, _, small = await run(model, {TOWER: [newer]})
    assert "41 metres" in told(report)
    reference = next(reference for reference in report.references if reference.url == TOWER)
    assert reference.accessed_at == NOW
    for claim in report.claims:
        for item in claim.evidence:
            document = await small.stores.documents.get(item.document_id)
            assert document is not None
            assert document.text[item.start : item.end] == item.quote
    again = await small.again(model)
    assert again.markdown == report.markdown


@MODES
async def test_what_a_page_no_longer_says_is_not_said(model: Any, run: Any) -> None:
    report, _, _ = await run(model, {TOWER: [PAGES[TOWER].replace("41 metres", "43 metres")]})
    assert "41 metres" not in told(report)
    assert any("no longer says it" in rejected.why for rejected in report.rejected_claims)
    assert "Anna Holm" in report.markdown or model is None


@MODES
@pytest.mark.parametrize("failures", [1, 2])
async def test_a_passing_fault_is_tried_again_twice(failures: int, model: Any, run: Any) -> None:
    faults: list[Answer] = [NetworkError("x", reason="http_503")] * failures
    report, door, small = await run(model, {TOWER: [*faults, None]})
    assert door.confirmed.count(TOWER) == 1 + failures
    assert not any(claim.marks for claim in report.claims if ClaimMark.UNRESOLVED in claim.marks)
    assert (await small.again(model)).markdown == report.markdown


@MODES
@pytest.mark.parametrize(
    ("error", "times"),
    [
        (NetworkError("x", reason="http_503"), 3),
        (Timeout("x", reason="deadline_total", retryable=False), 3),
        (PageBlocked("x", reason="http_403"), 1),
    ],
)
async def test_a_page_that_stays_silent_leaves_its_claims_unresolved(
    error: PinciteError, times: int, model: Any, run: Any
) -> None:
    report, door, _ = await run(model, {TOWER: [error]})
    assert door.confirmed.count(TOWER) == times
    marked = [claim for claim in report.claims if ClaimMark.UNRESOLVED in claim.marks]
    assert marked
    assert all(claim.verdict is VerdictStatus.SUPPORTED for claim in marked)
    assert "(not confirmed again)" in report.markdown
    open_claims = {claim.id for claim in marked}
    stating = [sentence for sentence in report.sentences() if sentence.claim_ids]
    assert {s.text for s in stating if open_claims.intersection(s.claim_ids)} == {
        s.text for s in stating if "(not confirmed again)" in s.text
    }, "each sentence on such a page says so, and no other"
    uncertain = [section for section in report.sections if section.kind is SectionKind.UNCERTAIN]
    assert all("(not confirmed again)" in sentence.text for section in uncertain for sentence in section.sentences)
    if model is None:  # a composed text keeps its order, and says it at its place
        findings = [section for section in report.sections if section.kind is SectionKind.FINDINGS]
        assert not any("(not confirmed" in sentence.text for section in findings for sentence in section.sentences)


async def test_a_claim_stands_on_the_page_that_is_left(run: Any) -> None:
    small = Small()
    small.pages["https://second.test/varden"] = "# Towers\n\nThe Varden lighthouse is 41 metres tall, and it is white."
    report, _, _ = await run(None, {TOWER: [DeadLink("gone", reason="http_410")]}, small)
    assert "41 metres" in told(report)
    assert {reference.url for reference in report.references} & {"https://second.test/varden"}

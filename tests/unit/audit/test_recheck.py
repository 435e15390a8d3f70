import pytest

from pincite.audit.recheck import (
    PageState,
    QuoteState,
    Recheck,
    changed_figures,
    read_stored_report,
    recheck,
    recheck_text,
)
from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.evidence import VerdictStatus
from pincite.domain.page import FetchRequest, FetchResult
from pincite.testing.reports import sample_report
from pincite.testing.small_web import SmallWeb
from pincite.verification.checker import MechanicalChecker

SAMPLE = sample_report()


class Today(SmallWeb):
    """The pages of the report as they are today."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        assert request.force_refresh
        return await super().fetch(request)


def pages_of_the_report() -> dict[str, str]:
    by_snapshot = {e.snapshot_id: SAMPLE.document(e.document_id) for c in SAMPLE.report.claims for e in c.evidence}
    pages = {}
    for reference in SAMPLE.report.references:
        document = by_snapshot[reference.snapshot_id]
        assert document is not None
        pages[reference.fetched_url or reference.url] = document.text
    return pages


async def rechecked(pages: dict[str, str]) -> Recheck:
    return await recheck(SAMPLE.report, Today(pages), MechanicalChecker())


async def test_quotes_that_still_stand_pass() -> None:
    result = await rechecked(pages_of_the_report())
    assert result.stands
    assert {quote.state for quote in result.quotes} == {QuoteState.STANDS}
    assert {page.state for page in result.pages} <= {PageState.CHANGED, PageState.UNCHANGED}
    assert all(page.snapshot_id and page.before for page in result.pages)


async def test_a_changed_number_is_shown_with_both_texts() -> None:
    evidence = next(e for c in SAMPLE.report.claims for e in c.evidence if any(ch.isdigit() for ch in e.quote))
    figure = next(word.strip(".,") for word in evidence.quote.split() if word.strip(".,").isdigit())
    pages = {url: text.replace(figure, str(int(figure) + 7)) for url, text in pages_of_the_report().items()}
    result = await rechecked(pages)
    assert not result.stands
    altered = [quote for quote in result.quotes if quote.state is QuoteState.ALTERED]
    assert altered
    assert f"{figure} → {int(figure) + 7}" in altered[0].detail
    assert altered[0].verdict is not VerdictStatus.SUPPORTED
    assert f"{figure} → {int(figure) + 7}" in recheck_text(result)


async def test_gone_pages_and_lost_quotes() -> None:
    pages = pages_of_the_report()
    gone, *others = list(pages)
    del pages[gone]
    result = await rechecked({**pages, others[0]: "Something else entirely is written on this page now."})
    states = {page.url: page.state for page in result.pages}
    assert states[gone] is PageState.GONE
    lost = {quote.state for quote in result.quotes}
    assert QuoteState.COULD_NOT_CHECK in lost
    assert QuoteState.MISSING in lost
    assert not result.stands


def test_a_stored_report_is_read_and_other_json_refused() -> None:
    assert read_stored_report(to_json(SAMPLE.report)).run_id == SAMPLE.report.run_id
    others: list[Json] = [{"a": 1}, [], {"references": 5}]
    for bad in others:
        with pytest.raises(InvalidInput):
            read_stored_report(bad)


@pytest.mark.parametrize(
    ("before", "now", "detail"),
    [
        ("It makes 398 MW.", "It makes 412 MW.", "398 → 412"),
        ("It makes 398 MW.", "It makes power.", "398 is gone"),
        ("It makes 398 MW.", "It made 398 MW.", ""),
    ],
)
def test_changed_figures(before: str, now: str, detail: str) -> None:
    assert changed_figures(before, now) == detail

"""A stored report against the pages of today: what stands, what only seems to, what is told in other words now."""

from datetime import UTC, datetime

import pytest
from tests.fakes.proven_report import proven_report
from tests.fakes.small_web import SmallWeb

from pincite.audit.recheck import (
    PageState,
    QuoteState,
    Recheck,
    RecheckedQuote,
    changed_figures,
    read_stored_report,
    recheck,
    recheck_text,
)
from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.evidence import JudgementLabel, VerdictStatus
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.report import ReportEvidence
from pincite.ports import Judge
from pincite.testing.judges import LabelJudge

SAMPLE = proven_report()
AT = datetime(2026, 11, 23, tzinfo=UTC)
MANUAL, NOTES = (reference.url for reference in SAMPLE.report.references)
OTHER = next(claim for claim in SAMPLE.report.claims if "96 MB" in claim.text)
REMOVES = next(claim for claim in SAMPLE.report.claims if "removes" in claim.text)


class Today(SmallWeb):
    """The pages of the report as they are today."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        assert request.force_refresh
        return await super().fetch(request)


def page_of(url: str) -> Document:
    [found] = [document for document in SAMPLE.documents.values() if document.canonical_url == url]
    return found


def with_blocks(url: str, *blocks: Block) -> Document:
    page = page_of(url)
    return Document("sample", "1", blocks, title=page.title, canonical_url=url)


def paragraphs(*texts: str) -> tuple[Block, ...]:
    return tuple(Block(BlockKind.PARAGRAPH, text) for text in texts)


async def stored(item: ReportEvidence) -> Document | None:
    return SAMPLE.document(item.document_id)


async def rechecked(
    changed: Document | str | None = None, url: str = NOTES, judge: Judge | None = None, *, kept: bool = True
) -> Recheck:
    pages: dict[str, Document | str] = {MANUAL: page_of(MANUAL), NOTES: page_of(NOTES)}
    if changed is not None:
        pages[url] = changed
    return await recheck(SAMPLE.report, Today(pages), judge, at=AT, stored=stored if kept else None)


def of(result: Recheck, claim: str) -> RecheckedQuote:
    return next(quote for quote in result.quotes if quote.claim == claim)


@pytest.mark.parametrize("kept", [True, False])
async def test_quotes_that_still_stand_pass(kept: bool) -> None:
    result = await rechecked(kept=kept)
    assert result.stands, recheck_text(result)
    assert {quote.state for quote in result.quotes} == {QuoteState.STANDS}
    assert {page.state for page in result.pages} == {PageState.CHANGED}, "another body, the same text"
    assert all(page.snapshot_id and page.before for page in result.pages)


HEAD, SAYS = page_of(NOTES).blocks
SURROUNDED = {
    "a heading says it was wrong": (Block(BlockKind.HEADING, "This was wrong", level=1), SAYS),
    "a heading between": (HEAD, Block(BlockKind.HEADING, "Retracted", level=2), SAYS),
    "a banner at the top": (*paragraphs("RETRACTED on 20 November."), HEAD, SAYS),
    "a line before it": (HEAD, *paragraphs("This was wrong:"), SAYS),
    "a note after it": (HEAD, SAYS, *paragraphs("We have never measured this; it was a joke.")),
    "a hoax said it": (HEAD, *paragraphs(f"A hoax said: {SAYS.text}")),
    "in the same sentence": (HEAD, *paragraphs(f"It is not true that {SAYS.text}")),
    "in the same paragraph": (HEAD, *paragraphs(f"{SAYS.text} All of this turned out to be wrong.")),
}


@pytest.mark.parametrize("name", SURROUNDED)
async def test_a_quote_in_other_surroundings_does_not_stand_by_itself(name: str) -> None:
    page = with_blocks(NOTES, *SURROUNDED[name])
    unjudged = of(await rechecked(page), OTHER.text)
    assert (unjudged.state, unjudged.verdict) == (QuoteState.UNCHECKED, VerdictStatus.UNCHECKED)
    assert "changed around it" in unjudged.detail
    against = LabelJudge({OTHER.text: JudgementLabel.CONTRADICTS})
    judged = of(await rechecked(page, judge=against), OTHER.text)
    assert (judged.state, judged.verdict, judged.judge) == (
        QuoteState.CONTRADICTED, VerdictStatus.CONTRADICTED, "label-judge",
    )  # fmt: skip
    shown = " ".join(line.text for case in against.asked for line in case.lines)
    told = {
        "a heading says": "This was wrong",
        "a heading b": "Retracted",
        "a banner": "RETRACTED",
        "a line": "This was wrong:",
    }
    told |= {
        "a note": "it was a joke",
        "a hoax": "A hoax said",
        "in the same s": "It is not true",
        "in the same p": "turned out",
    }
    assert next(words for start, words in told.items() if name.startswith(start)) in shown
    stands = of(await rechecked(page, judge=LabelJudge({OTHER.text: True})), OTHER.text)
    assert stands.state is QuoteState.STANDS
    not_said = of(await rechecked(page, judge=LabelJudge({OTHER.text: JudgementLabel.ABSENT})), OTHER.text)
    assert (not_said.state, not_said.verdict) == (QuoteState.CONTRADICTED, VerdictStatus.UNSUPPORTED)


async def test_a_change_far_from_the_quote_changes_nothing() -> None:
    page = with_blocks(MANUAL, *page_of(MANUAL).blocks, *paragraphs("One.", "Two.", "Three.", "Printed in 2026."))
    judge = LabelJudge({})
    result = await rechecked(page, MANUAL, judge)
    assert of(result, REMOVES.text).state is QuoteState.STANDS
    assert REMOVES.text not in {case.statement for case in judge.asked}


async def test_without_the_stored_page_its_context_in_the_report_tells() -> None:
    page = with_blocks(NOTES, Block(BlockKind.HEADING, "This was wrong", level=2), SAYS)
    assert of(await rechecked(page, kept=False), OTHER.text).state is QuoteState.UNCHECKED


async def test_what_is_told_in_other_words_is_still_stated() -> None:
    page = with_blocks(NOTES, HEAD, *paragraphs("The vacuum needs some 96 MB on the machines that we run."))
    result = await rechecked(page, judge=LabelJudge({OTHER.text: True}))
    quote = of(result, OTHER.text)
    assert (quote.state, quote.verdict) == (QuoteState.REWORDED, VerdictStatus.SUPPORTED)
    assert "reworded, still stated: On our machines" in recheck_text(result)
    assert result.stands
    unjudged = of(await rechecked(page), OTHER.text)
    assert unjudged.state in (QuoteState.ALTERED, QuoteState.MISSING)


async def test_a_changed_number_is_shown_with_both_texts() -> None:
    page = with_blocks(NOTES, HEAD, Block(BlockKind.PARAGRAPH, SAYS.text.replace("96", "112")))
    for judge in (None, LabelJudge({OTHER.text: True})):
        result = await rechecked(page, judge=judge)
        quote = of(result, OTHER.text)
        assert quote.state in (QuoteState.ALTERED, QuoteState.CONTRADICTED)
        assert "96 → 112" in quote.detail
        assert quote.verdict is not VerdictStatus.SUPPORTED, "a judge can't say so against the figure"
        assert "96 → 112" in recheck_text(result)
        assert (result.stands, result.fell) == (False, True)


async def test_gone_pages_and_lost_quotes() -> None:
    pages = {NOTES: "Something else entirely is written on this page now."}
    result = await recheck(SAMPLE.report, Today(pages), at=AT, stored=stored)
    states = {page.url: page.state for page in result.pages}
    assert states[MANUAL] is PageState.GONE
    assert {quote.state for quote in result.quotes} == {QuoteState.COULD_NOT_CHECK, QuoteState.MISSING}
    assert (result.stands, result.fell) == (False, True)


async def test_what_nobody_judged_has_not_fallen() -> None:
    result = await rechecked(with_blocks(NOTES, *SURROUNDED["a line before it"]))
    assert (result.stands, result.fell) == (False, False)


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

"""The parts of a report: sections, closing sections, marks, paragraphs, the version a sentence holds for."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pincite.domain.evidence import Claim, Evidence, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.ids import claim_id
from pincite.domain.layout import SectionKind
from pincite.domain.page import FetchRequest
from pincite.domain.plan import Conflict, ConflictSide, Imprint, Plan, Progress, ReadPage, SubQuestion, Task
from pincite.domain.report import ClaimMark, Metrics, Report, broken_rules
from pincite.research.extractive.outline import LOOSE
from pincite.research.extractive.writer import ExtractiveWriter
from pincite.testing.small_web import SmallWeb, document_of

QUESTION = "How does the pump work?"
PAGES = {
    "https://a.test/pump": "# The pump\n\n" + "\n\n".join(f"Part {n} of the pump moves water." for n in "ABCDEFGHIJ"),
    "https://b.test/valve": "# Valve\n\nThe valve of the pump opens at 12 bar. Never open the valve while it turns.",
    "https://c.test/seal": "# Seal\n\nThe seal lasts 300 hours. The seal cannot be reused. The seal is made of felt.",
}


async def progress_of(statements: dict[str, float], pages: dict[str, str] = PAGES, **changes: object) -> Progress:
    """Progress in which each statement is a claim of that confidence, quoted from the page that has it."""
    web, read, claims = SmallWeb(pages), [], []
    for url, text in pages.items():
        fetched = await web.fetch(FetchRequest(url))
        read.append(ReadPage(url, fetched.snapshot, document_of(text)))
    for text, confidence in statements.items():
        page = next(page for page in read if text in page.document.text)
        start = page.document.text.index(text)
        quote = page.document.quote(start, start + len(text))
        evidence = Evidence(quote, page.snapshot.snapshot_id, page.snapshot.body_sha256, page.url)
        claim = Claim(claim_id(text, QUESTION), text, QUESTION, confidence=confidence, evidence=(evidence,))
        claims.append(VerifiedClaim(claim, Verdict(VerdictStatus.SUPPORTED), 1))
    plan = Plan((SubQuestion("1", QUESTION),))
    return replace(Progress(), plan=plan, pages=tuple(read), claims=tuple(claims), **changes)  # type: ignore[arg-type]


async def written(progress: Progress, *, wanted_share: float | None = None) -> Report:
    imprint = Imprint("run_x", datetime(2026, 1, 1, tzinfo=UTC), Metrics(), wanted_share)
    return await ExtractiveWriter().write(Task(QUESTION), progress, imprint)


MANY = {f"Part {n} of the pump moves water.": 0.9 for n in "ABCDEFGHIJ"} | {
    "The valve of the pump opens at 12 bar.": 0.9,
    "Never open the valve while it turns.": 0.9,
    "The seal is made of felt.": 0.8,
    "The seal lasts 300 hours.": 0.8,
    "The seal cannot be reused.": 0.8,
}


async def test_numbers_and_risks_close_a_long_report_and_nothing_is_said_twice() -> None:
    report = await written(await progress_of(MANY))
    kinds = {section.kind: [s.text for s in section.sentences] for section in report.sections}
    assert kinds[SectionKind.KEY_NUMBERS] == ["The valve of the pump opens at 12 bar.", "The seal lasts 300 hours."]
    assert kinds[SectionKind.RISKS] == ["Never open the valve while it turns.", "The seal cannot be reused."]
    texts = [sentence.text for sentence in report.sentences()]
    assert len(texts) == len(set(texts)) == len(MANY)
    assert report.outline == tuple(section.heading for section in report.sections)
    assert not list(broken_rules(report))


async def test_a_short_report_is_not_taken_apart() -> None:
    few = {text: MANY[text] for text in list(MANY)[-5:]}
    report = await written(await progress_of(few))
    assert {section.kind for section in report.sections} == {SectionKind.FINDINGS}


async def test_what_is_not_sure_is_worded_marked_and_put_last() -> None:
    report = await written(await progress_of({**dict.fromkeys(MANY, 0.6), "The seal is made of felt.": 0.45}))
    last = report.sections[-1]
    assert last.kind is SectionKind.UNCERTAIN
    assert [s.text for s in last.sentences] == ["The seal is made of felt."]
    marked = [claim for claim in report.claims if ClaimMark.LOW_CONFIDENCE in claim.marks]
    assert [claim.text for claim in marked] == ["The seal is made of felt."]


async def test_what_covers_much_less_is_called_loose_once_for_each_other_page() -> None:
    few = {
        "Part A of the pump moves water.": 0.9,
        "Part B of the pump moves water.": 0.8,
        "The seal is made of felt.": 0.6,
    }
    report = await written(
        await progress_of({**few, "The seal lasts 300 hours.": 0.6, "Part C of the pump moves water.": 0.6})
    )
    assert [section.heading for section in report.sections] == [LOOSE]
    assert [s.text for s in report.summary.sentences] == list(few)[:2]
    assert [s.text for s in report.sections[0].sentences] == ["The seal is made of felt."]
    assert not list(broken_rules(report))


async def test_a_conflict_keeps_its_claims_in_the_report() -> None:
    low = "The seal lasts 300 hours."
    made = await progress_of({"Part A of the pump moves water.": 0.9, low: 0.3})
    sides = tuple(ConflictSide(item.claim.text, item.claim.claim_id, 1) for item in made.claims)
    report = await written(replace(made, conflicts=(Conflict(sides),)))
    assert low in [s.text for section in report.sections for s in section.sentences]


@pytest.mark.parametrize(("wanted", "marked"), [(None, 0), (0.0, 0), (0.6, len(MANY))])
async def test_claims_below_the_wanted_coverage_are_marked_and_stay(wanted: float | None, marked: int) -> None:
    report = await written(await progress_of(MANY), wanted_share=wanted)
    assert len(report.coverage.below) == marked
    assert sum("(one source)" in sentence.text for sentence in report.sentences()) == marked
    assert len(report.claims) == report.coverage.claims == len(MANY)
    told = "Support: 0 of 15 statements rest on 2 or more independent sources" in report.markdown
    assert told is bool(wanted), "where nobody asked for a second source, none is missed"


async def test_several_findings_are_a_list_and_neighbours_one_paragraph() -> None:
    report = await written(await progress_of(MANY))
    opens = [s.opens for section in report.sections for s in section.sentences if section.heading == "The pump"]
    assert opens[0]
    assert not any(opens[1:])


VERSIONS = {
    f"https://docs.test/{n}/pump": f"# Pump manual\n\n{'Water moves through the pump. ' * 3}Oil goes in at the top. "
    f"Close the lid with care. The pump stops after {n} minutes without water. Call the factory for parts."
    for n in (14, 15)
}


async def test_a_sentence_of_one_version_says_which() -> None:
    facts = {
        "The pump stops after 14 minutes without water.": 0.9,
        "The pump stops after 15 minutes without water.": 0.8,
    }
    report = await written(await progress_of(facts, VERSIONS))
    assert [sentence.label for sentence in report.summary.sentences] == ["Version 14", "Version 15"]
    assert "Version 15: The pump stops after 15 minutes without water. [2]" in report.markdown


async def test_what_the_answer_says_in_full_is_not_said_again_for_another_part() -> None:
    valve = "The valve of the pump opens at 12 bar."
    seal = "The seal lasts 300 hours."
    made = await progress_of({valve: 0.9, "Never open the valve while it turns.": 0.9, seal: 0.9})
    one, two, third = made.claims
    second = "When may it be opened?"
    both = replace(
        two.claim,
        text=f"{valve} {two.claim.text}",
        sub_question=second,
        evidence=(*one.claim.evidence, *two.claim.evidence),
    )
    progress = replace(
        made,
        plan=Plan((SubQuestion("1", QUESTION), SubQuestion("2", second))),
        claims=(one, replace(two, claim=both), third),
    )
    report = await written(progress)
    assert [sentence.text for sentence in report.sentences()] == [both.text, seal]

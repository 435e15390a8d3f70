"""A second publisher for printed claims: found by searching on, decided by the judge and the exact facts, on record."""

from dataclasses import replace
from typing import Any

import pytest

from pincite.audit.proofs import Proofs
from pincite.domain.budget import Metrics
from pincite.domain.evidence import JudgementLabel, Proof, Relation, evidence_sha256, named
from pincite.domain.ids import statement_sha256
from pincite.domain.plan import Task
from pincite.domain.report import ClaimMark, Report
from pincite.domain.report_words import coverage_text
from pincite.domain.statements import ONE_SOURCE_NOTE
from pincite.ports import Judge
from pincite.research.second_sources import WITHOUT_JUDGE, SecondSources
from pincite.research.service import ResearchService
from pincite.research.state import Limits
from pincite.testing.judges import LabelJudge, PageReader

QUESTION = "How long does the Halden ferry take to cross the sound, and how many cars does it carry?"
CROSSING = "The Halden ferry crosses the sound to the island in 45 minutes."
CARS = "The Halden ferry carries up to 18 cars on every crossing of the sound."
SAID_ELSEWHERE = "A boat needs 45 minutes from pier to pier, whatever the weather."
OTHER_VALUE = "There is room for 24 cars aboard on each crossing, says the harbour master."
OWN = {
    "https://ferry.test/a.html": f"# Halden ferry\n\n{CROSSING}\n\n{CARS}",
    "https://ferry.test/b.html": f"# Halden ferry for drivers\n\n{CARS}",
}
NEWS = {
    "https://coast.test/news.html": (
        f"# Halden, a visit\n\nThe café has 18 tables.\n\n{SAID_ELSEWHERE}\n\n{OTHER_VALUE}"
    )
}
LIMITS = Limits(independent_share=0.6, pages_per_round=2)
"""The first round reads two pages, and these are the ferry's own: who else says it has to be searched for."""
READS = PageReader({CROSSING: SAID_ELSEWHERE})


def service(made: Any, judge: Judge | None) -> ResearchService:
    """The service of the bench with second sources, as the profile `thorough` has it."""
    made.judge = judge
    plain: ResearchService = made.service()
    roles = plain._roles
    seconder = SecondSources(
        roles.searcher, roles.reader, judge, made.events, limits=made.limits, ranker=None, at=made.clock.now()
    )
    plain._roles = replace(roles, seconder=seconder)
    return plain


def claim(report: Report, text: str) -> Any:
    return next(claim for claim in report.claims if claim.text == text)


async def test_who_else_says_it_is_searched_for_and_cited(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=LIMITS)
    report = await service(made, READS).run(Task(QUESTION))
    found = claim(report, CROSSING)
    assert found.independent_sources == 2
    [second] = [item for item in found.evidence if item.relation is Relation.CORROBORATES]
    assert (second.url, second.quote) == ("https://coast.test/news.html", SAID_ELSEWHERE)
    assert found.proof is Proof.QUOTED
    assert not found.judgement, "the claim itself is in its page's own words"
    printed = next(s for s in report.sentences() if found.id in s.claim_ids)
    assert second.reference_n in printed.references
    assert claim(report, CARS).independent_sources == 1
    assert report.coverage.independent == 1
    assert claim(report, CARS).id in report.coverage.below
    assert CARS + " (one source)" in report.markdown


async def test_without_a_judge_nothing_in_other_words_counts_and_nothing_is_searched_for(bench: Any) -> None:
    made, plain = bench(OWN | NEWS, limits=LIMITS), bench(OWN | NEWS, limits=LIMITS)
    report = await service(made, None).run(Task(QUESTION))
    await plain.service().run(Task(QUESTION))
    assert WITHOUT_JUDGE in report.notes
    assert WITHOUT_JUDGE in report.markdown
    assert report.coverage.independent == 0
    assert made.web.searched == plain.web.searched


async def test_that_no_claim_has_a_second_source_is_said_once(bench: Any) -> None:
    report = await service(bench(OWN, limits=LIMITS), None).run(Task(QUESTION))
    assert len(report.claims) > 1
    assert set(report.coverage.below) == {claim.id for claim in report.claims}
    assert all(claim.marks == (ClaimMark.ONE_SOURCE,) for claim in report.claims), "programs are told of each"
    assert report.markdown.count(ONE_SOURCE_NOTE) == 1
    assert "(one source)" not in report.markdown
    assert "marked" not in coverage_text(report.coverage, report.notes)


async def test_another_figure_is_no_second_source_whatever_the_judge_says(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=LIMITS)
    credulous = LabelJudge({}, default=JudgementLabel.STATES)
    report = await service(made, credulous).run(Task(QUESTION))
    assert any(OTHER_VALUE in line.text for case in credulous.asked for line in case.lines), "it was put to the judge"
    seconds = [e for e in claim(report, CARS).evidence if e.relation is Relation.CORROBORATES]
    assert not seconds
    assert claim(report, CARS).independent_sources == 1


@pytest.mark.parametrize(
    "url",
    ["https://www.ferry.test/other.html", "https://coast.test/copy.html"],
    ids=["same publisher", "copy"],
)
async def test_one_publisher_and_copied_words_count_once(bench: Any, url: str) -> None:
    long = CROSSING.removesuffix(".") + ", which is less than the old boat needed on its best days."
    pages = {"https://ferry.test/a.html": f"# Halden ferry\n\n{long}", url: f"# Halden ferry today\n\n{long}"}
    credulous = LabelJudge({}, default=JudgementLabel.STATES)
    report = await service(bench(pages, limits=LIMITS), credulous).run(Task(QUESTION))
    assert report.claims
    assert all(claim.independent_sources == 1 for claim in report.claims)


async def test_a_share_that_is_met_ends_the_search(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=replace(LIMITS, independent_share=0.0))
    await service(made, READS).run(Task(QUESTION))
    plain = bench(OWN | NEWS, limits=LIMITS)
    await plain.service().run(Task(QUESTION))
    assert made.web.searched == plain.web.searched


async def test_a_run_made_again_asks_nothing_anew(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=LIMITS)
    first = await service(made, READS).run(Task(QUESTION))
    searched, fetched = list(made.web.searched), list(made.web.fetched)
    again = await service(made, READS).run(Task(QUESTION))
    assert (made.web.searched, made.web.fetched) == (searched, fetched)
    assert replace(again, metrics=Metrics()) == replace(first, metrics=Metrics())


async def test_the_check_wants_a_judgement_of_each_second_source(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=LIMITS)
    report = await service(made, READS).run(Task(QUESTION))
    stored = {e.document_id: await made.stores.documents.get(e.document_id) for c in report.claims for e in c.evidence}

    def wrong(report: Report) -> list[str]:
        proofs = Proofs(lambda item: stored[item.document_id], report.judgements, recorded=True)
        return [problem.what for claim in report.claims for problem in proofs.second_sources("claim", claim)]

    assert wrong(report) == []
    unjudged = replace(report, judgements=())
    assert wrong(unjudged) == ["is called a second source, and nobody judged that it is"]
    refused = tuple(replace(entry, label=JudgementLabel.PARTLY) for entry in report.judgements)
    assert set(wrong(replace(report, judgements=refused))) == set(wrong(unjudged)), "a part of it is no second source"
    found = claim(report, CROSSING)
    moved = replace(found, evidence=tuple(_shifted(item) for item in found.evidence))
    assert wrong(replace(report, claims=tuple(moved if c is found else c for c in report.claims))) == wrong(unjudged)


async def test_the_check_compares_the_figures_of_a_second_source(bench: Any) -> None:
    made = bench(OWN | NEWS, limits=LIMITS)
    report = await service(made, READS).run(Task(QUESTION))
    second = next(e for e in claim(report, CROSSING).evidence if e.relation is Relation.CORROBORATES)
    page = await made.stores.documents.get(second.document_id)
    start = page.text.index(OTHER_VALUE)
    forged = replace(second, quote=OTHER_VALUE, start=start, end=start + len(OTHER_VALUE), context=())
    cars = claim(report, CARS)
    context = next(e.context for e in cars.evidence if e.relation is Relation.SUPPORTS)
    said = statement_sha256(named(cars.text, context))
    entry = replace(report.judgements[0], statement_sha256=said, evidence_sha256=evidence_sha256([forged.passage]))
    proofs = Proofs(lambda _: page, (replace(entry, label=JudgementLabel.STATES),), recorded=True)
    [problem] = proofs.second_sources("claim", replace(cars, evidence=(*cars.evidence, forged)))
    assert problem.what == "18 is not in the passage"


def _shifted(item: Any) -> Any:
    if item.relation is not Relation.CORROBORATES:
        return item
    return replace(item, quote="18 tables", start=item.start - 12, end=item.start - 3)

"""What stands against what: figures, denials, versions; and how many independent sources stand behind each side."""

from typing import Any

from tests.fakes.small_web import SmallWeb

from pincite.domain.evidence import Claim, Evidence, JudgementLabel, Proof, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.fetch import FetchRequest
from pincite.domain.page import Block, BlockKind, Document
from pincite.domain.plan import Conflict, ReadPage, Task
from pincite.domain.report import ConflictKind
from pincite.research.extractive.conflicts import conflicts_between
from pincite.research.extractive.versions import versions_of
from pincite.testing.judges import LabelJudge

QUESTION = "What is the output of the Halden wind farm?"
FARM = {
    "https://news.test/farm": "# News\n\nThe Halden wind farm has a total output of 398 MW at full load.",
    "https://paper.test/farm": "# Paper\n\nWork ended in May. At full load the Halden wind farm has a total output of "
    "398 MW, says the mayor.",
    "https://blog.test/farm": "# Blog\n\nThe Halden wind farm has a total output of 412 MW at full load.",
}


async def test_sides_are_counted_by_independent_sources(bench: Any) -> None:
    report = await bench(FARM).service().run(Task(QUESTION))
    assert [(c.kind, c.wording) for c in report.conflicts] == [
        (ConflictKind.FIGURES, "2 independent sources say 398 MW, 1 says 412 MW")
    ]
    sides = report.conflicts[0].sides
    assert [side.independent_sources for side in sides] == [2, 1]
    assert all(side.evidence for side in sides)
    assert "2 independent sources say 398 MW, 1 says 412 MW" in report.markdown


async def test_the_number_of_a_table_is_no_value_that_pages_disagree_about(bench: Any) -> None:
    said = "The pumps of the Halden works are listed with their output and weight in Table"
    pages = {
        f"https://{name}.test/": f"# {name}\n\n{said} {number}.\n\nTable {caption} Pumps of {name}.\n\nEnd of {name}."
        for name, number, caption in (("north", "69.1", "69.1."), ("south", "68.1", "68.1."))
    }
    question = Task("Where are the pumps of the Halden works listed with their output?")
    report = await bench(pages).service().run(question)
    assert sum(said in claim.text for claim in report.claims) == 2
    assert report.conflicts == ()
    without = {url: text.partition("\n\nTable")[0] for url, text in pages.items()}
    (conflict,) = (await bench(without).service().run(question)).conflicts
    assert "69.1" in conflict.wording


async def test_the_number_of_a_paragraph_is_no_value_that_pages_disagree_about(bench: Any) -> None:
    said = "You may not copy or lend the pumps of the Halden works"
    pages = {
        "https://north.test/": f"# North\n\n(4) {said} except as agreed with the north.",
        "https://south.test/": f"# South\n\n8.1. {said}, except as agreed with the south.",
    }
    report = await bench(pages).service().run(Task("May I copy or lend the pumps of the Halden works?"))
    assert sum(said in claim.text for claim in report.claims) == 2
    assert report.conflicts == ()


async def test_listings_are_no_sides_of_a_conflict() -> None:
    """Two programs' usage has the same options and another version."""
    options = "; ".join(f"--{name} NAME sets the {name} of the Halden works" for name in ("output", "weight", "owner"))

    async def between(parting: str) -> list[Conflict]:
        found: dict[str, ReadPage] = {}
        claims: list[VerifiedClaim] = []
        for name, number in (("north", "4.17"), ("south", "3.12")):
            url, text = f"https://{name}.test/", f"Usage of works {number}{parting}{options}"
            page = await SmallWeb({url: text}).fetch(FetchRequest(url))
            found[url] = ReadPage(url, page.snapshot, Document("t", "1", (Block(BlockKind.CODE, text),)))
            evidence = Evidence(found[url].document.quote(0, len(text)), page.snapshot.snapshot_id, "", url)
            claim = Claim(f"claim_{name}", text, "What is its usage?", evidence=(evidence,))
            claims.append(VerifiedClaim(claim, Verdict(VerdictStatus.SUPPORTED), proof=Proof.QUOTED))
        return conflicts_between(claims, found)

    assert len(await between(": ")) == 1
    assert await between("\n") == []


async def test_a_copied_passage_is_one_source(bench: Any) -> None:
    same = "The Halden wind farm was opened in May and has a total output of 398 MW at full load, says its owner."
    apart = "The council of Mosen met on Tuesday. Boats of the old harbour are painted green in spring by its pupils."
    pages = {f"https://{name}.test/": f"# {name}\n\n{name} writes. {same}" for name in ("one", "two")}
    pages["https://three.test/"] = f"# three\n\n{same} {apart}"
    report = await bench(pages).service().run(Task(QUESTION))
    claim = next(claim for claim in report.claims if "398" in claim.text)
    # The page that says little else is named; of two that are one page but for a word, one.
    assert len({evidence.url for evidence in claim.evidence}) == 2
    assert claim.independent_sources == 1


async def test_the_same_words_elsewhere_are_cited_with_both_pages_and_count_as_one_source(bench: Any) -> None:
    said = "The Halden wind farm has a total output of 398 MW at full load."
    pages = {f"https://{name}.test/": f"# {name}\n\n{said} {name.title()} says so in print." for name in ("one", "two")}
    report = await bench(pages).service().run(Task("What is the total output of the Halden wind farm at full load?"))
    (claim,) = [claim for claim in report.claims if claim.text == said]
    assert len({evidence.url for evidence in claim.evidence}) == 2
    assert claim.independent_sources == 1


async def test_a_denial_is_a_conflict(bench: Any) -> None:
    pages = {
        "https://a.test/": "# Pump\n\nThe pump starts by itself after a power cut.",
        "https://b.test/": "# Pump notes\n\nThe pump does not start by itself after a power cut.",
    }
    question = Task("Does the pump start by itself after a power cut?")
    unjudged = await bench(pages).service().run(question)
    assert unjudged.conflicts == (), "what denies what is meaning: code alone does not say"
    judged = bench(pages)
    denied = ("The pump starts by itself after a power cut.", "The pump does not start by itself after a power cut.")
    judged.judge = LabelJudge(dict.fromkeys(denied, JudgementLabel.CONTRADICTS))
    report = await judged.service().run(question)
    assert [conflict.kind for conflict in report.conflicts] == [ConflictKind.DENIAL]


MANUAL = (
    "# Pump manual\n\nWater moves through the pump from left to right. Oil goes in at the top. Close the lid with "
    "care. The pump stops after {0} minutes without water. {1} Call the factory for parts and for advice."
)
MANUALS = {
    "https://docs.test/v14/pump.html": MANUAL.format(10, "The lid is locked by hand while it runs."),
    "https://docs.test/v15/pump.html": MANUAL.format(20, "The lid is locked by hand while it runs."),
}


async def test_two_versions_of_a_page_say_which_says_what(bench: Any) -> None:
    report = await bench(MANUALS).service().run(Task("After how many minutes without water does the pump stop?"))
    assert [(c.kind, c.wording) for c in report.conflicts] == [
        (ConflictKind.VERSIONS, "Version 15 says 20 minutes, version 14 says 10 minutes")
    ]
    labels = {s.text: s.label for s in report.sentences()}
    assert labels["The pump stops after 10 minutes without water."] == "Version 14"
    assert labels["The pump stops after 20 minutes without water."] == "Version 15"


async def test_what_all_versions_say_has_no_version(bench: Any) -> None:
    report = await bench(MANUALS).service().run(Task("How is the lid of the pump locked while it runs?"))
    sentence = next(s for s in report.sentences() if "locked by hand" in s.text)
    assert sentence.label == ""
    assert len(sentence.references) == 2


async def test_three_versions_do_not_make_an_answer_furniture(bench: Any) -> None:
    pages = {f"https://docs.test/v{n}/pump.html": MANUAL.format(10, "It hums.") for n in (13, 14, 15)}
    report = await bench(pages).service().run(Task("After how many minutes without water does the pump stop?"))
    assert any("10 minutes" in sentence.text for sentence in report.summary.sentences)
    assert not report.conflicts


async def test_chapters_are_not_versions(bench: Any) -> None:
    made = bench(
        {"https://docs.test/1.html": "# Pump\n\nOil and water.", "https://docs.test/2.html": "# Lid\n\nA lid."}
    )
    report = await made.service().run(Task("What about oil, water and the lid?"))
    assert all(not sentence.label for sentence in report.sentences())
    assert isinstance(made.web, SmallWeb)
    assert versions_of(()).label("https://docs.test/1.html") == ""


async def test_versions_of_a_page_are_one_source(bench: Any) -> None:
    pages = {url.replace("https://docs.test", "local:manuals"): text for url, text in MANUALS.items()}
    report = await bench(pages).service().run(Task("How is the lid of the pump locked while it runs?"))
    claim = next(claim for claim in report.claims if "locked by hand" in claim.text)
    assert len({evidence.url for evidence in claim.evidence}) == 2
    assert claim.independent_sources == 1

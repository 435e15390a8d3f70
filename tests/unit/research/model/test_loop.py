"""The loop: passages of long pages, parts that wait for another's answer, further rounds for what is missing."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.fakes.small_web import SmallWeb
from tests.unit.research.model.small_run import Small, at

from pincite.domain.events import EventType
from pincite.domain.fetch import FetchRequest
from pincite.domain.model import Material
from pincite.domain.page import QUOTED_NOTE, Block, BlockKind, Document, Mark, MarkKind
from pincite.domain.plan import ReadPage, SubQuestion, Task
from pincite.research.model.composer import _picked
from pincite.research.model.lines import Asked, SourceBook
from pincite.research.model.manuscript import Manuscript
from pincite.research.model.outputs import Composed, ComposedBlock, ComposedRow, ComposedSection, ComposedSentence
from pincite.research.model.writer import still_stands
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen, composed, paragraph, said, section
from pincite.text.tokens import token_estimate

FILLER = "\n\n".join(f"Paragraph {n} is about ferries and tides. " * 12 for n in range(60))
LONG = (
    "# Varden\n\nThe Varden lighthouse is 41 metres tall.\n\n"
    f"{FILLER}\n\n## Paint\n\nThe paint of the Varden lighthouse is renewed every nine years.\n\n{FILLER}"
)
URL = "https://long.test/varden"


async def pages_of(**pages: str | Document) -> list[ReadPage]:
    found = [(url, await SmallWeb(pages).fetch(FetchRequest(url))) for url in pages]
    return [ReadPage(url, fetched.snapshot, fetched.document) for url, fetched in found]


def texts(shown: Sequence[Material]) -> list[str]:
    return [text for material in shown for _, text in material.lines]


async def test_each_part_of_the_question_has_its_passages_of_a_long_page() -> None:
    book = SourceBook()
    asked = [Asked("How tall is the lighthouse?"), Asked("How often is the paint renewed?")]
    shown = book.look(await pages_of(**{URL: LONG}), asked, 1_000)
    told = " ".join(texts(shown))
    assert "41 metres" in told
    assert "nine years" in told
    assert ("#", "Paint") in shown[0].lines, "a line is seen with the heading it stands under"
    assert sum(len(text.split()) for text in texts(shown)) <= 1_000


async def test_no_line_is_shown_twice_and_ids_stay() -> None:
    book, pages = SourceBook(), await pages_of(**{URL: LONG})
    first = book.look(pages, [Asked("How tall is the lighthouse?")], 600)
    lines = dict(book.lines)
    more = book.look(pages, [Asked("How often is the paint renewed?")], 600)
    assert "nine years" in " ".join(texts(more))
    assert not {line.span for line in lines.values()} & {book.lines[n].span for n in book.lines if n not in lines}
    assert {name: book.lines[name] for name in lines} == lines
    book.take_back(first)
    assert not set(book.lines) & set(lines), "what nobody read can't be cited"
    again = book.look(pages, [Asked("How tall is the lighthouse?")], 600)
    assert "41 metres" in " ".join(texts(again)), "and may be shown again"


async def test_something_of_every_page_is_shown_whatever_is_asked() -> None:
    """It says what the page is about, in words that no part of the question may have."""
    pages = await pages_of(**{URL: LONG, "https://tide.test/": "# Tides\n\nA tower, in short."})
    shown = SourceBook().look(pages, [Asked("How often is the paint renewed?")], 700)
    assert "A tower, in short." in texts(shown)


async def test_what_a_page_crosses_out_is_not_shown_or_shown_as_that() -> None:
    old, new = "The lighthouse is open in May.", "The lighthouse costs 9 crowns 7 crowns to see."
    struck = (Mark(0, len(old), MarkKind.STRUCK), Mark(len(old) + 22, len(old) + 30, MarkKind.STRUCK))
    block = Block(BlockKind.PARAGRAPH, f"{old} {new}", marks=struck)
    page = Document("small", "1", (Block(BlockKind.HEADING, "Visits", level=1), block), title="Visits")
    shown = SourceBook().look(await pages_of(**{URL: page}), [Asked("When is the lighthouse open?")], 700)
    assert texts(shown) == ["The lighthouse costs ~~9 crowns~~ 7 crowns to see."]
    [offer] = SourceBook().offers(await pages_of(**{URL: page}), [Asked("When is the lighthouse open?")])
    assert offer.beginning == f"~~{old}~~ The lighthouse costs ~~9 crowns~~ 7 crowns to see."


async def test_what_a_mail_only_quotes_is_not_shown() -> None:
    said = Block(BlockKind.PARAGRAPH, "The lighthouse is open until June.", note=QUOTED_NOTE)
    page = Document("small", "1", (said, Block(BlockKind.PARAGRAPH, "No, the lighthouse is open in May.")), title="Re:")
    shown = SourceBook().look(await pages_of(**{URL: page}), [Asked("When is the lighthouse open?")], 700)
    assert texts(shown) == ["No, the lighthouse is open in May."]


async def test_one_page_leaves_room_for_others_that_are_as_likely() -> None:
    wall = "\n\n".join(f"The paint of the Varden lighthouse number {n} is red. " * 8 for n in range(40))
    pages = {f"https://{name}.test/": f"# Paint\n\n{wall}" for name in ("a", "b", "c", "d")}
    shown = SourceBook().look(await pages_of(**pages), [Asked("Which paint has the Varden lighthouse?")], 4_000)
    sizes = [sum(len(text) for _, text in material.lines) for material in shown]
    assert len(sizes) >= 3
    assert max(sizes) <= 0.45 * sum(sizes)


async def test_lists_of_names_are_not_shown_and_shared_sections_once() -> None:
    paint = "The paint of the Varden lighthouse is renewed every nine years, as its keepers write each spring. " * 3
    names = "\n".join(f"- paint of lighthouse {n}, Varden, Paint {n}" for n in range(60))
    pages = await pages_of(
        **{
            "https://a.test/": f"# Paint\n\n{paint}",
            "https://b.test/": f"# Copy\n\n{paint}\n\n## Colour\n\nIt was red until 1960.",
            "https://index.test/": f"# Index\n\n{names}",
        }
    )
    told = texts(SourceBook().look(pages, [Asked("How often is the paint of the Varden lighthouse renewed?")], 2_000))
    assert sum("every nine years" in text for text in told) == 3, "a passage that two pages share stands there once"
    assert not any("Paint 7" in text for text in told), "a name states nothing that could be cited"


async def test_the_passage_between_two_that_are_near_is_shown_too() -> None:
    near = "The paint of the Varden lighthouse is renewed by its keepers with care and patience in spring. " * 7
    hole = "This takes three weeks, for all of it is done by hand from ropes that hang down from the gallery. " * 7
    rest = "\n\n".join(f"Ferries and tides, number {n}, have nothing to do with that. " * 12 for n in range(20))
    pages = await pages_of(**{URL: f"# Varden\n\n## Upkeep\n\n{near}\n\n{hole}\n\n{near}Indeed.\n\n## Sea\n\n{rest}"})
    told = " ".join(texts(SourceBook().look(pages, [Asked("paint of the Varden lighthouse renewed")], 1_200)))
    assert "Indeed." in told
    assert "three weeks" in told


BELLS = "The bells of the tall Varden lighthouse ring when fog comes in, and nobody rows out then. " * 8
WIDE = {URL: LONG, "https://bells.test/": f"# Bells\n\n{BELLS}\n\n## Keeper\n\nIts keeper sleeps by day."}


def chooses(*beginnings: str) -> Any:
    """A model that takes the passages that begin so, by ids and runs of ids."""

    def choose(seen: Seen) -> Any:
        names = [name for name, text in seen.citable.items() for begin in beginnings if f"] {begin}" in text]
        return {"passages": [*names, f"{names[-1]}-{names[-1]}", "p9999", "no id", "p3-p1"]}

    return choose


async def wide_run(choose: Any, **given: Any) -> tuple[ScriptedModel, list[str]]:
    """A run over pages that are longer than what is shown, and what was shown to the composer."""
    run = Small(pages=WIDE)
    model = ScriptedModel({"choose": choose})
    await run.run(model, "How tall is the Varden lighthouse?", llm_source_tokens=2_000, **given)
    composed_of = next(seen for seen in model.seen if seen.task == "compose")
    return model, list(composed_of.citable.values())


async def test_a_model_chooses_what_is_shown_from_how_passages_begin() -> None:
    model, shown = await wide_run(chooses("Its keeper", "The Varden lighthouse is 41"))
    offer = next(seen for seen in model.seen if seen.task == "choose")
    assert "Its keeper sleeps by day." in shown, "which has no word of the question"
    assert "The Varden lighthouse is 41 metres tall." in shown
    assert any(title == "Bells" for title in offer.titles)
    assert re.search(r"^#: Keeper$", offer.user, re.MULTILINE), "offered under its heading"
    assert re.search(r"^p\d+: \[\d+\] Its keeper sleeps by day\.$", offer.user, re.MULTILINE)
    assert "Room: 1," in offer.ours
    begun = [text for text in offer.citable.values() if text.endswith("...")]
    assert begun
    assert all(len(text) < 150 for text in begun), "the beginning and not the passage"


async def test_what_opens_a_section_is_offered_before_what_only_goes_on() -> None:
    near = "The paint of the Varden lighthouse is renewed every nine years, as its keepers write. " * 8
    many = "\n\n".join(f"{near} Number {n}." for n in range(150))
    page = f"# Varden\n\n{many}\n\n## Visits\n\nIt may be visited in May.\n\n{FILLER}"
    offers = SourceBook().offers(await pages_of(**{URL: page}), [Asked("paint of the Varden lighthouse")])
    assert len(offers) == 125
    assert any(offer.beginning.startswith("It may be visited") for offer in offers)


async def test_of_a_manual_the_chapter_that_is_near_is_offered_before_its_preface() -> None:
    def chapter(name: str, number: int) -> str:
        text = f"This tells of {name.lower()} in many words. " * 3
        body = "\n\n".join(f"### {name} {n}\n\nOn point {n}. {text}" for n in range(number))
        return f"## {name}\n\nAll on {name.lower()}.\n\n{body}"

    near = "### Renewal\n\nThe paint of the lighthouse is renewed every nine years."
    chapters = [chapter("Preface", 130), f"{chapter('Upkeep', 30)}\n\n{near}", chapter("Ferries", 90)]
    pages = await pages_of(**{URL: "# Manual\n\n" + "\n\n".join(chapters)})
    offers = SourceBook().offers(pages, [Asked("How often is the paint of the lighthouse renewed?")])
    counts = Counter(offer.section[1] for offer in offers)
    assert len(offers) == 125
    assert counts["Upkeep"] >= 30, "all of the chapter"


async def test_tables_of_contents_and_running_heads_are_not_offered() -> None:
    paint = "The paint of the Varden lighthouse is renewed every nine years, as its keepers write each spring. " * 3
    names = "\n".join(f"- Paint of the Varden lighthouse, part {n}" for n in range(60))
    pages = await pages_of(
        **{
            "https://a.test/": f"# Paint\n\nPAINT(8) PAINT(8)\n\n## NAME\n\n{paint}",
            "https://index.test/": f"# Contents\n\n{names}",
        }
    )
    offers = SourceBook().offers(pages, [Asked("How often is the paint of the Varden lighthouse renewed?")])
    assert [offer.beginning[:20] for offer in offers] == ["The paint of the Var"]


async def test_what_follows_a_passage_unseen_has_an_end() -> None:
    near = "The paint of the Varden lighthouse is renewed every nine years, as its keepers write. " * 12
    page = f"# Varden\n\n## Paint\n\n{chr(10).join(f'{chr(10)}{near} Number {n}.' for n in range(400))}"
    offers = SourceBook().offers(await pages_of(**{URL: page}), [Asked("paint of the Varden lighthouse")])
    tails = [sum(beyond.tokens for beyond in offer.rest) for offer in offers]
    assert 1_000 < max(tails) <= 1_500


async def test_what_was_chosen_is_not_shown_again_of_another_page() -> None:
    paint = "The paint of the Varden lighthouse is renewed every nine years. " * 8
    pages = await pages_of(**{"https://a.test/": f"# Paint\n\n{paint}", "https://b.test/": f"# Copy\n\n{paint}"})
    book, asked = SourceBook(), [Asked("paint of the Varden lighthouse")]
    told = texts(book.look(pages, asked, 4_000, book.offers(pages, asked)[:1]))
    assert sum("every nine years" in text for text in told) == 8


async def test_a_section_can_be_had_whole_by_the_passage_that_opens_it() -> None:
    page = "# Varden\n\n" + "\n\n".join(
        f"## Year {n}\n\nThe year {n} opens so. " + "\n\n".join([f"In the year {n} the lamp burned oil. " * 15] * 3)
        for n in range(90)
    )
    offers = SourceBook().offers(await pages_of(**{URL: page}), [Asked("lighthouse")])
    assert {len(offer.rest) for offer in offers} > {0}, "not all of a long page is listed"
    at = next(number for number, offer in enumerate(offers, start=1) if offer.rest)
    opening = offers[at - 1]
    assert {beyond.section for beyond in opening.rest} == {opening.section}
    assert _picked([f"p{at}+", f"p{at}"], offers) == (opening, *opening.rest)
    assert _picked([f"p{at}"], offers) == (opening,)
    assert _picked([f"p{at}+1"], offers) == (opening, opening.rest[0])
    assert _picked([f"p{at}+999"], offers) == (opening, *opening.rest)
    assert _picked(["p0", "p1-p2", f"p{len(offers)}-p9999+"], offers)[:2] == offers[:2]
    assert _picked(["p9999+", "+", "p3-p1"], offers) == ()


async def test_a_line_of_a_page_that_was_captured_anew_counts_only_where_it_still_stands() -> None:
    told = "The Varden lighthouse is 41 metres tall."
    [page] = await pages_of(**{URL: f"# Varden\n\n{told} It is red."})
    [changed] = await pages_of(**{URL: f"# Varden\n\nIt was renovated in May. {told}"})
    book = SourceBook()
    book.look([page], [Asked("How tall is the lighthouse?")], 1_000)
    line = next(line for line in book.lines.values() if line.text == told)
    assert still_stands(line, page)
    assert not still_stands(line, changed), "other words are at its place now"


async def test_few_chosen_passages_are_filled_up_by_words() -> None:
    _, shown = await wide_run(chooses("Its keeper"))
    assert "Its keeper sleeps by day." in shown
    assert "The Varden lighthouse is 41 metres tall." in shown


@pytest.mark.parametrize("choose", [{"passages": []}, {"passages": ["p9999", "x"]}, "no ids at all"])
async def test_words_choose_where_no_model_does(choose: Any) -> None:
    model, shown = await wide_run(choose, llm_retries=1)
    assert "The Varden lighthouse is 41 metres tall." in shown
    assert not any("Its keeper" in text for text in shown)
    assert model.seen[-1].task != "choose", "the run goes on"


async def test_what_choosing_takes_is_taken_from_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[str, float] = {}
    generate = ScriptedModel.generate

    async def slowly(self: ScriptedModel, role: Any, prompt: Any, *asked: Any, deadline_s: float, **given: Any) -> Any:
        left[prompt.name] = deadline_s
        await anyio.sleep(0.2 if prompt.name == "choose" else 0)
        return await generate(self, role, prompt, *asked, deadline_s=deadline_s, **given)

    monkeypatch.setattr(ScriptedModel, "generate", slowly)
    await wide_run(chooses("Its keeper"), deadline_s=100)
    assert left["compose"] <= left["choose"] - 0.2


@pytest.mark.parametrize(("room", "asked"), [(1.2, True), (2.5, False)])
async def test_nobody_is_asked_to_choose_where_the_room_beside_a_list_holds_everything(
    room: float, asked: bool
) -> None:
    tokens = token_estimate("".join(WIDE.values()))
    model = FaithfulModel()
    await Small(pages=WIDE).run(model, "How tall is the Varden lighthouse?", llm_source_tokens=round(room * tokens))
    assert ("choose" in {seen.task for seen in model.seen}) == asked


FIRST, SECOND = "Who built the Varden lighthouse?", "Where was its builder born?"
BORN = "https://people.test/holm"
PEOPLE = {BORN: "# Anna Holm\n\nAnna Holm came from Quarrion.\n"}
PLAN: Any = {
    "parts": [
        {"question": FIRST, "heading": "Builder", "kind": "person", "queries": ["Varden lighthouse built"]},
        {"question": SECOND, "heading": "Birth", "kind": "place", "queries": ["birthplace"], "depends_on": 1},
    ]
}


def builder(seen: Seen) -> Any:
    """What the pages say of the builder for part 1, and that her birth is missing, now that her name is known."""
    born: Any = {"part": "2", "what": "", "queries": ["Anna Holm born"], "question": "Where was Anna Holm born?"}
    told = [said(text, name, part="1") for name, text in seen.citable.items() if "built by" in text]
    return composed(told[:1], missing=[born])


def birth(seen: Seen) -> Any:
    told = [said(text, name, part="2") for name, text in seen.citable.items() if "came from" in text]
    return composed(sections=[section("Birth", paragraph(*told))] if told else [])


async def test_a_part_waits_for_the_answer_of_another() -> None:
    model = ScriptedModel({"planner": PLAN, "compose": [builder, birth]})
    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    first, second = (seen for seen in model.seen if seen.task == "compose")
    assert "(needs the answer of 1)" in first.ours
    assert "Where was Anna Holm born?" in second.parts.values()
    assert list(second.parts) == ["2"], "what is answered is not asked for again"
    assert "@1: The Varden lighthouse was built by Anna Holm" in second.user, "what stands is in sight"
    assert not re.search(r"\n\w+\d+: The Varden lighthouse was built by", second.user), "its line says nothing more"
    assert [sentence.text for sentence in report.sentences()] == [
        "The Varden lighthouse was built by Anna Holm in 1897 on the northern cape of the island.",
        "Anna Holm came from Quarrion.",
    ]
    assert [(part.text, part.status) for part in report.parts] == [
        (FIRST, "answered"),
        ("Where was Anna Holm born?", "answered"),
    ]
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [change["change"] for change in changes] == ["reworded"]


async def test_a_part_that_nobody_planned_is_added_with_its_reason() -> None:
    def more(seen: Seen) -> Any:
        found: Any = {
            "part": "new",
            "what": "where Anna Holm was born",
            "queries": ["Anna Holm born"],
            "question": "Where was Anna Holm born?",
        }
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=[found])

    def told(seen: Seen) -> Any:
        born = [said(text, name, part="2") for name, text in seen.citable.items() if "came from" in text]
        return composed(sections=[section("Birth", paragraph(*born))] if born else [])

    plan: Any = {"parts": PLAN["parts"][:1]}
    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(ScriptedModel({"planner": plan, "compose": [more, told]}), max_rounds=2)
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [(c["change"], c["part"], c["reason"]) for c in changes] == [
        ("added", "Where was Anna Holm born?", "where Anna Holm was born")
    ]
    assert "Anna Holm came from Quarrion." in [sentence.text for sentence in report.sentences()]
    assert [part.status for part in report.parts] == ["answered", "answered"]


async def test_what_nobody_asked_for_is_a_gap_where_it_is_missing_and_the_answer_is_whole() -> None:
    def more(seen: Seen) -> Any:
        found: Any = {"part": "new", "what": "her birth", "queries": ["Anna Holm born"], "question": "Born where?"}
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=[found])

    still: Any = {"part": "2", "what": "her birth", "queries": []}
    model = ScriptedModel({"planner": {"parts": PLAN["parts"][:1]}, "compose": [more, composed(missing=[still])]})
    run = Small()
    run.pages.update({BORN: "# Anna Holm\n\nAnna Holm wrote letters about where she was born.\n"})
    report = await run.run(model, FIRST, max_rounds=2)
    assert [part.text for part in report.parts] == [FIRST]
    assert ("Born where?", "her birth") in [(gap.sub_question, gap.reason) for gap in report.gaps]
    assert report.status == "complete"
    again = ScriptedModel({"planner": {"parts": PLAN["parts"][:1]}, "compose": [more]})
    capped = await Small().run(again, FIRST, max_rounds=2, max_pages=1)
    assert any("cap on pages" in gap.reason for gap in capped.gaps), "said, and nothing is taken from the answer for it"
    assert capped.status == "complete"


async def test_a_later_look_builds_on_what_was_mended_and_is_told_what_was_refused() -> None:
    """Both are sections of a closed part, which are proven while the next round searches."""
    wrong, lie, right = "The lamp is 57 metres.", "It was built in 1066.", "41 metres tall is the Varden `lighthouse`."

    def first(seen: Seen) -> Any:
        found: Any = [{"part": "2", "queries": ["Anna Holm born"]}]
        told = [said(wrong, at(seen, "41 metres"), part="1"), said(lie, at(seen, "built by"), part="1")]
        return composed([said(FIRST, at(seen, "built by"))], [section("Tower", paragraph(*told))], found)

    def mend(seen: Seen) -> Any:
        failed = {text: name.split()[0] for name, text in seen.lines.items() if name.endswith(" sentence")}
        return {"repairs": [{"id": failed[wrong], "text": right, "lines": []}] if wrong in failed else []}

    def anew(seen: Seen) -> Any:
        told = [said(text, name, part="2") for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(sections=[section("Tower", paragraph(said("@2"), *told))])

    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [first, anew], "rewrite": mend})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    second = [seen for seen in model.seen if seen.task == "compose"][-1].blocks["The report so far"]
    assert second["@2"].startswith(f"{right} (")
    assert "refused: " in second["@3"]
    assert "refused: " not in second["@2"]
    lines = [text for name, text in second.items() if re.fullmatch(r"[a-z]+\d+", name)]
    assert [("built by" in text) for text in lines] == [True], "what is to be changed has its lines in sight"
    assert [sentence.text for sentence in report.sections[0].sentences] == [
        right.replace("`", ""),
        "Anna Holm came from Quarrion.",
    ]
    judged = [text for seen in model.seen if seen.task == "judge_statements" for text in seen.statements.values()]
    assert judged.count(right.replace("`", "")) == 1, "what stands keeps its proof"


async def test_a_later_look_has_its_whole_room_for_what_is_chosen() -> None:
    """The list of what is on offer takes nothing from it."""
    many = "\n\n".join(f"Anna Holm came from Quarrion, says letter {n} of her brother. " * 9 for n in range(200))
    run = Small()
    run.pages.update(PEOPLE)
    run.pages["https://letters.test/all"] = f"# Letters about Anna Holm born\n\n{many}"
    choose: Any = {"passages": ["p1-p99"]}
    model = ScriptedModel({"planner": PLAN, "compose": [builder, birth], "choose": choose})
    await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2, llm_source_tokens=4_000)
    last = [seen for seen in model.seen if seen.task == "choose"][-1]
    assert "Room: 1,320 tokens." in last.ours


async def test_parts_beyond_what_a_round_adds_are_said_to_be_left_out() -> None:
    def more(seen: Seen) -> Any:
        found: Any = [
            {"part": "new", "what": f"her {of}", "queries": [f"Anna Holm {of}"], "question": f"Who was her {of}?"}
            for of in ("mother", "father", "sister", "brother", "teacher", "friend")
        ]
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:1], missing=found)

    run = Small()
    await run.run(ScriptedModel({"planner": PLAN, "compose": [more, composed()]}), max_rounds=2)
    changes = [event.data for event in run.events.events if event.type is EventType.PLAN_CHANGED]
    assert [change["change"] for change in changes] == ["added"] * 4 + ["left_out"] * 2
    assert (changes[-1]["part"], changes[-1]["reason"]) == ("Who was her friend?", "her friend")


async def test_a_part_that_waits_for_nothing_keeps_its_words() -> None:
    def other(seen: Seen) -> Any:
        found: Any = [{"part": "1", "what": "", "queries": ["Varden paint"], "question": "Who painted Anna Holm?"}]
        return composed([said(text, name) for name, text in seen.citable.items()][:1], missing=found)

    run = Small()
    report = await run.run(ScriptedModel({"planner": PLAN, "compose": other}), max_rounds=2)
    assert FIRST in [part.text for part in report.parts]
    assert "Who painted" not in report.markdown


async def test_what_is_missing_is_searched_for_and_told_with_its_queries() -> None:
    def no_birth(seen: Seen) -> Any:
        found: Any = {"part": "2", "what": "where she was born", "queries": ["Anna Holm birthplace"]}
        return composed([said(text, name, part="1") for name, text in seen.citable.items()][:2], missing=[found])

    run = Small()
    model = ScriptedModel({"planner": PLAN, "compose": no_birth})
    report = await run.run(model, "Who built the Varden lighthouse, and where was she born?", max_rounds=2)
    [gap] = [gap for gap in report.gaps if gap.sub_question == SECOND]
    assert gap.reason == "where she was born"
    assert "Anna Holm birthplace" in gap.queries
    sent = [str(event.data["query"]) for event in run.events.events if event.type is EventType.SEARCH_COMPLETED]
    assert "Anna Holm birthplace" in sent
    assert {part.text: part.status for part in report.parts} == {FIRST: "answered", SECOND: "not_in_these_sources"}


async def test_a_later_round_adds_to_the_report_and_takes_nothing_away() -> None:
    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [builder, "no report at all"]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2, llm_retries=1)
    assert "Anna Holm" in " ".join(sentence.text for sentence in report.sentences())
    assert report.mode == "model", "what was composed before stands"


def tower(seen: Seen) -> Any:
    """An answer and two sections of what is shown; where she was born is missing."""
    told = [said(text, name) for name, text in seen.citable.items()]
    found: Any = [{"part": "2", "queries": ["Anna Holm born"]}]
    return composed(told[:1], [section("Tower", paragraph(told[1])), section("Limits", paragraph(told[2]))], found)


async def test_a_later_look_gives_the_whole_report_and_names_what_stands() -> None:
    shown: list[str] = []

    def anew(seen: Seen) -> Any:
        shown.extend(name for name in seen.blocks["The report so far"] if name.startswith("@"))
        told = [said(text, name) for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(
            [said("@2")],
            [
                section("Lamp and builder", paragraph(said("@3"), *told, said("@99"))),
                section("Tower", paragraph(said("@1"))),
            ],
        )

    run = Small()
    run.pages.update(PEOPLE)
    report = await run.run(ScriptedModel({"planner": PLAN, "compose": tower}), max_rounds=1)
    one, two, three = [sentence.text for sentence in report.sentences()]
    model = ScriptedModel({"planner": PLAN, "compose": [tower, anew]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    assert shown == ["@1", "@2", "@3"]
    assert [sentence.text for sentence in report.summary.sentences] == [two]
    assert [(part.heading, [line.text for line in part.sentences]) for part in report.sections] == [
        ("Lamp and builder", [three, "Anna Holm came from Quarrion."]),
        ("Tower", [one]),
    ]
    gone = [e.data for e in run.events.events if e.type is EventType.SECTION_READY and not e.data["text"]]
    assert all(event["revised"] and event["heading"] == "Limits" for event in gone)


async def test_code_that_stands_by_its_name_keeps_what_are_examples_in_it() -> None:
    manuscript = Manuscript(SourceBook())
    code = ComposedBlock("code", (ComposedSentence("git switch wip", ("a1",), derived=True),), header=("wip",))
    manuscript.take_in(Composed(sections=(ComposedSection("Branches", (code,)),)), "m", (), {})
    by_name = replace(code, items=(ComposedSentence("@1", ()),))
    manuscript.take_in(Composed(sections=(ComposedSection("Once more", (replace(by_name, header=()),)),)), "m", (), {})
    assert manuscript.sections == (ComposedSection("Once more", (code,)),)
    manuscript.take_in(
        Composed(sections=(ComposedSection("Again", (replace(by_name, header=("git",)),)),)), "m", (), {}
    )
    assert manuscript.sections[0].blocks[0].header == ("git",), "unless other ones are named"


async def test_cells_stand_by_their_names_and_an_unknown_name_is_an_empty_cell() -> None:
    book = SourceBook()
    manuscript = Manuscript(book)
    first = ComposedRow("Tower", (ComposedSentence("41 metres", ("a1",)), ComposedSentence("Anna Holm", ("a2",))))
    rows = ComposedBlock("table", header=("Name", "Height", "Builder"), rows=(first,))
    manuscript.take_in(Composed(sections=(ComposedSection("Towers", (rows,)),)), "m", (), {})
    again = ComposedRow("Tower", tuple(ComposedSentence(name, ()) for name in ("@2", "@7")))
    turned = replace(rows, header=("Name", "Builder", "Height"), rows=(again,))
    manuscript.take_in(Composed(sections=(ComposedSection("Towers", (turned,)),)), "m", (), {})
    [cells] = [row.cells for row in manuscript.sections[0].blocks[0].rows]
    assert [(cell.text, cell.lines) for cell in cells] == [("Anna Holm", ("a2",)), ("", ())]


async def test_a_later_look_that_gives_only_what_is_new_takes_nothing_away() -> None:
    def wide(seen: Seen) -> Any:
        made: Any = tower(seen)
        filler = " ".join(f"word{n}" for n in range(40))
        made["sections"][0]["blocks"][0]["items"].append(said(filler))  # rests on no line: never printed
        return made

    def more(seen: Seen) -> Any:
        told = [said(text, name) for name, text in seen.citable.items() if "Quarrion" in text]
        return composed(sections=[section("tower", paragraph(*told)), section("Birth", paragraph(*told))])

    run = Small()
    run.pages.update(PEOPLE)
    model = ScriptedModel({"planner": PLAN, "compose": [wide, more]})
    report = await run.run(model, "Where was the builder of the Varden lighthouse born?", max_rounds=2)
    assert [part.heading for part in report.sections] == ["Tower", "Limits"], "said once"
    assert report.sections[0].sentences[-1].text == "Anna Holm came from Quarrion."
    assert report.sections[1].sentences, "what closes the report stands at its end"


@pytest.mark.parametrize("count", [12, 40])
async def test_a_plan_of_forty_parts_is_eight(count: int) -> None:
    parts: Any = [
        {"question": f"How tall is Varden tower {chr(65 + n % 26)}{n}?", "heading": "x", "kind": "", "queries": []}
        for n in range(count)
    ]
    missing: Any = [{"part": str(n), "queries": [f"Varden {n}"], "question": f"Varden {n}?"} for n in range(60)]
    run = Small()
    await run.run(ScriptedModel({"planner": {"parts": parts}, "compose": composed(missing=missing)}), max_rounds=3)
    plans: list[Any] = [
        event.data["sub_questions"] for event in run.events.events if event.type is EventType.PLAN_CREATED
    ]
    assert all(len(plan) <= 8 for plan in plans)
    left = [e.data for e in run.events.events if e.type is EventType.PLAN_CHANGED and e.data["change"] == "left_out"]
    assert "a plan has 8 parts at most" in {event["reason"] for event in left}


async def test_a_part_that_leads_on_from_another_is_kept_and_one_left_out_is_told() -> None:
    texts = ("How is the Varden lighthouse lit?", "Which oil do lamps burn that are lit by hand?", "Who owns Paris?")
    parts: Any = [{"question": text, "heading": "", "kind": "", "queries": []} for text in texts]
    run = Small()
    await run.run(ScriptedModel({"planner": {"parts": parts}}))
    plan: Any = next(e.data["sub_questions"] for e in run.events.events if e.type is EventType.PLAN_CREATED)
    assert [part["text"] for part in plan] == list(texts[:2])
    left = [e.data for e in run.events.events if e.type is EventType.PLAN_CHANGED]
    assert [(e["change"], e["part"], e["reason"]) for e in left] == [
        ("left_out", texts[2], "it shares no word with the question")
    ]


async def test_a_plan_that_the_asker_changed_is_taken_as_it_is() -> None:
    model = FaithfulModel()
    part = SubQuestion("1", "How tall is the Varden lighthouse?", heading="Height")
    report = await Small().run(model, task=Task("Tell me about Varden.", parts=(part,)))
    assert "planner" not in {seen.task for seen in model.seen}
    assert [found.text for found in report.parts] == [part.text]


async def test_pages_without_a_word_of_the_question_are_shown_from_their_beginning() -> None:
    """The register says "Height: 41 metres" and never the name of its lighthouse."""
    book, pages = SourceBook(), await pages_of(**{"https://register.test/": "# Register\n\nOf 41 metres."})
    assert "Of 41 metres." in texts(book.look(pages, [Asked("How tall is the Varden lighthouse?")], 1_000))
    assert not book.look(pages, [Asked("How tall is the Varden lighthouse?")], 1_000), "once"

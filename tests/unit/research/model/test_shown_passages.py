"""What of long pages a model is shown: passages near the question, those that it chooses itself, each once."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from tests.fakes.small_web import SmallWeb
from tests.unit.research.model.small_run import Small

from pincite.domain.fetch import FetchRequest
from pincite.domain.model import Material
from pincite.domain.page import QUOTED_NOTE, Block, BlockKind, Document, Mark, MarkKind
from pincite.domain.plan import ReadPage
from pincite.research.model.composer import _picked
from pincite.research.model.lines import Asked, SourceBook
from pincite.research.model.writer import still_stands
from pincite.testing.models import FaithfulModel, ScriptedModel, Seen
from pincite.text.context import is_whole
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


async def test_a_row_is_shown_without_its_empty_first_cells_and_is_whole_so() -> None:
    """Questions and answers in two columns: an answer could be cited by nobody, as it began with a mark of ours."""
    rows = (("1.", "When is the lighthouse open?"), ("", "It is open in May. In June it is closed."), ("", ""))
    page = Document(
        "small", "1", (Block(BlockKind.TABLE, "\n".join(map(" | ".join, rows)), rows=rows),), title="Visits"
    )
    book, pages = SourceBook(), await pages_of(**{URL: page})
    shown = book.look(pages, [Asked("When is the lighthouse open?")], 700)
    assert texts(shown) == ["1. | When is the lighthouse open?", "It is open in May. In June it is closed."]
    for line in book.lines.values():
        assert is_whole(page, line.span.start, line.span.end)
    assert not is_whole(page, page.text.index("When is"), page.text.index("?") + 1)


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
    assert "Room: 2,000" in offer.ours
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


async def test_options_that_a_program_lists_in_rows_are_offered() -> None:
    rows = "\n".join(f"-{n} <paint> paint the lighthouse in colour {n}" for n in "abcdef")
    page = Document("small", "1", (Block(BlockKind.PARAGRAPH, rows),), title="Paint")
    offers = SourceBook().offers(await pages_of(**{URL: page}), [Asked("Which options paint the lighthouse?")])
    assert [offer.beginning[:10] for offer in offers] == ["-a <paint>"]


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


@pytest.mark.parametrize(("room", "asked"), [(0.7, True), (2.5, False)])
async def test_nobody_is_asked_to_choose_where_the_room_holds_everything(room: float, asked: bool) -> None:
    tokens = token_estimate("".join(WIDE.values()))
    model = FaithfulModel()
    await Small(pages=WIDE).run(model, "How tall is the Varden lighthouse?", llm_source_tokens=round(room * tokens))
    assert ("choose" in {seen.task for seen in model.seen}) == asked


async def test_pages_without_a_word_of_the_question_are_shown_from_their_beginning() -> None:
    """The register says "Height: 41 metres" and never the name of its lighthouse."""
    book, pages = SourceBook(), await pages_of(**{"https://register.test/": "# Register\n\nOf 41 metres."})
    assert "Of 41 metres." in texts(book.look(pages, [Asked("How tall is the Varden lighthouse?")], 1_000))
    assert not book.look(pages, [Asked("How tall is the Varden lighthouse?")], 1_000), "once"

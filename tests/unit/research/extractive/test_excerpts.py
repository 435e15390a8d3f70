"""What is printed of a passage that answers: whole paragraphs, lists, rows, definitions, code, word for word."""

import re
from typing import Any

import pytest

from pincite.domain.evidence import Proof
from pincite.domain.layout import ExcerptKind
from pincite.domain.page import Block, BlockKind, Document, Mark, MarkKind
from pincite.domain.plan import Task
from pincite.domain.report import PartStatus, ReportStatus
from pincite.ranking.ranker import PassageRanker, Source
from pincite.research.extractive.comparisons import names_of
from pincite.research.extractive.excerpts import Excerpt, excerpts_of, marked_words, stands_alone
from pincite.research.extractive.writer import page_names


def page_of(title: str, *blocks: Block) -> Document:
    return Document("t", "1", blocks, title=title)


HOW_TO = page_of(
    "Owl boxes",
    Block(BlockKind.HEADING, "Building", level=1),
    Block(BlockKind.PARAGRAPH, "An owl box is built in three steps:"),
    Block(BlockKind.LIST_ITEM, "Saw the boards of larch.", ordered=True, number=1),
    Block(BlockKind.LIST_ITEM, "Screw the boards of the owl box together.", ordered=True, number=2),
    Block(BlockKind.LIST_ITEM, "Hang the box on the barn.", ordered=True, number=3),
    Block(BlockKind.HEADING, "Ordering", level=1),
    Block(BlockKind.PARAGRAPH, "The order of boards is written by the command below. It needs no argument."),
    Block(BlockKind.CODE, "boards --order\nboards --send", language="sh"),
    Block(BlockKind.HEADING, "Prices", level=1),
    Block(
        BlockKind.TABLE,
        "board | price\nlarch plank | 12 euros\noak plank | 30 euros",
        rows=(("board", "price"), ("larch plank", "12 euros"), ("oak plank", "30 euros")),
        has_header=True,
    ),
)


def excerpts(question: str, page: Document = HOW_TO) -> tuple[Excerpt, ...]:
    ranking = PassageRanker().rank(question, [Source("https://owls.test/", page)])
    return excerpts_of(ranking.passages[0], ranking.terms, ranking.rarity)


def texts(found: Excerpt) -> list[str]:
    return [HOW_TO.text[unit.start : unit.end] for unit in found.units]


def test_what_a_text_introduces_comes_with_it_as_steps() -> None:
    intro, steps = excerpts("How is an owl box built in steps?")
    assert texts(intro) == ["An owl box is built in three steps:"]
    assert [text.split()[0] for text in texts(steps)] == ["Saw", "Screw", "Hang"]
    assert steps.form == "step"


@pytest.mark.parametrize(
    ("text", "links", "printed"),
    [
        ("Owl boxes, Owl barns", [(0, 9), (11, 20)], False),
        ("Owl boxes, Owl barns", [(0, 9)], True),
        ("Owls nest in boxes, barns.", [(0, 18), (20, 25)], True),
    ],
)
def test_links_without_a_sentence_are_no_answer(text: str, links: list[tuple[int, int]], printed: bool) -> None:
    marks = tuple(Mark(start, end, MarkKind.LINK, href="https://owls.test/b") for start, end in links)
    page = page_of("Owls", Block(BlockKind.HEADING, "See also", level=1), Block(BlockKind.PARAGRAPH, text, marks=marks))
    assert bool(excerpts("owl boxes", page)) is printed


def test_an_item_comes_behind_the_sentence_that_introduces_its_list() -> None:
    intro, steps = excerpts("Where is larch hung, on the barn?")
    assert texts(intro) == ["An owl box is built in three steps:"]
    assert "Hang the box on the barn." in texts(steps)


def test_a_passage_is_printed_whole_in_its_order_up_to_a_heading() -> None:
    page = page_of(
        "Owl feeder",
        Block(BlockKind.HEADING, "Feeding", level=1),
        Block(BlockKind.PARAGRAPH, "The feeder of owls has two modes."),
        Block(BlockKind.PARAGRAPH, "By day nothing is given out. All of it stays in the box until the sun sets."),
        Block(BlockKind.CODE, "feed --night", language="sh"),
        Block(BlockKind.LIST_ITEM, "Mice are given out first."),
        Block(BlockKind.LIST_ITEM, "Voles follow after an hour."),
        Block(BlockKind.PARAGRAPH, "Six sentences are no reason to stop. Nor is a list or a line of code."),
        Block(BlockKind.HEADING, "Cleaning", level=1),
        Block(BlockKind.PARAGRAPH, "It is cleaned once a week."),
    )
    found = excerpts("Which modes has the feeder of owls?", page)
    assert [[page.text[unit.start : unit.end] for unit in excerpt.units] for excerpt in found] == [
        [
            "The feeder of owls has two modes.",
            "By day nothing is given out.",
            "All of it stays in the box until the sun sets.",
        ],
        ["feed --night"],
        ["Mice are given out first.", "Voles follow after an hour."],
        ["Six sentences are no reason to stop.", "Nor is a list or a line of code."],
    ]


def test_what_stands_under_another_term_is_not_printed_under_this_one() -> None:
    page = page_of(
        "Owl rights",
        Block(BlockKind.TERM, "FEED"),
        Block(BlockKind.DEFINITION, "Allows feeding of an owl."),
        Block(BlockKind.TERM, "RING"),
        Block(BlockKind.DEFINITION, "Allows ringing of an owl."),
    )
    ranking = PassageRanker().rank("What allows feeding of an owl?", [Source("https://owls.test/", page)])
    assert len(ranking.passages) == 1, "both are one passage"
    (found,) = excerpts_of(ranking.passages[0], ranking.terms, ranking.rarity)
    assert [page.text[unit.start : unit.end] for unit in found.units] == ["Allows feeding of an owl."]


def test_code_comes_whole_behind_what_is_said_of_it() -> None:
    said, code = excerpts("Which command writes the order of boards?")
    assert texts(said)[0].startswith("The order of boards is written")
    assert texts(code) == ["boards --order\nboards --send"]


async def test_of_long_code_the_lines_that_answer_are_printed_and_counted(bench: Any) -> None:
    lines = [f"box_{number} = plank" for number in range(1, 301)]
    lines[249] = "owl_camera = north"
    page = "# Owl boxes\n\n## Settings\n\nAll boxes of the barn:\n\n```ini\n" + "\n".join(lines) + "\n```\n"
    report = (
        await bench({"https://owls.test/": page}).service().run(Task("Where does the owl_camera of owl boxes look?"))
    )
    assert "owl_camera = north" in report.markdown
    assert "box_1 = plank\n" not in report.markdown
    assert re.search(r"\*\*Owl boxes › Settings › lines \d+ to \d+ of 300\*\*", report.markdown)


async def test_of_code_that_is_printed_whole_no_lines_are_counted(bench: Any) -> None:
    code = "\n".join(f"hang --box {number}" for number in range(1, 41))
    page = f"# Owl boxes\n\nEach owl box is hung by a command of its own.\n\n```sh\n{code}\n```\n"
    report = await bench({"https://owls.test/": page}).service().run(Task("Which command hangs an owl box?"))
    assert "> hang --box 40\n" in report.markdown
    assert "lines" not in report.markdown


async def test_a_passage_whose_opening_is_printed_already_is_left_out(bench: Any) -> None:
    said = "The owl box of the barn holds most owls at one time."
    page = f"# Owl boxes\n\n## In summer\n\n{said}\n\n## In winter\n\n{said} To clear it, shake the box of the barn."
    report = await bench({"https://owls.test/": page}).service().run(Task("How many owls does an owl box hold?"))
    assert said in report.markdown
    assert "To clear it" not in report.markdown or f"{said} To clear it" in report.markdown


def test_of_a_table_the_rows_that_matter_are_shown() -> None:
    (rows,) = excerpts("What is the price of an oak plank?")
    assert "oak plank | 30 euros" in texts(rows)
    assert rows.form == "row"


def test_the_name_of_a_table_is_no_sentence_and_a_caption_in_sentences_is_some() -> None:
    page = page_of(
        "Owl boxes",
        Block(BlockKind.PARAGRAPH, "The price of an owl box of larch wood is in the table."),
        Block(BlockKind.CAPTION, "Prices of Owl Boxes"),
        Block(BlockKind.CAPTION, "An owl box of larch wood lasts for forty years."),
        Block(BlockKind.PARAGRAPH, "Owl Boxes and Their Prices"),
        Block(BlockKind.TABLE, "larch box | 12 euros", rows=(("larch box", "12 euros"),)),
    )
    shown = [unit for found in excerpts("price of an owl box", page) for unit in found.units]
    assert [page.text[unit.start : unit.end][:12] for unit in shown] == ["The price of", "An owl box o"]


async def test_passages_under_one_heading_follow_each_other_as_on_their_page(bench: Any) -> None:
    filler = " ".join(f"Keeper number {n} of the mill wrote a long letter about larch wood and rain." for n in range(9))
    page = (
        f"# Barn owls\n\n## Food\n\nThe barn owl eats what runs.\n\n{filler}\n\nFour mice a night is what a barn owl "
        f"eats, a night of winter.\n\n- mice are eaten whole\n- voles are eaten whole\n\n{filler}"
    )
    report = await bench({"https://owls.test/": page}).service().run(Task("How many mice does a barn owl eat a night?"))
    shown = report.markdown.partition("## From the sources")[2]
    order = ["eats what runs", "number 8", "Four mice a night", "- voles are eaten whole"]
    assert order == sorted(order, key=shown.index)
    assert shown.count("**Barn owls › Food**") == 1


async def test_entries_under_one_heading_stand_in_the_order_of_their_likelihood(bench: Any) -> None:
    filler = " ".join(f"Keeper number {n} of the mill wrote a long letter about larch wood and rain." for n in range(4))
    page = (
        f"# Owl feeder\n\n## Options\n\nask :: Mice that owls are fed by day or by night. {filler}\n\n"
        f"feed :: How many mice the owls are fed by night. {filler}"
    )
    report = await bench({"https://owls.test/": page}).service().run(Task("How many mice are owls fed by night?"))
    assert 0 < report.markdown.index("**Owl feeder › Options › feed**") < report.markdown.index("Options › ask**")


def test_the_name_of_the_one_site_is_left_out_above_excerpts() -> None:
    def page(title: str) -> Document:
        heading = Block(BlockKind.HEADING, title.split(" | ")[0], level=1)
        return Document(title, "1", (heading, Block(BlockKind.PARAGRAPH, "Owls eat mice.")), title=title)

    food, nests, elsewhere = page("Food | Owl manual"), page("Nests | Owl manual"), page("Food | Finch manual")
    assert list(page_names([food, nests]).values()) == ["Food", "Nests"]
    assert list(page_names([food, elsewhere]).values()) == ["Food | Owl manual", "Food | Finch manual"]
    # A title of which no part is a heading of the page may be all one name.
    assert list(page_names([page_of("Owls - a guide")]).values()) == ["Owls - a guide"]


@pytest.mark.parametrize(
    ("title", "above"),
    [
        ("Owl boxes and barns", "Owl boxes and barns › Owl boxes"),
        ("Owl boxes (barn keeping)", "Owl boxes (barn keeping)"),
    ],
)
async def test_a_heading_is_left_out_only_where_the_title_says_it(bench: Any, title: str, above: str) -> None:
    page = f"# {title}\n\n## Owl boxes\n\nAn owl box hangs in the barn from March on."
    report = await bench({"https://owls.test/": page}).service().run(Task("When does an owl box hang in the barn?"))
    assert f"**{above}**" in report.markdown


def test_telling_words_are_marked_in_any_inflection() -> None:
    text = "Boxes of owls hang high."
    assert [text[start:end] for start, end in marked_words(text, ("owl", "box"))] == ["Boxes", "owls"]


PAGES = {
    "https://owls.test/": (
        "# Barn owls\n\nA barn owl eats four mice a night. It hunts over meadows. Its young leave in ten weeks."
    )
}


async def test_all_that_is_printed_is_quoted_and_each_part_says_what_became_of_it(bench: Any) -> None:
    question = "How many mice does a barn owl eat a night? What is the capital of Australia?"
    report = await bench(PAGES).service().run(Task(question))
    assert all(sentence.proof is Proof.QUOTED for sentence in report.sentences())
    assert [part.status for part in report.parts][1] is PartStatus.NOT_HERE
    assert report.parts[0].status is not PartStatus.NOT_HERE
    assert report.status is ReportStatus.PARTIAL
    kinds = {block.excerpt.kind for section in report.sections for block in section.blocks if block.excerpt}
    assert kinds == {ExcerptKind.PROSE}


async def test_a_sentence_that_points_back_stands_behind_what_it_needs_and_not_in_the_short_answer(bench: Any) -> None:
    made = {
        "https://owls.test/": (
            "# Barn owls\n\nKeepers of a barn owl write diaries of mice. It eats four mice on each night of a winter, "
            "keepers say.\n\n## Winter\n\nA barn owl is in need of mice in winter."
        )
    }
    report = await bench(made).service().run(Task("How many mice does a barn owl eat each night of winter, four?"))
    needed, back, alone = (
        "Keepers of a barn owl write diaries of mice.",
        "It eats four mice on each night of a winter, keepers say.",
        "A barn owl is in need of mice in winter.",
    )
    assert {sentence.text for sentence in report.summary.sentences} == {needed, alone}
    (section,) = report.sections
    told = [sentence.text for sentence in section.sentences]
    assert told[told.index(needed) + 1] == back


@pytest.mark.parametrize(
    "question", ["What is the capital of Australia?", "Who is the author of the owl_feeder command?"]
)
async def test_what_is_not_here_is_no_answer(bench: Any, question: str) -> None:
    report = await bench(PAGES).service().run(Task(question))
    assert report.status is ReportStatus.INSUFFICIENT_EVIDENCE
    assert not report.summary.sentences


COMPARED = {
    "https://finch.test/data": (
        "# Data of Finch\n\n## Lists and rows\n\nA list can be changed after it was made, whereas a row is fixed; that "
        "is their main difference.\n\n## Rows\n\nA row is a fixed run of values, and differs from a list in that it "
        "can be hashed."
    ),
    "https://finch.test/planner": (
        "# Planner\n\n## A list of statistics\n\nThe planner keeps a list. The list is a list of the most common "
        "values, and this list has 100 entries by default."
    ),
}


async def test_the_sides_of_a_comparison_bring_only_what_answers_the_comparison(bench: Any) -> None:
    report = await bench(COMPARED).service().run(Task("What is the difference between a list and a row in Finch?"))
    shown = " ".join(sentence.text for sentence in report.sentences())
    assert "whereas a row is fixed" in shown
    assert "most common values" not in shown


async def test_the_sentence_nearest_to_the_question_opens_the_answer_and_each_passage_gives_one(bench: Any) -> None:
    page = (
        "# Barn owls\n\nEach night a barn owl eats mice. By night a barn owl eats.\n\n## Winter\n\n"
        "All in all a barn owl eats four mice each night of winter."
    )
    report = (
        await bench({"https://owls.test/": page})
        .service()
        .run(Task("How many mice does a barn owl eat each night of winter?"))
    )
    assert [sentence.text for sentence in report.summary.sentences] == [
        "All in all a barn owl eats four mice each night of winter.",
        "Each night a barn owl eats mice.",
    ]


@pytest.mark.parametrize(
    "said", ["Please see", "For more on how barn owl boxes hang, see", "For barn owl boxes refer to"]
)
async def test_a_sentence_that_only_says_where_to_look_opens_no_answer(bench: Any, said: str) -> None:
    page = f"# Barn owls\n\n{said} the barn owl handbook on barn owl boxes. A barn owl box hangs in a barn."
    report = await bench({"https://owls.test/": page}).service().run(Task("Where does a barn owl box hang?"))
    assert [sentence.text for sentence in report.summary.sentences] == ["A barn owl box hangs in a barn."]


def test_a_passage_that_only_says_where_to_look_is_not_printed() -> None:
    page = page_of(
        "Owls", Block(BlockKind.PARAGRAPH, "See the barn owl handbook. For barn owl boxes see the box book.")
    )
    assert excerpts("Where is said how a barn owl box hangs?", page) == ()


async def test_a_word_that_only_begins_like_a_no_may_open_an_answer(bench: Any) -> None:
    page = "# Barn owls\n\nNon-breeding owls roost in the barn of the mill by day."
    report = await bench({"https://owls.test/": page}).service().run(Task("Where do non-breeding owls roost by day?"))
    assert [sentence.text for sentence in report.summary.sentences] == [
        "Non-breeding owls roost in the barn of the mill by day."
    ]


async def test_what_is_said_under_a_term_answers_behind_the_term(bench: Any) -> None:
    told = "Seconds to wait for the first owl in the box. For the first owl ten seconds to wait are usual."
    page = f"# Owl boxes\n\nowl_wait :: {told}"
    report = (
        await bench({"https://owls.test/": page}).service().run(Task("How many seconds to wait for the first owl?"))
    )
    said = [(sentence.label, sentence.text.split()[0]) for sentence in report.summary.sentences]
    assert said == [("owl_wait", "Seconds")]
    assert "owl_wait: Seconds to wait" in report.markdown


async def test_what_stands_in_brackets_opens_no_answer(bench: Any) -> None:
    page = "# Owl boxes\n\n(An owl box for the barn is hung in winter, see the calendar of the barn.)\n"
    report = await bench({"https://owls.test/": page}).service().run(Task("When is an owl box hung in the barn?"))
    assert not report.summary.sentences
    assert [s.text.split()[0] for s in report.sentences()] == ["(An"]


async def test_the_short_answer_has_two_sentences_at_most(bench: Any) -> None:
    pages = {
        f"https://owls{n}.test/": f"# {name}\n\n{name} owls breed in the hollow trees of the valley in spring {n}.\n"
        for n, name in enumerate(("Barn", "Tawny", "Eagle", "Pygmy"))
    }
    report = await bench(pages).service().run(Task("Where do owls breed in spring in the valley?"))
    assert len(report.summary.sentences) == 2
    assert len(report.sentences()) > len(report.summary.sentences)


async def test_one_step_of_several_opens_no_answer(bench: Any) -> None:
    page = (
        "# Owl boxes\n\nBefore you hang an owl box on a barn:\n\n1. Saw the boards of larch for the barn.\n\n"
        "2. Hang the owl box on the barn with four screws.\n\n3. Wait for the owl in the barn.\n"
    )
    report = await bench({"https://owls.test/": page}).service().run(Task("How do I hang an owl box on the barn?"))
    assert not report.summary.sentences
    assert [s.text.split()[0] for s in report.sentences()] == ["Before", "Saw", "Hang", "Wait"]


async def test_steps_from_the_middle_of_a_procedure_get_no_other_number(bench: Any) -> None:
    page = (
        "# Owl boxes\n\nA box for owls:\n\n1. Saw the boards.\n\n2. Ask the farmer.\n\n## Barn\n\n"
        "3. Hang the owl box high on the barn.\n\n4. Close the door of the barn behind the owl box.\n"
    )
    report = await bench({"https://owls.test/": page}).service().run(Task("How do I hang an owl box on the barn?"))
    assert "> - Hang the owl box high on the barn." in report.markdown
    assert "> - Close the door" in report.markdown
    assert "1. Hang" not in report.markdown


@pytest.mark.parametrize(
    ("text", "question", "answers"),
    [
        ("データベースは毎日保存されます。バックアップの保存期間は30日です。", "保存期間は何日ですか？", True),
        ("数据库每天凌晨三点自动备份。备份文件保留三十天，之后自动删除。", "备份文件保留多久？", True),
        ("ไฟล์สำรองจะถูกเก็บไว้สามสิบวัน", "ไฟล์สำรองเก็บไว้กี่วัน", False),
    ],
)
def test_text_without_spaces_is_printed_and_its_sentences_stand_alone(text: str, question: str, answers: bool) -> None:
    page = Document(extractor="t", version="1", title="x", blocks=(Block(BlockKind.PARAGRAPH, text),))
    (found,) = excerpts(question, page)
    assert "".join(page.text[unit.start : unit.end] for unit in found.units) == text
    assert all(stands_alone(page, unit) is answers for unit in found.units), "Thai has no mark at the end of a sentence"


async def test_the_yes_to_another_question_opens_no_answer(bench: Any) -> None:
    page = (
        "# Owl boxes\n\n## May a box hold a second brood?\n\nYes, a box supports a second brood of owls.\n\n"
        "## Poles\n\nThe owls like a box on a pole of larch wood near a barn."
    )
    report = await bench({"https://owls.test/": page}).service().run(Task("Does a box support owls of the north?"))
    assert [sentence.text for sentence in report.summary.sentences] == [
        "The owls like a box on a pole of larch wood near a barn."
    ]
    below = report.markdown.partition("May a box hold a second brood?")[2]
    assert "Yes, a box supports a second brood of owls." in below, "under its own question it is told"


MODES = page_of(
    "nest-move",
    Block(BlockKind.HEADING, "nest-move", level=1),
    Block(BlockKind.PARAGRAPH, "Moves the nest of an owl. The modes of moving differ in what they touch."),
    Block(BlockKind.HEADING, "Options", level=2),
    Block(BlockKind.TERM, "--dry"),
    Block(BlockKind.DEFINITION, "Nothing of what lies on the ground is touched. Only the new place is written down."),
    Block(BlockKind.TERM, "--[no-]whole <place>"),
    Block(BlockKind.DEFINITION, "Takes along the twigs, the eggs and all else. It happens unasked."),
    Block(BlockKind.TERM, "--wholesale"),
    Block(BlockKind.DEFINITION, "Sells the twigs of the whole nest."),
    Block(BlockKind.HEADING, "Differences", level=2),
    Block(
        BlockKind.PARAGRAPH,
        "The difference between nest-move with --dry and with --whole is shown for some states of a nest below.",
    ),
)


async def test_the_side_of_a_comparison_is_answered_with_the_entry_that_it_names(bench: Any) -> None:
    made = {"https://owls.test/nest-move": MODES}
    report = await bench(made).service().run(Task("What is the difference between nest-move --dry and --whole?"))
    first = {section.heading: section.sentences[0].text for section in report.sections if section.sentences}
    assert first["Nest-move --dry"] == "Nothing of what lies on the ground is touched."
    assert first["--whole"] == "Takes along the twigs, the eggs and all else."
    assert {part.status for part in report.parts}.isdisjoint({PartStatus.NOT_HERE})
    opening = {sentence.label: sentence.text for sentence in report.summary.sentences}
    assert [opening["--dry"], opening["--[no-]whole <place>"]] == [*first.values()][1:]


async def test_a_part_of_which_all_is_printed_above_is_named_as_missing(bench: Any) -> None:
    question = "How many mice does a barn owl eat a night? How many mice a night does a barn owl eat in winter?"
    report = await bench(PAGES).service().run(Task(question))
    assert len(report.sections) == 1
    assert report.parts[1].status is PartStatus.PARTLY
    said = "- no passages were found beside those above for “How many mice a night does a barn owl eat in winter”"
    assert said in report.markdown


async def test_an_entry_of_a_word_defines_a_side_of_which_it_says_the_rest(bench: Any) -> None:
    page = (
        "# Owl counts\n\nspring :: A count of all owls in the barn. Keepers make it in March.\n\n"
        "autumn :: A count of the young owls that were hatched in the year. It takes keepers a night.\n\n"
        "ladder :: Keepers climb it."
    )
    question = "What is the difference between a spring count and an autumn count of owls?"
    report = await bench({"https://owls.test/": page}).service().run(Task(question))
    opening = {sentence.label: sentence.text.split()[3] for sentence in report.summary.sentences}
    assert opening == {"spring": "all", "autumn": "the"}


async def test_an_entry_of_another_thing_does_not_define_a_side_of_that_name(bench: Any) -> None:
    made = {"https://owls.test/nest-move": MODES}
    report = await bench(made).service().run(Task("What is the difference between ladder --dry and ladder --broken?"))
    assert {part.status for part in report.parts} == {PartStatus.NOT_HERE}


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("-s <strategy>\n--strategy=<strategy>", [("-s", True), ("--strategy", True)]),
        ("--[no-]edit", [("--edit", True)]),
        ("work_mem (integer) #", [("work_mem", True)]),
        ("sorted(iterable, /, *, key=None, reverse=False)¶", [("sorted", True)]),
        ("class owls.Nest([twigs, f=(1, 2)])", [("owls.Nest", True)]),
        ('relay_domains (default: see "postconf -d" output)', [("relay_domains", True)]),
        ("coroutine function", [("coroutine function", False)]),
    ],
)
def test_a_term_is_called_by_its_name_without_arguments_types_and_defaults(
    term: str, names: list[tuple[str, bool]]
) -> None:
    assert list(names_of(term)) == names


async def test_a_sentence_that_two_pages_share_is_said_once_in_the_answer(bench: Any) -> None:
    shared = "The owl post is opened at nine and closed at five."
    made = {
        f"https://owls.test/{name}": Document(
            extractor="t",
            version="1",
            title=f"The owl post of {name}",
            blocks=(
                Block(BlockKind.HEADING, name, level=1),
                Block(BlockKind.PARAGRAPH, f"{shared} In {name} {other}"),
            ),
        )
        for name, other in (
            ("Marsten", "the keeper rings a bell for latecomers and lights the lamp over the door."),
            ("Orla", "letters are weighed on brass scales, and parcels wait in the cellar for a day."),
        )
    }
    question = "When is the owl post of Marsten opened, and when is the owl post of Orla closed?"
    report = await bench(made).service().run(Task(question))
    said = [sentence.text for sentence in report.summary.sentences]
    assert said.count(shared) == 1
    assert len(report.parts) == 2


@pytest.mark.parametrize("ends", ["", "."])
def test_no_page_is_printed_at_such_length_that_nobody_reads_it(ends: str) -> None:
    told = f"The owl box hangs in a barn of larch{ends} " * 30_000
    page = Document(extractor="t", version="1", title="Owls", blocks=(Block(BlockKind.PARAGRAPH, told.strip()),))
    found = excerpts("Where does the owl box hang?", page)
    printed = sum(excerpt.words for excerpt in found)
    assert 200 < printed <= 220 if ends else printed == 0

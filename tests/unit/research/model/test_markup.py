"""Reports as models write them: Markdown with the ids of lines in braces."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cpu_time import cpu_at_most

from pincite.domain.codec import to_json
from pincite.research.model.markup import composed_of
from pincite.research.model.outputs import Composed, ComposedBlock, ComposedSentence, MissingPart
from pincite.testing.models import block, composed, paragraph, said, section, table

S = ComposedSentence


def answer(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.lines) for one in composed_of(text).answer]


def blocks(text: str) -> tuple[ComposedBlock, ...]:
    """Those of the only section."""
    [only] = composed_of(f"## Lamps\n\n{text}").sections
    assert only.heading == "Lamps"
    return only.blocks


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It is so. {a1} And so. {b2, b3}", [("It is so.", ("a1",)), ("And so.", ("b2", "b3"))]),
        ("It is so {a1}. And so {b2}!", [("It is so.", ("a1",)), ("And so!", ("b2",))]),
        ("It is {a1}, or not. {b2}", [("It is, or not.", ("a1", "b2"))]),
        ("So it is. {=a1, b2} Yes. {c1}", [("So it is.", ("a1", "b2")), ("Yes.", ("c1",))]),
        ("It is so. {a1}{b2} Yes. {c1}", [("It is so.", ("a1", "b2")), ("Yes.", ("c1",))]),
        ("Both hold. That too. {a1}", [("Both hold.", ("a1",)), ("That too.", ("a1",))]),
        ("**Lamps.** They burn. {a1}", [("**Lamps.** They burn.", ("a1",))]),
        ("Two things decide. {} It is so. {a1}", [("Two things decide.", ()), ("It is so.", ("a1",))]),
        ("It is so. [a1, b2] Yes. {c1}", [("It is so.", ("a1", "b2")), ("Yes.", ("c1",))]),
        ("A run. {a3-a5} Another. {b1-3}", [("A run.", ("a3", "a4", "a5")), ("Another.", ("b1", "b2", "b3"))]),
        (
            "Nobody has this. {zz999 line_0} It is so. {a1}",
            [("Nobody has this.", ("zz999", "line_0")), ("It is so.", ("a1",))],
        ),
        ("Type `awk '{a1}'` there. {b2}", [("Type `awk '{a1}'` there.", ("b2",))]),
        ("Type `{}` and {name}. {b2}", [("Type `{}` and {name}.", ("b2",))]),
        ("It stays. {a1}\ngoes on here. {b2}", [("It stays.", ("a1",)), ("goes on here.", ("b2",))]),
        ("@1 @2. New here. {a1} @3", [("@1", ()), ("@2", ()), ("New here.", ("a1",)), ("@3", ())]),
        ("Write to lamp@12 there. {a1}", [("Write to lamp@12 there.", ("a1",))]),
        ("# How it burns\n\n## Answer\n\nIt is so. {a1}", [("It is so.", ("a1",))]),
        ("```markdown\nIt is so. {a1}\n```", [("It is so.", ("a1",))]),
        ("No mark at all", [("No mark at all", ())]),
        ("", []),
    ],
)
def test_sentences_have_the_lines_of_the_mark_behind_them(text: str, told: list[tuple[str, tuple[str, ...]]]) -> None:
    assert answer(text) == told


def test_marks_say_what_a_sentence_is() -> None:
    made = composed_of("So take it. {= a1 b2 #2} They differ. {! a1 c1}")
    assert made.answer == (
        S("So take it.", ("a1", "b2"), derived=True, part="2"),
        S("They differ.", ("a1", "c1"), conflict=True),
    )


def test_what_rests_on_nothing_answers_no_part() -> None:
    assert composed_of("Two things decide: {#2} It is so. {a1 #1}").answer == (
        S("Two things decide:", ()),
        S("It is so.", ("a1",), part="1"),
    )


def test_entries_hold_several_sentences_and_code_parts_a_list() -> None:
    steps, code, below, more = blocks(
        "1. Look. {a1} It shows all. {a2}\n2. Run: {a3}\n\n   ```sh {a4}\n   go\n   ```\n\n   It goes. {a6}\n\n"
        "3. End. {a5}"
    )
    look, shows, run = S("Look.", ("a1",)), S("It shows all.", ("a2",), goes_on=True), S("Run:", ("a3",))
    assert steps == ComposedBlock("steps", (look, shows, run))
    assert code == ComposedBlock("code", (S("go", ("a4",)),))
    assert below == ComposedBlock("paragraph", (S("It goes.", ("a6",)),))
    assert more == ComposedBlock("steps", (S("End.", ("a5",)),), continued=True)
    *_, later = blocks("1. Run: {a3}\n\n```sh {a4}\ngo\n```\n\n2. End. {a5}")
    assert later == ComposedBlock("steps", (S("End.", ("a5",)),), continued=True)


def test_nested_entries_go_on_in_the_one_they_stand_in() -> None:
    [listed] = blocks("- One. {a1}\n  - Two. {a2}\n- Three. {a3}")
    assert [(one.text, one.goes_on) for one in listed.items] == [("One.", False), ("Two.", True), ("Three.", False)]


def test_code_names_its_lines_and_its_examples() -> None:
    [code] = blocks("```sh {= a1 b2; examples: `wip/parser`, harbour app}\nfor x; do\n    y {a9}\ndone\n```")
    assert code == ComposedBlock(
        "code", (S("for x; do\n    y {a9}\ndone", ("a1", "b2"), derived=True),), ("wip/parser", "harbour app")
    )
    [code] = blocks("```\ngo\n```\n\n{a1}")
    assert code.items == (S("go", ("a1",)),), "a mark by itself is that of the code above"


def test_cells_without_a_mark_rest_on_what_their_row_does() -> None:
    [rows] = blocks(
        "| Lamp {a9} | Height | Colour |\n|---|---|---|\n| Varden {a1} | 41 m {a2} | red `a\\|b` {= a3} |\n"
        "| Cape | 9 m | white {b1} |\n| East | | {c1} |\n| @4 | @5 | x {c1} |"
    )
    assert rows.header == ("Lamp", "Height", "Colour")
    named = {row.name: [(cell.text, cell.lines) for cell in row.cells] for row in rows.rows}
    assert named == {
        "Varden": [("41 m", ("a2", "a1")), ("red `a|b`", ("a3", "a1"))],
        "Cape": [("9 m", ("b1",)), ("white", ("b1",))],
        "East": [("", ()), ("", ("c1",))],
        "@4": [("@5", ()), ("x", ("c1",))],
    }
    assert rows.rows[0].cells[1].derived


def test_what_is_missing_is_a_table_or_a_list() -> None:
    wanted = (
        MissingPart("2", "its age", ("lamp age", "lamp year"), "How old?"),
        MissingPart("new", "x", (), "Why?"),
    )
    rows = (
        "| part | lacking | queries | question |\n|-|-|-|-|\n"
        "| 2 | its age | lamp age; `lamp year` | How old? |\n| new | x | | Why? |"
    )
    assert composed_of(f"It is. {{a1}}\n\n## Missing\n\n{rows}").missing == wanted
    listed = "- 2 | its age | lamp age; lamp year | How old?\n- new | x | | Why?"
    assert composed_of(f"## Missing\n\n{listed}").missing == wanted


def test_what_stands_above_the_first_heading_and_is_no_sentence_is_a_section() -> None:
    made = composed_of("It is. {a1}\n\n```sh {a2}\ngo\n```\n\n## Lamps {a3}\n\nYes. {a4}\n\n### Oil\n\n> No. {a5}")
    assert [one.text for one in made.answer] == ["It is."]
    assert [(one.heading, [part.form for part in one.blocks]) for one in made.sections] == [
        ("", ["code"]),
        ("Lamps", ["paragraph"]),
        ("Oil", ["paragraph"]),
    ]


@pytest.mark.parametrize("piece", ["#a1a1a1", "a1a1", "{a1 ", "`a``b", "@1 ", "[a1, ", "> "])
def test_marks_that_never_close_are_read_in_time(piece: str) -> None:
    with cpu_at_most(2):
        composed_of("{" + piece * (20_000 // len(piece)))


WORDS = st.lists(st.sampled_from(["lamp", "tower", "burns", "high", "`go {x}`", "{x}", "41"]), min_size=1, max_size=5)
NAMES = st.lists(st.sampled_from(["a1", "a12", "bc7"]), max_size=3, unique=True)


@st.composite
def sentences(draw: Any) -> Any:
    text, names = f"The {' '.join(draw(WORDS))} stands.", draw(NAMES)
    part = draw(st.sampled_from(["", "2"])) if names else ""
    return said(text, *names, derived=draw(st.booleans()), conflict=draw(st.booleans()), part=part)


@st.composite
def reports(draw: Any) -> tuple[Any, Any]:
    few = st.lists(sentences(), min_size=1, max_size=3)
    made: list[Any] = []
    for form in draw(st.lists(st.sampled_from(["paragraph", "list", "steps", "table", "code"]), max_size=4)):
        if form == "paragraph":
            made.append(paragraph(*draw(few)))
        elif form == "table":
            made.append(table(["Name", "Height"], {"Tower": [{**draw(sentences()), "lines": ["a1"]}]}))
        elif form == "code":
            made.append(block("code", {**draw(sentences()), "conflict": False, "text": "go\n    on"}, header=["x"]))
        else:
            made.append(block(form, *draw(few)))
    return draw(few), [section("Lamps", *made)] if made else []


@given(reports())
def test_what_is_written_is_read_back(report: tuple[Any, Any]) -> None:
    told, sections = report
    read: Any = to_json(composed_of(composed(told, sections)))

    def plain(made: Any) -> Any:
        if isinstance(made, dict):
            return {name: plain(value) for name, value in made.items() if value not in ("", [], False)}
        return [plain(one) for one in made] if isinstance(made, list | tuple) else made

    forms = [one["form"] for part in sections for one in part["blocks"]]
    if not any(one == other and one in ("list", "steps") for one, other in pairwise(forms)):
        assert plain(read) == plain({"answer": told, "sections": sections})


@given(st.text(alphabet="ab1 .{}[]=#!@|`-\n", max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(composed_of(text), Composed)

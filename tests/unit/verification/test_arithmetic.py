"""Calculations that a sentence writes out: executed, from the lines but for the numbers of an example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cpu_time import cpu_at_most

from pincite.verification.arithmetic import calculations
from pincite.verification.facts import FactOutcome, check_facts

EVIDENCE = ("The base threshold is 50 tuples.", "The scale factor is 0.2, a part of the table size.")

HOLDS = [
    "A table of 1,000 rows waits for 250 dead ones (50 + 0.2 × 1,000 = 250).",
    "A table of 100 million rows waits for about 20 million (50 + 0.2 × 100,000,000 = 20,000,050).",
    "With 1,000 rows it is 50 + 20% × 1000 = 250.",
    "With 1,000 rows it is 200 (0.2 * 1000 = 200), and with the base 250 (200 + 50 = 250).",
    "With 3 tables the base adds up to 150 (3 × 50 = 150).",
    "With 4,000 MB and 50 MB a process 80 of them fit (4,000 / 50 = 80).",
    "At 1,800,000,000 IDs and 86,400,000 a day it takes about 20.8 days (1,800,000,000 / 86,400,000 = 20.83).",
    "For 10,000 rows a batch of 100 makes 100 batches (10,000 / 100 = 100).",
    "A third of the base is about 16.67 for 3 tables (50 / 3 = 16.67).",
    "Four times the base is 200 (4 × 50 = 200).",
    "With 2 million rows it is 400,050 (50 + 0.2 × 2 million = 400,050).",
    "The base squared twice is 50 × 50 × 50 × 50 = 6.25 million.",
]
IN_UNITS = [
    ("It takes 20 × 4 MB = 80 MB for 20 clients.", True),
    ("It takes 20 × 4 MB = 80,000 kB for 20 clients.", True),
    ("It takes 20 × 4 MB = 80 GB for 20 clients.", False),
    ("For 25,003 clients it is about 100 MB (25,003 × 4,000 = 100,012,000 bytes); a client takes 4,000.", True),
    ("For 25,603 clients it is about 102 MB (25,603 × 4,000 = 102,412,000 bytes); a client takes 4,000.", True),
    ("For 25,603 clients it is about 103 MB (25,603 × 4,000 = 102,412,000 bytes); a client takes 4,000.", False),
    ("For 25,603 clients it is about 102 kB (25,603 × 4,000 = 102,412,000 bytes); a client takes 4,000.", False),
    ("For 10 tries it is 10 × 30 s = 5 minutes.", True),
    ("For 10 tries it is 10 × 30 s = 300 s.", True),
    ("For 10 tries it is 10 × 30 s = 300 minutes.", False),
    ("For 10 tries it is 300 minutes (10 × 30 = 300).", False),
    ("For 10 tries it is 300 s (10 × 30 = 300).", True),
    ("It is 1 hour + 30 s = 3,630 s.", True),
    ("It is 1 hour + 30 s = 31 s.", False),
    ("These are 2 GB / 8 kB = 262,144 pages.", True),
    ("These are 2 GB / 8 kB = 0.25 pages.", False),
    ("For 30 days it is 30 days × 2 GB = 60 GB.", True),
    ("For 30 days it is 30 days × 2 GB = 60,000 MB.", True),
    ("For 30 days it is 30 days × 2 GB = 60 MB.", False),
    ("For 30 days it is 30 days + 2 GB = 32 GB.", False),
    ("Of 1,000 rows it is 20 % of 1,000 = 200.", True),
    ("Of 1,000 rows it is 20 % of 1,000 = 220.", False),
    ("A page of 8 kB has 8 × 1024 = 8,192 bytes.", True),
    ("A page of 8 kB has 8 × 1025 = 8,200 bytes.", False),
    ("A table has 2 × 1024 × 1024 × 1024 = 2,147,483,648 bytes.", True),
    ("Tries wait half a minute (30 / 60 = 0.5 minutes).", True),
    ("Tries wait more than that (30 / 50 = 0.6 minutes).", False),
    ("Tries wait 30 × 50 = 1,500 ms.", False),
]


@pytest.mark.parametrize(("statement", "right"), IN_UNITS)
def test_a_calculation_with_units_is_executed_in_them(statement: str, right: bool) -> None:
    evidence = (
        "A client takes 4 MB. Tries wait 30 s, at most 1 hour. A table of 2 GB has pages of 8 kB; the share is 20 %. "
        "It is kept for 30 days."
    )
    facts = check_facts(statement, [evidence])
    assert all(fact.outcome in (FactOutcome.FOUND, FactOutcome.DERIVED) for fact in facts) is right, facts


FALSE = [
    ("A table of 1,000 rows waits for 260 dead ones (50 + 0.2 × 1,000 = 260).", "260"),  # wrong result
    ("The limit is 300 (50 + 250 = 300).", "300"),  # the number of the example is not named beside
    ("With 700 rows and 900 the limit is 1,600 (700 + 900 = 1,600).", "1,600"),  # nothing of the lines in it
    ("With 7 tables, 9 and 3 the limit is 239 (50 + 7 × 9 × 3 = 239).", "239"),  # three numbers of its own
    ("The threshold is 60; with 1,000 rows it is 250 (50 + 0.2 × 1,000 = 250).", "60"),  # beside the calculation
]


def standing(statement: str) -> dict[str, bool]:
    good = (FactOutcome.FOUND, FactOutcome.DERIVED)
    return {fact.text: fact.outcome in good for fact in check_facts(statement, EVIDENCE)}


@pytest.mark.parametrize("statement", HOLDS)
def test_a_right_calculation_carries_its_figures(statement: str) -> None:
    found = standing(statement)
    assert found
    assert all(found.values()), found


@pytest.mark.parametrize(("statement", "figure"), FALSE)
def test_what_a_calculation_does_not_carry_is_refused(statement: str, figure: str) -> None:
    assert standing(statement)[figure] is False


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from("+-×*"), st.integers(-3, 3))
def test_only_what_comes_out_is_a_calculation(one: int, other: int, sign: str, off: int) -> None:
    result = {"+": one + other, "-": one - other, "×": one * other, "*": one * other}[sign] + off
    found = list(calculations(f"so it is {one:,} {sign} {other} = {result}"))
    assert bool(found) is (off == 0 and result >= 0)


@given(st.text("0123456789.,%()+-*/×= abc", max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for made in calculations(text):
        assert 0 <= made.start < made.end <= len(text)
        assert "=" in made.text


@pytest.mark.parametrize(
    "text",
    [
        "1 + " * 480 + "= 3",
        "1" * 1990 + " =",
        "(1+" * 600 + "=",
        "1 a + " * 330 + "= 3",
        "1,1." * 490 + "=",
        "(" * 100_000 + "=",
    ],
)
def test_no_text_is_looked_at_for_long(text: str) -> None:
    with cpu_at_most(1):
        assert list(calculations(text)) == []


@pytest.mark.parametrize("text", ["It is so.(1 + 1 = 2)", "It is so.((1 + 1) + 1 = 3", "see 4((1 + 1 = 2"])
def test_a_bracket_right_behind_a_stop_or_figure_hides_no_calculation(text: str) -> None:
    assert len(list(calculations(text))) == 1

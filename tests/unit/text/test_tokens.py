import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.tokens import (
    CJK,
    is_stop,
    mentions,
    pieces,
    stem,
    terms,
    token_estimate,
    tokens,
    words_of_pieces,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It doesn't cost 1,200.5 dollars.", ["It", "doesn't", "cost", "1,200.5", "dollars"]),
        ("pg_stat_activity x86_64 10MW", ["pg_stat_activity", "x86_64", "10MW"]),
        ("well-known U.S. café", ["well", "known", "U", "S", "café"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("v3.11,", ["v3.11"]),
        ("", []),
    ],
)
def test_words_and_numbers(text: str, expected: list[str]) -> None:
    assert [token.text for token in tokens(text)] == expected


@given(st.text())
def test_token_offsets_are_exact_and_in_order(text: str) -> None:
    position = 0
    for token in tokens(text):
        assert position <= token.start < token.end
        assert text[token.start : token.end] == token.text
        position = token.end


def test_terms_are_folded_stemmed_and_without_stop_words() -> None:
    assert terms("The cities’ power stations were running") == ("citi", "power", "station", "run")
    assert terms("Ｐｏｗｅｒ ﬁelds") == ("power", "field")


def test_stop_words_and_stems() -> None:
    assert is_stop("The")
    assert is_stop("doesn’t")
    assert not is_stop("plant")
    assert stem("Company's") == stem("company")
    assert stem("Größe") == "größe"


@given(st.text(), st.text())
def test_token_estimate_is_positive_and_grows(first: str, second: str) -> None:
    assert token_estimate("") == 0
    assert token_estimate(first + second) + 1 >= max(token_estimate(first), token_estimate(second)) * 0.5
    assert not first or token_estimate(first) >= 1


@given(st.text(alphabet="ab zZ09 \n\t\x1c\u00a0_-.,é漢字かЖß½²٣\U0001f600’", max_size=60))
def test_token_estimate_counts_each_run_of_a_class_once(text: str) -> None:
    """As one pass over the text from left to right would."""
    total = 0.0
    rules = (r"\s+(?=\d)", r"\s+", "[A-Za-z]+", "[0-9]+", f"[{CJK}]+", r"[^\W\d_]+", ".")
    for match in re.finditer("|".join(f"({rule})" for rule in rules), text, re.DOTALL):
        length = match.end() - match.start()
        counted = (
            1,
            length > 1,
            max(1, 1 + (length - 7) / 6),
            -(-length // 3),
            length / 1.3,
            max(1, length / 3.7),
            0.7,
        )
        total += counted[(match.lastindex or 1) - 1]
    assert token_estimate(text) == (max(1, round(total + 0.49)) if text else 0)


# Counts of a real 200,000-word vocabulary (o200k) for the same texts, recorded once.
@pytest.mark.parametrize(
    ("text", "recorded"),
    [
        ("The power station began to produce electricity in March, the company said on Tuesday.", 16),
        ("研究人员报告说，新发电厂将于明年开始运营，并将产生四百兆瓦的电力。", 25),
        ("Die Forscher berichteten, dass das neue Kraftwerk im nächsten Jahr den Betrieb aufnehmen werde.", 19),
    ],
)
def test_token_estimate_is_near_a_real_vocabulary(text: str, recorded: int) -> None:
    assert 0.75 <= token_estimate(text) / recorded <= 1.35


@pytest.mark.parametrize(
    ("text", "spoken_of"),
    [
        ("What does the with statement do?", ["with"]),
        ("with statement", ["with"]),
        ("How do for loops work?", ["for"]),
        ("the out parameter", ["out"]),
        ('What is "in" for?', ["in"]),
        ("the `until` command", ["until"]),
        ("A subquery after IN or ANY", ["IN", "ANY"]),
        ("WHAT IS IN THE BOX", []),
        ("Errors in statements of the file", []),
        ("the box with the eggs, in the nest", []),
        ("don't", []),
    ],
)
def test_a_stop_word_can_be_spoken_of(text: str, spoken_of: list[str]) -> None:
    found = mentions(text)
    assert [token.text for token in tokens(text) if token.start in found] == spoken_of


@given(st.text(), st.integers(2, 40))
def test_each_piece_has_its_word(text: str, limit: int) -> None:
    assert len(words_of_pieces(text, limit=limit)) == len(pieces(text, limit=limit)) - 2


def test_a_word_of_several_pieces_stands_at_each() -> None:
    assert words_of_pieces("Vacuuming Café!", limit=64) == ["vacuuming", "vacuuming", "cafe", "!"]

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.normalise import fold

TYPOGRAPHY = st.text(alphabet="ab1 \n“”‘’–—…ﬁ\u00ad\u200b\u00a0é\u0301e²½₂Ａ™中")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("“smart” ‘quotes’", "\"smart\" 'quotes'"),
        ("1990–1995 — a range", "1990-1995 - a range"),
        ("co\u00adop\u200berate", "cooperate"),
        ("ﬁne ﬂow", "fine flow"),
        ("12\u00a0km\u2009wide", "12 km wide"),
        ("cafe\u0301", "café"),
        ("ﬁ\u0301n", "fín"),
        ("a\u00ad\u0301", "á"),
        ("㎏\u0301", "kǵ"),
        ("ＡＢＣ１２", "ABC12"),
        ("wait…", "wait..."),
        ("CO₂", "CO2"),
        ("10⁶ m² and 3½", "10⁶ m² and 3½"),
        ("Windows™ 11", "Windows 11"),
    ],
)
def test_variants_of_the_same_character_fold_together(text: str, folded: str) -> None:
    assert fold(text).text == folded


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_is_unchanged(text: str) -> None:
    assert fold(text).text == text


def test_a_mark_after_a_ligature_belongs_to_the_whole_ligature() -> None:
    folded = fold("aﬁ\u0301n")
    assert folded.span(2, 3) == (1, 3)
    assert folded.span(3, 4) == (3, 4)


@given(st.one_of(TYPOGRAPHY, st.text()), st.data())
def test_every_folded_span_maps_back_to_characters_that_fold_to_it(text: str, data: st.DataObject) -> None:
    folded = fold(text)
    assert folded.span(0, len(folded.text))[1] <= len(text)
    start = data.draw(st.integers(0, len(folded.text)))
    end = data.draw(st.integers(start, len(folded.text)))
    original_start, original_end = folded.span(start, end)
    assert 0 <= original_start <= original_end <= len(text)
    assert folded.text[start:end] in fold(text[original_start:original_end]).text


@given(st.one_of(TYPOGRAPHY, st.text()))
def test_folding_is_idempotent_on_composed_text(text: str) -> None:
    once = fold(unicodedata.normalize("NFC", text)).text
    assert fold(once).text == once


def test_dropped_characters_do_not_shift_what_follows() -> None:
    text = "\u200b\u00adsoft\u00adware ﬁx"
    folded = fold(text)
    assert folded.text == "software fix"
    start, end = folded.span(9, 12)
    assert text[start:end] == "ﬁx"
    start, end = folded.span(0, 8)
    assert text[start:end] == "soft\u00adware"


def test_the_empty_span_stays_empty() -> None:
    assert fold("aﬁb").span(3, 3) == (2, 2)
    assert fold("").span(0, 0) == (0, 0)

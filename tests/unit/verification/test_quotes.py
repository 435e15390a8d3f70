import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.verification.quotes import locate, locate_near

PAGE = "The plant’s output rose – by 12\u00a0percent – in 2022.\n\nIts “second” unit was\nshut down. It opened again."


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ("output rose - by 12 percent", "output rose – by 12\u00a0percent"),
        ('Its "second" unit was shut down.', "Its “second” unit was\nshut down."),
        ('"The plant\'s output"', "The plant’s output"),
        ("The plant's output ... in 2022.", "The plant’s output rose – by 12\u00a0percent – in 2022."),
        ("unit was [...] opened again", "unit was\nshut down. It opened again"),
    ],
)
def test_the_same_words_in_other_typography_are_found(quotation: str, found: str) -> None:
    span = locate(quotation, PAGE)
    assert span is not None
    assert PAGE[span.start : span.end] == found


@pytest.mark.parametrize(
    "quotation",
    [
        "output rose - by 13 percent",
        "output fell - by 12 percent",
        "Its second unit was not shut down",
        "in 2022 ... The plant's output",
        "utput rose",
        "",
        "...",
        "Output rose",
    ],
)
def test_other_words_are_not_found(quotation: str) -> None:
    assert locate(quotation, PAGE) is None


def test_parts_around_an_ellipsis_stand_within_a_paragraph_of_each_other() -> None:
    far = f"The pump stopped. {'It rained. ' * 120}It runs again."
    assert locate("The pump stopped ... It runs again", far) is None
    span = locate("The pump stopped ... It runs again", f"{far} The pump stopped at noon. It runs again.")
    assert span is not None, "the first part stands near the last one at its second place"
    assert span.start > len(far)


def test_a_near_miss_gives_the_real_text_of_its_place() -> None:
    near = locate_near("The plant's output rose by 14 percent in 2022", PAGE)
    assert near is not None
    assert not near.exact
    assert "12\u00a0percent" in near.text
    assert PAGE[near.span.start : near.span.end] == near.text


def test_nothing_like_it_gives_nothing() -> None:
    assert locate_near("Bananas are grown in warm countries near the equator", PAGE) is None


@given(st.text(min_size=1), st.text(), st.text())
@example("\x1f", "", "")
def test_what_is_found_is_what_stands_there(middle: str, before: str, after: str) -> None:
    page = f"{before} {middle} {after}"
    span = locate(middle, page)
    if span is not None:
        assert locate(page[span.start : span.end], page) is not None

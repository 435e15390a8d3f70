import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.verification.dates import Moment, moments
from pincite.verification.quantities import Quantity, quantities


def only(text: str) -> Quantity:
    found = list(quantities(text))
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "kind", "value", "high", "dimension", "bound"),
    [
        ("412 MW", "number", 412e6, None, "power", ""),
        ("398 megawatts", "number", 398e6, None, "power", ""),
        ("$1.2 billion", "number", 1.2e9, None, "$", ""),
        ("1,200 million euros", "number", 1.2e9, None, "€", ""),
        ("US$5m", "number", 5e6, None, "$", ""),
        ("13 percent", "number", 13, None, "percent", ""),
        ("13%", "number", 13, None, "percent", ""),
        ("about 1,200,000 people", "number", 1.2e6, None, "", "about"),
        ("more than 400 employees", "number", 400, None, "", "min"),
        ("up to 16 TB", "number", 16e12, None, "data", "max"),
        ("between 5 and 10 km", "range", 5000, 10000, "length", ""),
        ("5-10 million dollars", "range", 5e6, 1e7, "$", ""),
        ("won 3-2", "range", 3, 2, "", ""),
        ("twenty-five goals", "number", 25, None, "", ""),
        ("two hundred and fifty thousand fans", "number", 250_000, None, "", ""),
        ("a dozen eggs", "number", 12, None, "", ""),
        ("10 square kilometres", "number", 10e6, None, "square-length", ""),
        ("the 3rd round", "ordinal", 3, None, "", ""),
        ("two-thirds of it", "fraction", 2 / 3, None, "", ""),
        ("3½ miles", "fraction", 3.5, None, "", ""),
        ("it doubled", "multiple", 2, None, "", ""),
        ("5:30 p.m.", "clock", 17 * 60 + 30, None, "", ""),
    ],
)
def test_one_quantity(text: str, kind: str, value: float, high: float | None, dimension: str, bound: str) -> None:
    found = only(text)
    assert (found.kind, found.dimension, found.bound) == (kind, dimension, bound)
    assert found.value == pytest.approx(value)
    assert (found.high is None) == (high is None)
    assert high is None or found.high == pytest.approx(high)


def test_versions_are_whole_and_one_is_a_pronoun() -> None:
    assert only("Version 3.11.2 came").unit == "3.11.2"
    assert only("since v3.9").unit == "3.9"
    assert list(quantities("one of them")) == []


@given(st.text(alphabet="0123456789.,-/$€% abkmtwo half:½", max_size=60))
def test_quantities_never_overlap_and_stay_inside(text: str) -> None:
    position = 0
    for found in quantities(text):
        assert position <= found.start < found.end <= len(text)
        position = found.end


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("5 October 2018", 2018, 10, 5),
        ("October 5, 2018", 2018, 10, 5),
        ("Oct. 5th", None, 10, 5),
        ("the 5th of October", None, 10, 5),
        ("October 2018", 2018, 10, None),
        ("2018-10-05", 2018, 10, 5),
        ("31/12/2018", 2018, 12, 31),
        ("in 2018", 2018, None, None),
    ],
)
def test_one_date(text: str, year: int | None, month: int | None, day: int | None) -> None:
    (found,) = moments(text)
    assert (found.year, found.month, found.day) == (year, month, day)


def date(text: str) -> Moment:
    (found,) = moments(text)
    return found


@pytest.mark.parametrize(
    ("claim", "passage", "same"),
    [
        ("October 2018", "5 October 2018", True),
        ("5 October 2018", "October 2018", False),
        ("2018", "2018-10-05", True),
        ("5/10/2018", "10 May 2018", True),
        ("5/10/2018", "5 October 2018", True),
        ("5/10/2018", "6 October 2018", False),
        ("the 1990s", "in 1994", True),
        ("the 19th century", "in 1850", True),
        ("the 19th century", "in 1950", False),
        ("on Monday", "on Tuesday", False),
        ("March 2019", "April 2019", False),
    ],
)
def test_dates_agree_in_what_both_say(claim: str, passage: str, same: bool) -> None:
    assert date(claim).same(date(passage)) is same


def test_may_and_march_alone_are_words() -> None:
    assert list(moments("They may march. May is free.")) == []
    assert [m.month for m in moments("It began in April.")] == [4]

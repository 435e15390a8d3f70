import pytest

from pincite.verification.dates import Moment, moments


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


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("9 and 25 February 2018", [(2018, 2, 25), (2018, 2, 9)]),
        ("May 1-5, 2019", [(None, 5, 1), (2019, None, None), (2019, 5, 5), (2019, 5, 1)]),
        ("du 3 au 5 mars 2020", [(2020, 3, 5), (2020, 3, 3)]),
        ("between 9 and 2018", [(2018, None, None)]),
        ("9 to 5/6/2018", [(2018, 5, 6)]),  # which of the two is the month?
    ],
)
def test_days_that_share_month_and_year(text: str, days: list[tuple[int | None, int | None, int | None]]) -> None:
    assert [(found.year, found.month, found.day) for found in moments(text)] == days


@pytest.mark.parametrize("text", ["a limit of 1 may delay it", "they march 12 miles", "it may 5 times"])
def test_words_that_are_months_too_are_none_beside_a_number(text: str) -> None:
    assert not list(moments(text))


def test_a_month_in_small_letters_is_one_with_its_year() -> None:
    assert [(found.year, found.month) for found in moments("on 1 may 2019")] == [(2019, 5)]


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

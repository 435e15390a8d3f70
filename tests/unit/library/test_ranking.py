"""How passages are scored."""

import pytest

from pincite.library.ranking import Fields, Statistics, boosted, feedback_terms, match_of, places_of, term_score

MEANS = {"title": 1.0, "headings": 1.0, "body": 10.0}
STATISTICS = Statistics(100, MEANS, {"owl": 5, "night": 20, "the": 99, "mouse": 3})
QUESTION = {"owl": 1.0, "night": 1.0}
ORDER = ("owl", "night")


def score(fields: Fields) -> float:
    match = match_of(ORDER, places_of(QUESTION, fields), STATISTICS)
    return boosted(term_score(QUESTION, fields, STATISTICS), match)


def test_rare_words_weigh_more_than_common_ones() -> None:
    assert STATISTICS.weights["owl"] > STATISTICS.weights["night"] > STATISTICS.weights["the"] >= 0


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Fields("", "", "owl a night"), Fields("", "", "owl a b")),
        (Fields("owl", "", "a b c"), Fields("", "", "owl b c")),
        (Fields("", "", "owl night a b"), Fields("", "", "owl a b night")),
        (Fields("", "", "owl a night"), Fields("", "", "owl " + "a " * 30 + "night")),
        (Fields("", "", "owl a"), Fields("", "", "owl " + "a " * 30)),
    ],
)
def test_order_of_passages(better: Fields, worse: Fields) -> None:
    assert score(better) > score(worse)


def test_words_repeated_without_end_do_not_beat_two_words() -> None:
    assert score(Fields("", "", "owl x " * 50)) < score(Fields("", "", "owl night"))


def test_why_a_passage_matches() -> None:
    match = match_of(ORDER, places_of(ORDER, Fields("owl", "", "night x")), STATISTICS)
    assert match.coverage == 1.0
    assert 0 < match.body_coverage < 1
    assert match.proximity == match.phrase == 0.0
    together = match_of(ORDER, places_of(ORDER, Fields("", "", "owl night")), STATISTICS)
    assert together.phrase == 1.0
    assert together.proximity > 0


def test_feedback_takes_rare_words_that_the_question_has_not() -> None:
    best = [(2.0, Fields("", "", "owl mouse the 1999 once")), (1.0, Fields("mouse", "", "night"))]
    statistics = Statistics(100, MEANS, {**STATISTICS.frequencies, "1999": 2, "once": 1})
    assert feedback_terms(best, QUESTION, statistics) == {"mouse": 0.4}
    assert feedback_terms([], QUESTION, statistics) == {}

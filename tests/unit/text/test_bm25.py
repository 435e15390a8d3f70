import pytest

from pincite.text.similarity import Bm25

DOCUMENTS = [["solar", "power", "plant"], ["wind", "power"], ["solar", "solar", "panel", "roof"], []]


def test_rarer_terms_weigh_more_and_repeats_count() -> None:
    index = Bm25(DOCUMENTS)
    assert index.idf("wind") > index.idf("power") > 0
    assert index.idf("unknown") > index.idf("wind")
    scores = index.scores(["solar"])
    assert scores[2] > scores[0] > 0
    assert scores[1] == scores[3] == 0


def test_scores_equal_the_formula() -> None:
    # One document of two terms: idf = ln(1 + 0.5/1.5), norm = k1, so the score is idf * 2.2 / 2.2.
    assert Bm25([["a", "b"]]).scores(["a"])[0] == pytest.approx(0.2876820724)


def test_nothing_indexed_or_asked_scores_zero() -> None:
    assert Bm25([]).scores(["a"]) == ()
    assert Bm25(DOCUMENTS).scores([]) == (0.0, 0.0, 0.0, 0.0)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.domain.evidence import CheckOutcome, Relation, VerdictStatus
from pincite.verification.checker import GATES, MechanicalChecker, check_claim

PARK = "The Havel Wind Park opened in March 2019. It makes 398 MW, enough for 200,000 homes."
OTHER = "According to its owner, the Havel Wind Park makes 412 MW."


def test_what_can_not_be_checked_is_unchecked_with_its_reason() -> None:
    assert check_claim("the of and", [PARK]).status is VerdictStatus.UNCHECKED
    assert check_claim("The park makes 398 MW.", []).reasons == ("no source was given",)
    assert check_claim("The park makes 398 MW.", ["", "  "]).reasons == ("no source has any text",)
    assert check_claim("", [PARK]).status is VerdictStatus.UNCHECKED


def test_nothing_in_common_is_unsupported() -> None:
    verdict = check_claim("Bananas are yellow.", [PARK])
    assert verdict.status is VerdictStatus.UNSUPPORTED
    assert verdict.quotes == ()
    assert verdict.checks[0].outcome is CheckOutcome.FAILED


def test_every_check_is_named_in_the_verdict() -> None:
    verdict = check_claim("The Havel Wind Park makes 398 MW.", [PARK])
    assert verdict.status is VerdictStatus.SUPPORTED
    assert len(verdict.checks) == len(GATES) + 1
    assert {check.name for check in verdict.checks} >= {"numbers", "dates", "names", "negation", "roles", "coverage"}
    assert 0 < verdict.score <= 1


def test_a_source_that_says_otherwise_is_shown_beside_the_one_that_supports() -> None:
    verdict = check_claim("The Havel Wind Park makes 398 MW.", [OTHER, PARK])
    assert verdict.status is VerdictStatus.SUPPORTED
    assert [(quote.source_index, quote.relation) for quote in verdict.quotes] == [
        (1, Relation.SUPPORTS),
        (0, Relation.CONTRADICTS),
    ]


def test_the_same_question_gets_the_same_answer_and_the_cache_is_bounded() -> None:
    checker = MechanicalChecker()
    first = checker.check("The Havel Wind Park makes 398 MW.", [PARK])
    for number in range(200):
        checker.check("The park makes 398 MW.", [f"{PARK} Page {number}."])
    assert len(checker._sources) <= 64
    assert checker.check("The Havel Wind Park makes 398 MW.", [PARK]) == first


def test_other_scripts_and_languages_do_not_break_it() -> None:
    page = "发电厂于2019年启用，功率为398兆瓦。"
    assert check_claim("发电厂于2019年启用。", [page]).status is not VerdictStatus.UNCHECKED
    german = "Der Windpark Havel liefert 398 MW. Er wurde im März 2019 eröffnet."
    assert check_claim("Der Windpark Havel liefert 398 MW.", [german]).status is VerdictStatus.SUPPORTED
    assert check_claim("Der Windpark Havel liefert 412 MW.", [german]).status is not VerdictStatus.SUPPORTED


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=80), st.lists(st.text(max_size=200), max_size=3))
def test_quotes_are_exact_slices_whatever_the_text(claim: str, sources: list[str]) -> None:
    for quote in check_claim(claim, sources).quotes:
        assert sources[quote.source_index][quote.start : quote.end] == quote.text


@pytest.mark.parametrize("claim", ["The plant’s “output” is 398\u00a0MW.", 'The plant\'s "output" is 398 MW.'])
def test_typography_makes_no_difference(claim: str) -> None:
    page = "The plant's \u201coutput\u201d is 398\u2009MW."
    verdict = check_claim(claim, [page])
    assert verdict.status is VerdictStatus.SUPPORTED
    assert verdict.quotes[0].text == page


@pytest.mark.parametrize(
    "text",
    [
        'The library squashes the text "SQUASH???" when the pump of the park stops at night.',
        "The park keeps its plans in the folder plans/objects/??/ of the server.",
    ],
)
def test_question_marks_inside_a_statement_do_not_make_it_a_question(text: str) -> None:
    assert check_claim(text, [text]).status is VerdictStatus.SUPPORTED

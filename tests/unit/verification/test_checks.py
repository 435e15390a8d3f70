"""Each hard check on its own, through one sentence of claim and one of passage."""

from collections.abc import Callable

import pytest

from pincite.domain.evidence import CheckOutcome, VerdictStatus
from pincite.verification.checker import check_claim
from pincite.verification.comparison import check_direction
from pincite.verification.findings import Finding
from pincite.verification.modality import check_modality
from pincite.verification.names import check_names
from pincite.verification.negation import check_negation
from pincite.verification.numbers import check_dates, check_numbers
from pincite.verification.passages import Sentence, Source, Window, as_claim
from pincite.verification.quantifiers import check_quantifiers
from pincite.verification.roles import check_roles
from pincite.verification.subject import check_subject

Check = Callable[[Sentence, Window], Finding]
NUMBERS, DATES, NAMES = check_numbers, check_dates, check_names
NEGATION, DIRECTION, QUANTIFIERS = check_negation, check_direction, check_quantifiers
MODALITY, ROLES, SUBJECT = check_modality, check_roles, check_subject


def found(check: Check, claim: str, passage: str) -> Finding:
    source = Source(passage)
    return check(as_claim(claim), Window(source, 0, len(source.sentences) - 1))


@pytest.mark.parametrize(
    ("check", "claim", "passage"),
    [
        (NUMBERS, "The road is 1.5 km long.", "The road has a length of 1,500 m."),
        (NUMBERS, "It has more than 400 rooms.", "The house has 412 rooms."),
        (NUMBERS, "It costs about 400 euros.", "The ticket costs €398."),
        (NUMBERS, "The team scored 30 goals.", "The team scored 30 goals and had 23 assists."),
        (NUMBERS, "Five people live there.", "Only 5 people live there."),
        (DATES, "It opened in March 2019.", "The park opened on 12 March 2019."),
        (DATES, "It was renewed on May 5, 2018.", "In 2018 much happened. It was renewed on 5 May."),
        (NAMES, "The UN sent a team.", "The United Nations sent a team."),
        (NAMES, "German police found it.", "Police in Germany found it."),
        (NAMES, "Maria Jensen leads it.", "Maria Jensen came in 2019. Jensen leads it."),
        (NEGATION, "The park is not closed.", "The park has never been closed."),
        (NEGATION, "He was not successful.", "He was unsuccessful."),
        (NEGATION, "It did not win the prize.", "It failed to win the prize."),
        (NEGATION, "It is not only old but large.", "It is old and large."),
        (DIRECTION, "Output rose in 2022.", "Output increased in 2022."),
        (DIRECTION, "Smoking is not allowed.", "There is a prohibition of smoking."),
        (QUANTIFIERS, "All rooms have a view.", "Every room has a view."),
        (QUANTIFIERS, "Some rooms have a view.", "Most rooms have a view."),
        (QUANTIFIERS, "It was the first park in Denmark.", "It was the earliest park in Denmark."),
        (MODALITY, "The firm may build a park.", "The firm may build a park."),
        (MODALITY, "He appeared in court.", "He appeared in court on Monday."),
        (ROLES, "The park was bought by Acme from Norfolk.", "Acme bought the park from Norfolk."),
        (ROLES, "Acme was sued by Norfolk.", "Norfolk sued Acme."),
        (SUBJECT, "Talva is written in Rust.", "Talva came out in 2015. It is written in Rust."),
        (SUBJECT, "The level is the default.", "Read Committed is the default."),
    ],
)
def test_what_the_passage_says_passes(check: Check, claim: str, passage: str) -> None:
    finding = found(check, claim, passage)
    assert not finding.failed, finding.detail


@pytest.mark.parametrize(
    ("check", "claim", "passage", "detail"),
    [
        (NUMBERS, "The road is 1.5 km long.", "The road is 1.5 miles long.", "1.5 km in the claim, 1.5 miles"),
        (NUMBERS, "It costs $5.", "It costs €5.", "$5 in the claim, €5 in the passage"),
        (NUMBERS, "Sales fell 5 percent.", "Sales fell 5 percentage points.", "5 percent"),
        (NUMBERS, "The team scored 23 goals.", "The team scored 30 goals and had 23 assists.", "30"),
        (NUMBERS, "It holds at least 16 TB.", "It holds up to 16 TB.", "at least 16 TB in the claim, up to 16 TB"),
        (DATES, "It opened in March 2018.", "The park opened in March 2019.", "March 2018 in the claim, March 2019"),
        (NAMES, "Siemens built it.", "Vestas built it.", "Siemens"),
        (NEGATION, "The park is not open.", "The park is open.", 'denies "open"'),
        (NEGATION, "The park is open.", "The park is not open.", 'denies "open"'),
        (DIRECTION, "Output fell in 2022.", "Output rose in 2022.", '"fell" in the claim, "rose" in the passage'),
        (QUANTIFIERS, "All rooms have a view.", "Most rooms have a view.", '"All" in the claim, "Most" in the passage'),
        (QUANTIFIERS, "It is the largest park.", "It is one of the largest parks.", "one of the largest"),
        (MODALITY, "The firm builds a second park.", "The firm may build a second park.", '"may" in the passage'),
        (SUBJECT, "Serializable is the default level.", "Read Committed is the default level.", "Serializable in"),
        (DIRECTION, "The new one is faster than it.", "The new one is like it.", '"faster" is not in the passage'),
        (ROLES, "Acme sued Norfolk.", "Norfolk sued Acme.", "Acme and Norfolk have changed places"),
    ],
)  # fmt: skip
def test_what_it_does_not_say_fails_with_a_reason(check: Check, claim: str, passage: str, detail: str) -> None:
    finding = found(check, claim, passage)
    assert finding.failed
    assert detail in finding.detail


PAGE = (
    "The park opened in 2004. Only one ranger may be on duty at any time. The turbine loses about 4 watts a year. "
    "Visitors must be aged 45 or older. The default page is green since version 3.12.0; before that it was blue. "
    "Unlike the Elbe Park, the Havel Park needs no gate. The council set a target of 500,000 visitors a year. "
    "Linda Spilker has run it since 2022, following Ed Stone, who held the post for 50 years."
)


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("The turbine loses about 4 watts a month.", "a month"),
        ("The turbine loses about 4 watts every day.", "every day"),
        ("Several rangers may be on duty at any time.", "Only one ranger"),
        ("The default page is green before version 3.12.0.", "before"),
        ("The Elbe Park, unlike the Havel Park, needs no gate.", "unlike"),
        ("The target of 500,000 visitors was reached.", "reached"),
    ],
)
def test_lies_that_keep_every_word(claim: str, why: str) -> None:
    verdict = check_claim(claim, [PAGE])
    assert verdict.status is not VerdictStatus.SUPPORTED
    assert any(why in reason for reason in verdict.reasons), verdict.reasons


@pytest.mark.parametrize(
    "claim",
    [
        "There can never be more than one ranger on duty.",
        "No more than one ranger may be on duty at any time.",
        "The turbine's loss is about 4 watts annually.",
        "Visitors have to be at least 45 years old.",
        "Stone ran it for half a century.",
        "Pages have been green since 3.12.0.",
        "The council wanted half a million visitors per year.",
        "Before Linda Spilker, Ed Stone ran it.",
    ],
)
def test_true_paraphrases_are_not_accused(claim: str) -> None:
    verdict = check_claim(claim, [PAGE])
    assert verdict.status is not VerdictStatus.CONTRADICTED, verdict.reasons
    [coverage] = [check for check in verdict.checks if check.name == "coverage"]
    assert coverage.outcome is not CheckOutcome.FAILED


def test_an_acronym_covers_what_it_stands_for() -> None:
    page = "The results were published in the New England Journal of Medicine; the body mass index was 27."
    verdict = check_claim("The findings appeared in the NEJM.", [page])
    assert verdict.status is not VerdictStatus.CONTRADICTED
    [coverage] = [check for check in check_claim("The BMI was 27.", [page]).checks if check.name == "coverage"]
    assert coverage.outcome is CheckOutcome.PASSED


def test_a_word_that_ends_in_a_bound_is_no_bound() -> None:
    page = "Its tram network is 35.8 km long and has five lines."
    assert check_claim("Five tram lines cover 35.8 kilometres.", [page]).status is not VerdictStatus.CONTRADICTED


def test_a_sentence_taken_word_for_word_has_its_roles_as_they_are() -> None:
    page = "Playing in unique venues, CPL is a league for Canadians by Canadians that will bring soccer to communities."
    assert check_claim(page, [page]).status is VerdictStatus.SUPPORTED


LAW = "The federal Elections Act asks for a deposit. "
FAR = LAW + "The weather stayed dry for the whole of that summer. " * 20


@pytest.mark.parametrize(
    ("before", "passage", "right"),
    [
        (FAR, "In an election a village lost, the animal was traded.", False),
        (LAW, "In an election a village lost, the animal was traded.", True),
        (FAR, "In 1968 the Act traded the animal.", True),
    ],
)
def test_part_of_a_name_stands_for_it_as_a_name_or_close_by(before: str, passage: str, right: bool) -> None:
    source = Source(before + passage)
    last = len(source.sentences) - 1
    stated = check_names(as_claim("The Elections Act traded the animal."), Window(source, last, last))
    assert stated.failed is not right, stated.detail

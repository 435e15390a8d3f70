"""Claims written by hand about short passages of many kinds: no lie is supported, no truth is accused.

`data/claims.json` holds passages with true paraphrases and with lies, each lie named by its kind. The lists below are
what is known to go wrong; they are exact, so that a case that begins to work is taken off.
"""

import json
from pathlib import Path

import pytest

from pincite.domain.evidence import CheckOutcome, Verdict, VerdictStatus
from pincite.verification.checker import MechanicalChecker

CASES = json.loads((Path(__file__).parent / "data" / "claims.json").read_text(encoding="utf-8"))
KNOWN = json.loads((Path(__file__).parent / "data" / "claims_known.json").read_text(encoding="utf-8"))


def accused(verdict: Verdict) -> bool:
    nowhere = any(check.name == "coverage" and check.outcome is CheckOutcome.FAILED for check in verdict.checks)
    return verdict.status is VerdictStatus.CONTRADICTED or nowhere


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_lies_are_not_supported_and_truths_not_accused(case: dict[str, object]) -> None:
    checker = MechanicalChecker()
    passage, truths, lies = str(case["passage"]), case["true"], case["false"]
    assert isinstance(truths, list)
    assert isinstance(lies, list)
    believed = [lie for _, lie in lies if checker.check(str(lie), [passage]).status is VerdictStatus.SUPPORTED]
    suspected = [truth for truth in truths if accused(checker.check(str(truth), [passage]))]
    known = KNOWN.get(str(case["id"]), {})
    assert believed == known.get("believed", [])
    assert suspected == known.get("accused", [])


def test_how_much_of_the_truth_is_carried() -> None:
    checker = MechanicalChecker()
    verdicts = [checker.check(truth, [case["passage"]]).status for case in CASES for truth in case["true"]]
    supported = sum(status is VerdictStatus.SUPPORTED for status in verdicts)
    assert supported >= 0.55 * len(verdicts)

"""Claims written by hand about short passages of many kinds: what exact facts and the verdict table make of them.

`data/claims.json` holds passages with true paraphrases and with lies, each lie named by its kind. What a lie is only a
judge can tell; here one answers by the labels. `benchmarks/claims.py` writes them for a judge of one's own.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pincite.domain.evidence import EvidencePassage, JudgementLabel, VerdictStatus
from pincite.ports import Judge
from pincite.testing.judges import LabelJudge
from pincite.verification.proof import Proven, Statement, prove

CASES = json.loads((Path(__file__).parent / "data" / "claims.json").read_text(encoding="utf-8"))
AT = datetime(2026, 1, 1, tzinfo=UTC)
REFUSED = (VerdictStatus.CONTRADICTED, VerdictStatus.UNSUPPORTED)


async def proven(kind: str, judge: Judge | None) -> list[tuple[str, Proven]]:
    rows = [
        (name, text, case["passage"])
        for case in CASES
        for name, text in (case["false"] if kind == "false" else [("true", truth) for truth in case["true"]])
    ]
    statements = [
        Statement(text, (EvidencePassage("p", 0, len(page), page, whole=True),), (page,)) for _, text, page in rows
    ]
    return [(name, found) for (name, _, _), found in zip(rows, await prove(statements, judge, at=AT), strict=True)]


async def test_exact_facts_refuse_hardly_anything_that_is_true() -> None:
    found = await proven("true", None)
    refused = [item.statement.text for _, item in found if item.verdict in REFUSED]
    assert len(refused) <= 0.015 * len(found), refused
    assert all(item.verdict in (*REFUSED, VerdictStatus.UNCHECKED, VerdictStatus.SUPPORTED) for _, item in found)


async def test_an_honest_judge_keeps_the_truth() -> None:
    found = await proven("true", LabelJudge({}, default=JudgementLabel.STATES))
    supported = sum(item.verdict is VerdictStatus.SUPPORTED for _, item in found)
    assert supported >= 0.97 * len(found)


@pytest.mark.parametrize("judge", [None, LabelJudge({})], ids=["nobody", "honest"])
async def test_no_lie_is_supported(judge: Judge | None) -> None:
    found = await proven("false", judge)
    assert [item.statement.text for _, item in found if item.verdict is VerdictStatus.SUPPORTED] == []


async def test_a_colluding_judge_cannot_vouch_for_figures_that_are_nowhere() -> None:
    found = await proven("false", LabelJudge({}, default=JudgementLabel.STATES))
    nowhere = [item for _, item in found if any(fact.nowhere for fact in item.facts)]
    assert len(nowhere) > 100
    assert all(item.verdict in REFUSED for item in nowhere)

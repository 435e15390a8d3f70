"""Reports and bundles changed by somebody who makes every hash anew: what `check` must still see, edit by edit.

The Markdown is rendered again and the lists of files are hashed again after each edit, as a forger would. At the end
stands what no check without a judge can see; docs/check.md says so.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from tests.fakes.forgeries import (
    CODE,
    FAILED,
    FORGERIES,
    OTHER,
    PASSED,
    RAW,
    SAMPLE,
    SEEN_BY_A_JUDGE_ONLY,
    Forgery,
    added_sentence,
    refreshed,
)

from pincite.audit.check import CheckResult, check_report
from pincite.audit.proofs import Proofs, ToProve
from pincite.audit.stored import ProblemKind
from pincite.domain.evidence import JudgementLabel, Proof, RecordedJudgement, VerdictStatus, evidence_sha256
from pincite.domain.excerpts import Excerpts, excerpts_of
from pincite.domain.ids import judgement_id, statement_sha256
from pincite.domain.page import Document
from pincite.domain.report import ReportEvidence, evidence_of
from pincite.exports.codec import dump_report
from pincite.settings import load_settings
from pincite.wiring.checking import check_stored_report


def said(result: CheckResult) -> str:
    return "\n".join(f"{p.kind} {p.where}: {p.what}" for p in result.problems)


@pytest.mark.parametrize("forgery", FORGERIES, ids=[forgery.name for forgery in FORGERIES])
def test_an_edit_with_its_rendering_made_anew_is_named(forgery: Forgery) -> None:
    raw = copy.deepcopy(RAW)
    forgery.edit(raw)
    for entry in raw["judgements"]:
        entry.pop("was", None)
    result = check_report(refreshed(raw), SAMPLE)
    assert result.status is forgery.status, said(result)
    found = [p for p in result.problems if p.where.startswith(forgery.where)]
    assert any(forgery.what in problem.what for problem in found), said(result)
    assert not [p for p in result.problems if p.where.startswith("markdown")], "the Markdown fits the forged parts"


def test_the_untouched_report_passes_through_the_same_hands() -> None:
    assert refreshed(copy.deepcopy(RAW)) == RAW
    assert check_report(RAW, SAMPLE).status is PASSED


@pytest.mark.parametrize("version", ["1", None, 1.0])
def test_a_report_does_not_escape_the_proofs_by_a_version_that_is_none(version: object) -> None:
    raw = copy.deepcopy(RAW) | {"schema_version": version}
    added_sentence(text="The store was withdrawn.")(raw)
    [found] = [p for p in check_report(raw, SAMPLE).problems if p.where == "sections[1].sentences[1].text"]
    assert (found.kind, found.what) == (ProblemKind.FAILED, "cites nothing, and nobody judged that it states nothing")


def of_item(pages: Mapping[str, Document | Excerpts], item: ReportEvidence) -> Document | Excerpts:
    return pages[item.document_id]


def test_a_figure_that_may_stand_on_a_page_that_is_not_kept_whole_is_not_called_invented() -> None:
    claims = (SAMPLE.report.claims[CODE], SAMPLE.report.claims[OTHER])
    text = "The vacuum takes 96 MB here, with the usual pause of 30 minutes."
    shown, said_of = evidence_sha256(evidence_of(claims)), statement_sha256(text)
    name = judgement_id("j", said_of, shown, JudgementLabel.STATES, "")
    entry = RecordedJudgement(name, "j", JudgementLabel.STATES, said_of, shown, SAMPLE.report.created_at)
    item = ToProve("s", text, Proof.ENTAILED, name, claims, VerdictStatus.PARTIAL)
    whole = {e.document_id: SAMPLE.documents[e.document_id] for claim in claims for e in claim.evidence}
    manual = claims[0].evidence[0].document_id
    cut: dict[str, Document | Excerpts] = {**whole, manual: excerpts_of(whole[manual], [])}
    for pages in (whole, cut):
        proofs = Proofs(partial(of_item, pages), [entry], recorded=True)
        assert [problem.what for problem in proofs.statement(item)] == []


@pytest.mark.parametrize("name", SEEN_BY_A_JUDGE_ONLY)
def test_a_sentence_forged_with_its_judgement_passes_and_is_said_to_be_judged_by_somebody_else(name: str) -> None:
    """What docs/check.md says that check can't see without a judge."""
    raw = copy.deepcopy(RAW)
    SEEN_BY_A_JUDGE_ONLY[name](raw)
    for entry in raw["judgements"]:
        entry.pop("was", None)
    result = check_report(refreshed(raw), SAMPLE)
    assert (result.status, said(result)) == (PASSED, "")
    assert sum(entry.sentences for entry in result.judged) == 7


def test_a_member_that_stands_twice_is_named() -> None:
    data = dump_report(SAMPLE.report).replace(b'"title": ', b'"title": "Nothing is wrong",\n  "title": ', 1)
    settings = load_settings({"home": "/nonexistent"}, environ={}, files=())
    result = check_stored_report(data, settings)
    assert result.status is FAILED
    assert result.problems[0].what == "has the member 'title' twice in one object"


def test_a_judgement_of_tomorrow_is_not_one_of_today() -> None:
    late = SAMPLE.report.created_at + timedelta(days=1)
    judgements = tuple(replace(j, judged_at=late) for j in SAMPLE.report.judgements)
    raw = json.loads(dump_report(replace(SAMPLE.report, judgements=judgements)))
    assert "judgements[0].judged_at" in said(check_report(raw, SAMPLE))

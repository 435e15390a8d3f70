"""The rules of a report, its findings, and the one citation shape of all surfaces."""

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.reports import empty_report

from pincite.domain.citation import EXCERPT_CHARS, normalize_citation
from pincite.domain.errors import Internal, InvalidInput
from pincite.domain.evidence import Relation, VerdictStatus
from pincite.domain.layout import Section, Sentence, SentenceKind
from pincite.domain.report import Report, ReportStatus, Summary, broken_rules
from pincite.testing.reports import sample_report

CASES = json.loads((Path(__file__).parent / "data" / "citations.json").read_text(encoding="utf-8"))
REPORT = sample_report().report


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_citation_contract(case: dict[str, Any]) -> None:
    citation = normalize_citation(**case["given"])
    assert citation.as_dict() == case["expected"]
    assert list(citation.as_dict()) == list(case["expected"])
    assert citation.as_dict(camel_case=True) == case["camel_case"]
    assert normalize_citation(**dict(reversed(case["given"].items()))) == citation


@given(
    title=st.text(max_size=40),
    excerpt=st.text(max_size=700),
    seconds=st.integers(0, 4_000_000_000),
    minutes=st.integers(-720, 720),
)
def test_citation_is_idempotent_and_short(title: str, excerpt: str, seconds: int, minutes: int) -> None:
    moment = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=minutes)))
    citation = normalize_citation("https://a.example/", title, moment, excerpt, moment)
    assert normalize_citation(**citation.as_dict()) == citation
    assert len(citation.excerpt) <= EXCERPT_CHARS
    assert citation.accessed_at.endswith("Z")
    assert citation.title


def test_a_citation_time_must_be_one() -> None:
    with pytest.raises(InvalidInput):
        normalize_citation("https://a.example/", "A", "yesterday", "text")


def test_findings_state_each_claim_once_with_its_supporting_sources() -> None:
    findings = REPORT.findings()
    assert [finding.statement for finding in findings] == [claim.text for claim in REPORT.claims]
    assert [[c.url for c in finding.citations] for finding in findings] == [
        ["https://register.example/lighthouses/halden", "https://society.example/history?id=7"],
        ["https://register.example/lighthouses/halden"],
        ["https://almanac.example/h"],
        ["https://society.example/history?id=7", "https://society.example/history?id=7"],
    ]
    assert findings[0].citations[1].title == "A history of the coast"
    assert findings[0].citations[1].snippet == "The tower stands 41 metres high"
    assert empty_report().findings() == ()


def test_a_claim_without_a_printed_source_is_no_finding() -> None:
    claim = REPORT.claims[0]
    unprinted = replace(claim, evidence=tuple(replace(e, reference_n=None) for e in claim.evidence), id="claim_x")
    conflicts = (*REPORT.conflicts, replace(REPORT.conflicts[0], claim_ids=("claim_x",)))
    report = replace(REPORT, claims=(*REPORT.claims, unprinted), conflicts=conflicts)
    assert len(report.findings()) == len(REPORT.claims)


def _with_sentence(sentence: Sentence) -> dict[str, Any]:
    first, *rest = REPORT.sections
    return {"sections": (replace(first, sentences=(sentence, *first.sentences)), *rest)}


HEIGHT, LIT, TALLER, LAMP = REPORT.claims
BREAKS: dict[str, tuple[dict[str, Any], str]] = {
    "numbering": ({"references": REPORT.references[1:]}, "references are numbered"),
    "uncited reference": ({"references": (*REPORT.references, replace(REPORT.references[0], n=4))}, "the text cites"),
    "connective summary": (
        {"summary": Summary((Sentence("So it is.", SentenceKind.CONNECTIVE),))},
        "unsourced summary sentence",
    ),
    "cited connective": (
        _with_sentence(Sentence("So it is.", SentenceKind.CONNECTIVE, (), (1,))),
        "connective sentence with citations",
    ),
    "figure in connective": (_with_sentence(Sentence("So 3.", SentenceKind.CONNECTIVE)), "connective sentence with a"),
    "orphan sentence": (_with_sentence(Sentence("It is so.", SentenceKind.CLAIM, (HEIGHT.id,))), "orphan sentence"),
    "unknown claim": (_with_sentence(Sentence("It is so.", SentenceKind.CLAIM, ("claim_0",), (1,))), "unknown claim"),
    "unsupported claim": (
        {"claims": (replace(HEIGHT, verdict=VerdictStatus.UNSUPPORTED), LIT, TALLER, LAMP)},
        "claim that is unsupported",
    ),
    "unmarked partial": (
        {"claims": (replace(HEIGHT, verdict=VerdictStatus.PARTIAL), LIT, TALLER, LAMP)},
        "does not say that it is partly supported",
    ),
    "number of another claim": (
        _with_sentence(Sentence("It is so.", SentenceKind.CLAIM, (LIT.id,), (1, 2))),
        r"\[2\] after 'It is so.' carries none",
    ),
    "number of a contradicting passage": (
        {
            "claims": (
                replace(HEIGHT, evidence=tuple(replace(e, relation=Relation.CONTRADICTS) for e in HEIGHT.evidence)),
                LIT,
                TALLER,
                LAMP,
            )
        },
        "carries none of its claims",
    ),
    "orphan claim": ({"claims": (*REPORT.claims, replace(HEIGHT, id="claim_0"))}, "orphan claim claim_0"),
    "section without a citation": (
        {"sections": (*REPORT.sections, Section("Empty", (Sentence("Well.", SentenceKind.CONNECTIVE),)))},
        "section without a citation",
    ),
    "section's own list": (
        {"sections": (replace(REPORT.sections[0], citations=(1,)), *REPORT.sections[1:])},
        "lists citations",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BREAKS.values(), ids=BREAKS.keys())
def test_a_report_that_breaks_a_rule_can_not_be_built(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Internal, match=message):
        replace(REPORT, **changes)


def test_sound_reports_break_no_rule() -> None:
    report: Report
    for report in (REPORT, empty_report()):
        assert list(broken_rules(report)) == []
    assert empty_report().status is ReportStatus.INSUFFICIENT_EVIDENCE

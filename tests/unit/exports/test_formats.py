"""Each simple format against its golden file, and with text that tries to break out of it."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.reports import HOSTILE, empty_report, report_stating

from pincite.domain.report import Report
from pincite.exports.simple import (
    COLUMNS,
    BibtexExporter,
    CslJsonExporter,
    CsvExporter,
    JsonExporter,
    MarkdownExporter,
    RisExporter,
    cell,
    doi,
    keys,
    site,
)
from pincite.ports import Exporter
from pincite.testing.reports import sample_report

DATA = Path(__file__).parent / "data"
SAMPLE = sample_report()
EXPORTERS: dict[str, Exporter] = {
    "report.json": JsonExporter(),
    "report.md": MarkdownExporter(),
    "report.citations.md": MarkdownExporter("[n](citation:n)"),
    "claims.csv": CsvExporter(),
    "references.csl.json": CslJsonExporter(),
    "references.bib": BibtexExporter(),
    "references.ris": RisExporter(),
}
PIECES = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join)


@pytest.mark.parametrize("name", EXPORTERS)
def test_golden_file(name: str) -> None:
    assert EXPORTERS[name].render(SAMPLE.report, SAMPLE.documents) == (DATA / name).read_bytes()


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_report_without_claims_exports(name: str) -> None:
    assert isinstance(EXPORTERS[name].render(empty_report(), {}), bytes)
    assert "/" in EXPORTERS[name].media_type


@given(PIECES)
def test_every_format_takes_any_text(text: str) -> None:
    report = report_stating(text)
    for name, exporter in EXPORTERS.items():
        data = exporter.render(report, {}).decode()
        assert "\x1b" not in data, name


def rows(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(CsvExporter().render(report, {}).decode("utf-8-sig"), newline="")))


def test_csv_has_a_row_for_each_claim_and_passage() -> None:
    found = rows(SAMPLE.report)
    passages = sum(len(claim.evidence) for claim in SAMPLE.report.claims)
    assert len(found) == passages + len(SAMPLE.report.rejected_claims)
    assert tuple(found[0]) == COLUMNS
    assert found[2]["relation"] == "contradicts"
    assert found[2]["reference"] == "3"


def test_csv_keeps_its_columns_for_a_claim_without_passages() -> None:
    claims = tuple(replace(claim, evidence=()) for claim in SAMPLE.report.claims[:1])
    sound = empty_report()
    conflict = replace(SAMPLE.report.conflicts[0], claim_ids=(claims[0].id,), sides=())
    found = rows(replace(sound, claims=claims, conflicts=(conflict,)))
    assert found[0]["claim_id"] == claims[0].id
    assert found[0]["quote"] == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", " =1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert cell(text).startswith("'")


@given(PIECES)
def test_csv_cells_stay_in_their_columns(text: str) -> None:
    found = rows(report_stating(text))
    assert all(None not in row and None not in row.values() for row in found)
    assert not any(row["title"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in found)


@given(PIECES)
def test_bib_braces_balance_in_every_value(text: str) -> None:
    """A value can't end early: after taking out the escaped braces, each line opens as many as it closes."""
    data = BibtexExporter().render(report_stating(text), {}).decode()
    entries = data.split("\n\n")
    assert len(entries) == 3
    for line in data.split("\n"):
        plain = line.replace(r"\{", "").replace(r"\}", "")
        if line.startswith("  "):
            assert plain.count("{") == plain.count("}")
        else:
            assert line == "" or line == "}" or line.startswith("@online{")


@given(PIECES)
def test_ris_values_stay_on_their_lines(text: str) -> None:
    lines = RisExporter().render(report_stating(text), {}).decode().split("\r\n")
    assert all(line == "" or line[2:6] == "  - " for line in lines)
    assert lines.count("TY  - ELEC") == lines.count("ER  - ") == 3


def test_csl_items_carry_dates_as_parts() -> None:
    items = json.loads(CslJsonExporter().render(SAMPLE.report, {}))
    assert items[1]["issued"] == {"date-parts": [[2019, 3, 14]]}
    assert items[1]["author"] == [{"literal": "Ada Berg"}]


def test_keys_are_distinct() -> None:
    reference = SAMPLE.report.references[0]
    same = tuple(replace(reference, n=n) for n in (1, 2, 3))
    assert list(keys(same).values()) == ["register2026halden", "register2026halden-2", "register2026halden-3"]
    bare = replace(reference, url="http://[", title="日本", author=None)
    assert keys((bare,)) == {1: "source2026"}


@pytest.mark.parametrize(
    ("url", "host", "number"),
    [
        ("https://doi.org/10.1000/182", "doi.org", "10.1000/182"),
        ("https://dx.doi.org/10.1000%2F182", "dx.doi.org", "10.1000/182"),
        ("https://doi.org/help", "doi.org", ""),
        ("https://www.a.example/10.1000/182", "a.example", ""),
        ("local:notes/a.md", "", ""),
    ],
)
def test_sites_and_dois(url: str, host: str, number: str) -> None:
    assert site(url) == host
    assert doi(url) == number


def test_dois_are_exported() -> None:
    references = tuple(replace(r, url=f"https://doi.org/10.1000/{r.n}") for r in SAMPLE.report.references)
    report = replace(SAMPLE.report, references=references)
    assert json.loads(CslJsonExporter().render(report, {}))[0]["DOI"] == "10.1000/1"
    assert b"doi = {10.1000/1}" in BibtexExporter().render(report, {})
    assert b"DO  - 10.1000/2\r\n" in RisExporter().render(report, {})

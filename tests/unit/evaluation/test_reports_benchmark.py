"""The benchmark of reports: facts told, shares of proofs, what is told twice, and a sheet that is blind."""

import importlib.util
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from tests.fakes.reports import laid_out_report

from pincite.domain.errors import InvalidInput
from pincite.domain.layout import BlockForm, ReportBlock, Sentence
from pincite.domain.report import Report
from pincite.exports.codec import dump_report


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    file = Path(__file__).parents[3] / "benchmarks" / "reports.py"
    spec = importlib.util.spec_from_file_location("reports_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def again(report: Report, sentence: Sentence) -> Report:
    """The report whose last section ends with the sentence once more."""
    last = report.sections[-1]
    ended = replace(last, sentences=(*last.sentences, sentence), blocks=(), citations=())
    marks = tuple(dict.fromkeys(n for found in ended.sentences for n in found.references))
    return replace(report, sections=(*report.sections[:-1], replace(ended, citations=marks)))


def test_facts_words_proofs_and_repetition_are_counted(
    bench: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = laid_out_report()
    stating = [sentence for sentence in report.sentences() if sentence.proof is not None]
    told = re.escape(" ".join(stating[0].text.split()[:4]))
    facts = [{"fact": "a", "answer_patterns": [told]}, {"fact": "b", "answer_patterns": ["never printed at all"]}]
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": report.question, "facts": facts}) + "\n")
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    files[0].write_bytes(dump_report(report))
    files[1].write_bytes(dump_report(again(report, stating[-1])))
    assert bench.main(["figures", *map(str, files), "--questions", str(questions)]) == 0
    out = capsys.readouterr().out
    once, twice = (bench.figures_of(bench.load_report(file.read_text()), None) for file in files)
    assert out.count("facts told 1 of 2") == 2
    assert "facts told 2 of 4" in out
    assert len(twice.repeated) == len(once.repeated) + 1
    assert stating[-1].text in out
    assert sum(once.share(proof) for proof in bench.Proof) == pytest.approx(1)
    assert once.words == len(" ".join(bench.stated(s) for s in report.sentences()).split())
    assert f"{report.metrics.tokens_in + report.metrics.tokens_out:,} tokens" in out


def test_another_figure_is_another_statement(bench: ModuleType) -> None:
    one, same, other = "The Halden tower is 41 metres tall.", "41 metres tall is the Halden tower.", ""
    other = one.replace("41", "14")
    assert bench.repeated([one, same, other]) == [(same, one)]


def test_references_and_signs_look_alike_on_both_sides(bench: ModuleType, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(
        "It is `a_b`. [1]\n\n## References\n\n[1] The tower\nhttps://tower.test/\n\n[2] Paint\nhttps://b.test/\n"
    )
    ours, _ = bench.body_of(dump_report(laid_out_report()).decode())
    theirs, _ = bench.body_of(other.read_text())
    assert theirs == "It is `a_b`. [1]\n\n## References\n\n[1] The tower\n[2] Paint"
    assert "accessed" not in ours
    assert "http" not in ours.partition("## References")[2]
    assert re.search(r"(?m)^\[1\] ", ours)
    assert "\\_" not in bench.body_of("\\_\\_main\\_\\_ is\nimported")[0]
    code = "Use `^\\.\\.$`:\n\n```\nabbr '^\\.\\.$' \\_\n```"
    assert bench.body_of(f"{code}\n\n\\_It\\_")[0] == f"{code}\n\n_It_", "a backslash of code is code"


def test_the_sheet_is_blind_and_the_seed_decides_the_order(bench: ModuleType, tmp_path: Path) -> None:
    ours, other = tmp_path / "ours.json", tmp_path / "other.md"
    ours.write_bytes(dump_report(laid_out_report()))
    other.write_text("# Their title\n\nIt is 41 metres tall.\n\n```\n# a comment\n```\n")
    orders = set()
    for seed in range(12):
        sheet, key = tmp_path / "sheet.md", tmp_path / "key.json"
        bench.main(["sheet", str(ours), str(other), "--out", str(sheet), "--key", str(key), "--seed", str(seed)])
        text, told = sheet.read_text(), json.loads(key.read_text())
        orders.add((told["A"], told["B"]))
        first = text.index("<!-- A begins -->")
        assert (text.index("Their title") < text.index("<!-- B begins -->")) is (told["A"] == str(other))
        assert "ours.json" not in text
        assert "other.md" not in text
        assert not re.search(r"(?m)^(Proof|Support):", text), "what only our reports have is left out"
        assert all(name in text[:first] for name in ("Comprehensiveness", "Insight", "Readability"))
        assert "\n# a comment" in text, "code is no heading"
        assert "\n## Their title" in text
    assert orders == {(str(ours), str(other)), (str(other), str(ours))}


def test_the_key_has_a_file_of_its_own_and_a_broken_report_is_none(bench: ModuleType, tmp_path: Path) -> None:
    text = tmp_path / "a.md"
    text.write_text("Text.")
    with pytest.raises(SystemExit):
        bench.main(["sheet", str(text), str(text), "--out", str(text), "--key", str(text)])
    assert text.read_text() == "Text."
    with pytest.raises(InvalidInput):
        bench.body_of('{"schema_version": 2}')


def test_cells_that_are_alike_are_no_repetition(bench: ModuleType) -> None:
    report = laid_out_report()
    texts, cells = bench.statements(report)
    assert len(texts) == sum(sentence.proof is not None for sentence in report.sentences())
    assert not cells
    first, *rest = report.sections
    every = tuple((at,) for at in range(len(first.sentences)))
    names = ("Tower", *(f"column {at}" for at in range(len(every))))
    table = ReportBlock(BlockForm.TABLE, every, names, ("Halden",))
    texts, cells = bench.statements(replace(report, sections=(replace(first, blocks=(table,)), *rest)))
    assert cells
    assert all(texts[at].startswith("Halden: column ") for at in cells)
    assert bench.repeated(["GiST: Unique: no", "Only the B-tree is unique.", "GIN: Unique: no"], {0, 2}) == []
    assert bench.repeated(["GIN: Unique: no", "GIN unique: no."], {0}), "a sentence may repeat a cell"

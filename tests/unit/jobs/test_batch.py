"""Files of many questions: answered line by line, and gone on with after anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import InvalidInput, NetworkError
from pincite.engine import Engine
from pincite.research.service import ResearchService
from pincite.surfaces.batch import Batch, BatchProgress, read_items
from pincite.testing.web import html, write_warc


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "bridges.jsonl"
    lines = [
        json.dumps("When was the bridge of Ostrow opened?"),
        json.dumps({"id": "tracks", "question": "How many tracks does the bridge of Ostrow carry?"}),
        json.dumps({"id": "river", "question": "What does the bridge of Ostrow cross?", "language": "en"}),
    ]
    path.write_text("\n".join(lines) + "\n\n")
    return path


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    return Engine.from_settings(home=tmp_path / "home", source=f"local:{tmp_path / 'pages.warc.gz'}")


async def answer(engine: Engine, questions: Path, out: Path, **options: Any) -> tuple[BatchProgress, list[Any]]:
    async with Engine(engine.settings) as opened:
        progress = await Batch(opened, "bridges", read_items(questions), out).run(2, lambda _: None, **options)
    return progress, _read(out)


def _read(out: Path) -> list[Any]:
    return [json.loads(line) for line in out.read_text().splitlines()]


async def test_every_question_gets_a_line(engine: Engine, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    progress, lines = await answer(engine, questions, out)
    assert (progress.total, progress.answered, progress.failed) == (3, 3, 0)
    assert {line["id"] for line in lines} == {"1", "tracks", "river"}
    assert "1931" in next(line for line in lines if line["id"] == "1")["report"]["markdown"]
    async with Engine(engine.settings) as opened:
        assert len(await opened.runs(project="bridges")) == 3


async def test_started_again_it_goes_on(
    engine: Engine, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "answers.jsonl"
    real = ResearchService.run
    asked: list[str] = []

    async def sometimes(self: ResearchService, task: Any) -> Any:
        asked.append(task.question)
        if "tracks" in task.question and len(asked) < 4:
            raise NetworkError("gone")
        return await real(self, task)

    monkeypatch.setattr(ResearchService, "run", sometimes)
    progress, lines = await answer(engine, questions, out)
    assert (progress.answered, progress.failed) == (2, 1)
    assert next(line for line in lines if line["id"] == "tracks")["error"]["code"] == "NETWORK_ERROR"
    with out.open("a") as file:
        file.write('{"id": "torn", "que')
    progress, lines = await answer(engine, questions, out)
    assert (progress.kept, progress.answered, progress.failed) == (2, 1, 0)
    assert len(asked) == 4, "what is answered is not asked again"
    assert sorted(line["id"] for line in lines) == ["1", "river", "tracks"]
    assert all("error" not in line for line in lines)


async def test_lost_answers_come_from_the_record(engine: Engine, questions: Path, tmp_path: Path) -> None:
    first = (await answer(engine, questions, tmp_path / "a.jsonl"))[1]
    again = (await answer(engine, questions, tmp_path / "b.jsonl"))[1]
    assert sorted(map(json.dumps, first)) == sorted(map(json.dumps, again))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2"),
        ('{"question": " "}', "no question"),
        ('{"questoin": "x"}', "no question"),
        ('{"question": "x", "depth": 3}', "depth"),
        ('{"question": "x", "since": "soon"}', "line 2"),
        ('{"question": "x", "urls": "https://a.example/"}', "urls"),
        ('{"id": 1, "question": "x"}', "twice"),
        ("[]", "no question"),
        ('"' + "x" * 200_000 + '"', "characters"),
    ],
)
def test_a_bad_line_stops_before_anything_is_asked(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('"What?"\n' + line + "\n")
    with pytest.raises(InvalidInput, match=says):
        read_items(path)


def test_an_empty_or_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    for name in ("empty.jsonl", "missing.jsonl", "binary.jsonl"):
        with pytest.raises(InvalidInput):
            read_items(tmp_path / name)

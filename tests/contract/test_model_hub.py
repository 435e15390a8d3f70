"""Judges fetched by name: one commit, every file compared with its hash, over a hub on loopback."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.loopback import LoopbackServer, QuietHandler
from tests.fakes.small_web import document_of
from tests.fakes.tiny_onnx import write_tiny_judge
from typer.testing import CliRunner

from pincite.domain.errors import (
    InvalidInput,
    InvalidSetting,
    NetworkError,
    NotFound,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
)
from pincite.domain.evidence import EvidenceLine, JudgeCase
from pincite.judges.catalogue import KNOWN, LOCK, speaks, verify_files
from pincite.judges.hub import ModelHub
from pincite.judges.onnx import OnnxJudge
from pincite.ranking.ranker import Source
from pincite.settings import load_settings
from pincite.surfaces.cli.app import app
from pincite.wiring.judging import add_judge_model
from pincite.wiring.libraries import ranker_of

NAME = "nli-deberta-v3-xsmall"
COMMIT = "a150876" + "0" * 33
OTHER = "b" * 40
ENGLISH = JudgeCase("1", "The pool keeps all of its connections open.", (EvidenceLine("1", "pool", None, "p", 0, 4),))
GERMAN = JudgeCase("2", "Der Pool hält alle seine Verbindungen offen.", ENGLISH.lines)


class Hub(LoopbackServer):
    """A hub on 127.0.0.1 whose files are on `localhost`, as another host."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.commit = COMMIT
        self.spoil: dict[str, bytes] = {}
        self.status: dict[str, tuple[int, str]] = {}
        self.asked: list[str] = []
        self.hashless = False

    def handler(self) -> type[QuietHandler]:
        hub = self

        class Handler(QuietHandler):
            def do_HEAD(self) -> None:
                hub.asked.append(self.path)
                name = self.path.partition("/resolve/")[2].partition("/")[2]
                if name in hub.status or name not in hub.files:
                    status, code = hub.status.get(name, (404, "EntryNotFound"))
                    self.send_response(status)
                    self.send_header("X-Error-Code", code)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                body = hub.files[name]
                large = name.endswith(".onnx")
                git = hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
                etag = hashlib.sha256(body).hexdigest() if large else git
                self.send_response(302)
                self.send_header("X-Repo-Commit", hub.commit)
                if not hub.hashless:
                    self.send_header("X-Linked-Etag" if large else "ETag", f'"{etag}"')
                self.send_header("X-Linked-Size", str(len(body)))
                self.send_header("Location", f"{hub.origin.replace('127.0.0.1', 'localhost')}/cdn/{name}")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                name = self.path.removeprefix("/cdn/")
                body = hub.spoil.get(name, hub.files[name])
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = write_tiny_judge(tmp_path / "tiny", ["the", "pool"], ("contradiction", "entailment", "neutral"))
    weights = (made / "model.onnx").read_bytes()
    known = KNOWN[NAME]
    files = {name: (made / name).read_bytes() for name in ("tokenizer.json", "config.json")}
    with Hub({**files, known.weights: weights, known.weights_arm: weights}) as server:
        yield server


async def test_a_known_judge_is_fetched_at_one_commit_and_judges(hub: Hub, tmp_path: Path) -> None:
    told: list[str] = []
    folder = await ModelHub(hub.origin).add(NAME, tmp_path / "judges", on_progress=told.append)
    assert [path.split("/")[4] for path in hub.asked] == ["main", COMMIT, COMMIT]
    assert len(told) == 3
    lock = json.loads((folder / LOCK).read_text())
    assert sorted(lock["sha256"]) == ["config.json", "model.onnx", "tokenizer.json"]
    assert (lock["revision"], lock["licence"], lock["repository"]) == (COMMIT, "Apache-2.0", KNOWN[NAME].repository)
    judge = OnnxJudge(folder)
    assert judge.name == NAME
    assert [answer.case_id for answer in await judge.judge([ENGLISH, GERMAN])] == ["1"], "made for English alone"


@pytest.mark.parametrize(
    ("body", "reason"),
    [(lambda good: bytes(len(good)), "hash_mismatch"), (lambda good: good[:-1], "wrong_size"),
     (lambda good: good + b"x", "wrong_size")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["config.json", "onnx"])
async def test_other_bytes_than_announced_are_never_kept(
    hub: Hub, tmp_path: Path, name: str, body: Callable[[bytes], bytes], reason: str
) -> None:
    await ModelHub(hub.origin).add(NAME, tmp_path / "judges")
    kept = (tmp_path / "judges" / NAME / "model.onnx").read_bytes()
    for path, good in hub.files.items():
        if name in path:
            hub.spoil[path] = body(good)
    with pytest.raises(ProviderBadReply) as refused:
        await ModelHub(hub.origin).add(NAME, tmp_path / "judges")
    assert refused.value.reason == reason
    assert (tmp_path / "judges" / NAME / "model.onnx").read_bytes() == kept, "what was good stays"
    assert [path.name for path in (tmp_path / "judges").iterdir()] == [NAME]


async def test_a_hub_that_names_no_hash_is_not_believed(hub: Hub, tmp_path: Path) -> None:
    hub.hashless = True
    with pytest.raises(ProviderBadReply) as refused:
        await ModelHub(hub.origin).add(NAME, tmp_path)
    assert refused.value.reason == "no_hash"


async def test_another_commit_than_the_known_one_must_be_named(hub: Hub, tmp_path: Path) -> None:
    hub.commit = OTHER
    with pytest.raises(ProviderBadReply, match=OTHER) as refused:
        await ModelHub(hub.origin).add(NAME, tmp_path)
    assert refused.value.reason == "revision_moved"
    assert OTHER in refused.value.hint
    folder = await ModelHub(hub.origin).add(NAME, tmp_path, revision=OTHER)
    assert json.loads((folder / LOCK).read_text())["revision"] == OTHER
    with pytest.raises(ProviderBadReply) as other:
        await ModelHub(hub.origin).add(NAME, tmp_path, revision="c" * 40)
    assert other.value.reason == "wrong_revision"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(404, "EntryNotFound", NotFound), (404, "RevisionNotFound", NotFound), (401, "RepoNotFound", ProviderAuth),
     (403, "GatedRepo", ProviderAuth), (500, "", ProviderBadReply)],
)  # fmt: skip
async def test_refusals_of_a_hub_are_told_apart(
    hub: Hub, tmp_path: Path, status: int, code: str, kind: type[PinciteError]
) -> None:
    hub.status["config.json"] = (status, code)
    with pytest.raises(kind):
        await ModelHub(hub.origin).add(NAME, tmp_path)


async def test_a_hub_that_is_down_is_a_network_error(tmp_path: Path) -> None:
    with pytest.raises(NetworkError):
        await ModelHub("http://127.0.0.1:9").add(NAME, tmp_path)


async def test_a_model_without_named_labels_is_not_kept(hub: Hub, tmp_path: Path) -> None:
    hub.files["config.json"] = b'{"id2label": {"0": "LABEL_0"}}'
    with pytest.raises(InvalidSetting):
        await ModelHub(hub.origin).add(NAME, tmp_path)
    assert not (tmp_path / NAME).exists()


async def test_a_reranker_is_fetched_and_ranks_by_its_name(tmp_path: Path) -> None:
    words = "How long is deferred mail retried? The queue manager retries it for five days.".split()
    made = write_tiny_judge(tmp_path / "tiny", words, ("LABEL_0",))
    known = KNOWN["bge-reranker-base"]
    files = {path: (made / name).read_bytes() for name, path in known.files.items()}
    given = {"home": tmp_path, "reranker": "bge-reranker-base"}
    with Hub(files) as server:
        server.commit = known.revision + "0" * 33
        settings = load_settings({**given, "model_hub": server.origin}, environ={}, files=())
        model = await add_judge_model(settings, "bge-reranker-base", on_progress=lambda _: None)
    assert (model.reranks, model.here, model.licence) == (True, True, "MIT")
    pages = ("# Mail\n\nDeferred mail is retried.", "# Queue\n\nThe queue manager retries deferred mail for five days.")
    sources = [Source(f"https://mail.test/{n}", document_of(text)) for n, text in enumerate(pages)]
    found = ranker_of(settings).rank("Is deferred mail retried?", sources)
    assert found.passages[0].source is sources[1], "the longer one, as the tiny model likes it"
    with (tmp_path / "judges" / "bge-reranker-base" / "model.onnx").open("ab") as file:
        file.write(b"x")
    other = load_settings({**given, "reranker_api_key": "another"}, environ={}, files=())
    with pytest.raises(InvalidSetting, match="not the file that was fetched"):
        ranker_of(other)


@pytest.mark.parametrize("name", ["hhem-2.1-open", "minicheck-deberta-v3-large", "no-such", "../x", ""])
async def test_unknown_and_refused_models_are_not_asked_for(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        await ModelHub("http://127.0.0.1:9").add(name, tmp_path)


async def test_a_file_that_changed_since_is_not_loaded(hub: Hub, tmp_path: Path) -> None:
    folder = await ModelHub(hub.origin).add(NAME, tmp_path)
    verify_files(folder)
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InvalidSetting, match="not the file that was fetched"):
        await OnnxJudge(folder).judge([ENGLISH])
    (folder / LOCK).write_text("{")
    with pytest.raises(InvalidSetting):
        verify_files(folder)


def test_english_is_told_from_other_languages_where_there_is_enough_of_it() -> None:
    assert speaks(("en",), "The planner may use a B-tree index for LIKE matching.")
    assert speaks(("en",), "work_mem: 4MB")
    assert not speaks(("en",), "Le planificateur peut utiliser cet index pour les motifs ancrés.")
    assert not speaks(("en",), "プランナはインデックスを使う")
    assert speaks((), "プランナはインデックスを使う")
    assert speaks(("de",), "Der Planer kann den Index für Muster verwenden, die verankert sind.")


def test_the_commands_list_and_add(hub: Hub, tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": hub.origin, "PINCITE_HOME": str(tmp_path / "home")}
    before = CliRunner().invoke(app, ["models", "list"], env=environment)
    assert f"{NAME}: 88 MB" in before.output
    assert "not measured" in before.output
    assert "hhem-2.1-open" in before.output
    added = CliRunner().invoke(app, ["models", "add", NAME], env=environment)
    assert "it can only refuse" in added.output
    assert "Apache-2.0" in added.output
    after = CliRunner().invoke(app, ["models", "list", "--json"], env=environment)
    [row] = [row for row in json.loads(after.output) if row["name"] == NAME]
    assert (row["here"], row["measured"]) == (True, "")
    shown = CliRunner().invoke(app, ["doctor"], env={**environment, "PINCITE_JUDGE": NAME})
    assert "it can only refuse" in " ".join(shown.output.split())

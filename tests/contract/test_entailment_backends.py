"""What every judge of entailment must do: the shipped fake, an endpoint, a model of this machine, the guard."""

import json
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from pincite.domain.errors import (
    ExtraNotInstalled,
    InvalidSetting,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    RateLimited,
    Timeout,
)
from pincite.judges.guarded import GuardedJudge
from pincite.judges.http import HttpJudge, probability_in
from pincite.judges.onnx import OnnxJudge, probability
from pincite.ports import EntailmentBackend
from pincite.runtime.breaker import BreakerRules, MemoryBreaker
from pincite.runtime.metering import RequestMeter, metered
from pincite.testing.clock import FrozenClock
from pincite.testing.judges import FakeJudge, JudgeServer

CLAIM = "the pool keeps connections open"
PASSAGE = "by default the pool keeps ten connections open for a minute"
WORDS = [*dict.fromkeys(f"{CLAIM} {PASSAGE}".split())]


# ---- a tiny ONNX model, written by hand: no package is needed to make one ----------------------------------


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _node(kind: str, inputs: list[str], output: str, *attributes: bytes) -> bytes:
    body = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode())
    return body + _field(4, kind.encode()) + b"".join(_field(5, attribute) for attribute in attributes)


def _tensor(name: str, shape: list[int], values: list[float]) -> bytes:
    body = b"".join(_field(1, size) for size in shape) + _field(2, 1)
    return body + _field(8, name.encode()) + _field(9, struct.pack(f"<{len(values)}f", *values))


def _value(name: str, kind: int, dims: list[int | str]) -> bytes:
    shape = b"".join(_field(1, _field(1, d) if isinstance(d, int) else _field(2, d.encode())) for d in dims)
    return _field(1, name.encode()) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def tiny_model(outputs: int = 3) -> bytes:
    """Logits that grow with the mean of the second segment's marks: the longer the claim's share, the surer."""
    cast_to_float = _field(1, b"to") + _field(3, 1) + _field(20, 2)
    axes = _field(1, b"axes") + _field(8, 1) + _field(20, 7)
    keep = _field(1, b"keepdims") + _field(3, 1) + _field(20, 2)
    nodes = [
        _node("Cast", ["token_type_ids"], "floats", cast_to_float),
        _node("ReduceMean", ["floats"], "mean", axes, keep),
        _node("MatMul", ["mean", "weights"], "scaled"),
        _node("Add", ["scaled", "bias"], "logits"),
    ]
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    graph += _field(5, _tensor("weights", [1, outputs], [8.0, 0.0, -8.0][:outputs]))
    graph += _field(5, _tensor("bias", [outputs], [-2.0, 0.0, 1.0][:outputs]))
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += _field(11, _value(name, 7, [1, "tokens"]))
    graph += _field(12, _value("logits", 1, [1, outputs]))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 11))


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(tiny_model())
    vocabulary = {word: n for n, word in enumerate(["[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    labels = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}))
    return folder


@pytest.fixture(params=["fake", "http", "onnx", "guarded"])
async def judge(request: pytest.FixtureRequest) -> AsyncIterator[EntailmentBackend]:
    if request.param == "fake":
        yield FakeJudge()
    elif request.param == "guarded":
        yield GuardedJudge(FakeJudge(), MemoryBreaker(FrozenClock()))
    elif request.param == "onnx":
        yield OnnxJudge(cast("Path", request.getfixturevalue("model_folder")))
    else:
        with JudgeServer() as server:
            made = HttpJudge(server.url)
            yield made
            await made.aclose()


async def test_a_judgement_is_a_probability(judge: EntailmentBackend) -> None:
    found = await judge.judge(CLAIM, PASSAGE)
    assert found is not None
    assert 0 <= found <= 1


async def test_the_same_question_gets_the_same_answer(judge: EntailmentBackend) -> None:
    assert await judge.judge(CLAIM, PASSAGE) == await judge.judge(CLAIM, PASSAGE)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [("", ""), ("x", ""), ("", "x"), ("claim " * 5_000, "passage " * 50_000), ("\x00\u202e\ud7ff", "日本語 עברית")],
)
async def test_odd_texts_are_judged_too(judge: EntailmentBackend, claim: str, passage: str) -> None:
    found = await judge.judge(claim, passage)
    assert found is None or 0 <= found <= 1


# ---- the endpoint -----------------------------------------------------------------------------------------


async def test_the_endpoint_is_asked_in_both_vocabularies_and_with_its_key() -> None:
    with JudgeServer() as server:
        judge = HttpJudge(server.url, api_key="secret")
        await judge.judge(CLAIM, PASSAGE)
        await judge.aclose()
    assert server.asked == [{"claim": CLAIM, "passage": PASSAGE, "premise": PASSAGE, "hypothesis": CLAIM}]
    assert server.keys == ["Bearer secret"]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"probability": 0.5}, 0.5),
        ({"entailment": 1}, 1.0),
        ({"score": 0.25, "model": "x"}, 0.25),
        ({"supported": True}, 1.0),
        ({"probability": None}, None),
        ([{"label": "neutral", "score": 0.7}, {"label": "ENTAILMENT", "score": 0.2}], 0.2),
        ([[{"label": "contradiction", "score": 0.1}, {"label": "entailment", "score": 0.9}]], 0.9),
        ({"labels": [{"label": "entailment", "score": 0.9}]}, 0.9),
        ({"label": "entailment", "score": 0.8}, 0.8),
    ],
)
def test_answers_in_the_shapes_in_use_are_read(answer: object, found: float | None) -> None:
    assert probability_in(answer) == found


@pytest.mark.parametrize(
    "answer",
    [7, "yes", [], {}, {"probability": 7}, {"probability": "0.9"}, {"label": "neutral", "score": 0.9}, [[[[[[]]]]]]],
)
def test_other_answers_are_refused(answer: object) -> None:
    with pytest.raises(ProviderBadReply):
        probability_in(answer)


@pytest.mark.parametrize(
    ("status", "raw", "kind"),
    [
        (401, b"{}", ProviderAuth),
        (429, b"{}", RateLimited),
        (500, b"{}", ProviderBadReply),
        (302, b"", ProviderBadReply),
        (200, b"<html>", ProviderBadReply),
        (200, b'{"probability": 0.', ProviderBadReply),
        (200, b"[" * 100_000, ProviderBadReply),
        (200, b" " * 2**20, ProviderBadReply),
    ],
)
async def test_a_bad_endpoint_has_its_own_error(status: int, raw: bytes, kind: type[PinciteError]) -> None:
    with JudgeServer(status=status, raw=raw) as server:
        judge = HttpJudge(server.url)
        with pytest.raises(kind):
            await judge.judge(CLAIM, PASSAGE)
        await judge.aclose()


async def test_a_dead_endpoint_is_a_network_error_and_counts_as_a_request() -> None:
    judge = HttpJudge("http://127.0.0.1:9/judge")
    with metered(RequestMeter()) as sent, pytest.raises(NetworkError):
        await judge.judge(CLAIM, PASSAGE)
    assert sent.used == 1
    await judge.aclose()


async def test_a_silent_endpoint_ends_in_a_timeout() -> None:
    import anyio

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        judge = HttpJudge(f"http://127.0.0.1:{port}/", deadline_s=0.2)
        with pytest.raises(Timeout):
            await judge.judge(CLAIM, PASSAGE)
        await judge.aclose()


@pytest.mark.parametrize("url", ["ftp://a/b", "http://", "http://user:pw@host/"])
def test_a_bad_url_is_a_setting_error(url: str) -> None:
    with pytest.raises(InvalidSetting):
        HttpJudge(url)


# ---- the model --------------------------------------------------------------------------------------------


async def test_the_model_reads_the_passage_first_and_the_claim_second(model_folder: Path) -> None:
    judge = OnnxJudge(model_folder)
    short, long = await judge.judge("the", PASSAGE), await judge.judge(CLAIM, PASSAGE)
    assert short is not None
    assert long is not None
    assert short < long, "the tiny model grows with the claim's share of the tokens"


async def test_a_folder_without_a_model_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="no model") as missing:
        OnnxJudge(tmp_path)
    assert "tokenizer.json" in missing.value.hint


async def test_a_file_that_is_no_model_is_a_setting_error(model_folder: Path) -> None:
    (model_folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(InvalidSetting, match="can't be used"):
        await OnnxJudge(model_folder).judge(CLAIM, PASSAGE)


async def test_labels_without_entailment_are_refused(model_folder: Path) -> None:
    (model_folder / "config.json").write_text(json.dumps({"id2label": {"0": "POSITIVE", "1": "NEGATIVE"}}))
    with pytest.raises(InvalidSetting, match="labels"):
        OnnxJudge(model_folder)


def test_probabilities_of_one_and_of_three_outputs() -> None:
    assert probability([0.0], 0) == 0.5
    assert probability([1000.0, 0.0, -1000.0], 0) == pytest.approx(1.0)
    assert probability([0.0, 0.0, 0.0], 2) == pytest.approx(1 / 3)


async def test_a_missing_extra_names_the_command(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ExtraNotInstalled) as missing:
        await OnnxJudge(model_folder).judge(CLAIM, PASSAGE)
    assert "pincite[entailment]" in missing.value.hint


# ---- the guard --------------------------------------------------------------------------------------------


async def test_a_question_is_asked_once() -> None:
    behind = FakeJudge()
    judge = GuardedJudge(behind, MemoryBreaker(FrozenClock()))
    await judge.judge(CLAIM, PASSAGE)
    await judge.judge(CLAIM, PASSAGE)
    assert len(behind.asked) == 1


async def test_a_judge_that_keeps_failing_is_rested() -> None:
    clock = FrozenClock()
    behind = FakeJudge(failing=NetworkError("down"))
    judge = GuardedJudge(behind, MemoryBreaker(clock, BreakerRules(failures=3)))
    for n in range(10):
        with pytest.raises(NetworkError):
            await judge.judge(f"{CLAIM} {n}", PASSAGE)
    assert len(behind.asked) == 3
    behind.failing = None
    clock.advance(60)
    assert await judge.judge(CLAIM, PASSAGE) is not None

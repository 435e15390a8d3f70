"""A tiny cross-encoder in ONNX, written by hand: no package is needed to make one, and nothing is downloaded."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path


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
        _node("Cast", ["token_type_ids"], "segments", cast_to_float),
        _node("Cast", ["attention_mask"], "mask", cast_to_float),
        _node("Mul", ["segments", "mask"], "seconds"),
        _node("ReduceSum", ["seconds"], "share", axes, keep),
        _node("ReduceSum", ["mask"], "all", axes, keep),
        _node("Div", ["share", "all"], "mean"),
        _node("MatMul", ["mean", "weights"], "scaled"),
        _node("Add", ["scaled", "bias"], "logits"),
    ]
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    graph += _field(5, _tensor("weights", [1, outputs], [8.0, 0.0, -8.0][:outputs]))
    graph += _field(5, _tensor("bias", [outputs], [-2.0, 0.0, 1.0][:outputs]))
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        graph += _field(11, _value(name, 7, ["texts", "tokens"]))
    graph += _field(12, _value("logits", 1, ["texts", outputs]))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _field(2, 11))


LABELS = ("entailment", "neutral", "contradiction")


def write_tiny_judge(folder: Path, words: Sequence[str], labels: Sequence[str] = LABELS) -> Path:
    """A folder with model, tokenizer and config, as `pincite.judges.onnx` loads it; words are its vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(tiny_model(len(labels)))
    vocabulary = {word: n for n, word in enumerate(["[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # no password
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"id2label": {str(n): label for n, label in enumerate(labels)}}))
    return folder

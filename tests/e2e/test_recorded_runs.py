"""A whole run with a strong reader in the model's seat, replayed: what it claimed and wrote is still printed, proven.

The recording keeps what was said of which words (`tests.fakes.models.recorded`), so prompts and windows may change.
How it is made anew: `benchmarks/record_answers.py`.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Pincite
from tests.fakes.models import ModelServer
from tests.fakes.models.recorded import RecordedModel

RECORDED = Path(__file__).parent / "data" / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
PRINTED = 0.9
"""The share of a strong reader's true claims that must be printed (docs/models.md)."""
MOST_WORDS = 1_200
"""Of a report of standard length."""


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_is_printed_and_proven(name: str, pincite: Pincite) -> None:
    book = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    model = RecordedModel(book)
    with ModelServer(model) as server:
        environ = {"PINCITE_LLM_BASE_URL": server.base_url, "PINCITE_LLM_API_KEY": "none"}
        source = f"local:{RECORDED / name}.warc.gz"
        done = pincite("research", book["question"], "--source", source, "--llm", "m", "--json", environ=environ)
    assert done.code == 0, done.err
    report: Any = done.json
    assert report["mode"] == "model"
    assert not model.missed, "the recording knows all that it is asked"

    made = [claim["text"] for claims in book["claims"].values() for claim in claims]
    verified = [claim for claim in report["claims"] if claim["verdict"] == "supported"]
    left_out = [left for left in report["rejected_claims"] if left["verdict"] == "supported"]
    assert len(verified) + len(left_out) >= PRINTED * len(made)

    summary, sections = report["summary"]["sentences"], report["sections"]
    sentences = [*summary, *(sentence for section in sections for sentence in section["sentences"])]
    stating = [sentence for sentence in sentences if sentence["claim_ids"]]
    assert len(stating) >= PRINTED * _written(book)
    assert {sentence["proof"] for sentence in stating} <= {"quoted", "entailed", "derived"}
    assert all(part["status"] == "answered" for part in report["parts"])

    quotes = {claim["id"]: " ".join(e["quote"] for e in claim["evidence"]) for claim in report["claims"]}
    for sentence in stating:
        evidence = " ".join(quotes[claim] for claim in sentence["claim_ids"])
        for figure in re.findall(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?!\w)", sentence["text"]):
            assert sentence["proof"] == "derived" or figure in evidence, (figure, sentence["text"])

    forms = [block["form"] for section in sections for block in section["blocks"]]
    assert {"table", "list"} <= set(forms)
    said = [sentence["text"] for sentence in sentences]
    assert PRINTED * _words(_texts(list(book["sections"].values()))) <= _words(said) <= MOST_WORDS


def _words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _texts(written: Any) -> list[str]:
    """All texts within what was written."""
    if isinstance(written, list):
        return [text for one in written for text in _texts(one)]
    within = ("sentences", "blocks", "items", "rows", "cells")
    inner = [text for key in within if key in written for text in _texts(written[key])]
    return [*([written["text"]] if "text" in written else []), *inner]


def _written(book: Any) -> int:
    """How many sentences, items and cells were written."""
    rows = list(book["sections"].values())
    return sum(
        len(section["sentences"])
        + sum(len(block["items"]) + sum(len(row["cells"]) for row in block["rows"]) for block in section["blocks"])
        for section in rows
    )

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
"""The share of a strong reader's sentences that must be printed (docs/models.md)."""
MOST_WORDS = 1_400
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
    named = sum(len(names) for names in _named(book["composed"]))
    assert len(model.unseen) <= (1 - PRINTED) * named, "it is shown the lines that it named"

    summary, sections = report["summary"]["sentences"], report["sections"]
    sentences = [*summary, *(sentence for section in sections for sentence in section["sentences"])]
    stating = [sentence for sentence in sentences if sentence["claim_ids"]]
    assert len(stating) >= PRINTED * len(_written(book["composed"]))
    assert {sentence["proof"] for sentence in stating} <= {"quoted", "entailed", "derived"}
    assert {claim["verdict"] for claim in report["claims"]} == {"supported"}
    assert sum(part["status"] == "answered" for part in report["parts"]) >= len(report["parts"]) - 1

    quotes = {claim["id"]: " ".join(e["quote"] for e in claim["evidence"]) for claim in report["claims"]}
    for sentence in stating:
        evidence = " ".join(quotes[claim] for claim in sentence["claim_ids"])
        for figure in re.findall(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d(?!\w)", sentence["text"]):
            known = figure in evidence or figure.replace(",", "") in evidence
            assert known or sentence["judgement"], (figure, sentence["text"])

    forms = {block["form"] for section in sections for block in section["blocks"]}
    assert {block["form"] for part in book["composed"] for one in part["sections"] for block in one["blocks"]} == forms
    written = sum(len(text.split()) for text in _written(book["composed"]))
    said = sum(len(sentence["text"].split()) for sentence in sentences)
    assert PRINTED * written <= said <= MOST_WORDS


def _written(made: Any) -> list[str]:
    """All sentences, items and cells of what was composed that name lines."""
    if isinstance(made, list):
        return [text for part in made for text in _written(part)]
    if not isinstance(made, dict):
        return []
    own = [made["text"]] if made.get("lines") and made.get("text") else []
    return own + [text for value in made.values() for text in _written(value)]


def _named(made: Any) -> list[list[str]]:
    """The lines that each sentence names."""
    if isinstance(made, list):
        return [names for part in made for names in _named(part)]
    if not isinstance(made, dict):
        return []
    own = [made["lines"]] if "lines" in made else []
    return own + [names for value in made.values() for names in _named(value)]

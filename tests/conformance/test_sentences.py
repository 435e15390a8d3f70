"""Which sentences state a checkable fact: texts of many kinds, sorted by hand."""

import json
from pathlib import Path

from pincite.verification.statements import is_factual

SENTENCES = json.loads((Path(__file__).parent / "data" / "sentences.json").read_text(encoding="utf-8"))
KNOWN = {
    "The law should have taken effect in May.",
    "# returns the number of rows",
    "The plot is thin and the acting wooden.",
    "On the other hand, there are drawbacks.",
}
"""What is told wrongly; exact, so that a sentence that is told rightly is taken off."""


def test_facts_are_told_from_all_else() -> None:
    wrong = {row["text"] for row in SENTENCES if is_factual(row["text"]) is not row["fact"]}
    assert wrong == KNOWN

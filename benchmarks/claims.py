"""Print what becomes of the claims written by hand: python benchmarks/claims.py [--write FILE.jsonl]

The claims are tests/conformance/data/claims.json: passages of many kinds, each with true paraphrases and with lies.
The judge answers by the labels, or nobody judges. `--write` makes a file for `pincite eval judge --data` of them.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from pincite.evaluation.judging import LabelledStatement, read_statements, statement_of
from pincite.testing.judges import LabelJudge
from pincite.verification.proof import prove

DATA = Path(__file__).parent.parent / "tests" / "conformance" / "data"
AT = datetime(2026, 1, 1, tzinfo=UTC)


def lines() -> list[str]:
    """The claims as labelled statements, one JSON object each."""
    found = []
    for case in json.loads((DATA / "claims.json").read_text(encoding="utf-8")):
        labelled = [("true", "true", text) for text in case["true"]] + [("false", k, text) for k, text in case["false"]]
        for number, (label, kind, text) in enumerate(labelled):
            row = {"id": f"{case['id']}-{number}", "site": "claims", "title": case["id"], "heading": "", "claim": text,
                   "passages": [case["passage"]], "label": label, "kind": kind}  # fmt: skip
            found.append(json.dumps(row, ensure_ascii=False))
    return found


def counted(rows: tuple[LabelledStatement, ...], judge: LabelJudge | None) -> dict[bool, Counter[str]]:
    # The title is a name of ours, no words of a page.
    statements = [statement_of(row, pages=row.passages) for row in rows]
    proven = asyncio.run(prove(statements, judge, at=AT))
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for row, found in zip(rows, proven, strict=True):
        counts[row.true][found.verdict.value] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = read_statements("\n".join(lines()))
    labels = {row.claim: row.true for row in rows}
    for name, judge in (("honest", LabelJudge(labels)), ("nobody", None)):
        for true, counts in counted(rows, judge).items():
            shares = ", ".join(f"{kind} {100 * n / counts.total():.1f} %" for kind, n in counts.most_common())
            print(f"judge {name}, {'true' if true else 'false'}: {counts.total()} claims: {shares}")
    if options.write:
        options.write.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What code decides of sentences that were changed in one thing, and of true ones that say a figure otherwise.

    python benchmarks/changed_sentences.py

Written over eleven passages by somebody who tried to break the checker: a wrong figure must be refused, another meaning
must never be supported without a judge, and a true sentence must not be refused. Three mends followed its first look
(5 true ones refused then), so it is no held-out set any more; what goes wrong is printed, and no rule may be written
for it.
"""

import json
from collections import Counter
from pathlib import Path

import pincite
from pincite.domain.evidence import VerdictStatus

_REFUSED = frozenset({VerdictStatus.CONTRADICTED, VerdictStatus.UNSUPPORTED})
_WRONG = {
    "figure": frozenset(VerdictStatus) - _REFUSED,
    "meaning": frozenset({VerdictStatus.SUPPORTED}),
    "true": _REFUSED,
}


def main() -> None:
    """Prints how many of each label were decided rightly, then those that were not."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    all_of, wrong = Counter[str](), list[str]()
    for row in rows:
        verdict = pincite.check_claim(row["statement"], [row["passage"]]).status
        all_of[row["label"]] += 1
        if verdict in _WRONG[row["label"]]:
            all_of[f"{row['label']} wrong"] += 1
            wrong.append(f"  {row['label']} ({row['change']}): {verdict}: {row['statement']}")
    for label, what in (("figure", "refused"), ("meaning", "not supported"), ("true", "not refused")):
        print(f"{label:8} {what:14} {all_of[label] - all_of[f'{label} wrong']:3} of {all_of[label]}")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()

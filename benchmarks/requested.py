"""How many requests are searched as what they ask for; written by somebody who had not seen the pattern.

    python benchmarks/requested.py

No aim is set: a request that is not known is searched as it stands. What is missed is printed, and no rule may be
written for it.
"""

import json
from collections import Counter
from pathlib import Path

from pincite.research.extractive.parts import asked_for


def main() -> None:
    """Prints what share of each language is shortened, of what a subject was lost, and what is missed or cut."""
    lines = (Path(__file__).parent / "requested.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    all_of, shortened, lost = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        left = asked_for(row["text"])
        lost[row["kind"]] += row["subject"].casefold() not in left.casefold()
        for kind in (row["kind"], f"{row['kind']} {row['lang']}"):
            all_of[kind] += 1
            shortened[kind] += left != row["text"]
        if (left != row["text"]) != (row["kind"] == "request"):
            print(f"  {'cut' if left != row['text'] else 'missed'}: {row['text']}")
    for kind in sorted(all_of):
        print(f"{kind:10} {shortened[kind]:3} of {all_of[kind]} shortened")
    print(f"subject lost: {dict(lost)}")


if __name__ == "__main__":
    main()

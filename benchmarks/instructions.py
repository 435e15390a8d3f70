"""How many orders to machines are flagged, and how many harmless lines: written by somebody who had not seen the rules.

    python benchmarks/instructions.py

Flags are a help, not the boundary (that is: page text never picks a tool, a URL or a stage). So no aim is set; what
is missed is printed, and no rule may be written for it.
"""

import json
from collections import Counter
from pathlib import Path

from pincite.text.instructions import is_flagged


def main() -> None:
    """Prints the share flagged of each kind and language, then the orders that were missed."""
    lines = (Path(__file__).parent / "instructions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    all_of, flagged = Counter[str](), Counter[str]()
    for row in rows:
        for kind in (row["label"], f"{row['label']} {row['lang']}"):
            all_of[kind] += 1
            flagged[kind] += is_flagged(row["text"])
    for kind in sorted(all_of):
        print(f"{kind:10} {flagged[kind]:3} of {all_of[kind]}")
    for row in rows:
        if row["label"] == "attack" and not is_flagged(row["text"]):
            print(f"  missed: {row['text']}")


if __name__ == "__main__":
    main()

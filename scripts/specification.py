"""docs/specification.md: every row that works names a test or benchmark that is there; the counts are the rows'.

Exits with 1 otherwise.

python scripts/specification.py
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ROW = re.compile(r"^\| (?P<id>[A-E]\d+) \| .+? \| (?P<mark>[●◐—]) \| (?P<shown>.*?) \| (?P<missing>.*?) \|$")
_CODE = re.compile(r"`([^`]+)`")
_COUNTS = re.compile(r"^Counts: (.+)\.$", re.M)


def problems(text: str) -> Iterator[str]:
    """What is wrong with the page, a line each."""
    rows = [match for line in text.splitlines() if (match := _ROW.match(line))]
    if not rows:
        yield "there is no row"
    for row in rows:
        names = _CODE.findall(row["shown"])
        if row["mark"] == "●" and not names:
            yield f"{row['id']} works, and names nothing that shows it"
        if row["mark"] != "●" and not row["missing"].strip():
            yield f"{row['id']} does not say what is missing"
        yield from (f"{row['id']} names {name}, which is not there" for name in names if not _is_there(name))
    marks = [row["mark"] for row in rows]
    counted = ", ".join(f"{marks.count(mark)} {mark}" for mark in "●◐—")
    told = _COUNTS.search(text)
    if told is None or told[1] != counted:
        yield f"Counts: {told[1] if told else 'none'}, where the rows are {counted}"


def _is_there(name: str) -> bool:
    path, _, function = name.partition("::")
    if path.startswith(("benchmarks/", "scripts/")):
        return (ROOT / path).is_file()
    place = ROOT / "tests" / path
    if not function:
        return place.exists()
    return place.is_file() and bool(
        re.search(rf"^(?:async )?def {re.escape(function)}\(", place.read_text("utf-8"), re.M)
    )


def main() -> None:
    """Print the problems."""
    found = list(problems((ROOT / "docs" / "specification.md").read_text("utf-8")))
    sys.stdout.write("".join(f"{line}\n" for line in found) or "specification: every row has what shows it\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

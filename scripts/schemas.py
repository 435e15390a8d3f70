"""Write the JSON Schemas of the outside shapes into the package; with --check, fail when one is out of date."""

import sys
from pathlib import Path

from pincite.exports.codec import names, text

FOLDER = Path("src/pincite/schemas")


def main() -> int:
    stale = []
    for name in names():
        path = FOLDER / f"{name}.json"
        wanted = text(name)
        if path.exists() and path.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(str(path))
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run: python scripts/schemas.py")
        return 1
    print(f"schemas: {len(names())} up to date" if not stale else f"written: {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

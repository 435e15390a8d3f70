"""Make a release, step by step. Only `publish` talks to anyone, and it needs nothing but a token.

    python scripts/release.py cut 0.2.0   # version and changelog; then commit, and run the tests
    python scripts/release.py build       # dist/: sdist, wheel and the list of what the wheel brings along (SBOM)
    TWINE_PASSWORD=... python scripts/release.py publish

Needs the group `release`: uv pip install --group release
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION_FILE = ROOT / "src" / "pincite" / "domain" / "version.py"
CHANGELOG = ROOT / "CHANGELOG.md"
DIST = ROOT / "dist"
BIN = Path(sys.executable).parent
_VERSION = re.compile(r'^VERSION = "([^"]+)"$', re.MULTILINE)
_NUMBER = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
"""PEP 440 without what we don't use: a release, or a pre-release of one."""


def version() -> str:
    """The version in the code, which is the only place it stands in."""
    found = _VERSION.search(VERSION_FILE.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"no VERSION in {VERSION_FILE}")
    return found[1]


def cut(number: str, today: str) -> None:
    """Give the code its version, and what is unreleased its heading with the day."""
    if not _NUMBER.fullmatch(number):
        raise SystemExit(f"{number} is no version such as 0.2.0 or 0.3.0rc1")
    text = CHANGELOG.read_text(encoding="utf-8")
    if f"## {number} " in text:
        raise SystemExit(f"the changelog has {number} already")
    head, mark, rest = text.partition("## Unreleased\n")
    if not mark or not rest.split("\n## ")[0].strip():
        raise SystemExit("there is nothing under Unreleased in the changelog")
    CHANGELOG.write_text(f"{head}{mark}\n## {number} - {today}\n{rest}", encoding="utf-8")
    source = VERSION_FILE.read_text(encoding="utf-8")
    VERSION_FILE.write_text(_VERSION.sub(f'VERSION = "{number}"', source), encoding="utf-8")


def build() -> list[Path]:
    """sdist, wheel and SBOM in `dist`, checked. Refuses a tree that is not what would be tagged."""
    number = version()
    if f"## {number} - " not in CHANGELOG.read_text(encoding="utf-8"):
        raise SystemExit(f"the changelog has no section {number}: cut the release first")
    if output("git", "status", "--porcelain"):
        raise SystemExit("there are uncommitted changes")
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    made = sorted(DIST.iterdir())
    if [path.name for path in made] != [f"pincite-{number}-py3-none-any.whl", f"pincite-{number}.tar.gz"]:
        raise SystemExit(f"built {[path.name for path in made]}, not the sdist and wheel of {number}")
    run(BIN / "twine", "check", "--strict", *made)
    run(BIN / "check-wheel-contents", made[0])
    return [*made, bill_of_materials(made[0], number)]


def bill_of_materials(wheel: Path, number: str) -> Path:
    """What the wheel brings along when it is installed, as CycloneDX, from an environment with nothing else in it."""
    made = DIST / f"pincite-{number}.sbom.json"
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = Path(folder) / "bin" / "python"
        run(BIN / "uv", "pip", "install", "--quiet", "--python", python, wheel)
        run(BIN / "cyclonedx-py", "environment", "--output-reproducible", "-o", made, python)
    text = made.read_text(encoding="utf-8")
    names = {part["name"] for part in json.loads(text).get("components", [])}
    if "pincite" not in names or len(names) < 2:
        raise SystemExit("the bill of materials lists nothing")
    return made


def publish() -> None:
    """Upload what `build` made, and tag it."""
    number = version()
    made = [DIST / f"pincite-{number}-py3-none-any.whl", DIST / f"pincite-{number}.tar.gz"]
    if not all(path.exists() for path in made):
        raise SystemExit(f"dist does not hold {number}: build it first")
    run(BIN / "twine", "upload", "--non-interactive", "--username", "__token__", *made)
    run("git", "tag", "--annotate", f"v{number}", "--message", f"Pincite {number}")
    print(f"published {number}. Now: git push origin v{number}")


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a release; see the head of this file.")
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("cut").add_argument("version")
    steps.add_parser("build")
    steps.add_parser("publish")
    given = parser.parse_args()
    if given.step == "cut":
        cut(given.version, datetime.now(UTC).date().isoformat())
    elif given.step == "build":
        print("\n".join(str(path.relative_to(ROOT)) for path in build()))
    else:
        publish()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""`scripts/counts.py` counts what it says, on a tree that was written to have one of each."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "counts.py"


def counted(tree: Path, *flags: str) -> dict[str, str]:
    done = subprocess.run([sys.executable, SCRIPT, tree, *flags], capture_output=True, text=True, check=True)
    return {line[:34].strip(): line[34:].strip() for line in done.stdout.splitlines()[1:]}


def test_a_tree_with_one_of_each(tmp_path: Path) -> None:
    tree = tmp_path / "acme"
    (tree / "tests").mkdir(parents=True)
    (tree / "__init__.py").write_text("")
    (tree / "one.py").write_text("from acme import two\n# why\nx = 1  # not a line of its own\n")
    (tree / "two.py").write_text(
        "import re\nfrom acme.one import x\n\n\ndef used():\n    return re.compile(x)\n\n\nused()\n"
    )
    (tree / "tests" / "test_it.py").write_text("\n" * 100)
    found = counted(tree)
    assert found["files"] == "3"
    assert found["lines"] == "12"
    assert found["largest import cycle"] == "2"
    assert found["comment lines"] == "8.3%"
    assert found["one-caller helpers < 6 lines"] == "1"
    assert found["function p95 / max"] == "2 / 2"
    assert float(found["regex calls / 1,000 code lines"]) > 0
    assert counted(tree, "--all")["files"] == "4"
    listed = subprocess.run([sys.executable, SCRIPT, "--helpers", tree], capture_output=True, text=True, check=True)
    assert listed.stdout == f"{tree / 'two.py'}:5 used\n"


def test_a_folder_without_python_is_said(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no Python module" in done.stderr

"""What was asked for, row by row: each row that works leads to what shows it."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "specification.md"
_SPEC = spec_from_file_location("specification", ROOT / "scripts" / "specification.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_MODULE = module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
problems = _MODULE.problems


def test_every_row_has_what_shows_it() -> None:
    assert list(problems(PAGE.read_text("utf-8"))) == []


def test_rows_that_show_nothing_are_found() -> None:
    text = (
        "| A1 | works | ● |  |  |\n| A2 | half | ◐ |  |  |\n| A3 | gone | ● | `unit/none.py::test_none` |  |\n"
        "| A4 | fine | ● | `unit/docs/test_specification.py::test_rows_that_show_nothing_are_found` |  |\n"
    )
    assert [line.split()[0] for line in problems(text)] == ["A1", "A2", "A3"]
    assert list(problems("no table")) == ["there is no row"]

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
    text = f"Counts: 3 ●, 1 ◐, 0 —.\n\n{text}"
    assert [line.split()[0] for line in problems(text)] == ["A1", "A2", "A3"]
    assert next(problems("no table")) == "there is no row"


def test_counts_other_than_those_of_the_rows_are_found() -> None:
    rows = "| A1 | half | ◐ |  | the other half |\n| A2 | gone | — |  | all |\n"
    assert list(problems(f"Counts: 0 ●, 1 ◐, 1 —.\n\n{rows}")) == []
    assert list(problems(f"Counts: 1 ●, 1 ◐, 0 —.\n\n{rows}")) == [
        "Counts: 1 ●, 1 ◐, 0 —, where the rows are 0 ●, 1 ◐, 1 —"
    ]
    assert list(problems(rows)) == ["Counts: none, where the rows are 0 ●, 1 ◐, 1 —"]

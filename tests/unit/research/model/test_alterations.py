"""Near copies that turn their passage are told from those that keep it."""

import pytest

from pincite.research.model.alterations import alteration
from pincite.research.model.wording import foreign_identifiers

PASSAGE = "Some indexes can be built while the table is read, but VACUUM FULL may not run before CLUSTER ends."


@pytest.mark.parametrize(
    "text",
    [
        "Some indexes can not be built while the table is read, but VACUUM FULL may not run before CLUSTER ends.",
        "All indexes can be built while the table is read, but VACUUM FULL may not run before CLUSTER ends.",
        "Some indexes can be built while the table is read, but VACUUM FULL may run before CLUSTER ends.",
        "Some indexes can be built while the table is read, but CLUSTER may not run before VACUUM FULL ends.",
        "Some indexes can be built while the table is read, but VACUUM FULL may not run after CLUSTER ends.",
    ],
)
def test_turned_copies(text: str) -> None:
    assert alteration(text, [PASSAGE])


@pytest.mark.parametrize(
    "text",
    [
        PASSAGE,
        f"According to the source, {PASSAGE}",
        "The page says: Some indexes can be built while the table is read.",
        "VACUUM FULL may not run before CLUSTER ends.",
        "One can build certain indexes concurrently with reads.",
        "",
    ],
)
def test_faithful_copies_and_paraphrases(text: str) -> None:
    assert alteration(text, ["Another page.", PASSAGE]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Each piece is by default chosen to be about 2000 megabytes of the table.",
        "Each piece is by default chosen to be about 2000 bytes of the Write, and the Table-Ahead Log follows.",
    ],
)
def test_units_and_parts_of_names(text: str) -> None:
    passage = "Each piece is by default chosen to be about 2000 bytes of the Table, and the Write-Ahead Log follows."
    assert alteration(text, [passage])


def test_names_that_change_places_under_a_genitive() -> None:
    passage = "A module written in C or C++, using Python’s C API to interact with the core and with user code."
    assert alteration(passage.replace("Python’s C API", "API’s C Python"), [passage])
    assert not alteration(passage.replace("Python’s C API", "the C API of Python"), [passage])


def test_identifiers_must_be_in_a_source() -> None:
    source = "Set max_locks or --force in Section B.7 for test1 and io.Reader on UTF-8 and x86-64."
    assert foreign_identifiers(source, [source]) == ()
    changed = "Set max_lock_s or --forced in Section B.73 for test2 and io.Writer on UTF-16."
    assert foreign_identifiers(changed, [source]) == ("max_lock_s", "--forced", "B.73", "test2", "io.Writer", "UTF-16")
    assert foreign_identifiers("The 3rd of the 1990s, at 5.2 seconds, e.g. here.", ["x"]) == ()

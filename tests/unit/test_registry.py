import tomllib
from pathlib import Path

import pytest

from pincite.domain.errors import InvalidInput
from pincite.surfaces.cli.doctor import EXTRAS
from pincite.wiring.registry import EXPORTERS, PROVIDERS, SCRAPERS, load


@pytest.mark.parametrize(
    ("registry", "name"), [(table, name) for table in (PROVIDERS, SCRAPERS, EXPORTERS) for name in table]
)
def test_every_row_names_a_class(registry: dict[str, str], name: str) -> None:
    assert isinstance(load(registry, name, "adapter"), type)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="altavista") as caught:
        load(PROVIDERS, "altavista", "search provider")
    assert "tavily" in caught.value.hint


def test_doctor_knows_every_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"all"}  # `all` is the others together

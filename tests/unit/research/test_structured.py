"""Answers as JSON: a value stands in the passages of the statements named for it, or it is missing."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pincite.domain.errors import InvalidInput
from pincite.engine import Engine
from pincite.research.structured import fields_of
from pincite.settings import load_settings
from pincite.testing.models import ScriptedModel, Seen

TOWER = "# Varden\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was built by Anna Holm in 1897.\n"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "height": {"type": "object", "properties": {"value": {"type": "integer"}, "unit": {"type": "string"}}},
        "builders": {"type": "array", "items": {"type": "string"}, "description": "Who built it"},
        "colour": {"type": "string", "enum": ["red", "white"]},
        "year": {"type": "number"},
    },
}


def answers(seen: Seen) -> Any:
    told = {name: text for name, text in seen.lines.items() if not name.endswith(" quote")}
    tall = next(name for name, text in told.items() if "41" in text)
    built = next(name for name, text in told.items() if "Anna" in text)
    ids = {line.split(": ", 1)[1].split(" ")[0]: line.split(":")[0] for line in listed(seen)}
    return {
        "fields": [
            {"id": ids["height.value"], "value": "41", "claims": [tall]},
            {"id": ids["height.unit"], "value": "metres", "claims": [tall]},
            {"id": ids["height.unit"], "value": "feet", "claims": [tall]},
            {"id": ids["builders"], "value": "Anna Holm", "claims": [built]},
            {"id": ids["builders"], "value": "Zarblonski", "claims": [built]},
            {"id": ids["builders"], "value": "Anna Hol", "claims": [built]},
            {"id": ids["colour"], "value": "red", "claims": [tall, built]},
            {"id": ids["year"], "value": "189", "claims": [built]},
            {"id": ids["year"], "value": "1897", "claims": ["c99"]},
            {"id": "f99", "value": "41", "claims": [tall]},
        ]
    }


def listed(seen: Seen) -> list[str]:
    return [line for line in seen.ours.splitlines() if line.startswith("f") and ": " in line]


def engine_over(folder: Path, model: Any) -> Engine:
    pages = folder / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text(TOWER, encoding="utf-8")
    return Engine(
        load_settings({"home": folder / "home", "source": (f"local:{pages}",)}, environ={}, files=()), model=model
    )


async def test_only_values_of_the_passages_are_filled(tmp_path: Path) -> None:
    async with engine_over(tmp_path, ScriptedModel({"structure": answers})) as engine:
        report = await engine.research("How tall is the Varden lighthouse and who built the Varden lighthouse?")
        made: Any = await engine.structure(report, SCHEMA)
    assert made["answer"] == {"height": {"value": 41, "unit": "metres"}, "builders": ["Anna Holm"]}
    jsonschema.validate(made["answer"], SCHEMA)
    assert made["missing"] == ["colour", "year"]
    assert "41 metres" in made["evidence"]["height.value"][0]["passages"][0]["text"]
    json.dumps(made)


async def test_without_a_model_it_is_refused(tmp_path: Path) -> None:
    async with engine_over(tmp_path, None) as engine:
        report = await engine.research("How tall is the Varden lighthouse?")
        with pytest.raises(InvalidInput, match="needs a language model"):
            await engine.structure(report, SCHEMA)


@pytest.mark.parametrize(
    "schema",
    [
        [],
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "properties": {"x": {"type": "boolean"}}},
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {f"x{n}": {"type": "string"} for n in range(61)}},
    ],
)
def test_schemas_that_can_not_be_filled(schema: Any) -> None:
    with pytest.raises(InvalidInput):
        fields_of(schema)

"""Answers as JSON: a value stands in the passages of the statements named for it, or it is missing."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pincite.domain.errors import BudgetExhausted, Conflict, InvalidInput
from pincite.domain.evidence import JudgementLabel
from pincite.engine import Engine
from pincite.research.schema_fields import Field, fields_of, lacking
from pincite.research.structured import Form, keeps_rules, standing, value_of
from pincite.settings import load_settings
from pincite.testing.judges import LabelJudge
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


def engine_over(folder: Path, model: Any, text: str = TOWER) -> Engine:
    pages = folder / "pages"
    pages.mkdir()
    (pages / "tower.md").write_text(text, encoding="utf-8")
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
        {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"x": {"type": "array"}}},
        {"type": "object", "properties": {"x": {"type": ["string", "integer"]}}},
        {"type": "object", "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}},
        {"type": "object", "properties": {"x": {"$ref": "https://elsewhere.test/schema.json"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/nowhere"}}},
        {"type": "object", "properties": {"x": {"$ref": "#"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}},
        {"type": "object", "properties": {"x": {"type": "string", "format": "email"}}},
        {"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}},
        {"type": "object", "properties": {"x": {"type": "string", "not": {"const": "y"}}}},
        {"type": "object", "properties": {"x": {"type": "string"}}, "patternProperties": {"y": {"type": "string"}}},
        {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"x": {"type": "array", "prefixItems": [{"type": "string"}]}}},
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {f"x{n}": {"type": "string"} for n in range(61)}},
        {"type": "object", "properties": {"x": {"type": "array", "items": {"$ref": "#"}}}},
        {"type": "object", "properties": {"x": {"type": "array", "maxItems": 0, "items": {"type": "string"}}}},
        {"type": "object", "properties": {"x[]": {"type": "string"}}},
        {
            "type": "object",
            "$defs": {
                f"d{n}": {
                    "type": "object",
                    "properties": {f"p{m}": {"$ref": f"#/$defs/d{n + 1}"} for m in range(9)} if n < 6 else {},
                }
                for n in range(7)
            },
            "properties": {"x": {"$ref": "#/$defs/d0"}},
        },
    ],
)
def test_schemas_that_can_not_be_filled(schema: Any) -> None:
    with pytest.raises(InvalidInput) as failure:
        fields_of(schema)
    assert failure.value.reason in ("schema_unsupported", "schema_size")


def test_an_unsupported_keyword_is_named_with_its_place() -> None:
    inner: Any = {"type": "object", "properties": {"height": {"type": "number", "contains": {}}}}
    with pytest.raises(InvalidInput, match=r"tower\.height.*'contains'"):
        fields_of({"type": "object", "properties": {"tower": inner}})


def test_references_types_and_duties_are_read() -> None:
    schema: Any = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Towers",
        "$defs": {
            "height": {"type": "integer", "minimum": 1, "description": "in metres"},
            "tower": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "maxLength": 40},
                    "height": {"$ref": "#/$defs/height", "description": "Height of the tower"},
                    "lit": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                },
            },
        },
        "required": ["towers", "open"],
        "properties": {
            "towers": {"type": "array", "items": {"$ref": "#/$defs/tower"}},
            "open": {"type": ["boolean", "null"]},
            "colour": {"enum": ["red", "white", None]},
            "keepers": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
    }
    found = {place.shown: place for place in fields_of(schema)}
    assert list(found) == ["towers[].name", "towers[].height", "towers[].lit", "open", "colour", "keepers"]
    assert found["towers[].height"].description == "Height of the tower"
    assert found["towers[].height"].rules == (("minimum", 1),)
    assert found["towers[].lit"].kind == "date"
    assert found["towers[].name"].lists == (("towers[]",),)
    assert (found["colour"].kind, found["colour"].choices) == ("string", ("red", "white"))
    assert (found["keepers"].several, found["keepers"].most, found["open"].kind) == (True, 3, "boolean")


@pytest.mark.parametrize(
    ("place", "text", "value", "passage", "stands"),
    [
        (Field(("x",), "integer"), "1200", 1200, "It has 1,200 steps.", True),
        (Field(("x",), "integer"), "1200", 1200, "It has 11,200 steps.", False),
        (Field(("x",), "number"), "4.5", 4.5, "It weighs 4.5 tons.", True),
        (Field(("x",), "number"), "4.5", 4.5, "Version 4.5.1 came then.", False),
        (Field(("x",), "number"), "-3", -3.0, "It was −3 degrees.", True),
        (Field(("x",), "integer"), "4.5", None, "", False),
        (Field(("x",), "date"), "1897-03-02", "1897-03-02", "It was lit on 2 March 1897.", True),
        (Field(("x",), "date"), "2 March 1897", "1897-03-02", "It was lit on March 2, 1897.", True),
        (Field(("x",), "date"), "1897-03-02", "1897-03-02", "It was lit in March 1897.", False),
        (Field(("x",), "date"), "March 1897", None, "", False),
        (Field(("x",), "boolean"), "yes", True, "", False),
        (Field(("x",), "string", choices=("dark_red", "white")), "Dark red", "dark_red", "A dark red tower.", True),
        (Field(("x",), "string", choices=("dark_red",)), "blue", None, "", False),
        (Field(("x",), "integer", choices=(1, 2)), "3", None, "", False),
    ],
)
def test_a_value_has_its_type_and_stands_in_the_passage(
    place: Field, text: str, value: Any, passage: str, stands: bool
) -> None:
    made = value_of(place, text)
    assert made == value
    assert made is None or standing(place, made, passage) is stands


@pytest.mark.parametrize(
    ("rules", "value", "kept"),
    [
        ((("minimum", 5), ("maximum", 9)), 7, True),
        ((("minimum", 5),), 4, False),
        ((("exclusiveMaximum", 9),), 9, False),
        ((("multipleOf", 0.5),), 1.5, True),
        ((("multipleOf", 0.5),), 1.6, False),
        ((("maxLength", 3),), "abcd", False),
        ((("pattern", "^[A-Z]"),), "Anna", True),
        ((("pattern", "^[A-Z]"),), "anna", False),
    ],
)
def test_bounds_are_kept(rules: Any, value: Any, kept: bool) -> None:
    assert keeps_rules(Field(("x",), "string" if isinstance(value, str) else "number", rules=rules), value) is kept


ROWS: Any = {
    "type": "object",
    "required": ["open_to_visitors", "owner"],
    "properties": {
        "towers": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["height"],
                "properties": {"name": {"type": "string"}, "height": {"type": "integer"}},
            },
        },
        "open_to_visitors": {"type": "boolean", "description": "Whether visitors may climb the tower"},
        "painted": {"type": "boolean", "description": "Whether the tower is painted"},
        "owner": {"type": "string"},
    },
}
TWO = (
    "# Lighthouses\n\nThe Varden lighthouse is 41 metres tall. The Holm lighthouse is 18 metres tall. "
    "Visitors may not climb the tower of the Varden lighthouse. The Varden lighthouse is painted white.\n"
)


async def test_rows_and_yes_or_no_carry_evidence_too(tmp_path: Path) -> None:
    def rows(seen: Seen) -> Any:
        told = {text: name for name, text in seen.lines.items() if not name.endswith(" quote")}
        named = {word: next(name for text, name in told.items() if word in text) for word in ("41", "18", "climb")}
        ids = {line.split(": ", 1)[1].split(" ")[0]: line.split(":")[0] for line in listed(seen)}
        name, height = ids["towers[].name"], ids["towers[].height"]
        climb = "Visitors may not climb the tower of the Varden lighthouse."
        painted = next(name for text, name in told.items() if "painted" in text)
        return {
            "fields": [
                {"id": height, "value": "18", "claims": [named["18"]], "rows": [7]},
                {"id": name, "value": "Holm lighthouse", "claims": [named["18"]], "rows": [7]},
                {"id": name, "value": "Varden lighthouse", "claims": [named["41"]], "rows": [2]},
                {"id": height, "value": "42", "claims": [named["41"]], "rows": [2]},
                {"id": ids["open_to_visitors"], "value": "true", "claims": [named["climb"]], "statement": climb},
                {"id": ids["open_to_visitors"], "value": "false", "claims": [named["climb"]], "statement": climb},
                {"id": ids["painted"], "value": "true", "claims": [painted], "statement": "The keeper is asleep."},
            ]
        }

    async with engine_over(tmp_path, ScriptedModel({"structure": rows}), TWO) as engine:
        report = await engine.research("How tall is the lighthouse, is it painted, and may visitors climb the tower?")
        made: Any = await engine.structure(report, ROWS)
    assert made["answer"] == {
        "towers": [{"name": "Holm lighthouse", "height": 18}, {"name": "Varden lighthouse"}],
        "open_to_visitors": False,
    }
    assert made["missing"] == ["towers[1].height", "painted", "owner"]
    assert made["missing_required"] == ["towers[1].height", "owner"]
    assert set(made["evidence"]) == {"towers[0].name", "towers[0].height", "towers[1].name", "open_to_visitors"}
    assert all(entry["passages"] for found in made["evidence"].values() for entry in found)


COASTS: Any = {
    "type": "object",
    "required": ["coasts"],
    "properties": {
        "coasts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "towers"],
                "properties": {
                    "name": {"type": "string"},
                    "towers": {
                        "type": "array",
                        "maxItems": 2,
                        "items": {
                            "type": "object",
                            "required": ["height"],
                            "properties": {
                                "name": {"type": "string"},
                                "height": {"type": "integer"},
                                "keepers": {"type": "array", "items": {"type": "string"}},
                            },
                        },
                    },
                },
            },
        }
    },
}
TWO_COASTS = (
    "# Lighthouses\n\nThe Varden lighthouse of the North Coast is 41 metres tall. "
    "The Holm lighthouse of the South Coast is 18 metres tall. The lighthouses of the West Coast are in ruins. "
    "The keepers of the Varden lighthouse of the North Coast are Anna Holm and Jan Berg.\n"
)


async def test_lists_in_lists_carry_evidence_for_each_field(tmp_path: Path) -> None:
    def rows(seen: Seen) -> Any:
        told = {text: name for name, text in seen.lines.items() if not name.endswith(" quote")}
        by = {word: next(name for text, name in told.items() if word in text) for word in ("41", "18", "Jan")}
        ids = {line.split(": ", 1)[1].split(" ")[0]: line.split(":")[0] for line in listed(seen)}
        coast, tower = ids["coasts[].name"], ids["coasts[].towers[].name"]
        height, keepers = ids["coasts[].towers[].height"], ids["coasts[].towers[].keepers"]
        return {
            "fields": [
                {"id": coast, "value": "South Coast", "claims": [by["18"]], "rows": [1]},
                {"id": tower, "value": "Holm lighthouse", "claims": [by["18"]], "rows": [1, 0]},
                {"id": height, "value": "41", "claims": [by["18"]], "rows": [1, 0]},
                {"id": coast, "value": "North Coast", "claims": [by["41"]], "rows": [0]},
                {"id": height, "value": "41", "claims": [by["41"]], "rows": [0, 5]},
                {"id": keepers, "value": "Anna Holm", "claims": [by["Jan"]], "rows": [0, 5]},
                {"id": keepers, "value": "Jan Berg", "claims": [by["Jan"]], "rows": [0, 5]},
                {"id": keepers, "value": "Zarblonski", "claims": [by["Jan"]], "rows": [0, 6]},
                {"id": coast, "value": "East Coast", "claims": [by["41"]], "rows": [2]},
                {"id": coast, "value": "Varden", "claims": [by["41"]], "rows": [3, 9, 9]},
            ]
        }

    async with engine_over(tmp_path, ScriptedModel({"structure": rows}), TWO_COASTS) as engine:
        report = await engine.research("How tall are the lighthouses of each coast and who are their keepers?")
        made: Any = await engine.structure(report, COASTS)
    assert made["answer"] == {
        "coasts": [
            {"name": "South Coast", "towers": [{"name": "Holm lighthouse"}]},
            {"name": "North Coast", "towers": [{"height": 41, "keepers": ["Anna Holm", "Jan Berg"]}]},
            {"name": "Varden"},
        ]
    }
    assert set(made["evidence"]) == {
        "coasts[0].name",
        "coasts[0].towers[0].name",
        "coasts[1].name",
        "coasts[1].towers[0].height",
        "coasts[1].towers[0].keepers",
        "coasts[2].name",
    }
    assert all(entry["passages"] for found in made["evidence"].values() for entry in found)
    assert {"coasts[0].towers[0].height", "coasts[1].towers[0].name", "coasts[2].towers[].name"} <= set(made["missing"])
    assert made["missing_required"] == ["coasts[0].towers[0].height", "coasts[2].towers"]


def test_what_is_named_as_required_and_missing_is_what_a_validator_says() -> None:
    schema: Any = {
        "type": "object",
        "required": ["height", "names"],
        "properties": {
            "height": {"type": "object", "properties": {"value": {"type": "integer"}}},
            "names": {"type": "array", "minItems": 2, "items": {"type": "string"}},
        },
    }
    cases: list[tuple[Any, tuple[str, ...]]] = [
        ({}, ("height", "names")),
        ({"names": ["Varden"]}, ("height", "names")),
        ({"height": {"value": 41}, "names": ["Varden", "Holm"]}, ()),
    ]
    for answer, lacks in cases:
        assert lacking(schema, answer) == lacks
        assert jsonschema.Draft202012Validator(schema).is_valid(answer) is (not lacks)


def test_a_list_has_as_many_rows_as_its_schema_allows() -> None:
    place = Field(("a[]", "b[]", "x"), "integer", row_limits=(2, 1))
    form = Form()
    for rows in [(4, 4), (4, 5), (9, 0), (1, 0), (9, 0)]:
        form.values[("f1", rows)] = [rows[0]]
        form.evidence[("f1", rows)] = ["it"]
    made = form.filled({"f1": place})
    assert made["answer"] == {"a": [{"b": [{"x": 4}]}, {"b": [{"x": 9}]}]}
    assert made["missing"] == []


async def test_the_call_is_on_the_run_and_made_again_from_it(tmp_path: Path) -> None:
    model = ScriptedModel({"structure": answers})
    async with engine_over(tmp_path, model) as engine:
        report = await engine.research("How tall is the Varden lighthouse and who built the Varden lighthouse?")
        before = await engine.run(report.run_id)
        first = await engine.structure(report, SCHEMA)
        summary = await engine.summarize(report.run_id)
        after = await engine.run(report.run_id)
        asked = len(model.seen)
        assert await engine.structure(report, SCHEMA) == first
        assert len(model.seen) == asked, "an answer that is on record is not paid for twice"
        calls: list[Any] = [call.request for call in await engine.calls(report.run_id) if call.kind == "model"]
    assert (after.status, after.reason) == (before.status, before.reason)
    assert after.usage.tokens_in > before.usage.tokens_in
    assert after.usage.cost_usd > before.usage.cost_usd
    assert {"structure/3", "summary/1"} <= {prompt for call in calls for prompt in [str(call["prompt"])]}
    async with Engine(engine.settings) as replaying:
        again = await replaying.structure(report, SCHEMA, from_record=True)
        assert again == first
        assert await replaying.summarize(report.run_id, from_record=True) == summary
        with pytest.raises(Conflict, match="replay"):
            await replaying.structure(report, ROWS, from_record=True)


REWORDED = "The lighthouse of Varden is 41 metres tall."


def reworded(seen: Seen) -> Any:
    [name] = [name for name, text in seen.lines.items() if "41 metres tall" in text and not name.endswith(" quote")]
    return {"sentences": [{"text": REWORDED, "claims": [name]}]}


@pytest.mark.parametrize("judge", [None, LabelJudge({}, default=JudgementLabel.STATES)], ids=["model", "local"])
async def test_what_is_made_again_is_judged_by_the_judge_of_the_run(judge: Any, tmp_path: Path) -> None:
    settings = engine_over(tmp_path, None).settings
    async with Engine(settings, model=ScriptedModel({"summary": reworded}), judge=judge) as engine:
        report = await engine.research("How tall is the Varden lighthouse?")
        summary = await engine.summarize(report.run_id)
    assert [sentence.text for sentence in summary.sentences] == [REWORDED]
    async with Engine(settings.model_copy(update={"judge": "none"})) as replaying:
        assert await replaying.summarize(report.run_id, from_record=True) == summary


async def test_a_cap_that_is_spent_refuses_the_call(tmp_path: Path) -> None:
    async with engine_over(tmp_path, ScriptedModel({"structure": {"fields": []}})) as engine:
        question = "How tall is the Varden lighthouse and who built the Varden lighthouse?"
        run_id = await engine.start(question, caps={"max_tokens": 14_000})
        report = await engine.resume(run_id)

        async def ask_until_refused() -> None:
            for number in range(40):
                schema: Any = {"type": "object", "properties": {f"x{number}": {"type": "string"}}}
                await engine.structure(report, schema)

        with pytest.raises(BudgetExhausted):
            await ask_until_refused()
        assert (await engine.run(run_id)).status in ("completed", "partial")

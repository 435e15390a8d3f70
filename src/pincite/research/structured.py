"""A finished report as a form: values for the fields of a JSON Schema, each with the passages it stands in."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pincite.domain.codec import to_json
from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.evidence import Relation, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.ports import ModelCalls
from pincite.research.model.outputs import Filled
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.wording import plain_line
from pincite.text.normalise import fold

MAX_FIELDS: Final = 60
_MAX_VALUES: Final = 20
_SCALARS: Final = frozenset({"string", "number", "integer"})
_NUMBER = re.compile(r"[-−]?\d[\d,   ]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Field:
    """A place for a value: the path to it, its type, whether it takes several, what may stand there."""

    path: tuple[str, ...]
    kind: str
    several: bool = False
    description: str = ""
    choices: tuple[str, ...] = ()


def fields_of(schema: Json) -> tuple[Field, ...]:
    """The fields of a schema: strings, numbers and integers, alone or in arrays, in objects within objects.

    Errors:
        InvalidInput: no object schema, another type, no field at all, or more than 60.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise InvalidInput("the schema is not of an object", reason="schema_unsupported")
    found = tuple(_fields(schema, ()))
    if not 0 < len(found) <= MAX_FIELDS:
        raise InvalidInput(f"the schema has {len(found)} fields; 1 to {MAX_FIELDS} can be filled", reason="schema_size")
    return found


def _fields(schema: Mapping[str, Json], path: tuple[str, ...]) -> Iterator[Field]:
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        here = (*path, name)
        if not isinstance(part, dict) or len(here) > 8:
            raise _unsupported(here)
        items = part.get("items")
        if part.get("type") == "object":
            yield from _fields(part, here)
        elif part.get("type") == "array" and isinstance(items, dict):
            yield _field(here, items, part, several=True)
        else:
            yield _field(here, part, part, several=False)


def _field(path: tuple[str, ...], scalar: Mapping[str, Json], outer: Mapping[str, Json], *, several: bool) -> Field:
    kind, choices = scalar.get("type"), scalar.get("enum")
    if kind not in _SCALARS:
        raise _unsupported(path)
    listed = tuple(str(choice) for choice in choices) if isinstance(choices, list) else ()
    return Field(path, str(kind), several, plain_line(str(outer.get("description") or "")), listed)


def _unsupported(path: tuple[str, ...]) -> InvalidInput:
    return InvalidInput(
        f"the schema field {'.'.join(path)} is of a type that can't be filled from passages",
        reason="schema_unsupported",
        hint="Use strings, numbers and integers, alone, in arrays, or in objects.",
    )


async def fill(
    question: str, schema: Json, material: Mapping[str, VerifiedClaim], calls: ModelCalls
) -> dict[str, Json]:
    """`{answer, evidence, missing}`: values by the schema, passages by path, and the paths that nothing answers.

    A value is kept only when the passages of a statement that the model named have it word for word.

    Errors:
        InvalidInput: the schema can't be filled. Those of `ModelCalls.ask`.
    """
    fields = {f"f{number}": field for number, field in enumerate(fields_of(schema), start=1)}
    values: dict[str, list[Json]] = {}
    evidence: dict[str, list[Json]] = {}
    answer = await calls.ask(ModelRole.WRITER, _prompt(question, fields, material), Filled) if material else Filled(())
    for entry in answer.fields:
        field = fields.get(entry.id)
        if field is None or len(values.get(entry.id, ())) >= (_MAX_VALUES if field.several else 1):
            continue
        items = [material[name] for name in dict.fromkeys(entry.claims) if name in material][:3]
        value = _value(field, entry.value)
        passages = _passages(field, entry.value, items)
        if value is None or not passages or value in values.get(entry.id, ()):
            continue
        values.setdefault(entry.id, []).append(value)
        evidence.setdefault(".".join(field.path), []).append({"value": value, "passages": passages})
    filled: dict[str, Json] = {}
    for name, found in values.items():
        _put(filled, fields[name].path, found if fields[name].several else found[0])
    missing: list[Json] = [".".join(field.path) for name, field in fields.items() if name not in values]
    return {"answer": filled, "evidence": {path: list(found) for path, found in evidence.items()}, "missing": missing}


def _value(field: Field, text: str) -> Json:
    """The text as a value of the field's type; None when it is none."""
    plain = plain_line(text).strip()
    if field.kind == "string":
        return plain if plain and (not field.choices or plain in field.choices) else None
    found = _NUMBER.findall(plain)
    if len(found) != 1:
        return None
    number = float(re.sub(r"[,   ]", "", found[0]).replace("−", "-"))
    if field.kind == "integer":
        return int(number) if number.is_integer() else None
    return number


def _passages(field: Field, text: str, items: Sequence[VerifiedClaim]) -> list[Json]:
    """The quotes of the named statements in which the value stands as a whole."""
    wanted = fold(plain_line(text)).text.strip().lower()
    if field.kind != "string":
        wanted = next(iter(_NUMBER.findall(wanted)), "").strip()
    if not wanted:
        return []
    pattern = re.compile(rf"(?<![\w.,]){re.escape(wanted)}(?![\w]|[.,]\d)")
    return [
        {"url": e.url, "snapshot_id": e.snapshot_id, "claim": item.claim.text, **_quote(e.quote.record())}
        for item in items
        for e in item.claim.evidence
        if e.relation is Relation.SUPPORTS and pattern.search(fold(e.quote.text).text.lower())
    ]


def _quote(record: object) -> dict[str, Json]:
    plain = to_json(record)
    return plain if isinstance(plain, dict) else {}


def _put(target: dict[str, Json], path: tuple[str, ...], value: Json) -> None:
    for name in path[:-1]:
        inner = target.setdefault(name, {})
        assert isinstance(inner, dict)
        target = inner
    target[path[-1]] = value


def _prompt(question: str, fields: Mapping[str, Field], material: Mapping[str, VerifiedClaim]) -> Prompt:
    listed = []
    for name, field in fields.items():
        kind = f"several of {field.kind}" if field.several else field.kind
        choices = f", one of {' | '.join(field.choices)}" if field.choices else ""
        listed.append(f"{name}: {'.'.join(field.path)} ({kind}{choices}) {field.description}".rstrip())
    lines: list[tuple[str, str]] = []
    for name, item in material.items():
        quotes = " … ".join(e.quote.text for e in item.claim.evidence if e.relation is Relation.SUPPORTS)
        lines += [(name, item.claim.text), (f"{name} quote", quotes[:400])]
    return Prompt(
        "structure",
        VERSIONS["structure"],
        instructions("structure"),
        context=(f"Question: {plain_line(question)}", "Fields:\n" + "\n".join(listed)),
        material=(Material("Statements", tuple(lines)),),
        max_tokens_out=300 + 60 * len(fields),
    )

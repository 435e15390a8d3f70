"""A finished report as a form: values for the fields of a JSON Schema, each with the passages it stands in."""

from collections.abc import Mapping, Sequence
from typing import Final

import anyio.to_thread

from pincite.domain.codec import to_json
from pincite.domain.events import Json
from pincite.domain.evidence import Relation, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.ports import ModelCalls
from pincite.research.model.outputs import Filled, FilledField
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Checked, Proposed, SentenceProver
from pincite.research.model.wording import plain_line
from pincite.research.schema_fields import Field, fields_of, lacking
from pincite.research.schema_form import Form
from pincite.research.schema_values import bare_text, keeps_rules, standing, value_of
from pincite.text.tokens import terms

# `schema_fields.MAX_FIELDS` with some rows each; an answer of more repeats itself.
_MAX_ENTRIES: Final = 400
# A value rests on one statement, seldom on two; more are named to be safe, and each has to be proven.
_MOST_CLAIMS: Final = 3
_DENYING: Final = frozenset("no not never none neither nor cannot nobody nothing nowhere without hardly".split())


async def fill(
    question: str,
    schema: Json,
    material: Mapping[str, VerifiedClaim],
    calls: ModelCalls,
    prover: SentenceProver,
) -> dict[str, Json]:
    """`{answer, evidence, missing, missing_required}`: values by the schema, passages by path, paths without an answer.

    `missing_required` has what the schema requires and the answer lacks.

    A value is kept only when the passages of a statement that the model named have it; yes and no only when a sentence
    that is proven like a written one says so.

    Errors:
        InvalidInput: the schema can't be filled. Those of `ModelCalls.ask`.
    """
    fields = {f"f{number}": place for number, place in enumerate(fields_of(schema), start=1)}
    answer = await calls.ask(ModelRole.WRITER, _prompt(question, fields, material), Filled) if material else Filled(())
    entries = answer.fields[:_MAX_ENTRIES]
    said = [e for e in entries if e.id in fields and fields[e.id].kind == "boolean"]
    proven = await prover.prove([Proposed(e.statement, e.claims[:_MOST_CLAIMS]) for e in said], material)
    sayings = {id(entry): found for entry, found in zip(said, proven, strict=True)}
    form = await anyio.to_thread.run_sync(_checked, fields, entries, material, sayings)
    filled = form.filled(fields)
    return {**filled, "missing_required": list(lacking(schema, filled["answer"]))}


def _checked(
    fields: Mapping[str, Field],
    entries: Sequence[FilledField],
    material: Mapping[str, VerifiedClaim],
    sayings: Mapping[int, Checked],
) -> Form:
    form = Form()
    for entry in entries:
        place = fields.get(entry.id)
        if place is None:
            continue
        depth = len(place.lists)
        key = (entry.id, (*entry.rows, *[0] * depth)[:depth])
        known = form.values.get(key, [])
        value = value_of(place, entry.value)
        if value is None or value in known or len(known) >= place.most or not keeps_rules(place, value):
            continue
        items = {name: material[name] for name in dict.fromkeys(entry.claims) if name in material}
        items = dict(list(items.items())[:_MOST_CLAIMS])
        if place.kind == "boolean":
            passages = _saying(place, value is True, sayings[id(entry)])
        else:
            passages = _passages(place, value, items)
        if passages:
            form.values.setdefault(key, []).append(value)
            form.evidence.setdefault(key, []).append({"value": value, "passages": passages})
    return form


def _passages(place: Field, value: Json, items: Mapping[str, VerifiedClaim]) -> list[Json]:
    """The quotes of the named statements in which the value stands as a whole."""
    return [
        {"url": e.url, "snapshot_id": e.snapshot_id, "claim": item.claim.text, **_quote(e.quote.record())}
        for item in items.values()
        for e in item.claim.evidence
        if e.relation is Relation.SUPPORTS and standing(place, value, e.quote.text)
    ]


def _saying(place: Field, value: bool, proven: Checked) -> list[Json]:
    """The quotes that carry a sentence which says yes or no to the field; nothing when it does not."""
    if proven.line is None:
        return []
    text = proven.line.text
    about = set(terms(f"{bare_text(place.path[-1])} {place.description}"))
    said = {word.strip(".,;:!?()\"'").lower() for word in text.split()}
    denies = bool(said & _DENYING) or any(word.endswith(("n't", "n’t")) for word in said)
    if denies is value or not about & set(terms(text)):
        return []
    return [
        {
            "url": e.url,
            "snapshot_id": e.snapshot_id,
            "claim": item.claim.text,
            "statement": text,
            **_quote(e.quote.record()),
        }
        for item in proven.line.items
        for e in item.claim.evidence
        if e.relation is Relation.SUPPORTS
    ]


def _quote(record: object) -> dict[str, Json]:
    plain = to_json(record)
    return plain if isinstance(plain, dict) else {}


def _prompt(question: str, fields: Mapping[str, Field], material: Mapping[str, VerifiedClaim]) -> Prompt:
    listed = []
    for name, place in fields.items():
        kind = f"several of {place.kind}" if place.several else place.kind
        choices = f", one of {' | '.join(map(str, place.choices))}" if place.choices else ""
        listed.append(f"{name}: {place.shown} ({kind}{choices}) {place.description}".rstrip())
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
        max_tokens_out=300 + 60 * len(fields) * (4 if any(place.lists for place in fields.values()) else 1),
    )

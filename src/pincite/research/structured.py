"""A finished report as a form: values for the fields of a JSON Schema, each with the passages it stands in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
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
from pincite.research.schema_fields import MAX_ROWS, Field, fields_of, lacking
from pincite.text.normalise import fold
from pincite.text.tokens import terms
from pincite.verification.dates import moments

_NUMBER: Final = re.compile(r"[-−]?\d[\d,\u00a0\u202f ]*(?:\.\d+)?")
# Numbers that stand alone: no part of an identifier or of a longer number.
_ALONE: Final = re.compile(r"(?<![\w.,])[-−]?\d+(?:[,\u00a0\u202f ]\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})


def value_of(place: Field, text: str) -> Json:
    """The text as a value of the field's type; None when it is none, or none of the field's choices."""
    plain = plain_line(text).strip()
    value = _typed(place, plain)
    if value is None or not place.choices:
        return value
    if isinstance(value, str):
        return next((choice for choice in place.choices if bare_text(str(choice)) == bare_text(value)), None)
    return value if value in place.choices else None


def _typed(place: Field, plain: str) -> Json:
    match place.kind:
        case "boolean":
            return True if plain.lower() in _YES else False if plain.lower() in _NO else None
        case "date":
            # Two days, or one that may be read two ways, are no value: nothing is guessed for a form.
            days = _days(plain)
            return days[0].isoformat() if len(days) == 1 else None
        case "integer" | "number":
            found = _NUMBER.findall(plain)
            if len(found) != 1:
                return None
            number = _figure(found[0])
            if place.kind == "number":
                return number
            return int(number) if number.is_integer() else None
        case _:
            return plain or None


def keeps_rules(place: Field, value: Json) -> bool:
    """Whether the value is within the bounds that the schema sets."""
    rules = dict(place.rules)
    if isinstance(value, str):
        least, most, pattern = rules.get("minLength"), rules.get("maxLength"), rules.get("pattern")
        return (
            (not isinstance(least, int) or len(value) >= least)
            and (not isinstance(most, int) or len(value) <= most)
            and (not isinstance(pattern, str) or re.search(pattern, value) is not None)
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return all(_keeps(value, name, bound) for name, bound in rules.items() if isinstance(bound, int | float))


def _keeps(value: float, name: str, bound: float) -> bool:
    match name:
        case "minimum":
            return value >= bound
        case "maximum":
            return value <= bound
        case "exclusiveMinimum":
            return value > bound
        case "exclusiveMaximum":
            return value < bound
        case "multipleOf":
            # As floats 0.3 is no whole multiple of 0.1; the rest is then some 1e-16 of the quotient.
            return bound != 0 and abs(value / bound - round(value / bound)) < 1e-9
        case _:
            return True


def standing(place: Field, value: Json, passage: str) -> bool:
    """Whether the value stands in the passage: a number as that number, a date as that day, a text word for word."""
    if place.kind == "date":
        return str(value) in {day.isoformat() for day in _days(passage)}
    text = fold(passage).text
    if place.kind in ("integer", "number"):
        return any(_figure(found) == value for found in _ALONE.findall(text))
    # A choice is a name of the schema's own (`very_high`): pages write it with spaces.
    wanted = bare_text(str(value)) if place.choices else fold(str(value)).text.strip().lower()
    body = bare_text(text) if place.choices else text.lower()
    return bool(wanted) and re.search(rf"(?<![\w.,]){re.escape(wanted)}(?![\w]|[.,]\d)", body) is not None


def bare_text(text: str) -> str:
    """The text as a choice is compared: lower case, `_` and `-` as spaces."""
    return " ".join(re.sub(r"[_-]", " ", fold(text).text.lower()).split())


def _days(text: str) -> list[date]:
    """The whole days that the text names, in order; 5/10/2018 names none."""
    found: list[date] = []
    for moment in moments(text):
        if moment.swapped or moment.year is None or moment.month is None or moment.day is None:
            continue
        try:
            found.append(date(moment.year, moment.month, moment.day))
        except ValueError:
            continue
    return found


def _figure(text: str) -> float:
    return float(re.sub(r"[,\u00a0\u202f ]", "", text).replace("−", "-"))


# What tells the rows of the lists apart in which a value is, the outermost first.
Rows = tuple[int, ...]


@dataclass(slots=True)
class Form:
    """What was filled so far: values and passages by field and rows."""

    values: dict[tuple[str, Rows], list[Json]] = field(default_factory=dict)
    evidence: dict[tuple[str, Rows], list[Json]] = field(default_factory=dict)

    def filled(self, fields: Mapping[str, Field]) -> dict[str, Json]:
        """`{answer, evidence, missing}`; the rows of each list keep the order in which they were first named."""
        answer: dict[str, Json] = {}
        evidence: dict[str, Json] = {}
        missing: list[Json] = []
        order = self._order(fields)
        for name, place in fields.items():
            for rows, at in _spots(place, order):
                numbers = iter(at)
                # With the numbers of its rows; `[]` stays where a list has none.
                path = [
                    f"{part[:-2]}[{number}]"
                    if part.endswith("[]") and (number := next(numbers, None)) is not None
                    else part
                    for part in place.path
                ]
                found = self.values.get((name, rows))
                if found is None:
                    missing.append(".".join(path))
                    continue
                _put(answer, place.path, at, found if place.several else found[0])
                evidence[".".join(path)] = list(self.evidence[name, rows])
        return {"answer": answer, "evidence": evidence, "missing": missing}

    def _order(self, fields: Mapping[str, Field]) -> dict[tuple[tuple[str, ...], Rows], list[int]]:
        """The rows of each list, by its path and the rows in which it is itself."""
        order: dict[tuple[tuple[str, ...], Rows], list[int]] = {}
        for name, rows in self.values:
            place = fields[name]
            for depth, path in enumerate(place.lists):
                listed = order.setdefault((path, rows[:depth]), [])
                if rows[depth] not in listed:
                    if len(listed) >= min(place.row_limits[depth], MAX_ROWS):
                        break
                    listed.append(rows[depth])
        return order


def _spots(place: Field, order: Mapping[tuple[tuple[str, ...], Rows], list[int]]) -> list[tuple[Rows, Rows]]:
    """Where the field is: by rows and by their numbers in the answer. A list without a row ends both early."""
    found: list[tuple[Rows, Rows]] = [((), ())]
    ended: list[tuple[Rows, Rows]] = []
    for path in place.lists:
        inner: list[tuple[Rows, Rows]] = []
        for rows, at in found:
            listed = order.get((path, rows), [])
            inner += [((*rows, row), (*at, number)) for number, row in enumerate(listed)]
            ended += [] if listed else [(rows, at)]
        found = inner
    return sorted(found + ended, key=lambda spot: spot[1])


def _put(target: dict[str, Json], path: tuple[str, ...], at: Rows, value: Json) -> None:
    numbers = iter(at)
    for name in path[:-1]:
        if name.endswith("[]"):
            listed, row = target.setdefault(name[:-2], []), next(numbers)
            assert isinstance(listed, list)
            listed += [{} for _ in range(row + 1 - len(listed))]
            inner = listed[row]
        else:
            inner = target.setdefault(name, {})
        assert isinstance(inner, dict)
        target = inner
    target[path[-1]] = value


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

    Errors: InvalidInput (the schema can't be filled), and those of `ModelCalls.ask`.
    """
    fields = {f"f{number}": place for number, place in enumerate(fields_of(schema), start=1)}
    answer = await calls.ask(ModelRole.WRITER, _prompt(question, fields, material), Filled) if material else Filled(())
    entries = answer.fields[:_MAX_ENTRIES]
    # Yes and no stand in no passage as such: a sentence has to say it, and is proven like any other.
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
        if e.relation is Relation.SUPPORTS and standing(place, value, e.standing)
    ]


def _saying(place: Field, value: bool, proven: Checked) -> list[Json]:
    """The quotes that carry a sentence which says yes or no to the field; nothing when it does not."""
    if proven.line is None:
        return []
    text = proven.line.text
    about = set(terms(f"{bare_text(place.path[-1])} {place.description}"))
    said = {word.strip(".,;:!?()\"'").lower() for word in text.split()}
    denies = bool(said & _DENYING) or any(word.endswith(("n't", "n’t")) for word in said)
    # A sentence that denies proves "no", and only where it speaks of this field: "it is not free" says nothing of
    # `encrypted`.
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
        # Sixty tokens a value with its ids; four rows where there are lists. Chosen, not measured.
        max_tokens_out=300 + 60 * len(fields) * (4 if any(place.lists for place in fields.values()) else 1),
    )

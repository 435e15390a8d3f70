"""Values that hold, put together as the object that a schema describes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pincite.domain.events import Json
from pincite.research.schema_fields import MAX_ROWS, Field

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
                path = _numbered(place.path, at)
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


def _numbered(path: tuple[str, ...], at: Rows) -> tuple[str, ...]:
    """The path with the numbers of its rows; `[]` stays where a list has none."""
    numbers = iter(at)
    return tuple(
        f"{name[:-2]}[{number}]" if name.endswith("[]") and (number := next(numbers, None)) is not None else name
        for name in path
    )


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

"""Domain values to plain JSON and back, by the annotations of the dataclasses alone. Light on purpose.

A dataclass becomes an object with a member for each field of its constructor; fields computed in `__post_init__`
are made anew on reading, so altered content shows. Datetimes are ISO 8601 in UTC with microseconds, money is text.
Unknown members are ignored (written by a newer minor version), missing ones take their default.
"""

import base64
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from pincite.domain.errors import ParseError
from pincite.domain.events import Json

T = TypeVar("T")
_Read = Callable[[Any], Any]  # takes parsed JSON of any shape; checks it


class _BadPart(ValueError):
    """What is wrong with a part and the path to it, for instance `claims[2].evidence[0].start`."""

    path: str

    def __init__(self, step: str, error: Exception) -> None:
        inner = error.path if isinstance(error, _BadPart) else ""
        super().__init__(str(error))
        self.path = f"{step}{'.' if inner and not inner.startswith('[') else ''}{inner}"


_BAD = (TypeError, ValueError, KeyError, AttributeError, InvalidOperation, OverflowError)


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; one without a zone is taken for UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def utc_text(moment: datetime) -> str:
    """`moment` as `2026-11-21T08:15:00.000000Z`: fixed width, so that text order is time order."""
    return in_utc(moment).isoformat(timespec="microseconds").replace("+00:00", "Z")


def utc_moment(text: str) -> datetime:
    """The moment that `utc_text` wrote (or any ISO 8601 one), aware, UTC."""
    return in_utc(datetime.fromisoformat(text))


def short_utc_text(moment: datetime) -> str:
    """`moment` as `2026-11-21T08:15:00Z`, with microseconds only where there are any: the form sent outside."""
    return in_utc(moment).isoformat().replace("+00:00", "Z")


def to_json(value: object, *, outside: bool = False, sparse: bool = False) -> Json:
    """`value` as plain JSON; the same value always gives the same JSON.

    Args:
        value: a domain value, or a mapping, sequence or scalar of such.
        outside: for other programs: times without empty fractions, money as a number.
        sparse: members that have their default are left out; `from_json` puts it back.
    """
    # From the commonest to the rarest: a report has tens of thousands of strings and one Decimal.
    if value is None or type(value) in _PLAIN:
        return cast("Json", value)
    if type(value) in _LISTS:
        return [to_json(item, outside=outside, sparse=sparse) for item in cast("Sequence[object]", value)]
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(type(value)):
        return {
            name: item if item is None or type(item) in _PLAIN else to_json(item, outside=outside, sparse=sparse)
            for name, default in _init_fields(cast("Any", type(value)))
            if (item := getattr(value, name)) is not default or not sparse
            if not sparse or item != default
        }
    if isinstance(value, datetime):
        return short_utc_text(value) if outside else utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        # Text keeps every digit of money; other programs expect a number.
        return float(value) if outside else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(key): to_json(item, outside=outside, sparse=sparse) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_json(item, outside=outside, sparse=sparse) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: type[T], data: Json) -> T:
    """The value of type `kind` that `to_json` wrote as `data`.

    Errors: ParseError (`data` is not the JSON of such a value; the message and `context["path"]` say where).
    """
    try:
        read: _Read = _reader(cast("Any", kind))
        return cast("T", read(data))
    except _BAD as error:
        path = error.path if isinstance(error, _BadPart) else ""
        where = f" at {path}" if path else ""
        name = getattr(kind, "__name__", kind)
        raise ParseError(
            f"not the JSON of a {name}{where}: {error}", reason="bad_json", context={"path": path}
        ) from error


def _part(step: str, read: _Read, data: Any) -> Any:
    try:
        return read(data)
    except _BAD as error:
        raise _BadPart(step, error) from error


@cache
def _init_fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """The fields of its constructor with their defaults; nothing equals the default of one that has none."""
    return tuple((field.name, field.default) for field in dataclasses.fields(kind) if field.init)


@cache
def _reader(kind: Any) -> _Read:  # any annotation a domain field may have
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in typing.get_args(kind) if argument is not type(None)]
        if len(inner) > 1:  # Json itself
            return _as_it_is
        optional = _reader(inner[0])
        return lambda data: None if data is None else optional(data)
    if origin is tuple:
        return _tuple_reader(typing.get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        read = _reader(typing.get_args(kind)[1])
        return lambda data: {key: _part(key, read, item) for key, item in _object(data).items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(cast("type", kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum_reader(kind)
    return _SCALARS.get(kind, _as_it_is)


def _tuple_reader(arguments: tuple[Any, ...]) -> _Read:  # as `_reader`
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        read = _reader(arguments[0])

        def read_items(data: Any) -> Any:
            items = _list(data)
            try:
                return tuple(map(read, items))
            except _BAD:  # once more, to say where
                return tuple(_part(f"[{i}]", read, item) for i, item in enumerate(items))

        return read_items
    reads = [_reader(argument) for argument in arguments]
    return lambda data: tuple(read(item) for read, item in zip(reads, _list(data), strict=True))


def _dataclass_reader(kind: type) -> _Read:
    hints = typing.get_type_hints(kind)
    reads = {name: _reader(hints[name]) for name, _ in _init_fields(kind)}
    required = {
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is field.default_factory is dataclasses.MISSING
    }

    def read_fields(data: Any) -> Any:
        given = _object(data)
        if not required <= given.keys():
            raise ValueError(f"{', '.join(sorted(required - given.keys()))} missing")
        try:
            # Without the path first, which costs as much as the reading: nearly all that is read is whole.
            return kind(**{name: reads[name](item) for name, item in given.items() if name in reads})
        except _BAD:  # once more, to say where
            return kind(**{name: _part(name, read, given[name]) for name, read in reads.items() if name in given})

    return read_fields


def _enum_reader(kind: type[Enum]) -> _Read:
    # A look-up of our own: `Enum.__call__` takes several times as long, and a document has a kind for each block.
    members = {member.value: member for member in kind}

    def read(data: Any) -> Any:
        found = members.get(data) if type(data) is str else None
        return kind(data) if found is None else found  # its own words for what it is not

    return read


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError(f"an object was expected, not {type(data).__name__}")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError(f"a list was expected, not {type(data).__name__}")
    return data


def _as_it_is(data: Any) -> Any:
    return data


def _exactly(*kinds: type) -> _Read:
    def read(data: Any) -> Any:
        if type(data) not in kinds:
            raise TypeError(f"{kinds[-1].__name__} was expected, not {type(data).__name__}")
        return kinds[-1](data)

    return read


def _decimal(data: Any) -> Decimal:
    if type(data) not in (str, int, float):
        raise TypeError(f"an amount was expected, not {type(data).__name__}")
    amount = Decimal(str(data))  # through text: 0.1 stays 0.1
    if not amount.is_finite():
        raise ValueError(f"{data!r} is no amount")
    return amount


_PLAIN = frozenset({str, int, float, bool})
_LISTS = frozenset({tuple, list})
_SCALARS: dict[Any, _Read] = {
    str: _exactly(str),
    bool: _exactly(bool),
    int: _exactly(int),
    float: _exactly(int, float),
    datetime: utc_moment,
    date: date.fromisoformat,
    Decimal: _decimal,
    bytes: lambda data: base64.b64decode(data, validate=True),
}

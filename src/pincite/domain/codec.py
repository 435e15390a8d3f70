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


def utc_text(moment: datetime) -> str:
    """`moment` as `2026-11-21T08:15:00.000000Z`: fixed width, so that text order is time order."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def utc_moment(text: str) -> datetime:
    """The moment that `utc_text` wrote (or any ISO 8601 one), aware, UTC."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def to_json(value: object) -> Json:
    """`value` as plain JSON; the same value always gives the same JSON."""
    if isinstance(value, Enum):
        return to_json(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, name)) for name in _init_names(type(value))}
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [to_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def from_json(kind: type[T], data: Json) -> T:
    """The value of type `kind` that `to_json` wrote as `data`.

    Errors:
        ParseError: `data` is not the JSON of such a value.
    """
    try:
        read: _Read = _reader(cast("Any", kind))
        return cast("T", read(data))
    except (TypeError, ValueError, KeyError, AttributeError, InvalidOperation) as error:
        raise ParseError(f"not the JSON of a {getattr(kind, '__name__', kind)}: {error}", reason="bad_json") from error


@cache
def _init_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


@cache
def _reader(kind: Any) -> _Read:  # any annotation a domain field may have
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _optional_reader(kind)
    if origin is tuple:
        return _tuple_reader(typing.get_args(kind))
    if origin is not None and issubclass(origin, Mapping):
        read = _reader(typing.get_args(kind)[1])
        return lambda data: {key: read(item) for key, item in data.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass_reader(cast("type", kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return _SCALARS.get(kind, _as_it_is)


def _optional_reader(kind: Any) -> _Read:  # as `_reader`
    inner = [argument for argument in typing.get_args(kind) if argument is not type(None)]
    if len(inner) > 1:  # Json itself
        return _as_it_is
    read = _reader(inner[0])
    return lambda data: None if data is None else read(data)


def _tuple_reader(arguments: tuple[Any, ...]) -> _Read:  # as `_reader`
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        read = _reader(arguments[0])
        return lambda data: tuple(read(item) for item in _list(data))
    reads = [_reader(argument) for argument in arguments]
    return lambda data: tuple(read(item) for read, item in zip(reads, _list(data), strict=True))


def _dataclass_reader(kind: type) -> _Read:
    hints = typing.get_type_hints(kind)
    reads = {name: _reader(hints[name]) for name in _init_names(kind)}

    def read_fields(data: Any) -> Any:
        if not isinstance(data, dict):
            raise TypeError(f"an object was expected, not {type(data).__name__}")
        return kind(**{name: read(data[name]) for name, read in reads.items() if name in data})

    return read_fields


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


_SCALARS: dict[Any, _Read] = {
    str: _exactly(str),
    bool: _exactly(bool),
    int: _exactly(int),
    float: _exactly(int, float),
    datetime: utc_moment,
    date: date.fromisoformat,
    Decimal: Decimal,
    bytes: lambda data: base64.b64decode(data, validate=True),
}

"""Kinds of columns that are the same on SQLite and PostgreSQL, and readable by any tool."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Text, TypeDecorator
from sqlalchemy.engine import Dialect

from pincite.domain.codec import utc_moment, utc_text


class Moment(TypeDecorator[datetime]):
    """An aware datetime, kept as text of fixed width so that text order is time order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """The text."""
        return None if value is None else utc_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """The moment."""
        return None if value is None else utc_moment(value)


class JsonText(TypeDecorator[Any]):  # any JSON value
    """A JSON value, kept as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """The text."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """The value."""
        return None if value is None else json.loads(value)


def key(name: str, type_: Any = Text) -> Column[Any]:
    """A further part of the key."""
    return Column(name, type_, nullable=False, primary_key=True, autoincrement=False)


def text_column(name: str, default: str | None = "") -> Column[str]:
    """A text that is always there; without a default it must be given."""
    return Column(name, Text, nullable=False, server_default=default)

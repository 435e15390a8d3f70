"""Numbered changes of the schema, each a file of SQL that is frozen once released.

A file is named `NNNN_what.sql`; statements end with `;` at the end of a line; `{bytes}` stands for the type of raw
bytes. All missing ones are applied in one transaction, so that an interrupted upgrade leaves the old schema.
"""

from functools import cache
from importlib import resources

from sqlalchemy import Connection, inspect, text

from pincite.domain.codec import utc_text
from pincite.domain.errors import SchemaMismatch
from pincite.ports import Clock

_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
_LOCK_NUMBER = 7_046_251
"""Key of the PostgreSQL advisory lock that lets one process migrate at a time (any number, fixed for ever)."""


@cache
def known() -> tuple[tuple[int, str, str], ...]:
    """Number, name and SQL of every migration of this version of Pincite, in order."""
    files = sorted(entry.name for entry in resources.files(__name__).iterdir() if entry.name.endswith(".sql"))
    return tuple(
        (int(name[:4]), name[5:-4], (resources.files(__name__) / name).read_text(encoding="utf-8")) for name in files
    )


def newest() -> int:
    """The schema version this Pincite works with."""
    return known()[-1][0]


def migrate(connection: Connection, clock: Clock) -> int:
    """Bring the schema to `newest()` inside the transaction that is open; the version it had before.

    Errors:
        SchemaMismatch: a newer Pincite has been here.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})"))
    before = version_of(connection)
    if before > newest():
        raise SchemaMismatch(
            f"the database has schema {before}, this Pincite knows schemas up to {newest()}",
            reason="newer_schema",
            context={"schema": before, "known": newest()},
        )
    for number, name, script in known():
        if number <= before:
            continue
        for statement in statements(script, connection.dialect.name):
            connection.exec_driver_sql(statement)
        connection.execute(
            text("INSERT INTO schema_versions (scope, version, name, applied_at) VALUES ('public', :v, :n, :at)"),
            {"v": number, "n": name, "at": utc_text(clock.now())},
        )
    return before


def statements(script: str, dialect: str) -> list[str]:
    """The single statements of a migration for this database."""
    filled = script.replace("{bytes}", _BYTES[dialect])
    return [part.strip() for part in filled.split(";\n") if part.strip()]


def version_of(connection: Connection) -> int:
    """The schema version found, 0 for an empty database."""
    if not inspect(connection).has_table("schema_versions"):
        return 0
    return int(connection.execute(text("SELECT coalesce(max(version), 0) FROM schema_versions")).scalar_one())

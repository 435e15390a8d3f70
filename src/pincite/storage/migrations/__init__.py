"""Numbered changes of the schema, applied in one transaction; each is frozen once released.

A change is one file, `NNNN_what.sql`: statements end with `;` at the end of a line, `{bytes}` stands for the type of
raw bytes. Every change leaves a row in `schema_versions`. Databases of earlier releases have a table `alembic_version`
as well, which says the same and is no longer read.
"""

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pincite.domain.codec import utc_text
from pincite.domain.errors import SchemaMismatch
from pincite.ports import Clock

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BYTES = {"sqlite": "BLOB", "postgresql": "BYTEA"}
# Key of the PostgreSQL advisory lock that lets one process migrate at a time (any number, fixed for ever).
_LOCK_NUMBER = 7_046_251


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


def migrate(connection: "Connection", clock: Clock) -> int:
    """Bring the schema to `newest()` inside the transaction that is open; the version it had before.

    Errors: SchemaMismatch (a newer Pincite has been here).
    """
    from sqlalchemy import text

    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER})"))
    before = version_of(connection)
    if before > newest():
        raise SchemaMismatch(
            f"the database has schema {before}, this Pincite knows schemas up to {newest()}",
            reason="newer_schema",
            hint="Install a Pincite as new as the one that made it, or use another home or database.",
            context={"schema": before, "known": newest()},
        )
    applied_at = utc_text(clock.now())
    for migration in known():
        if migration[0] > before:
            run_script(connection, *migration, applied_at)
    return before


def run_script(connection: "Connection", number: int, name: str, script: str, applied_at: str) -> None:
    """Run the SQL of one migration and leave its row, within the transaction that is open."""
    from sqlalchemy import text

    for statement in statements(script, connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(
        text("INSERT INTO schema_versions (scope, version, name, applied_at) VALUES ('public', :v, :n, :at)"),
        {"v": number, "n": name, "at": applied_at},
    )


def statements(script: str, dialect: str) -> list[str]:
    """The single statements of a migration for this database."""
    filled = script.replace("{bytes}", _BYTES[dialect])
    return [part.strip() for part in filled.split(";\n") if part.strip()]


def version_of(connection: "Connection") -> int:
    """The schema version found, 0 for an empty database."""
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("schema_versions"):
        return 0
    return int(connection.execute(text("SELECT coalesce(max(version), 0) FROM schema_versions")).scalar_one())

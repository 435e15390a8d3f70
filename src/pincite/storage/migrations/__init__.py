"""Numbered changes of the schema, applied by Alembic in one transaction; each is frozen once released.

A change is one file, `NNNN_what.sql`: statements end with `;` at the end of a line, `{bytes}` stands for the type of
raw bytes. Every change also leaves a row in `schema_versions`: releases from before Alembic read their schema there,
and a look at it tells without Alembic that nothing is to be done.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

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
    if before < newest():
        _upgrade(connection, before, utc_text(clock.now()))
    return before


def run_script(number: int) -> None:
    """Run the SQL of one migration, within the migration that Alembic has begun."""
    from alembic import op
    from sqlalchemy import text

    name, script = next((name, script) for of, name, script in known() if of == number)
    connection = op.get_bind()
    for statement in statements(script, connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(
        text("INSERT INTO schema_versions (scope, version, name, applied_at) VALUES ('public', :v, :n, :at)"),
        {"v": number, "n": name, "at": op.get_context().opts["applied_at"]},
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


def _upgrade(connection: "Connection", before: int, applied_at: str) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.runtime.migration import MigrationContext
    from alembic.script import Script, ScriptDirectory

    class Directory(ScriptDirectory):
        # Alembic wants a Python file for each revision; ours differ in their SQL alone, so they are made from it.
        def _load_revisions(self) -> Iterator[Script]:
            for number, name, _ in known():
                module = ModuleType(name)
                module.__dict__.update(
                    revision=f"{number:04d}",
                    down_revision=f"{number - 1:04d}" if number > 1 else None,
                    upgrade=lambda number=number: run_script(number),
                )
                yield Script(module, f"{number:04d}", name)

    scripts = Directory(str(Path(__file__).parent))
    found = MigrationContext.configure(connection)
    if before and not found.get_current_heads():  # made by a release from before Alembic: taken over as it is
        found.stamp(scripts, f"{before:04d}")

    def upgrade(revision: Any, _: Any) -> Any:  # what Alembic calls with the revision found
        return scripts._upgrade_revs("head", revision)  # noqa: SLF001  # as alembic.command.upgrade does

    with EnvironmentContext(Config(), scripts, fn=upgrade) as environment:
        environment.configure(connection=connection, transactional_ddl=True, applied_at=applied_at)
        environment.run_migrations()

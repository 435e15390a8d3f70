"""Only `storage.transactions` makes statements, so that none can forget its scope."""

import ast
from pathlib import Path

import pytest

import pincite.storage
from pincite.domain.errors import Internal
from pincite.storage.service import SharedTables, open_storage
from pincite.storage.tables import FileTables, opened_tables
from pincite.testing.clock import FrozenClock

MAKERS = {"select", "insert", "update", "delete", "text", "Select", "literal_column"}
MAY = {"transactions.py", "database.py", "migrations/__init__.py"}


def test_no_other_module_makes_statements() -> None:
    root = Path(pincite.storage.__file__).parent
    offenders = []
    for path in root.rglob("*.py"):
        if path.relative_to(root).as_posix() in MAY:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
                offenders += [f"{path.name}: {alias.name}" for alias in node.names if alias.name in MAKERS]
            if isinstance(node, ast.Attribute) and node.attr in {"execute", "exec_driver_sql"}:
                offenders += [f"{path.name}: {node.attr}"] if _uses_sqlalchemy(path) else []
    assert offenders == []


def _uses_sqlalchemy(path: Path) -> bool:
    return "sqlalchemy" in path.read_text(encoding="utf-8")


def test_only_what_serves_all_users_looks_across_scopes() -> None:
    root = Path(pincite.storage.__file__).parent
    users = {path.name for path in root.rglob("*.py") if "AcrossScopes" in path.read_text(encoding="utf-8")}
    assert users == {"transactions.py", "server.py"}


def test_text_of_sql_sees_every_scope_only_where_that_is_meant(tmp_path: Path) -> None:
    root = Path(pincite.storage.__file__).parent
    users = {path.name for path in root.rglob("*.py") if "every_scope=True" in path.read_text(encoding="utf-8")}
    # A bound for a whole home, the age of the log, and the space of a file.
    assert users == {"cache.py", "tool_log.py", "tables.py"}
    tables = FileTables(tmp_path / "t.sqlite", "CREATE TABLE IF NOT EXISTS t (scope TEXT);", "alice", FrozenClock())
    with opened_tables(tables), pytest.raises(Internal, match="names no scope"):
        tables.read_now(lambda tx: tx.query("SELECT * FROM t"))


async def test_text_of_sql_without_a_scope_is_refused_in_the_database(tmp_path: Path) -> None:
    async with open_storage(tmp_path, FrozenClock()) as storage:
        with pytest.raises(Internal, match="names no scope"):
            await SharedTables(storage.database, "alice").write(lambda tx: tx.apply("DELETE FROM cache_entries"))

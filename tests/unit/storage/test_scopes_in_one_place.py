"""Only `storage.database` makes statements, so that none can forget its scope."""

import ast
from pathlib import Path

import pincite.storage

MAKERS = {"select", "insert", "update", "delete", "text", "Select", "literal_column"}
MAY = {"database.py", "migrations/__init__.py"}


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
    assert users == {"database.py", "queue.py", "server.py", "shared_tool_log.py"}

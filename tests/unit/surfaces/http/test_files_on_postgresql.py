"""What is taken away from a server whose runs are in PostgreSQL is the same as from a home."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.wiring.checking import check_stored_report


@pytest.mark.parametrize(("evidence", "kept"), [("full", {"full", "run"}), ("passages", {"excerpts"})])
async def test_a_bundle_checks_anywhere(
    opened: Callable[..., Any],
    library: Path,
    postgresql_url: str,
    tmp_path: Path,
    question: str,
    evidence: str,
    kept: set[str],
) -> None:
    home, shared = tmp_path / "home", {"database_url": postgresql_url}
    async with Engine.from_settings(home=home, scope="local", source=f"local:{library}", **shared) as engine:
        run_id = (await engine.research(question)).run_id
    async with opened(home, settings=shared) as client:
        page = await client.get(f"/runs/{run_id}/export", headers={"Accept": "text/html"})
        assert f"/v1/research/{run_id}/report?format=wacz" in page.text
        got = await client.get(f"/v1/research/{run_id}/report", params={"format": "wacz", "evidence": evidence})
        assert got.status_code == 200, got.text
        await client.delete(f"/v1/research/{run_id}")
    elsewhere = load_settings({"home": tmp_path / "elsewhere"}, environ={}, files=())
    found = check_stored_report(got.content, elsewhere)
    assert found.status == "passed"
    assert set(found.kept) <= kept

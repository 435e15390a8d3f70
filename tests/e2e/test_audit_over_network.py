"""`pincite audit` over loopback: a host that only this network knows, a page that is gone, a page that never was."""

import json
from pathlib import Path

import anyio.to_thread
from tests.contract.wayback import WaybackServer
from tests.e2e.commands import Pincite

from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb

WORDS = "It has a visitor centre that opens every day of the week, and a path along the river. " * 8


def page(text: str) -> str:
    return f"<html><head><title>Park</title></head><body><main><h1>Park</h1><p>{text} {WORDS}</p></main></body></html>"


async def test_local_hosts_and_dead_pages(pincite: Pincite, tmp_path: Path) -> None:
    async with StubWeb() as web:
        archive = WaybackServer(web)
        wiki, gone, never = (web.url(host, "/park") for host in ("wiki.test", "gone.test", "never.test"))
        web.page("/park", page("The Havel Wind Park makes 398 MW."), host="wiki.test")
        archive.capture(gone, "20200102030405", page("The Orla is 512 kilometres long."))
        report = tmp_path / "report.md"
        report.write_text(
            "The Havel Wind Park makes 398 MW [1]. The Orla is 512 kilometres long [2]. It rains in June [3].\n\n"
            f"## Sources\n\n1. {wiki}\n2. {gone}\n3. {never}\n"
        )
        named = [f"{host}.test:{web.port}:{PUBLIC_STAND_IN}" for host in ("wiki", "gone", "never")]
        options = [part for name in named for part in ("--resolve", name)]
        opened = {"PINCITE_ALLOW_PORTS": str(web.port), "PINCITE_WAYBACK_BASE_URL": archive.origin}
        command = ["audit", str(report), *options, "--allow-network", PUBLIC_NETWORK, "--json"]

        ended = await anyio.to_thread.run_sync(lambda: pincite(*command, environ=opened))
        found = json.loads(ended.out)
        assert [reference["state"] for reference in found["references"]] == ["read", "archived", "never_seen"]
        assert [found["sentences"][n]["outcome"] for n in (0, 2)] == ["supported", "invented_url"]
        assert "captured on 2020-01-02" in found["references"][1]["reason"]
        assert web.internal_hits == []

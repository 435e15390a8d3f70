"""Who may ask, for what, how often: keys, scopes, bindings."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pincite.domain.budget import Usage
from pincite.domain.errors import BudgetExhausted, Conflict, InvalidInput, RateLimited, Unauthorized
from pincite.engine import Engine
from pincite.surfaces.cli.app import run
from pincite.surfaces.http.gate import KeyRing
from pincite.surfaces.http.service import Turns, WrongKeys
from pincite.surfaces.http.serving import vet_binding
from pincite.testing.clock import FrozenClock


async def test_scopes_are_kept_apart_by_key(tmp_path: Path, opened: Callable[..., Any], question: str) -> None:
    keys = KeyRing(tmp_path)
    one, two = keys.create("one"), keys.create("two")
    assert one not in (tmp_path / "keys.json").read_text(encoding="utf-8")
    with pytest.raises(Conflict):
        keys.create("one")
    async with opened(tmp_path) as client:
        nobody = await client.get("/v1/research")
        assert (nobody.status_code, nobody.json()["code"]) == (401, "UNAUTHORIZED")
        assert nobody.headers["www-authenticate"] == "Bearer"
        client.headers["Authorization"] = f"Bearer {one}"
        run_id = (await client.post("/v1/research", json={"question": question})).json()["id"]
        ended = await client.get(f"/v1/research/{run_id}", params={"wait": 30})
        assert ended.json()["status"] in ("completed", "partial")
        report = (await client.get(f"/v1/research/{run_id}/report")).json()
        snapshot = report["references"][0]["snapshot_id"]
        assert (await client.get(f"/v1/snapshots/{snapshot}")).status_code == 200
        client.headers["Authorization"] = f"Bearer {two}"
        assert (await client.get("/v1/research")).json()["runs"] == []
        for path in ("", "/report", "/events", "/claims", "/sources", "/trace"):
            assert (await client.get(f"/v1/research/{run_id}{path}")).status_code == 404, path
        for path in ("cancel", "resume"):
            assert (await client.post(f"/v1/research/{run_id}/{path}")).status_code == 404, path
        assert (await client.delete(f"/v1/research/{run_id}")).status_code == 404
        assert (await client.get(f"/v1/snapshots/{snapshot}")).status_code == 404
        del client.headers["Authorization"]
        assert (await client.get(f"/v1/research/{run_id}", headers={"X-API-Key": one})).status_code == 200
        keys.revoke("one")  # counts at once, by another process too
        assert (await client.get(f"/v1/research/{run_id}", headers={"X-API-Key": one})).status_code == 401


async def test_a_key_comes_as_often_as_it_may(tmp_path: Path, opened: Callable[..., Any]) -> None:
    secret = KeyRing(tmp_path).create("one", rate_per_min=1)
    async with opened(tmp_path) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        answers = [await client.get("/v1/models") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 429, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 60
        tavily = await client.post("/tavily/search", json={"query": "a", "api_key": secret})
        assert (tavily.status_code, list(tavily.json())) == (429, ["detail"])


async def test_a_key_spends_what_it_may_in_a_day(tmp_path: Path, opened: Callable[..., Any], question: str) -> None:
    secret = KeyRing(tmp_path).create("one", daily_usd=Decimal("0.8"))
    async with opened(tmp_path) as client:
        client.headers["Authorization"] = f"Bearer {secret}"
        run_id = (await client.post("/v1/research", json={"question": question})).json()["id"]
        await client.get(f"/v1/research/{run_id}", params={"wait": 30})
        trace = (await client.get(f"/v1/research/{run_id}/trace")).json()
        assert trace["budget"]["cost_usd"] == 0.8
        async with Engine.from_settings(home=tmp_path, scope="one") as engine:
            account = (await engine.server_services()).account("one", Decimal("0.8"))
            for _ in range(100):  # what was set aside comes back when the run has ended
                if not await (await engine.server_services()).memory.taken("one", f"{datetime.now(UTC):%Y-%m-%d}"):
                    break
                await anyio.sleep(0.02)
            await account.reserve(Usage(searches=1, cost_usd=Decimal("0.5")))
            with pytest.raises(BudgetExhausted):
                await account.reserve(Usage(searches=1, cost_usd=Decimal("0.4")))
            await account.settle(Usage(cost_usd=Decimal("0.5")), Usage(cost_usd=Decimal("0.7")))
            assert await account.reserve_for_run(None) == Decimal("0.1")
        refused = await client.post("/v1/research", json={"question": question})
        assert (refused.status_code, refused.json()["reason"]) == (402, "daily_usd")
        assert int(refused.headers["retry-after"]) > 0
        asked = {"model": "pincite-quick", "messages": [{"role": "user", "content": question}]}
        quota = await client.post("/v1/chat/completions", json=asked)
        assert (quota.status_code, quota.json()["error"]["code"]) == (429, "insufficient_quota")
        assert (await client.post(f"/v1/research/{run_id}/resume")).status_code == 402
        transport = streamable_http_client("http://localhost/mcp", http_client=client)
        async with Client(transport, mode="2026-07-28") as assistant:
            told = await assistant.call_tool("research", {"question": question})
            assert told.is_error
            assert "BUDGET_EXHAUSTED" in str(told.content)
        free = await client.post("/v1/search", json={"query": "Halden lighthouse"})
        assert free.status_code == 200


async def test_turns_come_back_evenly(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    ring.create("one", rate_per_min=60)
    ring.create("free")
    one, free = ring.all()
    clock = FrozenClock()
    turns = Turns(clock)
    for _ in range(15):
        await turns.take(one)
    with pytest.raises(RateLimited) as refused:
        await turns.take(one)
    assert refused.value.retry_after_s == 1
    for _ in range(100):
        await turns.take(free)
        with pytest.raises(RateLimited):  # being refused costs nothing
            await turns.take(one)
    let_through = 0
    for _ in range(600):
        clock.advance(0.1)
        try:
            await turns.take(one)
            let_through += 1
        except RateLimited:
            continue
    assert 59 <= let_through <= 60


def test_a_public_interface_needs_a_key_that_is_not_revoked(tmp_path: Path) -> None:
    keys = KeyRing(tmp_path)
    vet_binding("127.0.0.1", keys)
    with pytest.raises(Conflict, match="anybody"):
        vet_binding("0.0.0.0", keys)
    keys.create("one")
    vet_binding("0.0.0.0", keys)
    keys.revoke("one")
    assert KeyRing(tmp_path).active == ()
    with pytest.raises(Conflict):
        vet_binding("::", keys)


def test_every_key_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    ring = KeyRing(tmp_path)
    secrets = [ring.create(f"k{n}") for n in range(5)]
    compared: list[str] = []
    real = hmac.compare_digest

    def counted(one: str, two: str) -> bool:
        compared.append(one)
        return real(one, two)

    monkeypatch.setattr("pincite.surfaces.http.gate.hmac.compare_digest", counted)
    assert ring.key_of(secrets[0]).name == "k0"
    for wrong in (None, "", "pc_x", "\udc80"):
        with pytest.raises(Unauthorized):
            ring.key_of(wrong)
    assert len(compared) == 25


def test_the_command_refuses_before_it_says_that_it_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--host", "0.0.0.0", "--home", str(tmp_path)]) == 2
    shown = capsys.readouterr().err
    assert "pincite keys create" in shown
    assert "Serving" not in shown


def test_keys_are_made_listed_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path)]
    assert run(["keys", "create", "one", "--rate", "30", "--daily-usd", "2.50", *home]) == 0
    secret = capsys.readouterr().out.strip()
    assert KeyRing(tmp_path).key_of(secret).scope == "one"
    assert KeyRing(tmp_path).key_of(secret).daily_cap_usd == Decimal("2.50")
    assert run(["keys", "list", *home]) == 0
    listed = capsys.readouterr().out
    assert "30 requests/min" in listed
    assert "$2.50 a day" in listed
    assert run(["keys", "revoke", "one", *home]) == 0
    assert run(["keys", "list", *home]) == 0
    listed = capsys.readouterr().out
    assert "revoked" in listed
    assert secret not in listed
    assert run(["keys", "revoke", "one", *home]) == 2
    assert run(["keys", "create", "a\nb", *home]) == 2
    with pytest.raises(InvalidInput):
        KeyRing(tmp_path).create(" ")


async def test_wrong_keys_are_answered_ever_more_slowly_and_right_ones_at_once() -> None:
    now = [0.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        await anyio.lowlevel.checkpoint()

    wrong = WrongKeys(lambda: now[0], sleep)
    waited = []
    for _ in range(12):
        before = now[0]
        await wrong.slow_down("192.0.2.7")
        waited.append(now[0] - before)
    assert waited == [0, 0, 0, 0, 0, 0.25, 0.5, 1, 2, 4, 8, 8]
    before = now[0]
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(wrong.slow_down, "192.0.2.7")
    assert now[0] - before == 32, "side by side they wait for each other"
    refused = []

    async def one() -> None:
        try:
            await wrong.slow_down("192.0.2.7")
        except RateLimited as error:
            refused.append(error.retry_after_s)

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(one)
    assert len(refused) == 24
    before = now[0]
    await wrong.slow_down("192.0.2.8")
    assert now[0] == before, "others wait for nothing"
    now[0] += 61
    before = now[0]
    await wrong.slow_down("192.0.2.7")
    assert now[0] == before, "it is forgotten after a minute"


async def test_each_door_slows_wrong_keys_down(tmp_path: Path, opened: Callable[..., Any]) -> None:
    told: list[str] = []

    class Told(WrongKeys):
        async def slow_down(self, address: str) -> None:
            told.append(address)

    secret = KeyRing(tmp_path).create("one")
    async with opened(tmp_path) as client:
        client._transport.app.state.service.wrong_keys = Told()
        assert (await client.get("/v1/research")).status_code == 401
        assert (await client.get("/v1/research", headers={"X-API-Key": secret})).status_code == 200
        assert told == [], "none given is none to be guessed"
        wrong = {"Authorization": "Bearer pc_wrong"}
        for path in ("/v1/research", "/v1/models", "/mcp"):
            assert (await client.get(path, headers=wrong)).status_code == 401
        assert (await client.post("/login", data={"key": "pc_wrong"})).status_code in (401, 403)
        assert len(told) >= 3

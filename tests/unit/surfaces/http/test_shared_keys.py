"""Keys that several servers share through their database: made and revoked anywhere, known everywhere soon."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from pincite.domain.errors import Conflict, NotFound, StorageUnavailable, Unauthorized
from pincite.ports import KeyStore
from pincite.settings import Settings, load_settings
from pincite.surfaces.http import gate
from pincite.surfaces.http.gate import KeyRing
from pincite.wiring.server import opened_keys


@pytest.fixture
def settings(tmp_path: Path, postgresql_url: str) -> Settings:
    return load_settings({"home": tmp_path / "home", "database_url": postgresql_url}, environ={}, files=())


@pytest.fixture
def keys(settings: Settings) -> Iterator[KeyStore]:
    with opened_keys(settings) as opened:
        yield opened


def test_a_key_made_by_one_process_opens_the_server_of_another(keys: KeyStore, settings: Settings) -> None:
    server, name = KeyRing(keys), f"one {uuid4()}"
    with opened_keys(settings) as other:
        cli = KeyRing(other)
        secret = cli.create(name, rate_per_min=9)
        with pytest.raises(Conflict):
            cli.create(name)
        server.refresh()
        assert server.key_of(secret).rate_per_min == 9
        cli.revoke(name)
        with pytest.raises(NotFound):
            cli.revoke(name)
    server.refresh()
    with pytest.raises(Unauthorized):
        server.key_of(secret)
    assert not (settings.home / "keys.json").exists()


def test_the_keys_of_a_home_move_to_its_database(settings: Settings) -> None:
    name = f"old {uuid4()}"
    secret = KeyRing(settings.home).create(name)
    with opened_keys(settings) as keys:
        assert KeyRing(keys).key_of(secret).scope == name
    assert not (settings.home / "keys.json").exists()
    assert (settings.home / "keys.json.moved").exists()
    with opened_keys(settings) as keys:
        assert KeyRing(keys).key_of(secret).name == name


async def test_a_running_server_follows_the_keys(
    keys: KeyStore, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_app: Callable[..., Any]
) -> None:
    import httpx2

    from pincite.engine import Engine
    from pincite.surfaces.http.app import create_app

    monkeypatch.setattr(gate, "LOOK_EVERY_S", 0.02)
    name = f"one {uuid4()}"
    app = create_app(lambda scope, profile: Engine.from_settings(home=tmp_path, scope=scope), KeyRing(keys))
    with opened_keys(settings) as other:
        cli = KeyRing(other)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as client,
        ):
            client.headers["Authorization"] = f"Bearer {cli.create(name)}"
            await becomes(client, 200)
            cli.revoke(name)
            await becomes(client, 401)


async def becomes(client: Any, status: int) -> None:
    with anyio.fail_after(30):
        while True:
            if (await client.get("/v1/research")).status_code == status:
                return
            await anyio.sleep(0.01)


class Gone:
    """A database out of reach after the first look."""

    is_local = False

    def __init__(self, keys: KeyStore) -> None:
        self._keys, self.looks = keys, 0

    def state(self) -> str:
        self.looks += 1
        if self.looks > 1:
            raise StorageUnavailable("the server does not answer")
        return self._keys.state()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._keys, name)


async def test_keys_that_are_known_count_while_the_database_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "LOOK_EVERY_S", 0)
    secret = KeyRing(tmp_path).create("one")
    gone = Gone(KeyRing(tmp_path)._store)
    ring = KeyRing(gone)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ring.follow)
        with anyio.fail_after(30):
            while gone.looks < 5:
                await anyio.lowlevel.checkpoint()
        assert ring.key_of(secret).name == "one"
        tasks.cancel_scope.cancel()

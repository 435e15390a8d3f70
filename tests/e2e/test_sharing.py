"""Two installations on loopback: what one has read and searched, the other takes from it, checked; or from a file."""

import json
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import pytest
from tests import warm
from tests.e2e.commands import Ended, clean_environment, command
from tests.fakes.engines import EngineServer, FakeEngines, FakePage

from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb

QUESTION = "How many connections does the connection pool keep open by default?"
PAGE = (
    "<html lang=en><head><title>Connection pool {n}</title></head><body><main><h1>Connection pool {n}</h1><p>The "
    "connection pool of version {n} keeps 2{n} connections open by default and waits 30 seconds for a free one before "
    "it gives up with an error.</p><p>{filler}</p></main></body></html>"
)


@pytest.fixture
async def web() -> AsyncIterator[StubWeb]:
    async with StubWeb() as running:
        for n in range(3):
            filler = f"What else there is to say about the pool of version {n}, in words of its own. " * 8
            running.page(f"/pool/{n}", PAGE.format(n=n, filler=filler))
        running.page("/secret", PAGE.format(n=7, filler="x"), headers={"Cache-Control": "no-store"})
        running.page("/robots.txt", "user-agent: *\nallow: /\n", content_type="text/plain")
        yield running


@pytest.fixture
def engines(web: StubWeb) -> Iterator[tuple[FakeEngines, EngineServer]]:
    found = [
        FakePage(web.url("site.example", f"/pool/{n}"), f"Connection pool {n}", f"How connection pool {n} works.")
        for n in range(3)
    ]
    fake = FakeEngines(find=lambda text, count: found[:count])
    with EngineServer(fake) as server:
        yield fake, server


class Two:
    """Two installations that see the same small web and the same engine."""

    def __init__(
        self,
        folder: Path,
        web: StubWeb,
        engines: tuple[FakeEngines, EngineServer],
        databases: Mapping[str, str] | None = None,
    ) -> None:
        self.own = {name: {"PINCITE_DATABASE_URL": url} for name, url in (databases or {}).items()}
        self.folder, self.web, (self.engines, server) = folder, web, engines
        self.common = {
            "PINCITE_SEARXNG_BASE_URL": self.engines.base_url("searxng", server.origin),
            "PINCITE_SOURCE": "searxng",
            "PINCITE_SEARCH_CONTRACTS": '{"searxng": {"shareable": true}}',
            "PINCITE_ALLOW_NETWORKS": f"{PUBLIC_NETWORK},127.0.0.0/8",
            "PINCITE_ALLOW_PORTS": str(web.port),
            "PINCITE_RESOLVE": f"site.example:{web.port}:{PUBLIC_STAND_IN}",
            "PINCITE_REQUESTS_PER_S_PER_HOST": "50",
        }
        self.sharing = {"PINCITE_SHARE_SCOPES": "local", "PINCITE_SHARE_DOMAINS": "site.example"}

    def home(self, name: str) -> Path:
        (self.folder / name).mkdir(exist_ok=True)
        return self.folder / name

    async def run(self, name: str, *arguments: str, more: Mapping[str, str] | None = None) -> Ended:
        run = command(self.home(name), self.folder)
        return await anyio.to_thread.run_sync(
            partial(run, *arguments, environ={**self.common, **self.own.get(name, {}), **(more or {})})
        )

    def pages_asked(self) -> int:
        return sum(request.target != "/robots.txt" for request in self.web.requests)

    @contextmanager
    def serving(self, name: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        own = self.own.get(name, {})
        env = clean_environment(self.home(name), {**self.common, **own, **self.sharing, **(more or {})})
        process = warm.start("share", "serve", "--port", str(port), env=env, cwd=self.folder)
        address = f"http://127.0.0.1:{port}"
        try:
            until = time.monotonic() + 60
            while True:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < until
                try:
                    if httpx2.get(f"{address}/healthz", timeout=2).status_code == 200:
                        break
                except httpx2.TransportError:
                    time.sleep(0.1)
            yield address
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def two(tmp_path: Path, web: StubWeb, engines: tuple[FakeEngines, EngineServer]) -> Two:
    return Two(tmp_path, web, engines)


@pytest.fixture
def two_on_postgresql(
    tmp_path: Path, web: StubWeb, engines: tuple[FakeEngines, EngineServer], postgresql_databases: tuple[str, str]
) -> Two:
    """Each installation with its evidence and its answers in a PostgreSQL database of its own."""
    return Two(tmp_path, web, engines, dict(zip("ab", postgresql_databases, strict=True)))


async def test_two_installations_on_postgresql_share_by_peer_and_by_bundle(two_on_postgresql: Two) -> None:
    two = two_on_postgresql
    first = await two.run("a", "research", QUESTION, "--json")
    assert first.code == 0, first.err
    assert not (two.home("a") / "pincite.sqlite").exists()
    asked, searched = two.pages_asked(), len(two.engines.calls)
    assert (asked, searched > 0) == (3, True)
    key = (await two.run("a", "share", "key")).out.strip()
    made = await two.run("a", "share", "export", "out.pincite", "--json", more=two.sharing)
    assert (made.json["captures"], made.json["answers"]) == (3, searched), made.err
    with two.serving("a") as address:
        peers = {"PINCITE_SHARE_PEERS": json.dumps({"office": f"{address} {key}"})}
        second = await two.run("b", "research", QUESTION, "--json", "-o", "b.json", more=peers)
    assert second.code == 0, second.err
    assert (two.pages_asked(), len(two.engines.calls)) == (asked, searched), "neither site nor engine was asked"
    assert second.json["references"]
    assert all("shared by office" in reference["note"] for reference in second.json["references"])
    assert (await two.run("b", "check", "b.json", more=peers)).code == 0
    assert not (two.home("b") / "pincite.sqlite").exists()
    nobody = {"PINCITE_SCOPE": "somebody-else"}
    taken = await two.run("b", "share", "import", "out.pincite", "--key", key, "--json", more=nobody)
    assert taken.code == 0, taken.err
    assert (taken.json["captures"], taken.json["answers"]) == (3, searched), (
        "another scope of the database takes its own"
    )
    third = await two.run("b", "research", QUESTION, "--json", more=nobody)
    assert third.code == 0, third.err
    assert (two.pages_asked(), len(two.engines.calls)) == (asked, searched)


async def test_a_second_installation_researches_without_site_and_engine(two: Two) -> None:
    first = await two.run("a", "research", QUESTION, "--json")
    assert first.code == 0, first.err
    assert first.json["references"], first.json
    asked, searched = two.pages_asked(), len(two.engines.calls)
    assert asked == 3
    assert searched
    key = (await two.run("a", "share", "key")).out.strip()
    with two.serving("a") as address:
        peers = {"PINCITE_SHARE_PEERS": json.dumps({"office": f"{address} {key}"})}
        robots = two.web.count("/robots.txt")
        second = await two.run("b", "research", QUESTION, "--json", "-o", "b.json", more=peers)
        fetched = await two.run("b", "fetch", two.web.url("site.example", "/pool/1"), "--json", more=peers)
    assert second.code == 0, second.err
    assert (two.pages_asked(), len(two.engines.calls)) == (asked, searched), "neither site nor engine was asked"
    assert two.web.count("/robots.txt") == robots + 1, "but whether the pages may be read"
    assert second.json["markdown"].split("## References")[0] == first.json["markdown"].split("## References")[0]
    assert second.json["references"]
    assert all("shared by office" in reference["note"] for reference in second.json["references"])
    assert "shared by office" in second.json["markdown"]
    assert fetched.json["info"]["shared_by"] == "office"
    events = await two.run("b", "runs", "show", "last", "--json", more=peers)
    read = [event["data"] for event in events.json["events"] if event["type"] == "page.fetched"]
    assert {data["shared_by"] for data in read} == {"office"}
    checked = await two.run("b", "check", "b.json", more=peers)
    assert checked.code == 0, checked.out + checked.err


async def test_whose_a_bundle_is_is_told_even_where_it_holds_nothing(two: Two) -> None:
    made = await two.run("a", "share", "export", "out.pincite", "--json", more=two.sharing)
    key = made.json["key"]
    taken = await two.run("b", "share", "import", "out.pincite", "--key", key)
    assert taken.out == f"0 captures and 0 search answers of {key[8:16]}\n"
    peers = {"PINCITE_SHARE_PEERS": json.dumps({"office": f"http://office.example {key}"})}
    known = await two.run("b", "share", "import", "out.pincite", "--json", more=peers)
    assert known.json["shared_by"] == "office", known.err


async def test_a_bundle_carries_pages_and_answers(two: Two) -> None:
    assert (await two.run("a", "research", QUESTION)).code == 0
    assert (await two.run("a", "fetch", two.web.url("site.example", "/secret"))).code == 0
    asked, searched = two.pages_asked(), len(two.engines.calls)
    made = await two.run("a", "share", "export", "out.pincite", "--json", more=two.sharing)
    assert made.code == 0, made.err
    assert (made.json["captures"], made.json["kept_back"]) == (3, {"no_store": 1})
    assert made.json["answers"] == searched
    stranger = await two.run("b", "share", "import", "out.pincite", "--json")
    assert (stranger.code, stranger.json["error"]["reason"]) == (3, "bad_signature")
    taken = await two.run("b", "share", "import", "out.pincite", "--key", made.json["key"], "--json")
    assert taken.code == 0, taken.err
    assert taken.json == {"captures": 3, "answers": searched, "shared_by": made.json["key"][8:16], "refused": {}}
    second = await two.run("b", "research", QUESTION, "--json")
    assert second.code == 0, second.err
    assert (two.pages_asked(), len(two.engines.calls)) == (asked, searched)
    again = await two.run("b", "share", "export", "onward.pincite", "--json", more=two.sharing)
    assert (again.json["captures"], again.json["answers"]) == (0, 0), "what others shared is not handed on"


async def test_nothing_leaves_unless_the_operator_says_so(two: Two) -> None:
    assert (await two.run("a", "fetch", two.web.url("site.example", "/pool/1"))).code == 0
    for arguments in (("export", "out.pincite"), ("serve", "--port", "1")):
        refused = await two.run("a", "share", *arguments, "--json")
        assert (refused.code, refused.json["error"]["reason"]) == (3, "scope_private")
        assert "Sharing on" not in refused.err
    assert not (two.folder / "out.pincite").exists()
    for sites in ("", "*", "other.example"):
        sharing = {"PINCITE_SHARE_SCOPES": "local", "PINCITE_SHARE_DOMAINS": sites}
        made = await two.run("a", "share", "export", "out.pincite", "--json", more=sharing)
        assert (made.json["captures"], made.json["kept_back"]) == (0, {"site_not_named": 1}), sites
    assert (two.home("a") / "share.key").stat().st_mode & 0o777 == 0o600


async def test_a_key_of_another_scope_opens_nothing(two: Two) -> None:
    assert (await two.run("a", "fetch", two.web.url("site.example", "/pool/1"))).code == 0
    ours = (await two.run("a", "keys", "create", "office", "--scope", "local")).out.strip()
    other = (await two.run("a", "keys", "create", "stranger")).out.strip()
    item = f"/v1/shared/capture/{'0' * 64}"
    with two.serving("a") as address:

        def status(secret: str | None) -> int:
            headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
            return httpx2.get(address + item, headers=headers, timeout=10).status_code

        found: list[Any] = [await anyio.to_thread.run_sync(status, secret) for secret in (None, other, ours)]
        assert found == [401, 401, 404]
        key = (await two.run("a", "share", "key")).out.strip()
        peers = {"PINCITE_SHARE_PEERS": f"office={address} {key}", "PINCITE_SHARE_PEER_TOKENS": f"office={ours}"}
        asked = two.pages_asked()
        page = await two.run("b", "fetch", two.web.url("site.example", "/pool/1"), "--json", more=peers)
    assert page.json["info"]["shared_by"] == "office"
    assert two.pages_asked() == asked

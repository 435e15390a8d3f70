"""The name that goes out with every request, and whom a site can write to."""

import logging
import socket
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import InvalidSetting
from pincite.domain.version import USER_AGENT
from pincite.engine import Engine
from pincite.settings import load_settings
from pincite.surfaces.http import serving
from pincite.testing.web import PUBLIC_NETWORK, PUBLIC_STAND_IN, StubWeb


@pytest.mark.parametrize("contact", ["crawls@your.org", "https://your.org/crawls", "http://your.org"])
def test_a_contact_is_an_address_or_a_url(monkeypatch: pytest.MonkeyPatch, contact: str) -> None:
    monkeypatch.setenv("PINCITE_USER_AGENT_CONTACT", contact)
    assert load_settings({}).agent == f"{USER_AGENT} (+{contact})"


@pytest.mark.parametrize("contact", ["me", "me @your.org", "a@b)\r\nX: y", "javascript:1", "https://your.org/(a)"])
def test_other_contacts_are_refused(contact: str) -> None:
    with pytest.raises(InvalidSetting, match="user_agent_contact"):
        load_settings({"user_agent_contact": contact})


def test_the_default_names_no_place_and_a_name_of_your_own_stands_as_it_is() -> None:
    assert load_settings({}).agent == USER_AGENT
    assert load_settings({"user_agent": "Mine/1", "user_agent_contact": "a@b.c"}).agent == "Mine/1"
    assert "example" not in USER_AGENT


async def test_sites_see_it(tmp_path: Path) -> None:
    async with StubWeb() as web:
        web.page("/a", "<html><body><p>The lock manager keeps one row for each lock.</p></body></html>")
        settings: dict[str, Any] = {
            "allow_networks": (PUBLIC_NETWORK,),
            "allow_ports": (web.port,),
            "resolve": (f"site.example:{web.port}:{PUBLIC_STAND_IN}",),
        }
        async with Engine.from_settings(home=tmp_path, user_agent_contact="crawls@your.org", **settings) as engine:
            await engine.fetch(web.url("site.example", "/a"))
        sent = {dict(request.headers).get("user-agent") for request in web.requests}
        assert sent == {f"{USER_AGENT} (+crawls@your.org)"}


@pytest.mark.parametrize("contact", ["", "crawls@your.org"])
def test_a_server_warns_when_nobody_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, contact: str
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr(serving, "observe", lambda _: None)
    if contact:
        monkeypatch.setenv("PINCITE_USER_AGENT_CONTACT", contact)
    caplog.set_level(logging.WARNING)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serving.serve("127.0.0.1", port, tmp_path, ready=lambda: None, work=False)
    assert ("user_agent_contact" in caplog.text) is not bool(contact)

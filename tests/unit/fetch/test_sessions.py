"""Sessions of the operator's: sent to their origin, to nobody else, and seen nowhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import InvalidSetting
from pincite.fetch.client import NOTE, SiteSessions
from pincite.settings import load_settings
from pincite.testing.web import StubWeb
from pincite.urls import parse_url
from pincite.wiring.fetching import site_sessions

SECRET = "sid=zx81-spectrum"


@pytest.fixture
def fetcher(make_fetcher: Callable[..., Any], web: StubWeb) -> Any:
    sessions = SiteSessions.parsed({web.url("site.example", "/").rstrip("/"): f"Cookie: {SECRET}\nX-Team: a"})
    return make_fetcher(client={"sessions": sessions})


async def test_the_header_reaches_its_site_and_the_capture_says_so(fetcher: Any, web: StubWeb) -> None:
    web.page("/inside", "<p>For members</p>")
    snapshot = await fetcher.get("/inside")
    assert (web.requests[-1].headers["cookie"], web.requests[-1].headers["x-team"]) == (SECRET, "a")
    assert snapshot.note == NOTE
    assert SECRET not in repr(snapshot)


@pytest.mark.parametrize("host", ["other.example", "sub.site.example", "example"])
async def test_no_other_host_gets_it_not_even_by_a_redirect(fetcher: Any, web: StubWeb, host: str) -> None:
    web.page("/inside", "<p>Elsewhere</p>")
    web.redirect("/from", web.url(host, "/inside"))
    snapshot = await fetcher.get("/from")
    assert web.requests[-1].headers["host"].startswith(host)
    assert "cookie" not in web.requests[-1].headers
    assert snapshot.note == ""
    await fetcher.get("/inside", host=host)
    assert "cookie" not in web.requests[-1].headers


def test_a_host_means_https_and_its_own_port() -> None:
    sessions = SiteSessions.parsed({"Wiki.Example.com": "Authorization: Bearer x"})
    assert sessions.of(parse_url("https://wiki.example.com/a")) == {"Authorization": "Bearer x"}
    for url in ("http://wiki.example.com/a", "https://wiki.example.com:8443/", "https://example.com/"):
        assert sessions.of(parse_url(url)) == {}
    assert sessions.hosts == ("wiki.example.com",)
    assert "Bearer" not in repr(sessions)


@pytest.mark.parametrize(
    ("site", "text"),
    [
        ("wiki.example.com", "just-a-value-zx81"),
        ("wiki.example.com", ""),
        ("wiki.example.com", "Host: zx81"),
        ("wiki.example.com", "Cookie: zx81\x00"),
        ("wiki.example.com/path", "Cookie: zx81"),
        ("ftp://wiki.example.com", "Cookie: zx81"),
        ("https://me:zx81@wiki.example.com", "Cookie: a"),
    ],
)
def test_what_is_no_session_is_refused_without_repeating_it(site: str, text: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        SiteSessions.parsed({site: text})
    assert "zx81" not in caught.value.message.replace(site, "")
    assert caught.value.hint


def test_a_server_has_none(tmp_path: Path) -> None:
    given = {"home": tmp_path, "site_sessions": {"wiki.example.com": "Cookie: a=b"}}
    settings = load_settings(given, environ={}, files=())
    assert site_sessions(settings).hosts == ("wiki.example.com",)
    assert "a=b" not in repr(settings)
    assert "Cookie: a=b" in settings.secrets
    serving = load_settings({**given, "serving": True}, environ={}, files=())
    with pytest.raises(InvalidSetting, match="one person"):
        site_sessions(serving)

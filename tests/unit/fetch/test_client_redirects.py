"""Pages that send their reader on: followed as redirects are, and only when they are nothing else."""

from typing import Any, cast

import pytest
from tests.cpu_time import cpu_at_most

from pincite.domain.errors import BlockedAddress, PinciteError
from pincite.fetch.captures import Exchange
from pincite.fetch.client import GuardedClient, Visit, visit
from pincite.fetch.page_failures import client_redirect
from pincite.testing.web import StubWeb
from pincite.urls.parse import ParsedUrl, parse_url

URL = "https://docs.example/old/page.html"
NEW = "https://docs.example/new/page.html"
LONG = "<p>" + "The tower is 41 metres tall and was built in 1888. " * 20 + "</p>"


@pytest.mark.parametrize(
    "page",
    [
        "<meta http-equiv=refresh content='0; url=/new/page.html'>",
        '<html><head><META HTTP-EQUIV="Refresh" CONTENT="0;URL=../new/page.html"></head></html>',
        "<meta http-equiv='refresh' content=\"5;url='https://docs.example/new/page.html'\"><p>You will be taken there.",
        f"<meta http-equiv=refresh content='0;url=/new/page.html'>{LONG}",
        "<link rel=canonical href='/new/page.html'><a href='/new/page.html'>Weiter</a>",
        "<title>Moved</title><p>This page has moved <a href='/new/page.html'>here</a>.",
        "<script>window.location.replace('/new/page.html')</script><a href='/new/page.html'>go</a>",
    ],
)
def test_where_a_page_sends_its_reader(page: str) -> None:
    assert client_redirect(page.encode(), "text/html; charset=utf-8", URL) == NEW


@pytest.mark.parametrize(
    "page",
    [
        "<meta http-equiv=refresh content=300>" + LONG,
        "<meta http-equiv=refresh content='0;url=page.html'>",  # itself
        "<meta http-equiv=refresh content='0;url=#top'>",
        f"<meta http-equiv=refresh content='10;url=/new/page.html'>{LONG}",  # a slide show
        "<noscript><meta http-equiv=refresh content='0;url=/nojs'></noscript><div id=app></div>",
        "<!-- <meta http-equiv=refresh content='0;url=/new'> --><p>Text",
        "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
        "<meta http-equiv=refresh content='0;url=file:///etc/passwd'>",
        f"<p>The species has moved north.</p><a href='/map'>Map</a>{LONG}",
        "<p>The tower is 41 metres tall.</p><a href='/map'>Map</a>",
        "<p>It moved.</p><a href='/a'>one</a> <a href='/b'>two</a>",
        "<script>if (x) location.href = '/login'</script><p>Hello.",
    ],
)
def test_what_is_no_redirect(page: str) -> None:
    assert client_redirect(page.encode(), "text/html", URL) == ""


def test_only_of_html() -> None:
    assert client_redirect(b"<meta http-equiv=refresh content='0;url=/new'>", "text/plain", URL) == ""


@pytest.mark.parametrize("piece", ["<meta " + "a=" * 20_000, "<!--" * 8_000, "<script>" * 4_000, "<a " * 10_000])
def test_time_is_linear_in_what_is_looked_at(piece: str) -> None:
    with cpu_at_most(0.5):
        client_redirect((piece * 3).encode(), "text/html", URL)


async def test_hops_of_a_page_are_recorded_and_pass_the_policy(fetcher: Any, web: StubWeb) -> None:
    web.page("/old", f'<meta http-equiv=refresh content="0;url={web.url("site.example", "/new")}">')
    web.page("/new", "<p>Here it is.</p>")
    snapshot = await fetcher.get("/old")
    assert snapshot.body == b"<p>Here it is.</p>"
    assert snapshot.redirects == (web.url("site.example", "/new"),)
    assert snapshot.final_url == web.url("site.example", "/new")
    web.page("/inside", f'<meta http-equiv=refresh content="0;url=http://127.0.0.1:{web.port}/meta">')
    with pytest.raises(PinciteError) as refused:
        await fetcher.get("/inside")
    assert refused.value.code == "BLOCKED_ADDRESS"
    assert (await fetcher.get("/old", allow_redirects=False)).redirects == ()


async def test_pages_that_refresh_in_a_circle_end(fetcher: Any, web: StubWeb) -> None:
    web.page("/a", '<meta http-equiv=refresh content="0;url=/b">')
    web.page("/b", '<meta http-equiv=refresh content="0;url=/a">')
    with pytest.raises(PinciteError) as circle:
        await fetcher.get("/a")
    assert circle.value.reason == "redirect_loop"


class Redirecting:
    """Sends from one address to the other, where a page is."""

    def __init__(self, start: str, end: str) -> None:
        self._start, self._end = start, end

    async def get(self, url: ParsedUrl, **_: Any) -> Exchange:
        to = (("location", self._end),) if url.sent == self._start else ()
        return Exchange(302 if to else 200, to, b"")


@pytest.mark.parametrize(
    ("start", "end", "downgrade", "follows"),
    [
        ("https://a.example/", "http://a.example/", False, False),
        ("https://a.example/", "http://b.example/", False, False),
        ("https://a.example/", "http://a.example/", True, True),  # for robots.txt
        ("http://a.example/", "https://a.example/", False, True),
        ("http://a.example/", "http://b.example/", False, True),
    ],
)
async def test_a_secure_page_does_not_lead_to_an_open_one(start: str, end: str, downgrade: bool, follows: bool) -> None:
    async def admit(url: str) -> ParsedUrl:
        return parse_url(url)

    async def visited() -> Visit:
        client = cast("GuardedClient", Redirecting(start, end))
        return await visit(client, parse_url(start), admit, redirects_max=3, downgrade=downgrade)

    if follows:
        assert (await visited()).redirects == (end,)
    else:
        with pytest.raises(BlockedAddress) as caught:
            await visited()
        assert caught.value.reason == "redirect_downgrade"

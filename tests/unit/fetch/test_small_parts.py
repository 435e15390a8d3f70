"""Signals, sniffing, windows, canonical links, freshness, the document gate, and the table of network errors."""

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.citation import cut_on_word
from pincite.domain.errors import EmptyContent, InvalidInput, NetworkError, PinciteError
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.version import PRODUCT_TOKEN, USER_AGENT, VERSION, user_agent
from pincite.fetch import page_cache
from pincite.fetch.captures import body_kind, capture, merged_canonical, window
from pincite.fetch.connections import mapped
from pincite.fetch.limits import BodyKind
from pincite.fetch.page_failures import DocumentGate, needs_rendering
from pincite.fetch.robots import page_signals
from pincite.urls.masking import mask_all

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def snapshot(url: str = "https://site.example/a", **fields: Any) -> Snapshot:
    made = capture(
        url=url, final_url=url, status=200, headers=(("Content-Type", "text/html"),), body=b"x", fetched_at=NOW, via="t"
    )
    return replace(made, **fields)


def document(*texts: str, **fields: Any) -> Document:
    made = Document("t", "1", tuple(Block(BlockKind.PARAGRAPH, text) for text in texts))
    return replace(made, **fields)


def test_signals_for_us_and_for_others() -> None:
    def of(*headers: tuple[str, str]) -> tuple[str, ...]:
        return page_signals(headers, "Pincite", now=NOW)

    assert of(("x-robots-tag", "noindex, NoArchive"), ("x-robots-tag", "noindex")) == ("noindex", "noarchive")
    assert of(("x-robots-tag", "otherbot: noindex")) == ()
    assert of(("x-robots-tag", "pincite: nosnippet, max-snippet:0")) == ("nosnippet", "max-snippet:0")
    assert of(("x-robots-tag", "unavailable_after: Wed, 01 Jan 2025 00:00:00 GMT")) == ("unavailable_after", "noindex")
    assert of(("x-robots-tag", "unavailable_after: 1 Jan 2030 00:00:00")) == ("unavailable_after",)
    assert of(("x-robots-tag", "noindex, unavailable_after: nonsense")) == ("noindex", "unavailable_after")
    assert of(("content-usage", "train-ai=n"), ("tdm-reservation", "0")) == ("train-ai=n",)


@pytest.mark.parametrize(
    ("signals", "limit"),
    [((), None), (("nosnippet",), 0), (("max-snippet:50", "max-snippet:20"), 20), (("max-snippet:-1",), None)],
)
def test_how_much_may_be_quoted(signals: tuple[str, ...], limit: int | None) -> None:
    assert snapshot(usage_signals=signals).quotable_chars == limit


@pytest.mark.parametrize(
    ("content_type", "head", "kind"),
    [
        ("text/html", b"%PDF-1.7", BodyKind.PDF),
        ("application/pdf", b"", BodyKind.PDF),
        ("text/html", b"PK\x03\x04", BodyKind.DOCUMENT),
        ("application/pdf", b"<!DOCTYPE html>", BodyKind.HTML),
        ("application/json", b"{", BodyKind.DOCUMENT),
        ("application/xhtml+xml", b"", BodyKind.HTML),
        ("text/csv", b"", BodyKind.DOCUMENT),
        ("", b"", BodyKind.HTML),
        ("image/png", b"", BodyKind.HTML),
    ],
)
def test_the_first_bytes_decide(content_type: str, head: bytes, kind: BodyKind) -> None:
    assert body_kind(content_type, head) is kind


@given(st.text(alphabet="ab. \n", max_size=400), st.integers(1, 60))
def test_windows_in_a_row_are_the_whole(text: str, size: int) -> None:
    pieces, offset = [], 0
    while True:
        piece, following = window(text, offset, size)
        assert len(piece) <= size
        pieces.append(piece)
        if following is None:
            break
        assert following > offset
        offset = following
    assert "".join(pieces) == text


def test_windows_and_excerpts_have_bounds() -> None:
    for offset, size in ((0, 0), (-1, 10), (4, 10)):
        with pytest.raises(InvalidInput):
            window("abc", offset, size)
    assert cut_on_word("one  two\nthree") == "one two three"
    assert cut_on_word("word " * 100) == ("word " * 55).strip() + "…"
    assert len(cut_on_word("x" * 1_000)) == 280


@pytest.mark.parametrize(
    ("final", "claimed", "merged"),
    [
        ("https://site.example/a?print=1", "https://site.example/a", True),
        ("https://www.site.example/a", "https://site.example/b", True),
        ("https://site.example/a", "https://bank.test/", False),
        ("https://site.example/a", "http://10.0.0.1/", False),
        ("https://site.example/a", "https://site.example/", False),
        ("https://site.example/", "https://site.example/", True),
        ("https://site.example/a", "javascript:alert(1)", False),
        ("https://site.example/a", "", False),
        ("local:docs/a.html", "https://site.example/a", False),
    ],
)
def test_canonical_links_are_believed_within_a_site(final: str, claimed: str, merged: bool) -> None:
    assert merged_canonical(final, claimed) == (claimed if merged else final)


def test_freshness_follows_the_kind_of_page() -> None:
    plain = document("text")
    live = page_cache.time_to_live
    assert live(snapshot(content_type="application/pdf"), plain) == page_cache.PDF
    assert live(snapshot("https://site.example/2026/11/20/story"), plain) == page_cache.NEWS
    assert live(snapshot(), document("text", published_at=NOW - timedelta(days=1))) == page_cache.NEWS
    assert live(snapshot("https://docs.site.example/x"), plain) == page_cache.DOCUMENTATION
    assert live(snapshot("https://site.example/docs/x"), plain) == page_cache.DOCUMENTATION
    assert live(snapshot(), plain) == page_cache.PAGE
    assert not page_cache.may_be_kept(snapshot(status=206))


def test_the_gate_names_its_reason() -> None:
    for gate, text, reason in (
        (DocumentGate(languages=("en",)), document("Der Satz.", language="de"), "language_not_allowed"),
        (DocumentGate(), document("..."), "too_few_words"),
        (DocumentGate(), document("We use cookies. Accept all.", "Privacy policy applies."), "boilerplate_only"),
    ):
        with pytest.raises(EmptyContent) as caught:
            gate.check(text)
        assert caught.value.reason == reason
    DocumentGate(languages=("en",)).check(document("A sentence.", language="en-GB"))
    DocumentGate(languages=("en",)).check(document("No language known."))


def client_errors(root: type[BaseException] = aiohttp.ClientError) -> list[type[BaseException]]:
    return [leaf for child in root.__subclasses__() for leaf in (child, *client_errors(child))]


def made(kind: type[Exception]) -> Exception:
    error = kind.__new__(kind)
    error.args = ("https://site.example/?key=c4n4ry at 10.1.2.3",)
    for name in ("message", "_conn_key", "_os_error"):
        try:
            setattr(error, name, "x" if name == "message" else None)
        except AttributeError:
            continue
    return error


@pytest.mark.parametrize("kind", client_errors(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_has_one_of_ours(kind: type[Exception]) -> None:
    error = mapped(made(kind), "site.example")
    assert isinstance(error, PinciteError)
    assert error.code in {"NETWORK_ERROR", "TIMEOUT", "TLS_ERROR", "DNS_ERROR", "TOO_LARGE"}
    assert "c4n4ry" not in str(error)
    assert "10.1.2.3" not in str(error)


def test_errors_of_the_system_have_one_of_ours_too() -> None:
    own = NetworkError("x")
    assert mapped(own, "h") is own
    assert mapped(ssl.SSLError("x"), "h").code == "TLS_ERROR"
    assert mapped(TimeoutError(), "h").reason == "read_timeout"
    assert mapped(ConnectionResetError(), "h").reason == "connection_reset"
    assert mapped(ValueError("x"), "h").reason == "protocol_error"
    wrapped = aiohttp.ClientPayloadError("x")
    wrapped.__cause__ = own
    assert mapped(wrapped, "h") is own


def test_masking_goes_through_plain_json() -> None:
    data: Any = {"url": "https://s.example/?token=abc", "more": ["https://u:p@s.example/", 3, None], "text": "plain"}
    assert mask_all(data) == {
        "url": "https://s.example/?token=***",
        "more": ["https://***@s.example/", 3, None],
        "text": "plain",
    }


def test_the_user_agent_has_the_version_and_the_robots_name_no_digit() -> None:
    assert f"{PRODUCT_TOKEN}/{VERSION}" == USER_AGENT
    assert user_agent("crawls@your.org") == f"{USER_AGENT} (+crawls@your.org)"
    assert user_agent(None) == user_agent("") == USER_AGENT
    assert PRODUCT_TOKEN.isalpha()


SCRIPT = b'<script src="/app.js"></script>'


@pytest.mark.parametrize(
    "body",
    [
        SCRIPT + b'<div id="root"></div>',
        b"<body>" + SCRIPT + b"</body>",
        SCRIPT + b"<app-root></app-root>",
        SCRIPT + b"<main class='x'> <!-- app --> </main>",
        SCRIPT + b"<noscript>You need JavaScript.</noscript>",
    ],
)
def test_an_empty_shell_is_rendered(body: bytes) -> None:
    page = snapshot(body=body, content_type="text/html")
    assert needs_rendering(page, None)
    assert not needs_rendering(replace(page, via="archive"), None)


@pytest.mark.parametrize(
    "body", [b"OK", b"<p>OK</p>", b"<div id='root'></div>", SCRIPT + b"<p>OK</p><div class='clear'></div>"]
)
def test_a_short_page_is_not_rendered_for_nothing(body: bytes) -> None:
    assert not needs_rendering(snapshot(body=body, content_type="text/html"), None)


@pytest.mark.parametrize("piece", [b"<div ", b"<div><!--", b"<noscript ", b"<div>" + b" " * 300, b"<body <!-- "])
def test_whether_to_render_is_decided_in_one_pass(piece: bytes) -> None:
    body = b"<script></script>" + piece * (300_000 // len(piece))
    assert not needs_rendering(snapshot(body=body, content_type="text/html"), None)

import ssl
from collections.abc import Iterator

import httpx2
import pytest

from pincite.apis import Answer, translate
from pincite.domain.errors import PinciteError, ProviderBadReply, TlsError


def leaf_errors(kind: type[Exception]) -> Iterator[type[Exception]]:
    for child in kind.__subclasses__():
        if child.__module__.startswith("httpx2"):
            yield child
            yield from leaf_errors(child)


ALL = sorted(
    {*leaf_errors(httpx2.HTTPError), *leaf_errors(httpx2.StreamError), httpx2.InvalidURL}, key=lambda k: k.__name__
)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_becomes_ours_without_the_address(kind: type[Exception]) -> None:
    error = kind.__new__(kind)
    Exception.__init__(error, "https://api.example/?key=secret")
    ours = translate("tavily", error)
    assert isinstance(ours, PinciteError)
    assert ours.code != "INTERNAL"
    assert "secret" not in ours.message + ours.hint + str(ours.context)


def test_a_bad_certificate_is_told_apart() -> None:
    error = httpx2.ConnectError("failed")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    assert isinstance(translate("exa", error), TlsError)


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("größe".encode(), "application/json", "größe"),
        (b"\xef\xbb\xbfx", "application/json", "x"),
        ("größe".encode("latin-1"), "text/html; charset=ISO-8859-1", "größe"),
        ("größe".encode("cp1252"), "text/html", "größe"),
        (b"\xffx", "text/html; charset=nonsense", "\ufffdx"),
    ],
)
def test_text_in_mixed_encodings(body: bytes, content_type: str, text: str) -> None:
    assert Answer("exa", 200, {"content-type": content_type}, body).text() == text


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a": ', b"[1]", b'"x"', b"null", b"nan"])
def test_anything_but_an_object_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(ProviderBadReply):
        Answer("exa", 200, {}, body).object()

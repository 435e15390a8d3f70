"""Redirects that a page makes itself: `<meta http-equiv=refresh>` and stubs whose only content is where the page went.

Looked for in the bytes, by patterns that take linear time: nothing is parsed outside of a worker.

Source: WHATWG HTML §4.2.5.3, the refresh pragma.
"""

import re
from html import unescape

from pincite.domain.errors import PinciteError
from pincite.urls.parse import parse_url

# A refresh stands in the head, before any text.
_HEAD_BYTES = 16_000
# Larger bodies are pages, whatever they say first.
_STUB_BYTES = 32_000
# What a page that has only moved says of it fits into this; a page with more is one to be read.
_STUB_CHARS = 400
# A page with text of its own that refreshes later wants to be read first.
_AT_ONCE_S = 1
# "You will be taken there in ten seconds": a stub is one with any pause that a person would sit out.
_LONGEST_S = 30
_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|noscript|template)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^<>]*>")
_META = re.compile(r"<(?:meta|link)\b([^<>]{1,3000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
_REFRESH = re.compile(r"""\s*(\d{1,6})(?:\.\d*)?\s*[;,\s]\s*(?:url\s*=\s*)?["']?([^"'\s][^"'<>]*)""", re.IGNORECASE)
_LINK = re.compile(r"<a\b([^<>]{1,3000})>", re.IGNORECASE)
_GOES = re.compile(
    r"""(?:\blocation(?:\.href)?\s*=\s*|\blocation\.(?:replace|assign)\(\s*)["']([^"'\s]{1,2000})["']""", re.IGNORECASE
)
_TITLE = re.compile(r"<title\b[^<>]*>[^<]*</title\s*>", re.IGNORECASE)
_MOVED = re.compile(r"\b(?:moved|redirect(?:s|ed|ing)?)\b", re.IGNORECASE)


def client_redirect(body: bytes, content_type: str, url: str) -> str:
    """Where the page sends its reader, absolute; nothing when it stays or only loads itself again."""
    if "html" not in content_type.lower():
        return ""
    source = body[:_STUB_BYTES].decode("utf-8", "replace")
    shown = _NOT_SHOWN.sub(" ", source)
    body_text = _TAG.sub(" ", _TITLE.sub(" ", shown))  # the title is shown in no page
    chars = len(" ".join(unescape(body_text).split()))
    is_stub = len(body) < _STUB_BYTES and chars < _STUB_CHARS
    target = _refreshed(shown[:_HEAD_BYTES], _LONGEST_S if is_stub else _AT_ONCE_S)
    if not target and is_stub:
        target = _moved(source, shown)
    return _elsewhere(target, url) if target else ""


def _refreshed(shown: str, longest_s: int) -> str:
    for match in _META.finditer(shown):
        attributes = _attributes(match.group(1))
        if attributes.get("http-equiv", "").lower() == "refresh":
            refresh = _REFRESH.match(attributes.get("content", ""))
            return refresh.group(2).strip() if refresh and int(refresh.group(1)) <= longest_s else ""
    return ""


def _moved(source: str, shown: str) -> str:
    """The one place that a stub names: by its script, or by its only link where it says so or its canonical does."""
    links = {href for match in _LINK.finditer(shown) if (href := _attributes(match.group(1)).get("href", ""))}
    metas = [_attributes(match.group(1)) for match in _META.finditer(shown)]
    canonical = next((meta.get("href", "") for meta in metas if meta.get("rel", "").lower() == "canonical"), "")
    scripted = set(_GOES.findall(source))
    if len(scripted) == 1 and (links | {canonical}) & scripted:
        return str(scripted.pop())
    if len(links) != 1:
        return ""
    (link,) = links
    return link if link == canonical or _MOVED.search(_TAG.sub(" ", shown)) else ""


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(text)}


def _elsewhere(target: str, url: str) -> str:
    """The target as an address, when it is another one than the page's own and one of the web."""
    try:
        there, here = parse_url(target, url), parse_url(url)
    except PinciteError:
        return ""
    if there.scheme not in {"http", "https"} or there.href.partition("#")[0] == here.href.partition("#")[0]:
        return ""
    return there.href

"""What isn't the page, and what is no evidence.

Answers that are gone, refused, a bot challenge, a login wall or an error page that says 200; and readings that are too
short, all boilerplate, or in a language that nobody asked for; and pages that only send their reader on.
"""

import re
from html import unescape
from itertools import islice

from pincite.domain.errors import DeadLink, EmptyContent, LoginRequired, NetworkError, PageBlocked, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document, Snapshot
from pincite.runtime.recovery import retry_after_s
from pincite.urls.parse import parse_url

# Challenges and login walls show in the title and the first scripts.
_HEAD_BYTES = 65_536
# Pages of challenges and errors are small; a larger one that has their words speaks about them.
_SMALL_BYTES = 60_000
_CHALLENGE_MARKS = (
    b"/cdn-cgi/challenge-platform/ cf-browser-verification cf_chl_opt captcha-delivery.com px-captcha "
    b"_incapsula_resource sec-if-cpt-container g-recaptcha-response h-captcha-response awswafintegration".split()
)
_CHALLENGE_TITLE = re.compile(
    rb"(?:just a moment|attention required|access denied|are you (?:a )?(?:human|robot)"
    rb"|verify(?:ing)? you are (?:a )?human|robot check|security check|pardon our interruption|bot verification)"
)
_GONE_TITLE = re.compile(
    rb"(?:error\s*)?404\b|(?:page|site|file|document|article)\s+(?:not\s+found|does\s+not\s+exist)"
    rb"|.{0,60}\b(?:404\s+(?:error|not\s+found)|page\s+not\s+found)\b",
    re.DOTALL,
)
_LOGIN_PATH = re.compile(
    r"/(?:log-?in|sign-?in|sso|auth/login|accounts/login|account/login|session/new)(?:[/.?]|$)", re.I
)
_PASSWORD_FIELD = re.compile(rb"<input[^>]{0,300}type\s*=\s*[\"']?password", re.IGNORECASE)


def failure_of(snapshot: Snapshot) -> PinciteError | None:
    """The error that this answer is, or None when it is the page. 3xx answers are handed back as they are."""
    if 300 <= snapshot.status < 400:
        return None
    if snapshot.status == 206:  # no range was asked for
        return NetworkError(
            f"{_host(snapshot)} sent a part of the page only", reason="body_incomplete", context={"status": 206}
        )
    return _by_status(snapshot) if snapshot.status >= 400 else _by_body(snapshot)


def _host(snapshot: Snapshot) -> str:
    return parse_url(snapshot.final_url).host if "://" in snapshot.final_url else "the library"


def _by_status(snapshot: Snapshot) -> PinciteError:
    host = _host(snapshot)
    status = snapshot.status
    headers = dict(snapshot.headers)
    context = {"status": status}
    wait = retry_after_s(headers.get("retry-after", ""), snapshot.fetched_at)
    if status in {404, 410}:
        return DeadLink(f"{host} says the page is gone ({status})", reason=f"http_{status}", context=context)
    if status == 429:
        return PageBlocked(
            f"{host} asks to come back later (429)",
            reason="http_429",
            retryable=True,
            retry_after_s=wait,
            context=context,
        )
    if _is_challenge(snapshot, headers):
        return _challenge(host)
    if status in {401, 402, 407}:
        return LoginRequired(f"{host} wants a login or a payment ({status})", reason=f"http_{status}", context=context)
    if 500 <= status < 600:
        # Of the others 501 and 505 stay as they are; from 520 on a CDN speaks of a server behind it.
        again = status in {500, 502, 503, 504} or status >= 520
        return NetworkError(
            f"{host} failed to answer ({status})",
            reason=f"http_{status}",
            retryable=again,
            retry_after_s=wait,
            context=context,
        )
    return PageBlocked(f"{host} refused the page ({status})", reason=f"http_{status}", context=context)


def _by_body(snapshot: Snapshot) -> PinciteError | None:
    if "html" not in snapshot.content_type and not snapshot.body[:64].lstrip().lower().startswith(b"<"):
        return None
    if _is_challenge(snapshot, dict(snapshot.headers)):
        return _challenge(_host(snapshot))
    if len(snapshot.body) > _SMALL_BYTES:
        return None
    head = snapshot.body[:_HEAD_BYTES]
    if _GONE_TITLE.match(_title(head)):
        return DeadLink(f"{_host(snapshot)} shows an error page instead of the page", reason="soft_404")
    if snapshot.redirects and _LOGIN_PATH.search(parse_url(snapshot.final_url).path) and _PASSWORD_FIELD.search(head):
        return LoginRequired(f"{_host(snapshot)} leads to its login page", reason="login_page")
    return None


def _is_challenge(snapshot: Snapshot, headers: dict[str, str]) -> bool:
    if headers.get("cf-mitigated", "").lower() == "challenge" or headers.get("x-amzn-waf-action", "") == "challenge":
        return True
    head = snapshot.body[:_HEAD_BYTES]
    titled = _CHALLENGE_TITLE.match(_title(head)) is not None
    if snapshot.status < 400 and (not titled or len(snapshot.body) > _SMALL_BYTES):
        return False  # real pages carry captchas in forms too: a challenge is small, and says what it is
    lowered = head.lower()
    marked = any(mark in lowered for mark in _CHALLENGE_MARKS)
    return marked or titled if snapshot.status >= 400 else marked or b"<noscript" in lowered


def _title(head: bytes) -> bytes:
    """The start of the page's title, lower-case, or nothing."""
    start = head.find(b"<title")
    if start < 0:
        start = head.find(b"<TITLE")
    if start < 0:
        return b""
    return head[start : start + 300].partition(b">")[2].partition(b"<")[0].strip().lower()


def _challenge(host: str) -> PinciteError:
    return PageBlocked(f"{host} answers with a bot challenge; Pincite does not get around those", reason="challenge")


_WORD = re.compile(r"\w+")
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.QUOTATION, BlockKind.DEFINITION, BlockKind.LIST_ITEM})
_CONTENT = _PROSE | {BlockKind.TABLE, BlockKind.CODE}
_BOILERPLATE = re.compile(
    r"\b(?:cookies?|privacy policy|terms of (?:use|service)|all rights reserved|sign in|log in|subscribe"
    r"|enable javascript|newsletter|accept all|copyright)\b",
    re.IGNORECASE,
)
# Of what is left of the page in characters. Chosen, not measured.
_BOILERPLATE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class DocumentGate:
    """Rules for readings. The default lets everything through that has a word in it.

    `languages` are language codes (an unknown language passes); `deny` are phrases, compared without case.
    """

    languages: tuple[str, ...] = ()
    min_words: int = 1
    deny: tuple[str, ...] = ()

    def check(self, document: Document) -> None:
        """Return when `document` may be used.

        Errors: EmptyContent (`language_not_allowed`, `too_few_words`, `deny_listed`, `boilerplate_only`).
        """
        # `en` allows `en-GB`, and the other way round.
        allowed = {code.lower().split("-", 1)[0] for code in self.languages}
        if allowed and document.language and document.language.lower().split("-", 1)[0] not in allowed:
            raise EmptyContent(f"the page is in {document.language}", reason="language_not_allowed")
        # No further than the fewest that are wanted: which page has how many thousand words asks nobody.
        words = sum(1 for _ in islice(_WORD.finditer(document.text), self.min_words))
        if words < self.min_words:
            raise EmptyContent(f"the page has {words} words", reason="too_few_words")
        lowered = document.text.lower() if self.deny else ""
        if any(phrase.lower() in lowered for phrase in self.deny):
            raise EmptyContent("the page has a phrase of the deny list", reason="deny_listed")
        if _is_boilerplate(document):
            raise EmptyContent("the page has nothing but notices", reason="boilerplate_only")


def _is_boilerplate(document: Document) -> bool:
    blocks = [block for block in document.blocks if block.kind in _CONTENT]
    total = sum(len(block.text) for block in blocks)
    # A page with more text has something to say beside its notices. Chosen, not measured.
    if not 0 < total < 600:
        return False
    notices = sum(len(block.text) for block in blocks if block.kind in _PROSE and _BOILERPLATE.search(block.text))
    return notices / total >= _BOILERPLATE_SHARE


_LIBRARY = "archive"
# "Please enable JavaScript" and a menu; any text of a page has more.
_SHELL_TEXT_CHARS = 200
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)
_SCRIPTS = re.compile(rb"<script\b.*?(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
# Where scripts put what they make: a named container, an element of their own kind, or the whole body. An empty
# element without a name is a spacer.
_EMPTY_ROOT = re.compile(
    rb"<(?:(?:div|section)\b(?=[^<>]{0,500}\s(?:id|data-[\w-]{1,60}|ng-app)\b)|main\b|body\b|[a-z]{1,30}-[a-z-]{1,40}\b)"
    rb"[^<>]{0,500}>\s{0,200}(?:<!--[^<>]{0,500}-->\s{0,200})?</(?:div|main|section|body|[a-z]{1,30}-[a-z-]{1,40})>",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript[^<>]{0,200}>[^<]{0,400}\bjavascript\b", re.IGNORECASE)
# Where frameworks leave their marks: root elements and first scripts.
_MARKUP_BYTES = 300_000


def needs_rendering(snapshot: Snapshot, document: Document | None) -> bool:
    """Whether the static page has next to no text, or text only in its data, and the marks of one that scripts build.

    Never a library's page.
    """
    if snapshot.via == _LIBRARY or "html" not in snapshot.content_type.lower():
        return False
    if document and len(document.text) >= _SHELL_TEXT_CHARS and not document.warnings:
        return False
    head = snapshot.body[:_MARKUP_BYTES]
    if not _SCRIPT.search(head):
        return False
    if document and document.warnings:  # its text is not what the markup shows
        return True
    return bool(_NOSCRIPT.search(head) or _EMPTY_ROOT.search(_SCRIPTS.sub(b" ", head)))


# Redirects that a page makes itself: `<meta http-equiv=refresh>` and stubs whose only content is where the page went.

# A refresh stands in the head, before any text.
_REFRESH_BYTES = 16_000
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
    begins = body[:_STUB_BYTES]
    if len(body) >= _STUB_BYTES and b"http-equiv" not in begins.lower():
        return ""  # most pages: neither a stub nor one that refreshes
    source = begins.decode("utf-8", "replace")
    shown = _NOT_SHOWN.sub(" ", source)
    body_text = _TAG.sub(" ", _TITLE.sub(" ", shown))  # the title is shown in no page
    chars = len(" ".join(unescape(body_text).split()))
    is_stub = len(body) < _STUB_BYTES and chars < _STUB_CHARS
    target = _refresh_target(shown[:_REFRESH_BYTES], _LONGEST_S if is_stub else _AT_ONCE_S)
    if not target and is_stub:
        target = _moved_to(source, shown)
    return _elsewhere(target, url) if target else ""


def _refresh_target(shown: str, longest_s: int) -> str:
    for match in _META.finditer(shown):
        attributes = _attributes(match.group(1))
        if attributes.get("http-equiv", "").lower() == "refresh":
            refresh = _REFRESH.match(attributes.get("content", ""))
            return refresh.group(2).strip() if refresh and int(refresh.group(1)) <= longest_s else ""
    return ""


def _moved_to(source: str, shown: str) -> str:
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

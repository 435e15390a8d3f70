"""What may be fetched, judged by the URL alone (and by addresses, where the caller has them), and how much may stay.

DNS answers are vetted by the resolver and again at the socket; this module never asks for one.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache

import ada_url

from pincite.domain.errors import BlockedAddress, DomainDenied, InvalidUrl, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept, Snapshot
from pincite.urls.addresses import AddressPolicy
from pincite.urls.parse import ParsedUrl, host_matches, parse_url

# Those of the web, and those that web servers use beside them; others are mail, databases, consoles: a request there
# can do more than read.
PORTS = frozenset({80, 443, 8000, 8080, 8443, 8888})
# RFC 9110, section 4.1, wants at least 8,000 octets to be taken; nobody needs more to name a page.
URL_MAX_CHARS = 8_192
# RFC 1035, section 2.3.4: 255 octets on the wire are 253 characters, a label is 63 at most.
HOST_MAX_CHARS = 253
# RFC 1035 §2.3.4.
LABEL_MAX_CHARS = 63
# Names that mean this machine or this site's network; an operator opens them by opening the network behind them.
INTERNAL_SUFFIXES = frozenset("localhost localdomain local internal intranet private lan home corp onion arpa".split())
METADATA_NAMES = frozenset(
    "metadata metadata.goog metadata.google.internal instance-data instance-data.ec2.internal "
    "metadata.azure.internal metadata.tencentyun.com".split()
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LABEL = re.compile(r"[a-z0-9_-]+")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """The rules of one service. A request may narrow them with lists of its own, never widen them."""

    addresses: AddressPolicy = field(default_factory=AddressPolicy)
    ports: frozenset[int] = PORTS
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()

    def check_host_lists(self, host: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        """Return when the operator's lists and the request's own allow `host`.

        Errors: DomainDenied (reason `host_denied` or `host_not_allowed`).
        """
        if host_matches(host, self.deny_hosts) or host_matches(host, exclude):
            raise DomainDenied(f"the domain list excludes {host}", reason="host_denied")
        for allowed in (self.allow_hosts, include):
            if allowed and not host_matches(host, allowed):
                raise DomainDenied(f"the domain list does not include {host}", reason="host_not_allowed")


DEFAULT = UrlPolicy()


def vet_url(url: str, addresses: Sequence[str] | None = None, *, policy: UrlPolicy = DEFAULT) -> str:
    """The canonical URL, without fragment, that may be sent. Pure: `addresses` stands in for DNS.

    Errors:
        InvalidUrl: `url_invalid`, `url_too_long`, `url_control_char`, `scheme_denied`, `userinfo_denied`,
            `host_syntax`, `host_too_long`.
        BlockedAddress: `address_not_public`, `host_denied`, `port_denied`.
        DomainDenied: `host_denied`, `host_not_allowed`.

    Source: WHATWG URL Standard for what the text means; RFC 6761, RFC 6762 and RFC 8375 for names of local meaning.
    """
    return vet_parsed(url, addresses, policy=policy).sent


def vet_parsed(url: str, addresses: Sequence[str] | None = None, *, policy: UrlPolicy = DEFAULT) -> ParsedUrl:
    """As `vet_url`, with the parts."""
    parsed = _parse(url)
    _check_host_syntax(parsed)
    answers = (parsed.host,) if parsed.is_literal else addresses
    if answers is not None:
        check_addresses(parsed.host, answers, policy)
    if not parsed.is_literal:
        name = parsed.host.rstrip(".").lower()
        if name in METADATA_NAMES or (is_internal_name(name) and not policy.addresses.allow_networks):
            raise BlockedAddress("the host name has only local meaning", reason="host_denied")
    if parsed.port not in policy.ports:
        raise BlockedAddress(
            f"port {parsed.port} is not one that pages are fetched from",
            reason="port_denied",
            hint=f"The operator can open it: PINCITE_ALLOW_PORTS={parsed.port}.",
        )
    policy.check_host_lists(parsed.host)
    return parsed


def check_addresses(host: str, answers: Sequence[str], policy: UrlPolicy) -> None:
    """Return when every DNS answer for `host` may be connected to. The message never echoes an address.

    Errors: BlockedAddress (`address_not_public`; one bad answer refuses the host).
    """
    allowed = policy.addresses.allows
    if is_internal_name(host) and policy.addresses.allow_networks:
        allowed = policy.addresses.opened  # a local name may only lead into a network that was opened for it
    if not answers or not all(allowed(answer) for answer in answers):
        raise BlockedAddress("the host does not lead to a public address", reason="address_not_public")


def is_internal_name(host: str) -> bool:
    """Whether the name has meaning only on this machine or its own network."""
    name = host.rstrip(".").lower()
    if "." not in name:
        return ":" not in name
    return name.rsplit(".", 1)[1] in INTERNAL_SUFFIXES


def _parse(url: str) -> ParsedUrl:
    text = url.strip(" ")
    if len(text) > URL_MAX_CHARS:
        raise InvalidUrl(f"the URL is longer than {URL_MAX_CHARS} characters", reason="url_too_long")
    if _CONTROL.search(text):
        raise InvalidUrl("the URL has a control character in it", reason="url_control_char")
    try:
        parsed = parse_url(text)
    except InvalidUrl:
        if _OTHER_SCHEME.match(text):
            raise InvalidUrl("only http and https are fetched", reason="scheme_denied") from None
        raise
    if parsed.scheme not in {"http", "https"}:
        raise InvalidUrl("only http and https are fetched", reason="scheme_denied")
    if parsed.has_userinfo:
        raise InvalidUrl("the URL holds a user name or password", reason="userinfo_denied")
    if len(parsed.href) > URL_MAX_CHARS:
        raise InvalidUrl(f"the URL is longer than {URL_MAX_CHARS} characters", reason="url_too_long")
    return parsed


def _check_host_syntax(parsed: ParsedUrl) -> None:
    if parsed.is_literal:
        return
    name = parsed.host.removesuffix(".")
    if len(name) > HOST_MAX_CHARS:
        raise InvalidUrl("the host name is longer than DNS allows", reason="host_too_long")
    labels = name.split(".")
    if not all(labels):
        raise InvalidUrl("the host name has an empty part", reason="url_invalid")
    for label in labels:
        if len(label) > LABEL_MAX_CHARS:
            raise InvalidUrl("a part of the host name is longer than DNS allows", reason="host_too_long")
        if not _LABEL.fullmatch(label):  # WHATWG lets quotes, braces and such pass; DNS names have none
            raise InvalidUrl("the host name has a character that names can't have", reason="host_syntax")
        # ada lets labels pass that claim to be punycode and aren't
        if label.startswith("xn--") and not _decodes(label):
            raise InvalidUrl("the host name is not valid punycode", reason="host_syntax")


@lru_cache(maxsize=4096)
def _decodes(label: str) -> bool:
    shown: str = ada_url.idna_to_unicode(label)
    return bool(shown) and not shown.lower().startswith("xn--") and not shown.isascii()


_LATIN_WITH = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)


def mixed_script(host: str) -> bool:
    """Whether a part of the host name mixes writing systems the way look-alike names do.

    Source: UTS 39 §5.2, level "highly restrictive".
    """
    for label in ada_url.idna_to_unicode(host).split("."):
        scripts = frozenset(
            "CJK" if name.startswith(("CJK", "IDEOGRAPHIC")) else name.split(" ", 1)[0]
            for name in (unicodedata.name(char, "UNKNOWN") for char in label if char.isalpha())
        )
        if len(scripts) > 1 and not any(scripts <= mix for mix in _LATIN_WITH):
            return True
    return False


# How much of a page may stay after the run that read it: the operator's choice, and the page's own wish.

_NO_COPY = frozenset({"noarchive", "nocache"})
_OWN = frozenset({"archive", "given"})
_STRICTNESS = (Kept.FULL, Kept.RUN, Kept.EXCERPTS)


@dataclass(frozen=True, slots=True)
class Retention:
    """Rules for what stays. `domains` are list entries as in `exclude_domains`; the strictest that matches counts."""

    default: Kept = Kept.FULL
    domains: Mapping[str, Kept] = field(default_factory=dict)

    def of(self, snapshot: Snapshot) -> Kept:
        """What may stay of this capture; pages of own libraries and files that were given are theirs to keep.

        Source: `noarchive` of X-Robots-Tag and `<meta name="robots">` asks that no copy be shown.
        """
        if snapshot.via in _OWN:
            return Kept.FULL
        if _NO_COPY & set(snapshot.usage_signals):
            return Kept.EXCERPTS
        own = [kept for entry, kept in self.domains.items() if _matches(snapshot.final_url, entry)]
        return max(own, key=_STRICTNESS.index) if own else self.default


# Everything stays but what asks not to.
ALL = Retention()


def _matches(url: str, entry: str) -> bool:
    try:
        return host_matches(parse_url(url).host, (entry,))
    except PinciteError:
        return False

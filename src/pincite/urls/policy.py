"""What may be fetched, judged by the URL alone and by its addresses, where the caller has them; how much may stay.

DNS answers are vetted by the resolver and again at the socket; this module never asks for one.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import ada_url

from pincite.domain.errors import BlockedAddress, DomainDenied, InvalidSetting, InvalidUrl, PinciteError
from pincite.domain.frozen import dataclass
from pincite.domain.page import Kept, Snapshot
from pincite.urls.parse import ParsedUrl, host_matches, parse_url

# Which IP addresses may be connected to. Allow-list shaped, and our own table.
#
# `ipaddress.is_global` is not used: its answers change between patch releases of Python, and about a third of the
# addresses that must be refused pass it (ADR on the address table in docs/adr).

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


IPV4_DENY = _networks(
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",  # IETF protocol assignments
    "192.0.2.0/24",  # documentation
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # AMT
    "192.88.99.0/24",  # 6to4 relay
    "192.168.0.0/16",
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",  # a cloud's host agent on a public address
)
# The part of IPv6 that is given out (IANA's registry of the address space); all else is refused.
IPV6_ALLOW = _networks("2000::/3")
IPV6_DENY = _networks(
    "2001::/23",  # Teredo, ORCHID, benchmarks
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
    "2620:4f:8000::/48",  # AS112
)
# RFC 6052 §2.1: the well-known prefix; the address inside is looked at as well.
NAT64 = ip_network("64:ff9b::/96")
# Instance metadata of the clouds and what sits beside it: no setting opens these.
METADATA = _networks(
    "169.254.0.0/16",
    "168.63.129.16/32",
    "100.100.100.200/32",
    "192.0.0.192/32",
    "fd00:ec2::/32",
    "fd20:ce::/32",
    "fd00:42::42/128",
    "fe80::/10",
)
# RFC 5214 §6.1: the identifier before the IPv4 address inside.
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """The CIDRs as networks; a bare address is a network of one. Errors: InvalidSetting (not a CIDR)."""
    networks = []
    for text in texts:
        try:
            networks.append(ip_network(text.strip(), strict=False))
        except ValueError:
            raise InvalidSetting(
                f"{text!r} is not a network", reason="network", hint="Write it as a CIDR, such as 10.1.0.0/16."
            ) from None
    return tuple(networks)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The one rule about addresses, for every byte out.

    `allow_networks` opens private networks one CIDR at a time; the metadata core stays closed whatever it says.
    `deny_networks` closes more (the public addresses of this machine); `nat64_prefixes` are extra /96 translation
    prefixes of the site, whose embedded IPv4 address decides.
    """

    allow_networks: tuple[str, ...] = ()
    deny_networks: tuple[str, ...] = ()
    nat64_prefixes: tuple[str, ...] = ()
    _allow: tuple[Network, ...] = field(init=False, repr=False, compare=False)
    _deny: tuple[Network, ...] = field(init=False, repr=False, compare=False)
    _nat64: tuple[Network, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_allow", parse_networks(self.allow_networks))
        object.__setattr__(self, "_deny", parse_networks(self.deny_networks))
        object.__setattr__(self, "_nat64", (NAT64, *parse_networks(self.nat64_prefixes)))

    def allows(self, address: str) -> bool:
        """Whether a connection to `address` may be made. Anything that isn't a plain address is refused."""
        return _verdict(self, address)

    def opened(self, address: str) -> bool:
        """Whether `address` is allowed because the operator opened its network."""
        try:
            parsed = _unwrapped(ip_address(address))
        except ValueError:
            return False
        return self.allows(address) and _within(parsed, self._allow)

    def _judge(self, address: Address) -> bool:
        address = _unwrapped(address)
        embedded = self._embedded(address)
        if _within(address, METADATA) or any(_within(inner, METADATA) for inner in embedded):
            return False
        if _within(address, self._allow):
            return True
        if _within(address, self._deny):
            return False
        if isinstance(address, IPv4Address):
            return not _within(address, IPV4_DENY)
        if _within(address, self._nat64):
            return self._judge(IPv4Address(address.packed[12:]))
        if not _within(address, IPV6_ALLOW) or _within(address, IPV6_DENY):
            return False
        return all(self._judge(inner) for inner in embedded)

    def _embedded(self, address: Address) -> tuple[IPv4Address, ...]:
        """Every IPv4 address that `address` may be delivered to by a translator or tunnel."""
        if isinstance(address, IPv4Address):
            return ()
        packed = address.packed
        inner = []
        if packed[8:12] in _ISATAP or _within(address, self._nat64) or packed[:8] == bytes(8):
            inner.append(packed[12:])  # ISATAP, NAT64, IPv4-compatible and translated forms
        if packed[:2] == b"\x20\x02":  # 6to4 (RFC 3056)
            inner.append(packed[2:6])
        if packed[:4] == b"\x20\x01\x00\x00":  # Teredo (RFC 4380): the client address is stored inverted
            inner.append(bytes(octet ^ 0xFF for octet in packed[12:]))
        return tuple(IPv4Address(octets) for octets in inner)


def _unwrapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _within(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


@lru_cache(maxsize=4096)
def _verdict(policy: AddressPolicy, text: str) -> bool:
    if "%" in text:  # a scoped address belongs to one link
        return False
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return policy._judge(address)  # noqa: SLF001  # the cache of the same class


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

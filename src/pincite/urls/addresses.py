"""Which IP addresses may be connected to. Allow-list shaped, and our own table.

`ipaddress.is_global` is not used: its answers change between patch releases of Python, and about a third of the
addresses that must be refused pass it (ADR on the address table in docs/adr).
"""

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from pincite.domain.errors import InvalidSetting
from pincite.domain.frozen import dataclass

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

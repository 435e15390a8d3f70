"""The public addresses of this machine: a page there may be an own service that trusts its neighbours."""

import re
from ipaddress import ip_address
from pathlib import Path

_IPV4_TABLE = Path("/proc/net/fib_trie")
_IPV6_TABLE = Path("/proc/net/if_inet6")
_LOCAL_IPV4 = re.compile(r"\|--\s+(\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL")


def own_public_addresses(ipv4_table: Path = _IPV4_TABLE, ipv6_table: Path = _IPV6_TABLE) -> tuple[str, ...]:
    """The addresses of this machine's interfaces that the address table alone would let through.

    Empty where the system has no such tables: private addresses are refused anyway, public ones by the firewall that
    docs/fetch.md asks for.
    """
    found = set(_LOCAL_IPV4.findall(_text(ipv4_table)))
    for line in _text(ipv6_table).splitlines():
        digits = line.split(" ", 1)[0]
        if len(digits) == 32:
            found.add(str(ip_address(int(digits, 16))))
    return tuple(sorted(address for address in found if ip_address(address).is_global))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""

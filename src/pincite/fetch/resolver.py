"""DNS answers, vetted before anything connects; and the operator's fixed addresses."""

import re
import socket
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

import anyio
from anyio import to_thread

from pincite.domain.errors import DeadLink, DnsError, InvalidSetting
from pincite.fetch.limits import DNS_ANSWERS_MAX, DNS_CACHE_S
from pincite.ports import Clock, Resolver
from pincite.runtime.concurrency import SingleFlight
from pincite.runtime.system import too_many_open_files
from pincite.urls.policy import UrlPolicy, check_addresses

# A few megabytes; hosts of a run are hundreds.
_CACHED_HOSTS_MAX = 10_000
# getaddrinfo blocks its thread: so many lookups at a time. Chosen, not measured.
_THREADS = 16


class SystemResolver:
    """Implements `ports.Resolver` with the system's own lookup, in a bounded number of threads."""

    def __init__(self, *, timeout_s: float = 3.0) -> None:
        self._timeout_s = timeout_s
        self._threads: anyio.CapacityLimiter | None = None

    async def resolve(self, host: str) -> Sequence[str]:
        """All addresses of `host`, unvetted. Errors: DnsError, DeadLink."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        try:
            with anyio.fail_after(self._timeout_s):
                return await to_thread.run_sync(_lookup, host, limiter=self._threads, abandon_on_cancel=True)
        except TimeoutError:
            raise DnsError(f"the name server did not answer for {host}", reason="dns_timeout") from None


def _lookup(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if (full := too_many_open_files(error, silent=True)) is not None:
            raise full from None
        if error.errno == socket.EAI_NONAME:
            raise DeadLink(
                f"there is no host {host}",
                hint="Check how it is written, and whether this machine is online.",
                reason="dns_failed",
            ) from None
        raise DnsError(f"the name {host} can't be looked up", reason="dns_failed") from None
    except UnicodeError:
        raise DnsError(f"the name {host} can't be looked up", reason="dns_failed", retryable=False) from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def parse_resolve(texts: Sequence[str]) -> dict[tuple[str, int], tuple[str, ...]]:
    """`HOST:PORT:ADDRESS[,ADDRESS]` entries as a table, as curl's `--resolve` reads them.

    Errors: InvalidSetting (an entry of another form).
    """
    table: dict[tuple[str, int], tuple[str, ...]] = {}
    for text in texts:
        host, _, rest = text.partition(":")
        port, _, addresses = rest.partition(":")
        plain = tuple(address.strip().strip("[]") for address in addresses.split(","))
        try:
            parsed = [ip_address(address) for address in plain]
        except ValueError:
            parsed = []
        if not host or not port.isdecimal() or not parsed:
            raise InvalidSetting(f"--resolve {text!r} is not HOST:PORT:ADDRESS", context={"setting": "resolve"})
        key = (host.lower().rstrip("."), int(port))
        table[key] = (*table.get(key, ()), *plain)
    return table


class VettedResolver:
    """Addresses that may be connected to. Fixed entries replace DNS, not the policy.

    Answers are kept at most a minute; one lookup serves everyone who asks meanwhile.
    """

    def __init__(
        self,
        resolver: Resolver,
        policy: UrlPolicy,
        clock: Clock,
        fixed: Mapping[tuple[str, int], tuple[str, ...]] | None = None,
    ) -> None:
        self._resolver = resolver
        self._policy = policy
        self._clock = clock
        self._fixed = dict(fixed or {})
        self._answers: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._flights: SingleFlight[tuple[str, ...]] = SingleFlight()

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """At most six addresses of `host`, all of them allowed.

        Errors:
            BlockedAddress: `address_not_public`; one bad answer refuses the host.
            DeadLink, DnsError: `dns_failed`, `dns_timeout`.
        """
        name = host.rstrip(".").lower()
        until_s, kept = self._answers.get(name, (0.0, ()))
        answers = self._fixed.get((name, port)) or (kept if self._clock.monotonic_s() < until_s else ())
        if not answers:
            answers, _ = await self._flights.run(name, lambda: self._look_up(name))
        check_addresses(name, answers, self._policy)
        return answers[:DNS_ANSWERS_MAX]

    async def _look_up(self, name: str) -> tuple[str, ...]:
        answers = tuple(await self._resolver.resolve(name))
        if not answers:
            raise DnsError(f"the name {name} has no address", reason="dns_failed", retryable=False)
        check_addresses(name, answers, self._policy)  # a refusal isn't kept: it is final for this fetch only
        self._answers[name] = (self._clock.monotonic_s() + DNS_CACHE_S, answers)
        self._answers.move_to_end(name)
        if len(self._answers) > _CACHED_HOSTS_MAX:
            self._answers.popitem(last=False)
        return answers


# The public addresses of this machine: a page there may be an own service that trusts its neighbours.

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

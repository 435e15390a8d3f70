"""DNS: vetted answers, kept for a minute, asked for once; fixed addresses; the system's lookup."""

import anyio
import pytest

from pincite.domain.errors import BlockedAddress, DnsError, InvalidSetting, PinciteError
from pincite.fetch.resolver import SystemResolver, VettedResolver, parse_resolve
from pincite.testing.clock import FrozenClock
from pincite.testing.web import StubResolver
from pincite.urls import AddressPolicy, UrlPolicy

PUBLIC = "93.184.215.14"


def vetted(stub: StubResolver, clock: FrozenClock, **fixed: str) -> VettedResolver:
    return VettedResolver(stub, UrlPolicy(), clock, parse_resolve([f"{k}.example:443:{v}" for k, v in fixed.items()]))


async def test_one_lookup_serves_many_for_a_minute() -> None:
    stub, clock = StubResolver(default=(PUBLIC,)), FrozenClock()
    resolver = vetted(stub, clock)
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(resolver.addresses, "site.example", 443)
    assert stub.asked == ["site.example"]
    clock.advance(59)
    await resolver.addresses("SITE.example.", 443)
    assert len(stub.asked) == 1
    clock.advance(2)
    await resolver.addresses("site.example", 443)
    assert len(stub.asked) == 2


async def test_a_refused_answer_is_not_kept_and_not_shown() -> None:
    stub = StubResolver({"site.example": [["10.9.8.7"], [PUBLIC]], "none.example": [[]]})
    resolver = vetted(stub, FrozenClock())
    with pytest.raises(BlockedAddress) as caught:
        await resolver.addresses("site.example", 443)
    assert "10.9.8.7" not in str(caught.value)
    assert await resolver.addresses("site.example", 443) == (PUBLIC,)
    with pytest.raises(DnsError):
        await resolver.addresses("none.example", 443)


async def test_fixed_addresses_replace_dns_and_not_the_policy() -> None:
    stub = StubResolver(default=(PUBLIC,))
    resolver = vetted(stub, FrozenClock(), good="8.8.4.4", bad="10.0.0.1")
    assert await resolver.addresses("good.example", 443) == ("8.8.4.4",)
    assert await resolver.addresses("good.example", 80) == (PUBLIC,)
    with pytest.raises(BlockedAddress):
        await resolver.addresses("bad.example", 443)
    opened = UrlPolicy(addresses=AddressPolicy(allow_networks=("10.0.0.0/8",)))
    again = VettedResolver(stub, opened, FrozenClock(), parse_resolve(["bad.example:443:10.0.0.1"]))
    assert await again.addresses("bad.example", 443) == ("10.0.0.1",)


def test_resolve_entries() -> None:
    assert parse_resolve(["A.example.:443:1.2.3.4,[2001:db8::1]", "a.example:443:5.6.7.8"]) == {
        ("a.example", 443): ("1.2.3.4", "2001:db8::1", "5.6.7.8")
    }
    for wrong in ("a.example", "a.example:443", "a.example:x:1.2.3.4", ":443:1.2.3.4", "a.example:443:name"):
        with pytest.raises(InvalidSetting):
            parse_resolve([wrong])


async def test_the_system_lookup_ends_in_our_errors() -> None:
    assert "127.0.0.1" in await SystemResolver().resolve("localhost")
    with pytest.raises(PinciteError) as caught:
        await SystemResolver(timeout_s=5.0).resolve("no-such-host.invalid")
    assert caught.value.code in {"DEAD_LINK", "DNS_ERROR"}
    with pytest.raises(DnsError):
        await SystemResolver().resolve("a" * 300)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.domain.errors import InvalidSetting
from pincite.urls import AddressPolicy

METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.42.42",
    "169.254.0.23",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
]
OPEN = AddressPolicy(allow_networks=("0.0.0.0/0", "::/0"))


@pytest.mark.parametrize("address", METADATA)
def test_no_setting_opens_the_metadata_services(address: str) -> None:
    assert not OPEN.allows(address)
    if "." in address:
        for form in (f"::ffff:{address}", f"64:ff9b::{address}", f"::{address}", f"fe80::5efe:{address}"):
            assert not OPEN.allows(form)
        octets = [int(part) for part in address.split(".")]
        assert not OPEN.allows(f"2002:{octets[0]:02x}{octets[1]:02x}:{octets[2]:02x}{octets[3]:02x}::1")


def test_an_opened_network_is_open_and_its_neighbour_is_not() -> None:
    policy = AddressPolicy(allow_networks=("10.1.0.0/16",))
    assert policy.allows("10.1.2.3")
    assert policy.opened("10.1.2.3")
    assert policy.allows("::ffff:10.1.2.3")
    assert not policy.allows("10.2.0.1")
    assert not policy.opened("8.8.8.8")
    assert not policy.opened("not-an-address")


def test_an_address_of_one_link_is_none() -> None:
    assert AddressPolicy().allows("2606:4700::1111")
    assert not AddressPolicy().allows("2606:4700::1111%eth0")
    assert not OPEN.allows("2606:4700::1111%1")


def test_more_can_be_closed() -> None:
    policy = AddressPolicy(deny_networks=("93.184.215.14",), nat64_prefixes=("2a00:64::/96",))
    assert not policy.allows("93.184.215.14")
    assert policy.allows("93.184.215.15")
    assert policy.allows("2a00:64::8.8.8.8")
    assert not policy.allows("2a00:64::10.0.0.1")


@pytest.mark.parametrize("text", ["10.0.0.0/33", "intranet", ""])
def test_a_bad_network_is_a_bad_setting(text: str) -> None:
    with pytest.raises(InvalidSetting):
        AddressPolicy(allow_networks=(text,))


@given(st.integers(0, 2**32 - 1))
def test_an_embedded_address_is_never_freer_than_the_address(value: int) -> None:
    policy = AddressPolicy()
    plain = ".".join(str(byte) for byte in value.to_bytes(4, "big"))
    for form in (f"::ffff:{plain}", f"64:ff9b::{plain}", f"2a00:1450::5efe:{plain}"):
        assert policy.allows(form) == policy.allows(plain)
    assert not policy.allows(f"::{plain}")


@given(st.text(max_size=20))
def test_no_text_breaks_the_policy(text: str) -> None:
    AddressPolicy().allows(text)

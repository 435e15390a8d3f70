from pathlib import Path

from pincite.fetch.resolver import own_public_addresses
from pincite.urls import AddressPolicy

FIB = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.5
        /32 host LOCAL
     |-- 93.184.215.14
        /32 host LOCAL
     |-- 93.184.215.255
        /32 link BROADCAST
"""
INET6 = (
    "00000000000000000000000000000001 01 80 10 80       lo\n"
    "26064700000000000000000000000007 02 40 00 80     eth0\n"
    "fe800000000000000000000000000001 02 40 20 80     eth0\n"
)


def test_public_addresses_of_interfaces_are_found(tmp_path: Path) -> None:
    (tmp_path / "fib").write_text(FIB)
    (tmp_path / "inet6").write_text(INET6)
    own = own_public_addresses(tmp_path / "fib", tmp_path / "inet6")
    assert own == ("2606:4700::7", "93.184.215.14")
    policy = AddressPolicy(deny_networks=own)
    assert not policy.allows("93.184.215.14")
    assert not policy.allows("2606:4700::7")
    assert AddressPolicy(deny_networks=own, allow_networks=("93.184.215.14",)).allows("93.184.215.14")


def test_a_system_without_tables_has_none(tmp_path: Path) -> None:
    assert own_public_addresses(tmp_path / "no", tmp_path / "none") == ()
    assert isinstance(own_public_addresses(), tuple)

"""The URL and address tables: every row that a pure function can decide."""

import csv
import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from pincite.domain.errors import PinciteError
from pincite.urls import AddressPolicy, UrlPolicy, mixed_script, parse_url, url_key, vet_url
from pincite.urls.keys import TRACKING_NAMES, TRACKING_PREFIXES, is_tracking

DATA = Path(__file__).parent / "data"
SSRF = json.loads((DATA / "ssrf_cases.json").read_text())["cases"]
URLS = json.loads((DATA / "url_normalise_cases.json").read_text())["cases"]
IPS = json.loads((DATA / "ip_policy.json").read_text())


def rows(cases: list[dict[str, Any]], **wanted: Any) -> list[Any]:
    chosen = [case for case in cases if all(case.get(key) in values for key, values in wanted.items())]
    return [pytest.param(case, id=case["id"]) for case in chosen]


def reason_of(url: str, addresses: list[str] | None = None, policy: UrlPolicy | None = None) -> str:
    try:
        vet_url(url, addresses, policy=policy or UrlPolicy())
    except PinciteError as error:
        return error.reason
    return "ok"


def answers(case: dict[str, Any], turn: int = 0) -> list[str] | None:
    resolver = case.get("resolver")
    if not resolver:
        return None
    host = parse_url(case["input"].strip()).host
    given = resolver.get(host, [None])
    answer: list[str] | None = given[min(turn, len(given) - 1)]
    return answer


@pytest.mark.parametrize("case", rows(SSRF, enforce_at=["url_policy", "address_policy"], expected=["allow", "deny"]))
def test_url_and_address_policy(case: dict[str, Any]) -> None:
    known = answers(case)
    if case["code"] in {"dns_failed", "dns_timeout"}:
        assert reason_of(case["input"]) == "ok"  # the resolver decides; see the fetch tests
        return
    assert reason_of(case["input"], known) in case["code"].split("_or_")
    if case.get("canonical"):
        assert vet_url(case["input"]) == case["canonical"]
    if case.get("connect_host"):
        assert parse_url(vet_url(case["input"])).host == case["connect_host"]
    if case.get("equals") and case["expected"] == "allow":
        assert parse_url(case["input"]).host == case["equals"]


@pytest.mark.parametrize("case", rows(SSRF, expected=["allow_first_then_deny"]))
def test_rebinding_is_denied_at_the_second_lookup(case: dict[str, Any]) -> None:
    assert reason_of(case["input"], answers(case, 0)) == "ok"
    assert reason_of(case["input"], answers(case, 1)) == case["code"]


@pytest.mark.parametrize("case", rows(SSRF, expected=["allow_flag"]))
def test_look_alike_names_are_flagged(case: dict[str, Any]) -> None:
    assert mixed_script(parse_url(vet_url(case["input"])).host)


@pytest.mark.parametrize("name", ["bücher.test", "日本語のa.test", "한국abc.test", "пример.test", "site.test"])
def test_honest_names_are_not_flagged(name: str) -> None:
    assert not mixed_script(parse_url(f"http://{name}/").host)


# The hop loop decides these: see the redirect tests of the direct backend.
BY_HOP_LOOP = {"too_many_redirects", "redirect_loop", "redirect_no_location", "redirect_ambiguous"}
HOPS = [case for case in SSRF if case["code"] not in BY_HOP_LOOP]


@pytest.mark.parametrize("case", rows(HOPS, enforce_at=["hop_policy"], expected=["allow", "deny"]))
def test_every_hop_gets_the_full_policy(case: dict[str, Any]) -> None:
    config = case.get("config", {})
    policy = UrlPolicy(deny_hosts=tuple(config.get("deny_hosts", ())), allow_hosts=tuple(config.get("allow_hosts", ())))
    verdicts = [reason_of(case["input"], policy=policy)]
    here = vet_url(case["input"])
    for _, location in case["chain"]:
        here = parse_url(location, here).href
        verdicts.append(reason_of(here, policy=policy))
    assert next((verdict for verdict in verdicts if verdict != "ok"), "ok") == case["code"]


@pytest.mark.parametrize("case", rows(URLS, layer=["parse"]))
def test_parse(case: dict[str, Any]) -> None:
    # WHATWG parsing itself drops a leading NUL and surrounding spaces; the policy refuses the NUL before that.
    if case["expected"] is None:
        with pytest.raises(PinciteError) as caught:
            parse_url(case["input"], case["base"])
        assert caught.value.reason == "url_invalid"
        return
    assert parse_url(case["input"], case["base"]).href == case["expected"]


@pytest.mark.parametrize("case", rows(URLS, layer=["fetch_url"]))
def test_fetch_url(case: dict[str, Any]) -> None:
    assert vet_url(case["input"]) == case["expected"]


@pytest.mark.parametrize("case", rows(URLS, layer=["dedupe_key"]))
def test_dedupe_key(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if expected.startswith("deny:"):
        with pytest.raises(PinciteError) as caught:
            url_key(case["input"])
        assert caught.value.reason == expected.removeprefix("deny:")
        return
    assert url_key(case["input"]) == expected
    assert url_key(expected) == expected


def test_every_tracking_parameter_of_the_table_is_dropped() -> None:
    with (DATA / "tracking_params.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert {row["param"] for row in table if row["match"].startswith("exact")} == TRACKING_NAMES
    assert {row["param"] for row in table if row["match"].startswith("prefix")} == set(TRACKING_PREFIXES)
    for row in table:
        name = row["param"] + ("anything" if row["match"].startswith("prefix") else "")
        assert is_tracking(name)
        assert is_tracking(name.upper())
        assert url_key(f"https://site.example/a?{name}=1&id=2") == "https://site.example/a?id=2"


def _inside(net: str) -> list[str]:
    network = ip_network(net)
    return [str(network[0]), str(network[-1]), str(network[network.num_addresses // 2])]


@pytest.mark.parametrize("row", IPS["ipv4_deny"] + IPS["ipv6_deny_inside"], ids=lambda row: row["net"])
def test_denied_networks(row: dict[str, str]) -> None:
    policy = AddressPolicy()
    for address in _inside(row["net"]):
        assert not policy.allows(address)
        if "." in address:
            for form in (f"::ffff:{address}", f"64:ff9b::{address}", f"2606:4700::5efe:{address}", f"::{address}"):
                assert not policy.allows(form)


@pytest.mark.parametrize("text", IPS["always_deny"])
def test_always_denied(text: str) -> None:
    net = text.split(" ", 1)[0]
    if "/" in net:
        assert not any(AddressPolicy().allows(address) for address in _inside(net))
    else:
        assert not AddressPolicy().allows("fe80::1%eth0")


@pytest.mark.parametrize("net", IPS["ipv6_allow_only"])
def test_allowed_networks(net: str) -> None:
    assert AddressPolicy().allows(str(ip_network(net)[1 << 124]))
    assert AddressPolicy().allows("::ffff:8.8.8.8")
    assert AddressPolicy().allows("64:ff9b::8.8.8.8")

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from publicsuffixlist import PSLFILE, PublicSuffixList, encode_idn

from pincite.domain.errors import BlockedAddress, DomainDenied, InvalidUrl
from pincite.urls import (
    AddressPolicy,
    UrlPolicy,
    host_matches,
    mask_secrets,
    mask_typed,
    parse_url,
    registrable_domain,
    vet_url,
)
from pincite.urls.parse import is_public_suffix

INTRANET = UrlPolicy(addresses=AddressPolicy(allow_networks=("10.1.0.0/16",)))


def test_an_internal_name_needs_an_opened_network_behind_it() -> None:
    with pytest.raises(BlockedAddress, match="local meaning"):
        vet_url("http://wiki.corp/")
    assert vet_url("http://wiki.corp/", policy=INTRANET) == "http://wiki.corp/"
    assert vet_url("http://wiki.corp/", ["10.1.0.9"], policy=INTRANET) == "http://wiki.corp/"
    for elsewhere in (["10.2.0.9"], ["93.184.215.14"], ["10.1.0.9", "10.2.0.9"], []):
        with pytest.raises(BlockedAddress) as caught:
            vet_url("http://wiki.corp/", elsewhere, policy=INTRANET)
        assert caught.value.reason == "address_not_public"
        assert not any(address in str(caught.value) for address in elsewhere)


@pytest.mark.parametrize("host", ["metadata.google.internal", "metadata", "instance-data"])
def test_metadata_names_stay_refused(host: str) -> None:
    with pytest.raises(BlockedAddress):
        vet_url(f"http://{host}/", policy=UrlPolicy(addresses=AddressPolicy(allow_networks=("0.0.0.0/0",))))


def test_lists_of_the_operator_and_of_the_request_both_hold() -> None:
    policy = UrlPolicy(allow_hosts=("site.example",), deny_hosts=("bad.site.example",))
    assert vet_url("https://www.site.example/a", policy=policy)
    for url, reason in (
        ("https://other.example/", "host_not_allowed"),
        ("https://bad.site.example/", "host_denied"),
        ("https://bad.site.example./", "host_denied"),
        ("https://notsite.example/", "host_not_allowed"),
    ):
        with pytest.raises(DomainDenied) as caught:
            vet_url(url, policy=policy)
        assert caught.value.reason == reason
    with pytest.raises(DomainDenied):
        policy.check_host_lists("www.site.example", include=("other.example",))
    with pytest.raises(DomainDenied):
        policy.check_host_lists("www.site.example", exclude=("www.site.example",))


def test_list_entries() -> None:
    assert host_matches("a.b.example", ["B.example"])
    assert host_matches("b.example.", ["b.example"])
    assert not host_matches("ab.example", ["b.example"])
    assert host_matches("b.example", ["=b.example"])
    assert not host_matches("a.b.example", ["=b.example"])
    assert host_matches("a.b.example", ["*.b.example"])
    assert not host_matches("b.example", ["*.b.example"])
    assert host_matches("xn--bcher-kva.example", ["bücher.example"])
    assert host_matches("site.example", ["https://site.example/path"])
    assert not host_matches("site.example", ["", "."])


def test_registrable_domains_are_those_of_the_library_with_its_own_reading_of_the_list() -> None:
    theirs = PublicSuffixList()
    rules = [line.strip() for line in Path(PSLFILE).read_text(encoding="utf-8").splitlines()]
    rules = [rule.lstrip("!*.").lower() for rule in rules if rule and not rule.startswith("//")]
    assert len(rules) > 9_000
    foreign = [encode_idn(rule) for rule in rules if not rule.isascii()]
    for rule in (*(rule for rule in rules if rule.isascii()), *foreign):
        for host in (rule, f"a.{rule}", f"b.a.{rule}", f"xn--bcher-kva.{rule}"):
            assert is_public_suffix(host) == (theirs.privatesuffix(host) is None), host
            assert registrable_domain(host) == (theirs.privatesuffix(host) or host)


def test_registrable_domain() -> None:
    assert registrable_domain("https://news.bbc.co.uk/x") == "bbc.co.uk"
    assert registrable_domain("local:handbook/deploy.md") == "local:handbook"
    assert registrable_domain("someone.github.io") == "someone.github.io"
    assert registrable_domain("local:notes/2026/May.html") == "local:notes"
    assert registrable_domain("http://93.184.215.14/a") == "93.184.215.14"
    assert registrable_domain("co.uk") == "co.uk"
    with pytest.raises(InvalidUrl):
        registrable_domain("http://")


def test_ports_are_the_operators_to_open() -> None:
    assert vet_url("http://site.example:9000/", policy=UrlPolicy(ports=frozenset({9000})))


URLISH = st.text(alphabet="htps:/.@#?[]\\%a0127x-é。٠\u00ad \t\n", max_size=40)


@given(st.one_of(URLISH, st.text(max_size=40)).map(lambda tail: "http://" + tail))
@example("http://user@host.test/")
@example("http://host.test\\@10.0.0.1/")
@example("http://\ud800/")
def test_what_passes_is_canonical_and_public(text: str) -> None:
    try:
        vetted = vet_url(text)
    except (InvalidUrl, BlockedAddress):
        return
    parsed = parse_url(vetted)
    assert vet_url(vetted) == vetted
    assert parsed.sent == vetted
    assert not parsed.has_userinfo
    assert "#" not in vetted
    assert not parsed.is_literal or AddressPolicy().allows(parsed.host)


def test_secrets_in_urls_are_masked_and_content_is_not() -> None:
    canary = "c4n4ryc4n4ryc4n4ry"
    for url in (
        f"https://s.example/a?api_key={canary}&id=7",
        f"https://s.example/a?X-Amz-Signature={canary}&X-Amz-Credential={canary}",
        f"https://s.example/a?token={canary}",
        f"https://user:{canary}@s.example/a",
        f"https://s.example/a?sig={canary}&se=2026",
        f"https://s.example/a#access_token={canary}",
        f"https://s.example/cb?code={canary}",
    ):
        assert canary not in mask_secrets(url)
        assert mask_secrets(mask_secrets(url)) == mask_secrets(url)
    for url in ("https://s.example/a?id=7&page=2&q=token+ring", "https://s.example/e?code=404", "https://s.example/a"):
        assert mask_secrets(url) == url


@pytest.mark.parametrize(
    "typed",
    [
        "curl -H 'Authorization: Bearer c4n4ryc4n4ryc4n4ry' answers 401",
        'why does {"api_key": "c4n4ry-and-more"} fail',
        "export OPENAI_API_KEY=c4n4rysomething",
        "psql password=c4n4ryword refused",
        "mysql --password c4n4ryword says access denied",
        "sk-c4n4ryc4n4ryc4n4ryc4n4ry is invalid",
        "ghp_c4n4ryc4n4ryc4n4ryc4n4ryc4n4ry expired",
        "eyJhbGciOiJI.eyJzdWIiOiI.c4n4ry can't be decoded",
        "-----BEGIN RSA PRIVATE KEY-----\nc4n4ry\n-----END RSA PRIVATE KEY----- is not PEM",
        "git clone https://me:c4n4ry@git.example/x fails",
    ],
)
def test_secrets_that_people_type_are_masked(typed: str) -> None:
    masked = mask_typed(typed)
    assert "c4n4ry" not in masked
    assert "***" in masked
    assert mask_typed(masked) == masked
    words = [word for word in ("answers 401", "fail", "refused", "access denied", "invalid") if word in typed]
    assert all(word in masked for word in words), "the question is still told"


@pytest.mark.parametrize(
    "words",
    [
        "What is a bearer token and how is basic authentication told apart from it?",
        "How does Shamir's secret sharing work? password: hashing or encryption",
        "error code: 42P01 in PostgreSQL 15, hash: sha256, key=value pairs, session=new",
        "sk-learn token classification with 128000 tokens in 2026",
    ],
)
def test_words_about_secrets_are_not_masked(words: str) -> None:
    assert mask_typed(words) == words

"""What is checked is what is sent: the HTTP client's own parser never sees another host, port or path."""

import random

import pytest
from yarl import URL

from pincite.domain.errors import PinciteError
from pincite.urls.policy import vet_parsed

SEEDS = (
    "http://host.test/a/b?x=1&y=2#f",
    "https://user@host.test:8443/",
    "http://[2606:4700::1]:8080/p",
    "http://bücher.test/%7e?q=a b",
    "http://host.test\\@other.test/",
    "https://xn--bcher-kva.test/a;b?c=%zz",
    "http://93.184.215.14/x",
    "http://HOST.test:80/../a/./b",
    "https://host.test/?u=http://10.0.0.1/",
    "http://host.test:8888/%2e%2e/%c3%a9",
)
PIECES = (
    *"abcxyz0129.:/@#?&=%[]\\|^{}<>\"'`~!$*+,;_- \té。．․\u00ad\u200dİ",
    *("%2f", "%40", "%00", "..", "//", "xn--", "%25", "𝟘"),
)


def mutated(random_: random.Random) -> str:
    pieces = list(random_.choice(SEEDS))
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(pieces))
        match random_.random():
            case chance if chance < 0.5:
                pieces.insert(at, random_.choice(PIECES))
            case chance if chance < 0.8:
                pieces[at] = random_.choice(PIECES)
            case _:
                del pieces[at]
    return "".join(pieces)


def check(count: int, seed: int) -> int:
    random_ = random.Random(seed)
    passed = 0
    for _ in range(count):
        text = mutated(random_)
        try:
            vetted = vet_parsed(text)
        except PinciteError:
            continue
        passed += 1
        sent = URL(vetted.sent, encoded=True)
        # An empty query is not put on the wire; it is the same request.
        told = (sent.scheme, sent.raw_host, sent.port, sent.raw_path_qs, sent.user)
        assert told == (vetted.scheme, vetted.host, vetted.port, vetted.target, None), text
    return passed


def test_ten_thousand_mutations() -> None:
    assert check(10_000, seed=1) > 1_000


@pytest.mark.long
def test_a_hundred_thousand_mutations() -> None:
    assert check(100_000, seed=2) > 10_000

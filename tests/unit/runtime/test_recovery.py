from pincite.domain.errors import NetworkError, ParseError, Timeout, leaves
from pincite.runtime.recovery import BACKOFF_S, RECOVERY, Recovery, recovery_of


def test_every_leaf_has_its_row_and_no_row_is_idle() -> None:
    assert {leaf.code for leaf in leaves()} == set(RECOVERY)


def test_what_can_never_work_again_is_never_tried_again() -> None:
    for leaf in leaves():
        row = RECOVERY[leaf.code]
        if row.delays_s:
            assert leaf.default_retryable, leaf.code
        assert row.delays_s == BACKOFF_S[: len(row.delays_s)]
    assert not recovery_of(ParseError("x", retryable=True)).delays_s
    assert not RECOVERY["PARSE_ERROR"].counts


def test_an_error_can_say_that_it_is_final() -> None:
    assert recovery_of(NetworkError("x")) == Recovery(BACKOFF_S, counts=True)
    assert recovery_of(NetworkError("x", retryable=False)) == Recovery(counts=True)
    assert recovery_of(Timeout("x")).counts


def test_the_breaker_does_not_feed_itself() -> None:
    assert not recovery_of(NetworkError("x", reason="breaker_open", retryable=False)).counts

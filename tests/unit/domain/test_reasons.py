"""Reasons in words: no code reaches a reader, and none is lost."""

import re
from pathlib import Path

import pytest

import pincite
from pincite.domain.errors import PinciteError, PolicyRefusal, RemoteError, leaves
from pincite.domain.reasons import REASONS, reason_text

FETCH = Path(pincite.__file__).parent / "fetch"


def test_every_reason_of_a_page_that_was_not_read_has_words() -> None:
    told = {
        reason for path in FETCH.rglob("*.py") for reason in re.findall(r'reason="([a-z_]+)"', path.read_text("utf-8"))
    }
    assert len(told) > 40
    assert {reason for reason in told if reason_text(reason) == reason.replace("_", " ")} <= MISUSE


MISUSE = {"offset", "max_chars", "bad_request", "wrong_shape", "not_json", "network", "out_of_range", "above_ceiling"}
"""What only a caller can get wrong: no page of a run carries these."""


@pytest.mark.parametrize("leaf", [leaf for leaf in leaves() if issubclass(leaf, RemoteError | PolicyRefusal)])
def test_every_code_has_words(leaf: type[PinciteError]) -> None:
    code = leaf.code
    if code in ("UNAUTHORIZED", "ARCHIVE_CORRUPT"):
        return
    assert " " in reason_text("never_heard_of", code)
    assert "_" not in reason_text("", code)


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("http_404", "DEAD_LINK", "the page does not exist any more"),
        ("http_418", "PAGE_BLOCKED", "the site refused to hand it out, with status 418"),
        ("http_503", "NETWORK_ERROR", "the site failed to answer, with status 503"),
        ("xlsx_unreadable", "PARSE_ERROR", "it is damaged and could not be read"),
        ("something_new", "TIMEOUT", "it took too long"),
        ("something_new", "", "something new"),
        ("the snake_case stays", "", "the snake_case stays"),
        ("", "DEAD_LINK", "the page does not exist any more"),
        ("", "", ""),
    ],
)
def test_in_words(reason: str, code: str, words: str) -> None:
    assert reason_text(reason, code) == words


def test_words_fit_into_a_sentence() -> None:
    for words in REASONS.values():
        assert words[0].islower(), words
        assert not words.endswith("."), words

"""A rate must keep its period: 4 watts a year is not 4 watts a month, once a week is not once a day."""

import re
from collections.abc import Iterator

from pincite.verification.findings import Finding, failed, passed, skipped
from pincite.verification.passages import Sentence, Window

NAME = "periods"
_UNITS = "second|minute|hour|day|night|week|fortnight|month|quarter|year|decade"
_RATE = re.compile(
    rf"(?:(?P<before>[\w%]+) an? |\bper |\beach |\bevery |/ ?)(?P<unit>{_UNITS})\b"
    r"(?! (?:later|ago|after|before|earlier|old|and a half|of|long|or (?:two|so|more|longer)|into|apart)\b)"
    r"|\b(?P<adverb>hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|annually|annual|yearly)\b",
    re.IGNORECASE,
)
_NO_RATE = frozenset(
    "for in within after over than half about nearly almost during by of as is was takes took lasted lasts spent with "
    "just only roughly around be been to at on and or the under approximately once- last like such what quite".split()
)
_ADVERBS = {
    "hourly": "hour", "daily": "day", "nightly": "night", "weekly": "week", "fortnightly": "fortnight",
    "monthly": "month", "quarterly": "quarter", "annually": "year", "annual": "year", "yearly": "year",
}  # fmt: skip


def _periods(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """(period, as written) of each rate."""
    for match in _RATE.finditer(sentence.text):
        if match["adverb"]:
            yield _ADVERBS[match["adverb"].lower()], match["adverb"]
        elif (match["before"] or "").lower() not in _NO_RATE:
            yield match["unit"].lower(), match.group().removeprefix(f"{match['before']} ")


def check_periods(claim: Sentence, window: Window) -> Finding:
    """Whether each period of the claim's rates is one of the passage's, where that has any."""
    wanted = dict(_periods(claim))
    if not wanted:
        return skipped(NAME)
    about = [sentence for sentence in window.sentences if len(sentence.stems & claim.stems) >= 2] or window.sentences
    there = {period: written for sentence in about for period, written in _periods(sentence)}
    problems = [
        f'"{written}" in the claim, "{next(iter(there.values()))}" in the passage'
        for period, written in wanted.items()
        if there and period not in there
    ]
    if not problems:
        return passed(NAME)
    values = {quantity.value for quantity in claim.quantities}
    same_number = any(quantity.value in values for sentence in about for quantity in sentence.quantities)
    return failed(NAME, problems, contradicts=same_number)

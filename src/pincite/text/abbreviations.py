"""Short forms that pages spell out themselves: "Write-Ahead Logging (WAL)".

Source: Schwartz and Hearst 2003, A simple algorithm for identifying abbreviation definitions in biomedical text.
"""

import re
from collections.abc import Iterable
from typing import Final

_SHORT: Final = re.compile(r"\((?P<short>[A-Z][A-Za-z0-9]{1,9}?)s?\)")
# Ten words at most stand before the bracket; looked at from there, so that no page takes long.
_BEFORE_CHARS: Final = 160
_BREAK: Final = re.compile(r"[^\w' \n-]|\n\n")
# The long form has at most so many words more than the short one has letters, and at most twice as many (source).
_MOST_WORDS: Final = 5


def spelt_out(texts: Iterable[str]) -> dict[str, str]:
    """The long form of each short one that a text gives in brackets behind it; the first that is met counts."""
    found: dict[str, str] = {}
    for text in texts:
        for pair in _SHORT.finditer(text):
            before = _BREAK.split(text[max(pair.start() - _BEFORE_CHARS, 0) : pair.start()])[-1]
            short = pair["short"]
            long = _long_form(short, " ".join(before.split()))
            if long:
                found.setdefault(short, long)
    return found


def other_form(text: str, forms: dict[str, str]) -> str:
    """The text with its first short form spelt out, or its first long form shortened; empty where it has neither."""
    for short, long in forms.items():
        for written, instead in ((short, long), (long, short)):
            flags = 0 if written == short else re.IGNORECASE  # "IT" is a short form, "it" is a word
            other, times = re.subn(rf"(?<!\w){re.escape(written)}(?!\w)", lambda _, new=instead: new, text, flags=flags)
            if times:
                return other
    return ""


def _long_form(short: str, before: str) -> str:
    """The shortest end of the words before the bracket that has the letters in order, the first at a word's start."""
    at = len(before)
    for index in range(len(short) - 1, -1, -1):
        at -= 1
        while at >= 0 and not (
            before[at].lower() == short[index].lower() and (index > 0 or at == 0 or not before[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return ""
    long = before[before.rfind(" ", 0, at + 1) + 1 :]
    words = len(re.split(r"[ -]", long))
    fits = 1 < words <= min(len(short) + _MOST_WORDS, 2 * len(short))
    return long if fits and short.lower() not in long.lower().split() else ""

r"""Cleaning of text that came from outside: NFC, `\n`, no invisible or control characters.

Dropped: C0 and C1 controls but tab and newline, the tag characters U+E0000-E007F, bidi controls, soft hyphens,
zero-width characters where no script needs them, runs of variation selectors. ZWJ and ZWNJ stay between characters
that join (emoji, Indic and Arabic letters).

Source: Unicode TR36 and TR39 on invisible characters.
"""

import re
import unicodedata

_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LINE_ENDS = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")
_ALWAYS_OUT = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_SELECTOR_RUN = re.compile("([\ufe00-\ufe0f])[\ufe00-\ufe0f]+")
_SELECTOR_AFTER_ASCII = re.compile("(?<=[ -\x7f])(?<![0-9#*])[\ufe00-\ufe0f]|^[\ufe00-\ufe0f]")
_JOINER = re.compile("[\u200c\u200d]")
_NO_JOINER_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "DIGIT", "CJK", "HIRAGANA", "KATAKANA", "HANGUL")


def clean(text: str) -> str:
    r"""`text` in NFC with `\n` line ends and without characters nobody sees."""
    if text.isascii() and not _SUSPECT.search(text) and "\r" not in text and "\x0c" not in text:
        return text
    text = _LINE_ENDS.sub("\n", text)
    if _SUSPECT.search(text):
        text = _ALWAYS_OUT.sub("", text)
        text = _SELECTOR_AFTER_ASCII.sub("", _SELECTOR_RUN.sub(r"\1", text))
        text = _JOINER.sub(lambda match: _joiner(text, match), text)
    return unicodedata.normalize("NFC", text)


def _joiner(text: str, match: re.Match[str]) -> str:
    """The joiner itself where both neighbours can join, else nothing."""
    before, after = text[: match.start()][-1:], text[match.end() :][:1]
    if not before or not after or before.isspace() or after.isspace():
        return ""
    for neighbour in (before, after):
        if neighbour.isascii() or unicodedata.name(neighbour, "").startswith(_NO_JOINER_SCRIPTS):
            return ""
    return match.group()

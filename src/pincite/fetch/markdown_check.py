"""What a model wrote as the Markdown of a page, held to the page: no foreign link, no picture, no word of its own."""

import re
from collections.abc import Iterable
from typing import Final

from pincite.text.tokens import words

_PICTURE: Final = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = re.compile(r"\[([^\[\]]*)\]\(\s*<?([^\s)>]*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
_REFERENCE: Final = re.compile(r"^ {0,3}\[[^\]]+\]:\s.*$", re.MULTILINE)
_TAG: Final = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE: Final = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# A model joins cells and headings with a word of its own; more is text that it made up. Chosen, not measured.
_OWN_WORDS: Final = 0.03
# Of the words of the page: less, and it was summed up instead of rewritten. Chosen, not measured.
_LEAST: Final = 0.5


def sound(markdown: str, page_html: str, page_text: str, links: Iterable[str]) -> tuple[str, str]:
    """The Markdown made safe, or nothing and the reason why it is not of this page.

    Args:
        markdown: as the model wrote it.
        page_html: the cleaned HTML that it saw.
        page_text: what the reader got out of the page.
        links: the addresses that the page links to.
    """
    known = set(links)
    clean = "".join(
        part if number % 2 else _prose(part, known)
        for number, part in enumerate(_FENCE.split(_CONTROL.sub("", markdown)))
    ).strip()
    mine = {word.lower() for word in words(clean)}
    have = {word.lower() for word in words(" ".join([page_html, page_text, *known]))}
    own = mine - have
    if any(any(character.isdigit() for character in word) for word in own) or len(own) > _OWN_WORDS * len(mine):
        return "", "has_own_words"
    wanted = {word.lower() for word in words(page_text)}
    if len(wanted & mine) < _LEAST * len(wanted):
        return "", "leaves_out_too_much"
    return clean, ""


def _prose(text: str, known: set[str]) -> str:
    """The text outside of code: pictures and foreign links as their words, tags as text."""
    plain = _REFERENCE.sub("", _PICTURE.sub(r"\1", text))
    plain = _LINK.sub(lambda match: match.group() if match.group(2) in known else match.group(1), plain)
    return _TAG.sub(r"\\<", plain)

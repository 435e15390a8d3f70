"""Links that open a page at a passage, `#:~:text=`, made only when they can't point anywhere else.

A convenience, never the proof: browsers scroll to it only on a click of their user.
"""

from functools import lru_cache
from urllib.parse import quote as percent_encode

from pincite.text.normalise import fold
from pincite.text.sentences import trimmed

# WICG, URL Fragment Text Directives §4.1: shorter passages are encouraged to be given whole, longer ones as a range.
_EXACT_LIMIT = 300
# Enough to stand on a page only once in most cases; whether they do is looked up.
_EDGE_WORDS = 5
# What tells two equal passages apart, before and after.
_CONTEXT_WORDS = 3
# Shorter passages stand in many places of a page that changes.
_LEAST_WORDS = 4


def fragment_url(url: str, text: str, start: int, end: int) -> str:
    """The URL with a text fragment for `text[start:end]`, or an empty string when none is sure to be unique.

    `text` is the page's rendered text with blocks separated by blank lines. A passage within one block of up to 300
    characters is named whole; a longer one, or one over several blocks, by its first and last words. Three words or
    fewer, or a passage that occurs twice, get the words before and after as context.

    Source: WICG Scroll to Text Fragment; measured rules in docs/verification.md.
    """
    start, end = whole_words(text, start, end)
    passage = text[start:end]
    words = passage.split()
    if not words or url.startswith(("data:", "about:")):
        return ""
    one_block = "\n\n" not in passage
    if one_block and len(passage) <= _EXACT_LIMIT and "\n" not in passage.strip():
        terms = _exact(text, start, end, words)
    else:
        terms = _range(text, start, end)
    if not terms:
        return ""
    base, _, anchor = url.partition("#")
    anchor = anchor.partition(":~:")[0]
    return f"{base}#{anchor}:~:text={terms}"


def _exact(text: str, start: int, end: int, words: list[str]) -> str:
    passage = text[start:end]
    if len(words) >= _LEAST_WORDS and _count(text, passage) == 1:
        return _encode(passage)
    before, after = _context(text, start, end)
    if not before and not after:
        return ""
    around = " ".join(part for part in (before, passage, after) if part)
    if _count(text, around) != 1:
        return ""
    return (f"{_encode(before)}-," if before else "") + _encode(passage) + (f",-{_encode(after)}" if after else "")


def _range(text: str, start: int, end: int) -> str:
    """First and last words of the passage, each within one block and each found only once in the page."""
    passage = text[start:end]
    first, last = passage.split("\n", 1)[0].split(), passage.rsplit("\n", 1)[-1].split()
    head, tail = " ".join(first[:_EDGE_WORDS]), " ".join(last[-_EDGE_WORDS:])
    if len(first) < 2 or len(last) < 2 or len(head) + len(tail) >= len(passage):
        return ""
    if _count(text, head) != 1 or _count(text[start:], tail) != 1:
        return ""
    return f"{_encode(head)},{_encode(tail)}"


def _context(text: str, start: int, end: int) -> tuple[str, str]:
    """A few words of the same line before and after."""
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    before = text[line_start:start].split()[-_CONTEXT_WORDS:]
    after = text[end:line_end].split()[:_CONTEXT_WORDS]
    return " ".join(before), " ".join(after)


def _count(text: str, words: str) -> int:
    """How often the words stand in the text as a browser compares them: any case, any white space, whole words."""
    wanted, page = _compared(words), _page_compared(text)
    found, at = 0, page.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        whole = not (_is_word(page[at - 1 : at]) or _is_word(page[end : end + 1]))
        found += whole
        at = page.find(wanted, end if whole else at + 1)
    return found


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _compared(text: str) -> str:
    """The text as a browser compares it: in one case, with one space for any white space."""
    return fold(text).flat.lower()


# Kept, because the passages of a page come one after another.
_page_compared = lru_cache(maxsize=4)(_compared)


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends, each half word in it as a whole one."""
    while start > 0 and start < len(text) and text[start].isalnum() and text[start - 1].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return trimmed(text, start, end)


def _encode(term: str) -> str:
    return percent_encode(" ".join(term.split()), safe="").replace("-", "%2D")

"""What a model may put into words: queries without anything private, plain lines without links or marks."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from textwrap import shorten
from typing import Final

from lxml.html.defs import tags

from pincite.domain.frozen import dataclass
from pincite.domain.model import one_line
from pincite.text.instructions import is_flagged
from pincite.text.normalise import fold
from pincite.text.sentences import sentences
from pincite.text.tokens import is_common_word, words
from pincite.verification.snippets import EXAMPLE_HOST

# A query for a search engine; what is longer may carry the question's material outside.
MAX_QUERY_CHARS: Final = 160
# The same, in words.
MAX_QUERY_WORDS: Final = 16
# Two lines of a list; what is missing takes no more words to say.
_UNPROVEN_CHARS: Final = 240
# A heading of one line and a half.
MAX_HEADING_CHARS: Final = 90
# Five words in a row are copied, not found alike.
_SHARED_RUN: Final = 5
# In prose five common words in a row ("what to do first, and") prove nothing; eight are a sentence of ours.
_SAME_SENTENCE: Final = 8
# Bits a character: keys and tokens lie above, words and names below. Chosen, not measured.
_ENTROPY_FROM: Final = 3.4
# Keys of services have 16 characters and more.
_SECRET_CHARS: Final = 16
_LINKISH = re.compile(r"(?:[a-z][a-z0-9+.-]*://|\bwww\.|\bjavascript:|\bdata:[a-z]|\bmailto:)\S*", re.I)
# What a manual tells one to type: this machine, and names that are kept for examples.
_LEADS_NOWHERE = re.compile(rf"https?://(?:localhost|127\.0\.0\.1|\[::1\]|{EXAMPLE_HOST})(?=[:/`]|\Z)[^\s`]*", re.I)
_HOST = re.compile(r"\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?:/\S*)?\b", re.I)
_MARKS = re.compile(r"!?\[[^\]]*\]\s*[(\[][^)\]]*[)\]]?|\[\^?\d{1,4}\]:?|(?<!\w)\[\^?\w{1,12}\]:?")
_MARKUP = re.compile(rf"(?<!`)`[^`\n]{{1,80}}`(?!`)|{_MARKS.pattern}|</?[a-zA-Z!][^<>]{{0,200}}>|`{{3,}}")
_HTML: Final = frozenset(tags) | {"svg", "math", "picture", "source", "template", "slot", "portal"}
# What is to be filled in (`<branch>`, `<stdio.h>`), unless HTML has an element of that name.
_PLACEHOLDER = re.compile(r"<([a-zA-Z][\w.-]*)>")
# "**Bloat.** An UPDATE ...", "**`work_mem`:** ...": what an item or a paragraph is about.
_LEAD = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*(?=[\s,;:.])(.+)")
_EMPHASIS = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*")
_LEAD_CHARS: Final = 80
# As long as a command with its options on one line.
_IN_CODE = re.compile(r"`([^`\n]{1,80})`")
# In print it would read like the number of a source.
_LIKE_A_MARK = re.compile(r"\[\d+\]")
_OWN = re.compile(r"\b(?:my|mine|our|ours|i|i'm|we|me|us|myself|confidential|private|internal|secret)\b", re.I)
_OPERATOR = re.compile(r"\b(?:site|inurl|intitle|filetype|cache|related):\S*", re.I)


def plain_line(text: str) -> str:
    """The text on one line without control characters, Markdown links and images, HTML, and reference marks."""
    return " ".join(_MARKUP.sub(_kept, one_line(text)).split())


def _kept(markup: re.Match[str]) -> str:
    """What stays of something that looks like markup: in a span of code elements (`<nat ipv6="yes"/>`), too.

    So do addresses there that lead nowhere; whether a page has them is an exact fact.
    """
    if markup[0].startswith("`") and markup[0].strip("`"):
        leads_out = _LINKISH.search(_LEADS_NOWHERE.sub("", markup[0]))
        return " " if leads_out else _LIKE_A_MARK.sub(" ", markup[0])
    name = _PLACEHOLDER.fullmatch(markup[0])
    return markup[0] if name is not None and name[1].lower() not in _HTML else " "


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A line without marks of Markdown: its first `lead` characters were bold, its `code` spans set as code."""

    text: str
    lead: int = 0
    code: tuple[tuple[int, int], ...] = ()


def unmarked(text: str) -> Unmarked:
    """What a line says, what it begins with in bold ("**Worn seals:** when ..."), and what it sets as code."""
    line = plain_line(text)
    found = _LEAD.match(line)
    lead, rest = (_EMPHASIS.sub(r"\1", part) for part in (found.groups() if found else ("", line)))
    bold = lead.replace("`", "").strip()
    pieces, spans, size = [], [], 0
    for at, piece in enumerate(_IN_CODE.split(f"{lead}{rest}".strip())):
        told = piece.strip() if at % 2 else piece.replace("`", "")
        if at % 2 and told and not _LIKE_A_MARK.search(told):
            spans.append((size, size + len(told)))
        pieces.append(told)
        size += len(told)
    return Unmarked("".join(pieces), len(bold) if len(bold) <= _LEAD_CHARS else 0, tuple(spans))


def in_code(text: str) -> tuple[str, ...]:
    """What a line sets as code, once each."""
    said = unmarked(text)
    return tuple(dict.fromkeys(said.text[slice(*span)] for span in said.code))


def beside_code(text: str) -> str:
    """What a line has beside what it sets as code."""
    return _IN_CODE.sub(" ", text)


def code_names(texts: Iterable[str]) -> tuple[str, ...]:
    """What is code wherever it stands, once it was set so: names like no word (`work_mem`, `git rebase`, `VACUUM`).

    `fork` and `Pool` are, where they begin a sentence or stand in other words, no names, nor is a sign (`+`).
    """
    return tuple(dict.fromkeys(name for text in texts for name in in_code(text) if _is_like_no_word(name)))


def _is_like_no_word(name: str) -> bool:
    is_word = name.isalpha() and (name.islower() or name.istitle())
    return not is_word and any(character.isalpha() for character in name)


def links_in(text: str, known: str = "") -> tuple[str, ...]:
    """What looks like a URL or a host name in the text, without host names that `known` has.

    A module or a file (`concurrent.futures`, `main.cf`) is written like a host: what a source or the asker names so
    is no address that a model made up.
    """
    hosts = [host for host in _HOST.findall(text) if host.lower() not in known.lower()]
    return tuple(dict.fromkeys([*_LINKISH.findall(text), *hosts]))


def safe_query(text: str, question: str, *, ours: Sequence[str] = ()) -> str:
    """The query as it may be sent to a search engine, or nothing.

    URLs and operators are taken out; a query is refused when it is too long, holds what looks like a secret or what
    the user said of themselves, or shares a run of five words with `ours` (instructions and keys, which no page and
    no search engine should see).
    """
    query = " ".join(_OPERATOR.sub(" ", _LINKISH.sub(" ", plain_line(text))).split()).strip(" \"'.,;:?")
    found = list(words(fold(query).text))
    if not found or len(query) > MAX_QUERY_CHARS or len(found) > MAX_QUERY_WORDS:
        return ""
    hidden = private_words(question)
    asked = {word.lower() for word in question.split()}
    for token in query.split():
        if token.lower().strip(".,;:?!\"'()") in hidden:
            return ""
        if token.lower() not in asked and looks_secret(token):
            return ""
    return "" if _copied(" ".join(found), ours, _SHARED_RUN) else query


def gives_away(text: str, private: Collection[str], ours: Iterable[str]) -> bool:
    """Whether a line has one of the private words, or a long run of words of our instructions."""
    told = {token.lower().strip(".,;:?!\"'()") for token in text.split()}
    return not told.isdisjoint(private) or _copied(text, ours, _SAME_SENTENCE)


def _copied(text: str, ours: Iterable[str], run: int) -> bool:
    """Whether so many words in a row stand in one of ours."""
    mine = [word.lower() for word in words(text)]
    runs = [tuple(mine[i : i + run]) for i in range(len(mine) - run + 1)]
    return bool(runs) and any(not _runs(text_of_ours, run).isdisjoint(runs) for text_of_ours in ours)


@lru_cache(maxsize=16)
def _runs(text: str, run: int) -> frozenset[tuple[str, ...]]:
    found = [word.lower() for word in words(text)]
    return frozenset(tuple(found[i : i + run]) for i in range(len(found) - run + 1))


def heading_of(proposed: str, text: str, known: str = "", asked: str = "") -> str:
    """A short title: the proposed one where it is a plain line without figures, else the part's own words.

    Names in it that are written like hosts must stand in `text` or in `known`, those with digits in `asked`
    ("HTTP/2"). A question keeps its mark.
    """
    line = plain_line(proposed).strip(" #*_:.!")
    if (
        not line
        or links_in(line, f"{text} {known}")
        or not _with_digits(line) <= _with_digits(asked)
        or is_flagged(line)
        or len(line) > MAX_HEADING_CHARS
    ):
        line = text.rstrip(" .!")
    if len(line) > MAX_HEADING_CHARS:
        line = line[:MAX_HEADING_CHARS].rsplit(" ", 1)[0] + "…"
    first, _, rest = line.partition(" ")
    # A name that the pages write small ("asyncio and what blocks it", "subprocess.Popen") stays small, a word does not.
    is_name = first[:1].islower() and first.rstrip(",:") in known and not is_common_word(first.rstrip(",:"))
    return line if is_name else f"{first[:1].upper()}{first[1:]}{' ' if rest else ''}{rest}"


def _with_digits(text: str) -> set[str]:
    return {word.strip(".,;:?!()\"'") for word in text.split() if any(map(str.isdigit, word))}


def foreign(text: str, known: str) -> tuple[str, ...]:
    """Names and figures of a line that `known` does not have. Its first word has a capital letter for no reason."""
    have = {word.lower() for word in words(known)}
    named = [
        word
        for number, word in enumerate(words(text))
        if (number and word[:1].isupper() and word != "I") or any(character.isdigit() for character in word)
    ]
    return tuple(word for word in named if word.lower() not in have)


def unproven_line(text: str, known: str) -> str:
    """A line that nobody proves (what is missing, a part as it is worded anew), or nothing.

    It is refused with a link, words to machines, or a name or figure that neither the question nor the pages have. A
    question may have such a name.
    """
    line = shorten(plain_line(text).replace("`", ""), _UNPROVEN_CHARS, placeholder="…")
    strange = foreign(line, known)
    if line.endswith("?"):  # asks and states nothing, as the parts of a plan do: it may name what no page read has
        strange = tuple(word for word in strange if any(character.isdigit() for character in word))
    return "" if links_in(line, known) or is_flagged(line) or strange else line


def private_words(question: str) -> frozenset[str]:
    """Words with digits in what the asker says of themselves beside the question itself: never search words."""
    told = [question[span.start : span.end] for span in sentences(question)]
    if len(told) < 2:
        return frozenset()
    private = [text for text in told if not text.rstrip().endswith("?") and _OWN.search(text)]
    return frozenset(
        token.lower().strip(".,;:?!\"'()")
        for text in private
        for token in text.split()
        if any(character.isdigit() for character in token)
    )


def looks_secret(token: str) -> bool:
    """Whether a token is long and irregular like a key, not like a word."""
    bare = token.strip(".,;:?!\"'()")
    if len(bare) < _SECRET_CHARS or not any(character.isdigit() for character in bare):
        return False
    counts = Counter(bare)
    entropy = -sum(n / len(bare) * math.log2(n / len(bare)) for n in counts.values())
    return entropy >= _ENTROPY_FROM

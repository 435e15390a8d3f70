"""Texts made ready for checking: folded, cut into sentences and words, indexed by stem. Parsed once, asked often.

What is costly (quantities, names, cues) is worked out per sentence, the first time a check looks at it.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from pincite.text.normalise import fold
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import CJK, is_stop, stem
from pincite.verification.dates import DATE_WORDS, Moment, moments
from pincite.verification.lexicon import OTHER_GRAMMAR, SYNONYMS
from pincite.verification.quantities import QUANTITY_WORDS, Quantity, quantities
from pincite.verification.statements import chat_opening

# Numbers stay whole (1,200.5; 3.11; 2018-10-05 is three words), contractions too.
_WORD = re.compile(rf"[{CJK}]|\d+(?:[.,]\d+)*[^\W_]*|[^\W_{CJK}]+(?:'[^\W\d_]+)*|%|[$€£¥₹]")
_CAPITALISED = re.compile(
    r"(?:(?<=[^\W_][ \n])|(?<=[^\W_][,;)'\"][ \n])|(?<=[^\W_] [\"'(]))[^\W\d_a-z][^\W_]*(?:'[^\W\d_]+)*"
)
_LOWER_CASE = re.compile(r"(?<![\w'])[^\W\d_A-Z][^\W_]*(?:'[^\W\d_]+)*")
_NUMERIC = re.compile(r"[0-9½⅓⅔¼¾⅛⅕]")
_CLAUSE_BORDER = re.compile(r"[,;:()\-]\s|[;:()]|\s-")
_TELLING = frozenset({"off"})
"""Grammar words that decide what a sentence says: "turned off"."""
_UNSEEN_SENTENCES = 10
"""Sentences imagined beside those of the source, so that rarity means something in a text of one sentence."""
_LANGUAGE_CHARS = 3_000
NUMBER_WORDS = DATE_WORDS | QUANTITY_WORDS
LONGEST_HEADING = 72
"""Characters above which a line of its own is no heading."""
_END_MARKS = tuple(".!?;,")
_BARS = 4
_LINE = re.compile(r"[^\s](?:[^\n]*[^\s])?")
_BLANK_AFTER = re.compile(r"[ \t]*\n[ \t]*\n")
LONGEST_SENTENCE = 60
"""Words after which a run of text without full stops (tables, menus) is cut, so that a window stays small."""


class Word(NamedTuple):
    """One word of a sentence: where it stands in the folded text, its stem, and whether it carries content."""

    text: str
    stem: str
    start: int
    end: int
    content: bool
    clause: int


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words: `words[first..last]` of its sentence; `stems` are the words that must be found."""

    text: str
    stems: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True)
class Sentence:
    """The words of one sentence; `start` and `end` are offsets in the folded text it was cut from."""

    text: str
    start: int
    end: int

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """All words in order. The clause number grows at commas, semicolons, brackets and spaced dashes."""
        borders = [match.start() + self.start for match in _CLAUSE_BORDER.finditer(self.text)]
        result: list[Word] = []
        clause = 0
        for match in _WORD.finditer(self.text):
            start = match.start() + self.start
            while clause < len(borders) and borders[clause] < start:
                clause += 1
            text = match.group()
            root, content = rooted(text)
            result.append(Word(text, root, start, start + len(text), content, clause))
        return tuple(result)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of the content words."""
        return frozenset(root for root, content in map(rooted, _WORD.findall(self.text)) if content)

    @cached_property
    def has_numbers(self) -> bool:
        """Whether any digit or word of number or date is here: cheap, and mostly no."""
        if _NUMERIC.search(self.text):
            return True
        return not NUMBER_WORDS.isdisjoint(word.text.lower() for word in self.words)

    @cached_property
    def surface(self) -> tuple[str, ...]:
        """The words as written, lower case, grammar words included; numbers and dates left to their own checks."""
        if not self.has_numbers:
            return tuple(_WORD.findall(self.text.lower()))
        return tuple(word.text.lower() for i, word in enumerate(self.words) if i not in self.measured)

    @cached_property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """Where each stem stands in `words`, grammar words included."""
        found: dict[str, list[int]] = {}
        for index, word in enumerate(self.words):
            found.setdefault(word.stem, []).append(index)
        return {key: tuple(value) for key, value in found.items()}

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The dates written here."""
        return () if not self.has_numbers else tuple(moments(self.text))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers written here that are not part of a date."""
        return (
            ()
            if not self.has_numbers
            else tuple(quantities(self.text, tuple((moment.start, moment.end) for moment in self.moments)))
        )

    def word_range(self, start: int, end: int) -> tuple[int, int]:
        """First and last index of the words that touch `text[start:end]`."""
        starts = self.word_starts
        first = max(bisect_right(starts, start + self.start) - 1, 0)
        if first < len(starts) - 1 and self.words[first].end <= start + self.start:
            first += 1
        return first, max(first, bisect_left(starts, end + self.start) - 1)

    @cached_property
    def measured(self) -> frozenset[int]:
        """Indexes of the words that belong to a number or a date, units included."""
        found: set[int] = set()
        spans = [(item.start, item.end) for item in self.quantities]
        spans += [(item.start, item.end) for item in self.moments]
        for start, end in spans:
            first, last = self.word_range(start, end)
            found.update(range(first, last + 1))
        return frozenset(found)

    @cached_property
    def word_starts(self) -> list[int]:
        """Offsets of the words, for searching."""
        return [word.start for word in self.words]


@lru_cache(maxsize=65536)
def rooted(text: str) -> tuple[str, bool]:
    """(stem, whether it carries content): numbers without separators, synonyms of form brought together."""
    if text[0].isdigit():
        return text.replace(",", "").lower(), True
    root = stem(text)
    content = (not is_stop(text) or text.lower() in _TELLING) and (
        len(root) > 1 or not root.isalpha() or not root.isascii()
    )
    return SYNONYMS.get(root, root), content


class Source:
    """A text that claims are checked against, parsed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = fold(text)
        self.folded = self._folded.text
        self.sentences = tuple(cut(self.folded))
        self.postings: dict[str, list[int]] = {}
        self.names: dict[Sentence, tuple[Name, ...]] = {}
        self.heads = headings(self.folded, self.sentences)
        for index, sentence in enumerate(self.sentences):
            for root in sentence.stems:
                self.postings.setdefault(root, []).append(index)
        count = len(self.sentences) + _UNSEEN_SENTENCES
        self._idf = {
            root: math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5)) for root, found in self.postings.items()
        }
        self._default_idf = math.log(1 + (count + 0.5) / 0.5)

    def original(self, start: int, end: int) -> Span:
        """The span of the given text that this folded span came from."""
        return Span(*self._folded.span(start, end))

    def idf(self, root: str) -> float:
        """How rare the stem is among the sentences of this text; unknown stems are the rarest."""
        return self._idf.get(root, self._default_idf)

    def surface_idf(self, word: str) -> float:
        """How rare the word is here as written, grammar words included."""
        count = len(self.sentences) + 1
        found = self.surface_counts.get(word, 0)
        return math.log(1 + (count - found + 0.5) / (found + 0.5))

    def postings_below(self, root: str) -> Sequence[int]:
        """Indexes of the sentences that have the stem, or stand under a heading that has it."""
        own = self.postings.get(root, ())
        below = [index for head in own for index in self.below.get(head, ())]
        return sorted({*own, *below}) if below else own

    @cached_property
    def below(self) -> dict[int, list[int]]:
        """The sentences under each heading."""
        found: dict[int, list[int]] = {}
        for index, head in enumerate(self.heads):
            if head is not None and head != index:
                found.setdefault(head, []).append(index)
        return found

    @cached_property
    def surface_counts(self) -> Counter[str]:
        """In how many sentences each word stands as written."""
        counts: Counter[str] = Counter()
        for sentence in self.sentences:
            counts.update(set(_WORD.findall(sentence.text.lower())))
        return counts

    @cached_property
    def capitalised(self) -> Counter[str]:
        """How often each stem stands capitalised where a sentence does not demand it: the names of this text."""
        counts: Counter[str] = Counter()
        for text, count in Counter(_CAPITALISED.findall(self.folded)).items():
            root, content = rooted(text)
            counts[root] += count if content and text[0].isupper() else 0
        return counts

    @cached_property
    def most_capitalised(self) -> int:
        """How often the most frequent name word stands here."""
        return max(self.capitalised.values(), default=0)

    @cached_property
    def lowered(self) -> frozenset[str]:
        """Stems that stand somewhere in lower case: ordinary words."""
        return frozenset(root for root, _ in map(rooted, set(_LOWER_CASE.findall(self.folded))))

    @cached_property
    def english(self) -> bool:
        """Whether it has more grammar words of English than of other languages; the checks of word order need it."""
        found = [word.lower() for word in _WORD.findall(self.folded[:_LANGUAGE_CHARS])]
        return sum(map(is_stop, found)) >= sum(word in OTHER_GRAMMAR for word in found)

    @cached_property
    def lower(self) -> str:
        """The folded text in lower case, single spaces, for looking up whole names."""
        return " ".join(self.folded.lower().split())


def cut(folded: str) -> Sequence[Sentence]:
    """The sentences of folded text; one that runs on without end marks is cut at a line end or a space."""
    result: list[Sentence] = []
    # Patterns look for a space where a line may break; the length stays, so offsets do.
    flat = folded.replace("\n", " ")
    for span in _rows(folded):
        start = span.start
        while span.end - start > LONGEST_SENTENCE * 8:
            limit = start + LONGEST_SENTENCE * 6
            end = folded.rfind("\n", start + 1, limit)
            if end <= start:
                end = folded.rfind(" ", start + 1, limit)
            end = end if end > start else limit
            result.append(Sentence(flat[start:end], start, end))
            start = end + (folded[end].isspace())
        result.append(Sentence(flat[start : span.end], start, span.end))
    return result


def _rows(folded: str) -> Iterator[Span]:
    """The sentences; the rows of a table with bars are one each."""
    for span in sentences(folded):
        if folded.count("|", span.start, span.end) < _BARS or "\n" not in folded[span.start : span.end]:
            yield span
            continue
        for match in _LINE.finditer(folded, span.start, span.end):
            yield Span(match.start(), match.end())


def headings(folded: str, found: Sequence[Sentence]) -> tuple[int | None, ...]:
    """For each sentence the index of the heading or term above it: the last short paragraph without an end mark."""
    heads: list[int | None] = []
    current: int | None = None
    for index, sentence in enumerate(found):
        if _is_heading(folded, sentence):
            current = index
        heads.append(current)
    return tuple(heads)


def _is_heading(folded: str, sentence: Sentence) -> bool:
    text = sentence.text
    if len(text) > LONGEST_HEADING or text[-1:] in _END_MARKS or not sentence.stems:
        return False
    above = folded[max(0, sentence.start - 80) : sentence.start].rstrip(" \t")
    starts = not above or re.search(r"\n[ \t]*\n$", above) is not None
    return starts and _BLANK_AFTER.match(folded, sentence.end) is not None


@dataclass(frozen=True)
class Window:
    """Consecutive sentences `first..last` of a source, read together as one passage."""

    source: Source
    first: int
    last: int

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the window."""
        return self.source.sentences[self.first : self.last + 1]

    @cached_property
    def head(self) -> Sentence | None:
        """The heading or term that the window stands under, when that is not in the window itself."""
        at = self.source.heads[self.first]
        return None if at is None or at >= self.first else self.source.sentences[at]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of all content words of the window and of what it stands under."""
        return frozenset().union(self.head_stems, *(sentence.stems for sentence in self.sentences))

    @property
    def head_stems(self) -> frozenset[str]:
        """Stems of what the window stands under."""
        return frozenset() if self.head is None else self.head.stems

    def heading_of(self, sentence: Sentence) -> Sentence | None:
        """The heading or term above a sentence of the window."""
        index = self.sentences.index(sentence) + self.first
        at = self.source.heads[index]
        return None if at is None or at == index else self.source.sentences[at]

    @cached_property
    def placed(self) -> tuple[tuple[Sentence, frozenset[str]], ...]:
        """Each sentence with the stems of the heading above it."""
        heads = [self.heading_of(sentence) for sentence in self.sentences]
        return tuple(
            (sentence, frozenset() if head is None else head.stems)
            for sentence, head in zip(self.sentences, heads, strict=True)
        )

    @property
    def start(self) -> int:
        """Where the window begins in the folded source."""
        return self.sentences[0].start

    @property
    def end(self) -> int:
        """Where the window ends in the folded source."""
        return self.sentences[-1].end

    @property
    def text(self) -> str:
        """The folded text of the window."""
        return self.source.folded[self.start : self.end]


def as_claim(text: str) -> Sentence:
    """The claim as one sentence, folded, without the "Yes," of a chat before it."""
    folded = fold(text).text.strip().replace("\n", " ")
    folded = folded.removeprefix(chat_opening(folded)) or folded
    return Sentence(folded, 0, len(folded))

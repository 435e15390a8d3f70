"""Words with offsets, stems, search terms, index terms of pages and questions, and an estimate of model tokens.

Both pages and questions go through the same functions.
"""

import re
import string
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, islice

from pincite.domain.frozen import dataclass
from pincite.text.normalise import fold


@dataclass(frozen=True, slots=True)
class Token:
    """A word or number as written: `text[start:end]` of what was given."""

    text: str
    start: int
    end: int


CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:(?<=\d)[.,]\d+[^\W{CJK}]*)*(?:['’][^\W\d_{CJK}]+)*")
_STOP_WORDS = frozenset(
    "a about above after again against all also am an and any are aren't as at be because been before being below "
    "between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each etc "
    "few for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how i if "
    "in into is isn't it it's its itself just let's may me might more most must my myself no nor not now of off on "
    "once only or other ought our ours ourselves out over own per same shall she should shouldn't so some such than "
    "that that's the their theirs them themselves then there these they they're this those through to too under until "
    "up upon us very was wasn't we were weren't what when where whether which while who whom whose why will with won't "
    "would wouldn't yet you your yours yourself".split()
)
_LINKING = (
    "with|in|for|if|while|as|from|is|and|or|not|by|on|to|until|between|where|when|having|has|do|of|at|than|then|into|over|"
    "during|before|after|against|no|any|all|off|out|both"
)
_PARTS_OF_LANGUAGES = ("statement", "clause", "keyword", "operator", "expression", "loop", "block")
_PART = "|".join(_PARTS_OF_LANGUAGES)
_QUOTED = re.compile(r"(?<!\w)[`\"']([A-Za-z]{2,})[`\"'](?!\w)")
# One between an article and a noun, where no preposition or conjunction can stand ("the with item").
_AFTER_ARTICLE = re.compile(rf"\b(?:the|an?)\s+({_LINKING})\s+(?=[a-z])")
# One before a word for a part of a language; a plural may follow a preposition, so only after "do" or "are".
_BEFORE_PART = re.compile(rf"\b({_LINKING})\s+(?=(?:{_PART})\b)")
_BEFORE_PARTS = re.compile(rf"\b(?:do|does|are|is)\s+({_LINKING})\s+(?=(?:{_PART})s\b)")
_CAPITALS = re.compile(r"\b([A-Z]{2,})\b")
_LOCAL = threading.local()


def tokens(text: str) -> tuple[Token, ...]:
    """Words and numbers in order. `1,200.5`, `pg_stat_activity` and `doesn't` are one each; a CJK character is one."""
    return tuple(Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text))


def words(text: str) -> Iterator[str]:
    """The texts of `tokens`, without offsets."""
    return iter(_TOKEN.findall(text))


def first_words(text: str, most: int) -> list[str]:
    """The first of `words`; the rest of a long text is not looked at."""
    return [match.group() for match in islice(_TOKEN.finditer(text), most)]


def is_stop(word: str) -> bool:
    """Whether the word carries grammar rather than content (English)."""
    return word.lower().replace("’", "'") in _STOP_WORDS


def mentions(text: str) -> frozenset[int]:
    """Where the text speaks of a stop word instead of using it: the `with` of "the with statement", `"in"`, `NOT`.

    Rules of form: in quotation marks, between an article and a noun, before "statement", "clause", "operator" and the
    like, or in capitals in a text that isn't.
    """
    found = {match.start(1) for match in _QUOTED.finditer(text) if is_stop(match[1])}
    found.update(match.start(1) for match in _AFTER_ARTICLE.finditer(text))
    if any(part in text for part in _PARTS_OF_LANGUAGES):  # else two slow patterns look for nothing
        found.update(match.start(1) for each in (_BEFORE_PART, _BEFORE_PARTS) for match in each.finditer(text))
    capitals = [match.start() for match in _CAPITALS.finditer(text) if is_stop(match[1])]
    # In a text that is shouted, capitals tell nothing.
    if capitals and 2 * sum(map(str.isupper, text)) <= sum(map(str.isalpha, text)):
        found.update(capitals)
    return frozenset(found)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The Snowball English stem in lower case; words with other than ASCII letters are only lowered."""
    lowered = word.lower().replace("’", "'")
    if not lowered.isascii():
        return lowered.removesuffix("'s")
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        # Imported late, and one for each thread: a stemmer keeps state while it works.
        import Stemmer

        stemmer = _LOCAL.stemmer = Stemmer.Stemmer("english", 0)
    return str(stemmer.stemWord(lowered.removesuffix("'s")))


def terms(text: str) -> tuple[str, ...]:
    """Search terms in order: folded, stemmed, stop words left out."""
    return tuple(stem(word) for word in words(fold(text).text) if not is_stop(word))


# Characters of each class for one model token, fitted to the o200k vocabulary: prose, code, HTML, Markdown, JSON and
# German within 15 %, Russian, Chinese and Japanese within 10 %, tables and URLs within 40 %.
_LETTERS_PER_TOKEN = 3.7
# Characters of Chinese, Japanese and Korean that make up a token of the usual tokenizers, on average.
_CJK_PER_TOKEN = 1.3
# Tokenizers cut numbers into groups of three at most.
_DIGITS_PER_TOKEN = 3
_GAPS = re.compile(r"\s{2,}|\s(?=\d)")
_ASCII_LETTERS = string.ascii_letters.encode()
_ASCII_DIGITS = string.digits.encode()
_NO_SIGNS = _ASCII_LETTERS + _ASCII_DIGITS + b" \n\t\r\f\v\x1c\x1d\x1e\x1f"
# Every byte but these as a space: what is left between the spaces are words, or numbers.
_LETTERS_ALONE = bytes(byte if byte in _ASCII_LETTERS else 32 for byte in range(256))
_DIGITS_ALONE = bytes(byte if byte in _ASCII_DIGITS else 32 for byte in range(256))
_CLASSES = re.compile(
    rf"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<cjk>[{CJK}]+)|(?P<letters>[^\W\d_]+)|(?P<other>.)", re.DOTALL
)


def token_estimate(text: str) -> int:
    """About how many tokens a language model counts in the text; add a margin of 15 % when reserving.

    A space before letters is free, as in the vocabularies in use; one before digits is not.
    """
    if not text:
        return 0
    total: float = len(_GAPS.findall(text))
    if not text.isascii():
        pieces = text.split()
        total += sum(_mixed(piece) for piece in pieces if not piece.isascii())
        text = " ".join(filter(str.isascii, pieces))
    plain = text.encode("ascii")
    lengths = list(map(len, plain.translate(_LETTERS_ALONE).split()))
    digits = plain.translate(_DIGITS_ALONE).split()
    # A word of up to seven letters is one token, a longer one gets another for every six; signs count seven tenths.
    # Fitted with the figures above.
    total += len(lengths) + sum([length - 7 for length in lengths if length > 7]) / 6
    total += sum([-(-len(number) // _DIGITS_PER_TOKEN) for number in digits])
    total += 0.7 * len(plain.translate(None, _NO_SIGNS))
    return max(1, round(total + 0.49))


def _mixed(piece: str) -> float:
    """The tokens of a piece of text that has no space and not only ASCII."""
    total = 0.0
    for match in _CLASSES.finditer(piece):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "word":
            # As for plain ASCII above: words of up to seven letters are one token, longer ones break up.
            total += 1 if length <= 7 else 1 + (length - 7) / 6
        elif kind == "digits":
            total += -(-length // _DIGITS_PER_TOKEN)
        elif kind == "cjk":
            total += length / _CJK_PER_TOKEN
        elif kind == "letters":
            total += max(1.0, length / _LETTERS_PER_TOKEN)
        else:
            total += 0.7
    return total


# Texts as the word pieces of BERT, and which words of English stand whole among them.

START, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
# As BERT's own tokenizer: a longer word is unknown as a whole.
_MAX_WORD_CHARS = 100
# "many", "know", "kept": of 119 public questions none has one that the six manuals they are about lack.
_FREQUENT = 1_000
# Words of a usual passage: how many passages a word of that frequency stands in.
_PASSAGE_WORDS = 100
_CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


@cache
def vocabulary() -> dict[str, int]:
    """The number of each piece. The list is that of BERT's uncased English model (Apache-2.0)."""
    lines = resources.files("pincite.text").joinpath("vocab.txt").read_text(encoding="utf-8").splitlines()
    return {piece: number for number, piece in enumerate(lines)}


def is_common_word(word: str) -> bool:
    """Whether the word stands whole in the vocabulary, as the some 20,000 most frequent words of English texts do."""
    return word.lower() in vocabulary()


def is_frequent_word(word: str) -> bool:
    """Whether the word is one of the thousand most frequent of English texts: few pages lack it for what they say."""
    return 0 <= vocabulary().get(word.lower(), -1) - vocabulary()["the"] < _FREQUENT


def expected_passages(word: str, passages: int) -> float:
    """In how many of so many passages of English (of some 100 words) the word is to be expected; 0 for unknown words.

    The vocabulary is in the order of frequency, "the" first; a word's share of a text is about a tenth of one by its
    rank. Source: Zipf 1949.
    """
    place = vocabulary().get(word.lower(), 0) - vocabulary()["the"] + 1
    return passages * min(_PASSAGE_WORDS * 0.1 / place, 1.0) if place > 0 else 0.0


def pieces(text: str, *, limit: int) -> list[int]:
    """The numbers of a text's pieces between the start and end marks, `limit` of them at most.

    Source: Devlin et al. 2019, BERT; Wu et al. 2016, word pieces by greedy longest match.
    """
    known = vocabulary()
    found = [known[START]]
    for word in plain_words(text):
        found.extend(_cut(word, known))
        if len(found) >= limit:
            break
    return [*found[: limit - 1], known[END]]


def words_of_pieces(text: str, *, limit: int) -> list[str]:
    """The word that each of `pieces` is of, without the marks."""
    known = vocabulary()
    found: list[str] = []
    for word in plain_words(text):
        found.extend(word for _ in _cut(word, known))
        if len(found) >= limit:
            break
    return found[: limit - 2]


def plain_words(text: str) -> Iterator[str]:
    """Lower case without accents; punctuation marks and ideographs stand alone."""
    word = ""
    for character in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(character)
        if category == "Mn" or (category.startswith("C") and not character.isspace()):
            continue
        # The reference tokenizer counts all signs of ASCII as punctuation, "$" and "^" too; Unicode does not.
        sign = character.isascii() and character.isprintable() and not (character.isalnum() or character.isspace())
        alone = sign or category.startswith("P") or any(low <= ord(character) <= high for low, high in _CJK)
        if not alone and not character.isspace():
            word += character
            continue
        if word:
            yield word
        word = ""
        if alone:
            yield character
    if word:
        yield word


def _cut(word: str, known: dict[str, int]) -> list[int]:
    """A word as the longest known pieces from its start; one that has an unknown rest is unknown as a whole."""
    found: list[int] = []
    start = 0
    while start < len(word) <= _MAX_WORD_CHARS:
        end = len(word)
        mark = "##" if start else ""
        while end > start and mark + word[start:end] not in known:
            end -= 1
        if end == start:
            return [known[UNKNOWN]]
        found.append(known[mark + word[start:end]])
        start = end
    return found or [known[UNKNOWN]]


_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IDENTIFIER = re.compile(r"[^_]_[^_]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
# Longer ones are hashes and paths: their beginning tells them apart.
_MAX_TERM = 64


def is_identifier(word: str) -> bool:
    """Whether the word is a name of code: parts joined by underscores or by capitals inside."""
    return _IDENTIFIER.search(word) is not None


@lru_cache(maxsize=1 << 17)
def _terms_of_word(word: str) -> tuple[str, ...]:
    """The terms of one word: its stem; for an identifier (`wal_level`, `KeepAlive`) the whole and the parts' stems."""
    if is_stop(word):
        return ()
    known = is_identifier(word)
    whole = (word.lower() if known else stem(word)).replace("'", "").replace("’", "").strip("_")[:_MAX_TERM]
    if not whole or not known:
        return (whole,) if whole else ()
    parts = [stem(part) for part in _NAME_PARTS.findall(word) if not is_stop(part)]
    return (whole, *(part for part in parts if part != whole)) if len(parts) > 1 else (whole,)


def index_terms(text: str) -> list[str]:
    """All terms of `text` in order, with repetitions; stop words are left out unless the text speaks of them."""
    folded = fold(text).text
    spoken_of = mentions(folded)
    if not spoken_of:
        return list(chain.from_iterable(map(_terms_of_word, words(folded))))
    return [
        term
        for token in tokens(folded)
        for term in ((token.text.lower(),) if token.start in spoken_of else _terms_of_word(token.text))
    ]


def query_terms(text: str, limit: int = 256) -> tuple[str, ...]:
    """The distinct terms of a question in order, at most `limit`."""
    return tuple(dict.fromkeys(index_terms(text[: 64 * limit])))[:limit]

"""Terms as the extractive roles compare them: stems, with identifiers also split into their parts."""

import re
from functools import lru_cache

from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, mentions, stem, tokens, words

URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+", re.IGNORECASE)
"""Addresses inside a question: never words to search for."""
_INNER_CAPITAL = re.compile(r"^[a-z][\w.]*[a-z][A-Z]|^[a-z]+\.[a-z]+[A-Z.]")
_DOTTED = re.compile(r"[a-z_]{2,}\w*(?:\.[a-z_]{2,}\w*)+(?:\(\))?")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}


def key_terms(text: str) -> tuple[str, ...]:
    """Stems in order without stop words; `max_connections`, `KeepAlive` and `sys.path` also give their parts.

    A stop word that is spoken of ("the with statement") is a term as well.
    """
    folded = fold(text).text
    spoken_of = mentions(folded)
    found: list[str] = []
    for token in tokens(folded) if spoken_of else ():
        found.extend((token.text.lower(),) if token.start in spoken_of else _word_terms(token.text))
    for word in () if spoken_of else words(folded):
        found.extend(_word_terms(word))
    return tuple(found)


def content_words(text: str) -> list[str]:
    """The words as written without stop words; one that is spoken of stays, in quotation marks."""
    folded = fold(text).text
    spoken_of = mentions(folded)
    return [
        f'"{token.text}"' if token.start in spoken_of else token.text
        for token in tokens(folded)
        if token.start in spoken_of or not is_stop(token.text)
    ]


@lru_cache(maxsize=65536)
def _word_terms(word: str) -> tuple[str, ...]:
    if is_stop(word):
        return ()
    number = _NUMBER_WORDS.get(word.lower())
    if number is not None:
        return (number,)
    whole = stem(word)
    if word.isalpha() and (word.islower() or word[1:].islower() or word.isupper()):
        return (whole,)
    parts = tuple(stem(part) for part in _HUMP.findall(word) if len(part) > 1 and not is_stop(part))
    return (whole, *(part for part in parts if part != whole))


def in_words(question: str) -> str:
    """The question, or the words of the address that it consists of."""
    if any(character.isalnum() for character in URL.sub(" ", question)):
        return question
    spoken = re.sub(r"\bhttps?://(?:www\.)?|\.(?:html?|php|pdf)\b", " ", question, flags=re.IGNORECASE)
    return " ".join(re.findall(r"\w+", spoken)) or question


def is_identifier(word: str) -> bool:
    """Whether a word is a name of the machine's world: `io_method`, `--all`, `HTTP/2`, `UUID`, `os.path`."""
    bare = bare_word(word)
    if _DOTTED.fullmatch(bare):
        return True
    letters = [character for character in bare if character.isalpha()]
    return len(letters) >= 2 and (is_exact(word) or sum(character.isupper() for character in letters) >= 2)


def is_exact(word: str) -> bool:
    """Whether a page that is about the word must spell it like this.

    Rules: leading hyphens, an underscore, a digit next to letters, a capital after a small letter in a word that
    starts small, a dot inside, or no vowel at all in four letters or more.
    """
    bare = bare_word(word)
    if bare.startswith("--") or "_" in bare.strip("_") or _INNER_CAPITAL.search(bare):
        return True
    if any(character.isdigit() for character in bare):
        return any(character.isalpha() for character in bare) and "=" not in bare
    return len(bare) >= 4 and bare.isascii() and bare.isalpha() and not set(bare.lower()) & set("aeiouy")


def bare_word(word: str) -> str:
    """The word without punctuation around it."""
    return re.sub(r"['’]s$", "", word.strip(".,;:!?()[]{}\"'`’‘“”"))

"""Texts as the word pieces of BERT, and which words of English stand whole among them."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources

START, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
# As BERT's own tokenizer: a longer word is unknown as a whole.
_MAX_WORD_CHARS = 100
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
    for word in _words(text):
        found.extend(_cut(word, known))
        if len(found) >= limit:
            break
    return [*found[: limit - 1], known[END]]


def _words(text: str) -> Iterator[str]:
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

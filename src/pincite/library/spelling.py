"""Words of a question that a library does not have, read as the words of the library that they are typos of.

A word is corrected by one letter wrong, missing, too many or swapped, a long word by two; a common word of English
never is: that no page has it is an answer. Of an identifier only the parts that are on no page are corrected:
`max_conections` may be `max_connections`, `io_method` is what it says.
"""

import re
import sqlite3
from collections.abc import Mapping
from string import ascii_lowercase

from pincite.domain.search import Survey
from pincite.library.schema import frequencies, passages_counted
from pincite.text.normalise import fold
from pincite.text.similarity import nearest, typos_allowed
from pincite.text.tokens import index_terms, is_common_word, is_identifier, is_stop, words

# Of three letters nearly every combination is a word or an abbreviation.
MIN_LENGTH = 4
# The halves of a compound are at least this long: shorter pieces stand in any word. Chosen, not measured.
_SHORT_LENGTH = 4
# Longer strings are hashes and keys, which nobody mistypes.
MAX_WORD = 40
# Words of a question that are looked at.
_MAX_WORDS = 60
_PART = re.compile(r"[^_]+")


def page_words(text: str) -> frozenset[str]:
    """The distinct words of a page in lower case, as a reader may spell them: no figures, no stop words."""
    found = set(words(text.lower()))
    return frozenset(word for word in found if 3 <= len(word) <= MAX_WORD and word[0].isalpha() and not is_stop(word))


def _worth_a_look(word: str) -> bool:
    """Whether a word may be a typo: plain letters with a vowel, not an acronym and not small."""
    letters = [character for character in word.lower() if character.isalpha()]
    if is_common_word(word):
        return False
    spoken = not word.isupper() and not set("aeiouy").isdisjoint(letters)
    return spoken and len(letters) >= MIN_LENGTH and word.isascii() and not _near_stop(word.lower())


def _near_stop(word: str) -> bool:
    """Whether the word is a stop word, or a short one that is a typo of a stop word ("wich")."""
    if len(word) > _SHORT_LENGTH + 1:
        return is_stop(word)
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = (a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    filled = (a + letter + b for a, b in cuts for letter in ascii_lowercase)
    return is_stop(word) or any(is_stop(other) for other in (*swapped, *filled))


def _is_known(connection: sqlite3.Connection, word: str) -> bool:
    """Whether the word is on a page, in this form or in another inflection."""
    terms = [word.lower(), *index_terms(word)[:1]]
    row = connection.execute(
        "SELECT 1 FROM words WHERE word IN (?, ?) UNION SELECT 1 FROM frequencies WHERE term IN (?, ?) LIMIT 1",
        (terms[0], terms[-1], terms[0], terms[-1]),
    ).fetchone()
    return row is not None


def _is_compound(connection: sqlite3.Connection, word: str) -> bool:
    """Whether two words of the library make it up: "downtime" is no typo of "downside"."""
    lowered = word.lower()
    least = _SHORT_LENGTH  # shorter pieces stand in any word
    cuts = range(least, len(lowered) - least + 1)
    halves = {half for cut in cuts for half in (lowered[:cut], lowered[cut:])}
    marks = ",".join("?" * len(halves))
    rows = connection.execute(f"SELECT word FROM words WHERE word IN ({marks})", tuple(halves))  # noqa: S608  # question marks alone are put in
    there = {row[0] for row in rows} | {half for half in halves if is_stop(half)}
    return any(lowered[:cut] in there and lowered[cut:] in there for cut in cuts)


def _read_as(connection: sqlite3.Connection, word: str) -> str:
    lowered = word.lower()
    near = _near(connection, lowered)
    if "_" in lowered:
        near = {other: pages for other, pages in near.items() if _changes_unknown_parts(connection, lowered, other)}
    # A figure in a name is part of what it says: `utf8` is no typo of `utf6`.
    elif any(character.isdigit() for character in lowered):
        return ""
    return nearest(lowered, near)


def _near(connection: sqlite3.Connection, word: str) -> Mapping[str, int]:
    """Words of about this length that share its first letter or its second half, with the pages that have them."""
    reach = typos_allowed(word)
    rows = connection.execute(
        "SELECT word, pages FROM words WHERE length(word) BETWEEN ? AND ? AND (word GLOB ? OR word GLOB ?)",
        # The first letter, or the second where the first two are swapped: few typos touch it.
        (max(len(word) - reach, MIN_LENGTH), len(word) + reach, f"{word[0]}*", f"?{word[0]}*"),
    )
    return dict(rows.fetchall())


def _changes_unknown_parts(connection: sqlite3.Connection, word: str, other: str) -> bool:
    """Whether two identifiers differ only in parts that are on no page by themselves."""
    own, others = _PART.findall(word), _PART.findall(other)
    changed = [part for part, new in zip(own, others, strict=False) if part != new]
    return len(own) == len(others) and not any(len(part) < 4 or _is_known(connection, part) for part in changed)


# What an index knows of the words of a question: how often they occur, likely typos.

# A question with material pasted in: its first page says what it is about.
_TEXT_CHARS = 4_000
# Each word is a lookup, and each unknown one a search among the spellings.
_WORDS = 120
_BATCH = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def survey(connection: sqlite3.Connection, text: str) -> Survey:
    """What the library knows of the words of the text, misspelt ones read as the words they are taken for."""
    folded = fold(text[:_TEXT_CHARS]).text
    looked_at = list(dict.fromkeys(word for word in words(folded) if _worth_a_look(word)))[:_MAX_WORDS]
    unknown = [word for word in looked_at if not _is_known(connection, word) and not _is_compound(connection, word)]
    spellings = {word: other for word in unknown if (other := _read_as(connection, word))}
    corrected = Survey(spellings=tuple(spellings.items())).corrected(folded)
    written = [word for word in words(corrected) if not is_stop(word)]
    parts = [part for word in written if is_identifier(word) for part in _BATCH.findall(word) if not is_stop(part)]
    content = list(dict.fromkeys([*written, *parts]))[:_WORDS]
    # An identifier counts as a whole: its first term.
    terms = [next(iter(index_terms(word)), "") for word in content]
    passages = frequencies(connection, terms)
    return Survey(
        passages=passages_counted(connection),
        frequencies=tuple((word, passages[term]) for word, term in zip(content, terms, strict=True)),
        spellings=tuple(spellings.items()),
    )

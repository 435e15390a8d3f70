"""What an index knows of the words of a question: how often they occur, likely typos."""

import json
import re
import sqlite3
from urllib.parse import urlsplit

from pincite.domain.library import Survey
from pincite.library.spelling import misspelt
from pincite.ranking.terms import index_terms, is_identifier
from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, words

# A question with material pasted in: its first page says what it is about.
_TEXT_CHARS = 4_000
# Each word is a lookup, and each unknown one a search among the spellings.
_WORDS = 120
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def survey(connection: sqlite3.Connection, text: str) -> Survey:
    """What the library knows of the words of the text, misspelt ones read as the words they are taken for."""
    folded = fold(text[:_TEXT_CHARS]).text
    spellings = misspelt(connection, folded)
    corrected = Survey(spellings=tuple(spellings.items())).corrected(folded)
    written = [word for word in words(corrected) if not is_stop(word)]
    parts = [part for word in written if is_identifier(word) for part in _PART.findall(word) if not is_stop(part)]
    content = list(dict.fromkeys([*written, *parts]))[:_WORDS]
    row = connection.execute("SELECT value FROM meta WHERE key = 'totals'").fetchone()
    return Survey(
        passages=json.loads(row[0])[0] if row else 0,
        frequencies=tuple((word, _frequency(connection, word)) for word in content),
        spellings=tuple(spellings.items()),
        sites=_sites_named(connection, corrected),
    )


def _sites_named(connection: sqlite3.Connection, text: str) -> tuple[str, ...]:
    """Hosts with a label that is a word of the text: `git.example.org` of "How does Git ...?"."""
    asked = {word.lower().removesuffix("'s") for word in words(text)}
    # Of all captures, not of those that answer: the hosts are the same, and an index has them all.
    rows = connection.execute("SELECT DISTINCT substr(url, 1, instr(substr(url, 9), '/') + 7) FROM pages")
    hosts = {(urlsplit(f"{origin}/").hostname or "") for (origin,) in rows.fetchall() if origin.startswith("http")}
    return tuple(sorted(host for host in hosts if not asked.isdisjoint(host.split(".")[:-1])))


def _frequency(connection: sqlite3.Connection, word: str) -> int:
    """On how many passages the word occurs; an identifier counts as a whole."""
    term = next(iter(index_terms(word)), "")
    row = connection.execute("SELECT passages FROM frequencies WHERE term = ?", (term,)).fetchone()
    return int(row[0]) if row else 0

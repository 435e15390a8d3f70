"""What an index knows of the words of a question: how often they occur, names, acronyms, likely slips."""

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from pincite.domain.library import Name, Survey
from pincite.library.spelling import misspelt
from pincite.ranking.terms import index_terms, is_identifier
from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, words

_LONGEST_NAME_WORDS = 6
_TEXT_CHARS = 4_000
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
    names = (*names_in(connection, corrected), *_acronyms_of(connection, corrected))
    return Survey(
        passages=json.loads(row[0])[0] if row else 0,
        frequencies=tuple((word, _frequency(connection, word)) for word in content),
        spellings=tuple(spellings.items()),
        names=tuple(dict.fromkeys(names)),
        sites=_sites_named(connection, corrected),
    )


def names_in(connection: sqlite3.Connection, text: str) -> tuple[Name, ...]:
    """Names of the library in the text: the longest at each place."""
    written = list(words(fold(text[:_TEXT_CHARS]).text))
    found: list[Name] = []
    position = 0
    while position < len(written):
        for size in range(min(_LONGEST_NAME_WORDS, len(written) - position), 0, -1):
            name = _name(connection, written[position : position + size], position)
            if name is not None:
                found.append(name)
                position += size
                break
        else:
            position += 1
    return tuple(dict.fromkeys(found))


def _name(connection: sqlite3.Connection, written: Sequence[str], position: int) -> Name | None:
    """The library's name for these words. One plain word counts only where the asker writes it as a name."""
    if is_stop(written[0]) or is_stop(written[-1]):
        return None
    row = connection.execute(
        "SELECT text, count(*), max(expansion) FROM page_names WHERE key = ? GROUP BY key",
        (" ".join(word.lower() for word in written),),
    ).fetchone()
    if row is None:
        return None
    name = Name(text=row[0], pages=row[1], expansion=row[2])
    plain = len(written) == 1 and not name.expansion and not is_identifier(name.text)
    as_name = written[0][:1].isupper() and (position > 0 or written[0][1:2].isupper())
    return name if as_name or not plain else None


def _acronyms_of(connection: sqlite3.Connection, text: str) -> Iterator[Name]:
    """The acronyms that pages use for words spelt out in the text."""
    written = [word.lower() for word in words(text)]
    phrases = {
        " ".join(written[start : start + size])
        for size in range(2, _LONGEST_NAME_WORDS + 1)
        for start in range(len(written) - size + 1)
    }
    rows = connection.execute(
        "SELECT text, count(*), expansion FROM page_names WHERE expansion <> ''"
        " AND lower(expansion) IN (SELECT value FROM json_each(?)) GROUP BY key ORDER BY key",
        (json.dumps(sorted(phrases)),),
    )
    yield from (Name(text, pages, expansion) for text, pages, expansion in rows.fetchall())


def _sites_named(connection: sqlite3.Connection, text: str) -> tuple[str, ...]:
    """Hosts with a label that is a word of the text: `git.example.org` of "How does Git ...?"."""
    asked = {word.lower().removesuffix("'s") for word in words(text)}
    rows = connection.execute(
        "SELECT DISTINCT substr(url, 1, instr(substr(url, 9), '/') + 7) FROM pages WHERE is_current = 1"
    )
    hosts = {(urlsplit(f"{origin}/").hostname or "") for (origin,) in rows.fetchall() if origin.startswith("http")}
    return tuple(sorted(host for host in hosts if not asked.isdisjoint(host.split(".")[:-1])))


def _frequency(connection: sqlite3.Connection, word: str) -> int:
    """On how many passages the word occurs; an identifier counts as a whole."""
    term = next(iter(index_terms(word)), "")
    row = connection.execute("SELECT passages FROM frequencies WHERE term = ?", (term,)).fetchone()
    return int(row[0]) if row else 0

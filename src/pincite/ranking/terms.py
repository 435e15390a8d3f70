"""Words of pages and questions as index terms. Both sides go through the same functions."""

import re
from functools import lru_cache
from itertools import chain

from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, mentions, stem, tokens, words

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
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
    parts = [stem(part) for part in _PARTS.findall(word) if not is_stop(part)]
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

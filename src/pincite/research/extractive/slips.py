"""Words of a question that no page read has, read as words of those pages: for runs that could ask no library."""

from collections import Counter
from collections.abc import Sequence

from pincite.domain.plan import ReadPage
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.words import key_terms
from pincite.text.spelling import nearest
from pincite.text.tokens import is_stop, words

_LEAST_LETTERS = 6
_LEAST_PAGES = 2
_MAX_WORDS = 40


def slips_in(question: str, index: PassageIndex, pages: Sequence[ReadPage]) -> tuple[tuple[str, str], ...]:
    """Pairs of a word that no page read has and the word of at least two of them that it is taken for.

    The pages were found by the other words, so less is corrected than by a library: no names, no short words.
    """
    written = [word for word in dict.fromkeys(words(question)) if _may_be_slip(word)][:_MAX_WORDS]
    unknown = [word for word in written if not any(index.knows(term) for term in key_terms(word))]
    if not unknown:
        return ()
    found: Counter[str] = Counter()
    for page in pages:
        found.update({word.lower() for word in words(page.document.text) if word.isalpha() and not is_stop(word)})
    common = {word: count for word, count in found.items() if count >= _LEAST_PAGES}
    read = [(word, nearest(word, common)) for word in unknown]
    return tuple((word, other) for word, other in read if other)


def _may_be_slip(word: str) -> bool:
    return len(word) >= _LEAST_LETTERS and word.isascii() and word.isalpha() and word.islower() and not is_stop(word)

"""Pseudo-relevance feedback: words that the best passages share, as new queries. No list of synonyms."""

from collections import defaultdict
from collections.abc import Sequence

from pincite.research.extractive.passages import Passage
from pincite.research.extractive.questions import Ask, names_in
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.words import key_terms
from pincite.text.instructions import is_flagged
from pincite.text.tokens import words

_PASSAGES = 6
_TERMS = 4
_NAMES = 4
_SHORTEST, _LONGEST = 3, 30
"""Letters of a word to search for; what is longer is a digest or an address."""


def feedback_queries(index: PassageIndex, ask: Ask, *, limit: int) -> list[str]:
    """At most `limit` queries made of the question's rarest terms and of what the first passages add to them.

    Passages that speak to machines add nothing: no page decides what is searched for by an order.
    """
    if limit <= 0 or not len(index):
        return []
    best = [pair for pair in index.passages(ask.terms, limit=_PASSAGES) if not _speaks_to_machines(pair[0].passage)]
    if not best:
        return []
    weights: defaultdict[str, float] = defaultdict(float)
    names: dict[str, float] = {}
    top = best[0][1] or 1.0
    for entry, score in best:
        for statement in entry.passage.statements:
            for name in names_in(entry.passage.text(statement.span)):
                if not set(key_terms(name)) & set(ask.terms):
                    names[name] = max(names.get(name, 0.0), score)
        for term, count in entry.body.items():
            if term in ask.terms or term.isdigit() or not _SHORTEST <= len(term) <= _LONGEST:
                continue
            weights[term] += (score / top) * index.idf(term) * min(count, 3)
    rare = sorted(ask.terms, key=lambda term: -index.idf(term))[:6]
    added = sorted(weights, key=lambda term: (-weights[term], term))[:_TERMS]
    spelled = _spelled([ask.text, *(_words_of(entry.passage) for entry, _ in best)])
    rare, added = [spelled.get(term, term) for term in rare], [spelled.get(term, term) for term in added]
    queries = [" ".join([*rare, *added])]
    heads = [entry.passage.text(entry.passage.head) for entry, _ in best if entry.passage.head][:1]
    queries += [f"{' '.join(rare[:3])} {head[:80]}" for head in heads]
    queries += sorted(names, key=lambda name: (-names[name], name))[:_NAMES]
    return list(dict.fromkeys(queries))[:limit]


def _words_of(passage: Passage) -> str:
    return " ".join(passage.text(statement.span) for statement in passage.statements)


def _spelled(texts: Sequence[str]) -> dict[str, str]:
    """A word as written for each stem, the first that is met: engines and readers want words."""
    found: dict[str, str] = {}
    for text in texts:
        for word in words(text):
            for term in key_terms(word)[:1]:
                found.setdefault(term, word)
    return found


def _speaks_to_machines(passage: Passage) -> bool:
    return any(is_flagged(passage.text(statement.span)) for statement in passage.statements)

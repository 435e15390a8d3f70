"""Passages of documents in the order in which they answer a question, each with a likelihood that it does.

A logistic model weighs words (BM25) and how near the words of a passage are in meaning to those of the question; with
an embedder that has vectors of whole texts alone, the nearness of question and passage and of question and best
sentence. `scripts/fit_ranking.py` fitted it on public questions (docs/measurements.md) and wrote `weights.json`.
Without an embedder words alone decide, and `Ranking.words_only` says so.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.domain.search import Survey
from pincite.ports import Embedder, Reranker
from pincite.ranking.passages import CutPassage, Draft, KnownPassages, context_text, cut_passages, passage_text
from pincite.ranking.scores import K1, Features, Model, Rarity, bm25, coverage, length_of, likelihood, weighted_terms
from pincite.ranking.vectors import reader_of
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import expected_passages, index_terms, plain_words, query_terms, words

# So many passages are read by meaning: reading more costs more than it finds (docs/measurements.md).
READ: Final = 50
# Of so many of the best passages the sentences are read one by one.
SENTENCES_OF: Final = 16
# About 75 tokens: a longer sentence is a list or code, and its beginning says what it is about.
_SENTENCE_CHARS: Final = 300
# A passage has about 120 words; one of more sentences is cut up by its marks.
_SENTENCES_PER_PASSAGE: Final = 12
# Other wordings of the question; each costs a pass over all passages.
_MOST_QUERIES: Final = 6
# Passages of English in general that stand behind those known, words as frequent as they are there.
_BACKGROUND: Final = 100
# MiniLM reads 256 word pieces, about 1.4 to a word of English.
_WINDOW_WORDS: Final = 180
# Of meaning beside words before passages are read; anything from 1 to 2 did as well when it was chosen.
NEAR_WEIGHT: Final = 1.25


@dataclass(frozen=True, slots=True)
class Source:
    """A page whose passages are ranked."""

    url: str
    document: Document


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage, how likely it answers (0-1), and its sentences with their nearness to the question, 0 without vectors.

    `sentences` are offsets into the document's text. `vector` is that of the passage, empty without an embedder.
    """

    source: Source
    draft: Draft
    likelihood: float = 0.0
    features: Features = Features()
    model: Model = "words"
    sentences: tuple[tuple[Span, float], ...] = ()
    vector: Sequence[float] = ()

    @property
    def text(self) -> str:
        """Its words, as they stand on the page."""
        return self.source.document.text[self.draft.start : self.draft.end]

    @property
    def context(self) -> str:
        """What stands above it: title > headings > term."""
        return context_text(self.source.document.title, self.draft.section, self.draft.label)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages best first. `known` is the share of the question's words, by weight, that stand on any passage."""

    passages: tuple[RankedPassage, ...] = ()
    model: Model = "meaning"
    known: float = 0.0
    rarity: Rarity = Rarity(0, {})
    terms: tuple[str, ...] = ()

    @property
    def words_only(self) -> bool:
        """Whether meaning was left out."""
        return self.model == "words"


class PassageRanker:
    """Ranks the passages of documents for a question. CPU work: call it from a worker thread.

    Args:
        embedder: gives vectors; it is asked for the same text again, so let it remember (`KeptVectors`). None: words.
        known: has cut documents before; None: each is cut here.
        reranker: has the last word on the order of the best; None: nobody has.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        known: KnownPassages | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._embedder = embedder
        self._reader = reader_of(embedder) if embedder else None
        self._known = known
        self._reranker = reranker

    @property
    def words_only(self) -> bool:
        """Whether meaning is left out."""
        return self._embedder is None

    def rank(
        self,
        question: str,
        sources: Sequence[Source],
        *,
        queries: Sequence[str] = (),
        survey: Survey | None = None,
    ) -> Ranking:
        """The passages of all sources, best first: those far below by words without a likelihood.

        Args:
            question: as asked; meaning is compared with it alone.
            sources: the pages; each is cut into passages once.
            queries: other wordings of the question, which count for the order by words.
            survey: what a library knows of the words; rarity is then that of the library, not of these pages.
        """
        terms = query_terms(question)
        wordings = [terms, *map(query_terms, dict.fromkeys(queries))][: _MOST_QUERIES + 1]
        wanted = tuple(dict.fromkeys(term for wording in wordings for term in wording))
        passages: list[RankedPassage] = []
        found: list[tuple[dict[str, float], int]] = []
        for source in sources:
            title = Counter(index_terms(source.document.title))
            for passage in self._cut(source.document):
                passages.append(RankedPassage(source, passage.draft))
                found.append(weighted_terms(title, passage, wanted))
        rarity = _rarity((question, *queries), wordings, [terms_ for terms_, _ in found], survey)
        asked = sum(map(rarity.weight, terms)) or 1.0
        present = {term for terms_, _ in found for term in terms if term in terms_}
        known = sum(map(rarity.weight, present)) / asked
        by_wording = [bm25(wording, found, rarity) for wording in wordings]
        # One score of several wordings: the question's own counts as much as the best of all others.
        own, *others = by_wording
        scores = (
            list(own)
            if not others
            else [score + max(other[index] for other in others) for index, score in enumerate(own)]
        )
        order = sorted(range(len(passages)), key=lambda index: -scores[index])
        best = self._candidates(question, sources, passages, [index for index in order if scores[index] > 0])
        first = [
            Features(
                score=scores[index] / (scores[order[0]] or 1.0),
                coverage=coverage(terms, found[index][0], rarity),
                strength=by_wording[0][index] / (asked * (K1 + 1)),
                length=length_of(passages[index].text),
            )
            for index in best
        ]
        ranked = self._by_meaning(question, [passages[index] for index in best], first, rarity)
        ranked = self._reranked(question, ranked)
        return Ranking(tuple(ranked), self._model, known, rarity, terms)

    @property
    def _model(self) -> Model:
        return "words" if self._embedder is None else "meaning" if self._reader is None else "close"

    def _candidates(
        self, question: str, sources: Sequence[Source], passages: Sequence[RankedPassage], by_words: Sequence[int]
    ) -> list[int]:
        """The passages that are read: half of them the best by words, half the nearest in meaning.

        Where no vectors were made, as of web pages, all of them are the best by words.
        """
        if self._embedder is None or self._known is None:
            return list(by_words[:READ])
        (wanted,) = self._embedder.embed([_embedded_question(question)])
        near: dict[tuple[str, int], float] = {}
        for source in sources:
            found = self._known.passages_near(source.document.document_id, wanted)
            near.update({(source.url, start): value for start, value in found.items()})
        by_meaning = sorted(
            (index for index, passage in enumerate(passages) if (passage.source.url, passage.draft.start) in near),
            key=lambda index: -near[passages[index].source.url, passages[index].draft.start],
        )
        first = by_words[: READ // 2]
        others = [index for index in by_meaning if index not in first][: READ - len(first)]
        return list(dict.fromkeys((*first, *others, *by_words)))[:READ]

    def _cut(self, document: Document) -> Sequence[CutPassage]:
        known = None if self._known is None else self._known.cut_passages(document.document_id)
        return cut_passages(document) if known is None else known

    def _by_meaning(
        self, question: str, best: Sequence[RankedPassage], first: Sequence[Features], rarity: Rarity
    ) -> list[RankedPassage]:
        """The candidates in the order of words, ranked again by what they mean."""
        if self._embedder is None:
            return _by_likelihood(_weighed(best, first, "words"))
        if not best:
            return []
        wanted, *vectors = self._embedder.embed([_embedded_question(question), *map(embedded_text, best)])
        near = [dot(wanted, vector) for vector in vectors]
        passages = [replace(passage, vector=vector) for passage, vector in zip(best, vectors, strict=True)]
        features = [replace(own, similarity=max(value, 0.0)) for own, value in zip(first, near, strict=True)]
        fused = sorted(range(len(best)), key=lambda i: -(first[i].score + NEAR_WEIGHT * near[i]))
        passages, features = [passages[i] for i in fused], [features[i] for i in fused]
        read = self._sentences(wanted, passages[:SENTENCES_OF])
        features[:SENTENCES_OF] = [
            replace(own, best_sentence=max((0.0, *(value for _, value in passage.sentences))))
            for own, passage in zip(features, read, strict=False)
        ]
        features[:SENTENCES_OF] = self._word_by_word(question, read, features[:SENTENCES_OF], rarity)
        rest = _weighed(passages[SENTENCES_OF:], features[SENTENCES_OF:], "unread")
        return [*_by_likelihood(_weighed(read, features[:SENTENCES_OF], self._model)), *_by_likelihood(rest)]

    def _word_by_word(
        self, question: str, passages: Sequence[RankedPassage], features: Sequence[Features], rarity: Rarity
    ) -> list[Features]:
        """The features with the nearness of the words in the passages' sentences and headings to those asked for."""
        if self._reader is None:
            return list(features)
        texts = [[*_sentence_texts(passage), passage.context[:_SENTENCE_CHARS]] for passage in passages]
        near = self._reader.nearness(_embedded_question(question), word_weights(question, rarity), texts)
        most = max((*near, 0.0))
        return [
            replace(own, near_strength=max(value, 0.0), near_score=max(value, 0.0) / most if most else 0.0)
            for own, value in zip(features, near, strict=True)
        ]

    def _reranked(self, question: str, ranked: Sequence[RankedPassage]) -> list[RankedPassage]:
        """The best in the order of the reranker.

        Its scores are on a scale of its own. So the first takes over the likelihood of who was first, and so on: how
        likely it is that any of them answers stays what was fitted.
        """
        best, rest = ranked[:SENTENCES_OF], ranked[SENTENCES_OF:]
        if self._reranker is None or not best:
            return list(ranked)
        scores = self._reranker.scores(question, [embedded_text(passage) for passage in best])
        order = sorted(range(len(best)), key=lambda index: -scores[index])
        return [
            *(replace(best[index], likelihood=best[place].likelihood) for place, index in enumerate(order)),
            *rest,
        ]

    def _sentences(self, wanted: Sequence[float], passages: Sequence[RankedPassage]) -> list[RankedPassage]:
        """The passages with their sentences and the nearness of each to the question."""
        assert self._embedder is not None
        spans = [sentences_of(passage)[:_SENTENCES_PER_PASSAGE] for passage in passages]
        cut = [
            replace(passage, sentences=tuple((span, 0.0) for span in own))
            for passage, own in zip(passages, spans, strict=True)
        ]
        texts = [text for passage in cut for text in _sentence_texts(passage)]
        near = iter([dot(wanted, vector) for vector in (self._embedder.embed(texts) if texts else ())])
        return [
            replace(passage, sentences=tuple((span, next(near)) for span, _ in passage.sentences)) for passage in cut
        ]


def _sentence_texts(passage: RankedPassage) -> list[str]:
    """What is embedded of the sentences of a passage."""
    text = passage.source.document.text
    return [text[span.start : span.end][:_SENTENCE_CHARS] for span, _ in passage.sentences]


def _weighed(passages: Sequence[RankedPassage], features: Sequence[Features], model: Model) -> list[RankedPassage]:
    """The passages with the likelihood that these features make."""
    return [
        replace(passage, features=own, model=model, likelihood=likelihood(own, model))
        for passage, own in zip(passages, features, strict=True)
    ]


def _by_likelihood(passages: Sequence[RankedPassage]) -> list[RankedPassage]:
    return sorted(passages, key=lambda passage: -passage.likelihood)


def word_weights(question: str, rarity: Rarity) -> dict[str, float]:
    """How much each plain word of a question says, by the rarity of its terms; what is no term is left out."""
    found: dict[str, float] = {}
    for word in words(question):
        terms = index_terms(word)
        for plain in plain_words(word):
            own = [term for term in index_terms(plain) if term in rarity.frequencies] or terms
            if own and any(map(str.isalnum, plain)):
                found[plain] = max(map(rarity.weight, own))
    return found


def sentences_of(passage: RankedPassage) -> tuple[Span, ...]:
    """The sentences of a passage that have two words at least, as offsets into the document."""
    start = passage.draft.start
    found = (Span(start + span.start, start + span.end) for span in sentences(passage.text))
    text = passage.source.document.text
    return tuple(span for span in found if len(list(words(text[span.start : span.end]))) > 1)


def _embedded_question(question: str) -> str:
    """The question, each word once when it is longer than an embedder reads: what is said again asks nothing new."""
    asked = question.split()
    return question if len(asked) <= _WINDOW_WORDS else " ".join(dict.fromkeys(asked))


def embedded_text(passage: RankedPassage) -> str:
    """What is embedded of a passage: where it stands, then its words, as far as the model reads."""
    return passage_text(passage.source.document.title, passage.draft.section, passage.text)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """The inner product: of two vectors of length 1 their cosine."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _rarity(
    texts: Sequence[str], wordings: Sequence[Sequence[str]], found: Sequence[Mapping[str, float]], survey: Survey | None
) -> Rarity:
    """Rarity in the library, for words it was asked about, else among the passages read; with some English behind it.

    Few passages say little of how rare a word is: beside six pages about bridges "many" is no rarer than a name.
    """
    expected = {
        term: expected_passages(word, _BACKGROUND)
        for text in texts
        for word in words(text)
        for term in index_terms(word)
    }
    here = {term: sum(term in passage for passage in found) for wording in wordings for term in wording}
    if survey is None or not survey.passages:
        passages, counts = len(found), here
    else:
        scale = survey.passages / max(len(found), 1)
        known = {term: count for word, count in survey.frequencies for term in index_terms(word)}
        passages = survey.passages
        counts = {term: known.get(term, round(count * scale)) for term, count in here.items()}
    total = {term: round(count + expected.get(term, 0.0)) for term, count in counts.items()}
    return Rarity(passages + _BACKGROUND, total)

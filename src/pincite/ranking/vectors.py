"""Vectors kept by what was embedded: an `Embedder` in front of another one, with a memory and, if given, a store."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Final, Protocol, runtime_checkable

from pincite.ports import Embedder
from pincite.ranking.passages import vector_key

# Passages, questions and sentences of a few questions.
_KEPT: Final = 8_192


@runtime_checkable
class KnownVectors(Embedder, Protocol):
    """An embedder that remembers: what was embedded before costs nothing."""

    def stored(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[float]]:
        """The vectors that are at hand, by their keys."""

    def known(self, texts: Sequence[str]) -> Mapping[int, Sequence[float]]:
        """The vectors that are at hand, by the place of their text."""


@runtime_checkable
class ReadsWords(Embedder, Protocol):
    """An embedder that also compares word by word."""

    def nearness(
        self, question: str, weights: Mapping[str, float], passages: Sequence[Sequence[str]]
    ) -> Sequence[float]:
        """How near the nearest words of each passage are to those of the question, the mean over the latter (0-1).

        Args:
            question: its words are read in their context, as those of the passages are.
            weights: of its plain words (`text.tokens.plain_words`); others count nothing.
            passages: the texts of each, read one by one; those that were just embedded cost nothing.
        """


def reader_of(embedder: Embedder) -> ReadsWords | None:
    """What compares word by word here, None where nothing does."""
    reads = isinstance(embedder.behind if isinstance(embedder, KeptVectors) else embedder, ReadsWords)
    return embedder if reads and isinstance(embedder, ReadsWords) else None


class VectorStore(Protocol):
    """Where vectors are kept between runs, by a key made of what was embedded. Blocking."""

    def vectors(self, keys: Sequence[bytes]) -> Mapping[bytes, Sequence[float]]:
        """Those that are there. Errors: StorageUnavailable."""

    def keep(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Keep them; the same key again changes nothing. Errors: StorageUnavailable, StorageFull."""


class KeptVectors:
    """Implements `ports.Embedder`; each text goes through the model once. May be shared by threads.

    In front of one that compares words it is a `ReadsWords`, too: each passage is compared with a question once.
    """

    def __init__(self, embedder: Embedder, store: VectorStore | None = None) -> None:
        self.behind = embedder
        self._store = store
        self._memory: OrderedDict[bytes, Sequence[float]] = OrderedDict()
        self._lock = RLock()

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """One vector for each text, in order."""
        keys = [vector_key(text) for text in texts]
        with self._lock:
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._memory}
            if missing and self._store is not None:
                self._memory.update(self._store.vectors(list(missing)))
            fresh = {key: text for key, text in missing.items() if key not in self._memory}
            if fresh:
                made = dict(zip(fresh, self.behind.embed(list(fresh.values())), strict=True))
                self._memory.update(made)
                if self._store is not None:
                    self._store.keep(made)
            found = [self._memory[key] for key in keys]
            while len(self._memory) > _KEPT:
                self._memory.popitem(last=False)
        return found

    def nearness(self, question: str, weights: Mapping[str, float], passages: Sequence[Sequence[str]]) -> list[float]:
        """As `ReadsWords`; each is kept like a vector of one number, since to compare again is to read again."""
        assert isinstance(self.behind, ReadsWords)
        asked = ("nearness", question, repr(sorted(weights.items())))
        keys = [vector_key("\0".join((*asked, *texts))) for texts in passages]
        kept = self.stored(keys)
        fresh = {key: texts for key, texts in zip(keys, passages, strict=True) if key not in kept}
        if fresh:
            near = self.behind.nearness(question, weights, list(fresh.values()))
            made = {key: (value,) for key, value in zip(fresh, near, strict=True)}
            with self._lock:
                self._memory.update(made)
                if self._store is not None:
                    self._store.keep(made)
            kept |= made
        return [kept[key][0] for key in keys]

    def stored(self, keys: Sequence[bytes]) -> dict[bytes, Sequence[float]]:
        """The vectors that are at hand, by key; nothing is embedded."""
        with self._lock:
            found = {key: self._memory[key] for key in keys if key in self._memory}
            missing = [key for key in keys if key not in found]
            return {**found, **(self._store.vectors(missing) if self._store is not None else {})}

    def learn(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Keep vectors that were made elsewhere, unless they are there."""
        if self._store is not None and len(self._store.vectors(list(vectors))) < len(vectors):
            self._store.keep(vectors)

    def known(self, texts: Sequence[str]) -> dict[int, Sequence[float]]:
        """The vectors that are at hand, by the place of their text."""
        keys = [vector_key(text) for text in texts]
        with self._lock:
            missing = [key for key in keys if key not in self._memory]
            found = dict(self._store.vectors(missing)) if missing and self._store is not None else {}
            vectors = ((place, self._memory.get(key) or found.get(key)) for place, key in enumerate(keys))
            return {place: vector for place, vector in vectors if vector is not None}

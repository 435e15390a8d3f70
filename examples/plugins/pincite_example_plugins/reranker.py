"""A reranker: passages that say a run of the question's words in its order come first."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+")


class PhraseReranker:
    """Implements `pincite.ports.Reranker` by the longest run of words that question and passage share."""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """How relevant each passage is, in order."""
        asked = _WORD.findall(question.lower())
        return [float(self._longest_run(asked, _WORD.findall(passage.lower()))) for passage in passages]

    def _longest_run(self, asked: Sequence[str], said: Sequence[str]) -> int:
        return SequenceMatcher(None, asked, said, autojunk=False).find_longest_match().size

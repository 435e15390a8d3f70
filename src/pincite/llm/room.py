"""How much room a model needs for thinking, beside the room for its answer: learnt from what its calls used.

Providers count thoughts against the same cap as the answer. A cap that only leaves room for the answer cuts a model
that thinks before it has written a word; room that is not used costs nothing but its reservation.
"""

from collections.abc import Iterator
from typing import Final

from pincite.domain.model import Effort, ModelUsage
from pincite.text.tokens import token_estimate

# Before anything is known of a model. Frontier models at low effort were seen to think 500 to 6,000 tokens a call.
FIRST: Final = 8_000
# Tokens. Chosen, not measured.
MOST: Final = 32_000
# For a model that was never seen to think: it may count its tokens a little differently from us.
LEAST: Final = 256
# Answers after which what was seen counts for more than the first guess.
_KNOWN_AFTER: Final = 3
# Times the most thoughts seen: the length of thoughts varies more than that of answers.
_SPARE: Final = 1.5
# Tokens written beyond this times our own estimate of the answer are thoughts, where the provider does not say.
_ESTIMATE_ERROR: Final = 1.3


class ThinkingRoom:
    """Room for thinking by model and effort, for the calls of one run."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, Effort], list[int]] = {}
        self._cut_at: dict[tuple[str, Effort], int] = {}
        self._without: set[str] = set()

    def of(self, model: str, effort: Effort) -> int:
        """Tokens to leave for thoughts."""
        if model in self._without:
            return 0
        seen, cut_at = self._seen.get((model, effort), []), self._cut_at.get((model, effort), 0)
        known = round(max(seen, default=0) * _SPARE) + LEAST
        learnt = known if len(seen) >= _KNOWN_AFTER else max(known, FIRST if effort != "none" else LEAST)
        return min(max(learnt, 2 * cut_at), MOST)

    def smaller(self, model: str, effort: Effort) -> Iterator[int]:
        """Smaller room, half by half, but not less than the model was ever seen to need."""
        room, least = self.of(model, effort), min(self._seen.get((model, effort), [0]))
        while (room := room // 2) >= max(least, 1):
            yield room
        if not least:
            yield 0

    def learn(self, model: str, effort: Effort, thinking: int) -> None:
        """Remember the thoughts of an answer."""
        self._seen.setdefault((model, effort), []).append(thinking)

    def cut(self, model: str, effort: Effort, thinking: int) -> None:
        """Remember that thoughts of at least this length left no room: twice as much is left from now on."""
        self._cut_at[model, effort] = max(self._cut_at.get((model, effort), 0), thinking)

    def refused(self, model: str) -> None:
        """Remember that the server takes no cap of this size, as those with a short context don't."""
        self._without.add(model)


def thoughts_of(usage: ModelUsage, answer: str) -> int:
    """The tokens of an answer that were thoughts: what the provider says, else what the answer can't account for."""
    if usage.thinking is not None:
        return usage.thinking
    if usage.estimated:
        return 0
    return max(usage.tokens_out - round(token_estimate(answer) * _ESTIMATE_ERROR) - LEAST, 0)

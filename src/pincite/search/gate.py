"""Whether a question needs the web at all, for programs that have their own store of passages. Rules, no model."""

from dataclasses import dataclass

from pincite.domain.search import Query
from pincite.search.intent import Intent, intent_of, is_technical


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What the caller's own retrieval came to: its confidence, 0 to 1, and how many passages it has."""

    confidence: float
    passages: int = 0


@dataclass(frozen=True, slots=True)
class GateRules:
    """Below `min_confidence` the web is asked; so it is for the intents listed, however sure the retrieval was."""

    min_confidence: float = 0.6
    always: tuple[Intent, ...] = (Intent.CURRENT_EVENT, Intent.DOCUMENTATION, Intent.ERROR)


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether to search, and why in words."""

    needs_web: bool
    reason: str
    intent: Intent


def gate(query: Query, context: RetrievalContext, rules: GateRules = GateRules()) -> GateVerdict:
    """Whether the web is needed for this query given what is known already. Pure and fast."""
    intent = intent_of(query)
    if context.confidence < rules.min_confidence:
        return GateVerdict(True, f"confidence {context.confidence:.2f} is below {rules.min_confidence:.2f}", intent)
    if intent in rules.always and (intent is not Intent.DOCUMENTATION or is_technical(query.text)):
        return GateVerdict(True, f"the query is about {_NAMES[intent]}", intent)
    return GateVerdict(False, f"confidence {context.confidence:.2f} is enough for {_NAMES[intent]}", intent)


_NAMES = {
    Intent.CURRENT_EVENT: "a current event",
    Intent.RESEARCH: "research papers",
    Intent.DOCUMENTATION: "technical documentation",
    Intent.ERROR: "an error message",
    Intent.CODE: "code",
    Intent.LOCAL: "a place",
    Intent.GENERAL: "a general matter",
}

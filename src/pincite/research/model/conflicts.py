"""Statements that exclude each other: other figures in the same words by code, everything else by a model."""

import itertools
from collections.abc import Sequence
from typing import Final

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Conflict, ConflictSide, Progress
from pincite.ports import ModelCalls
from pincite.research.extractive.conflicts import worded_alike
from pincite.research.model.evidence import EvidenceBank
from pincite.research.model.fallback import Replacements
from pincite.research.model.outputs import Pairs
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.text.context import numbered
from pincite.verification.facts import FactOutcome, check_facts

# As without a model (`research.extractive.conflicts`).
_MAX_CONFLICTS: Final = 6
# Shown to the model at once, the surest of the run.
_STATEMENTS: Final = 60
# Pairs of statements whose figures are compared at most: of 25 statements all of them.
_COMPARED: Final = 300
_PASSING: Final = (ProviderError, RemoteError, BudgetExhausted)


class ConflictFinder:
    """Compares the statements of a run; those that were compared before are not sent again.

    Args:
        bank: the pages as evidence.
        calls: the models; None for figures only.
        replacements: where it is noted that no model compares; the report says so.
    """

    def __init__(self, bank: EvidenceBank, calls: ModelCalls | None, replacements: Replacements) -> None:
        self._bank = bank
        self._calls = calls
        self._replacements = replacements
        self._compared: frozenset[str] = frozenset()
        self._pairs: tuple[tuple[str, str], ...] = ()

    async def between(self, checked: Sequence[VerifiedClaim], progress: Progress) -> tuple[Conflict, ...]:
        """The conflicts between claims that hold, from different pages: those that code finds are of the same part."""
        printable = [item for item in checked if item.printable][:_STATEMENTS]
        apart = [pair for pair in itertools.combinations(printable, 2) if _apart(*pair)]
        pairs = [(one, other) for one, other in apart if one.claim.sub_question == other.claim.sub_question]
        found = {
            frozenset((one.claim.claim_id, other.claim.claim_id)): (one, other)
            for one, other in pairs[:_COMPARED]
            if worded_alike(one, other) and self._other_figure(one, other) and self._other_figure(other, one)
        }
        ids = frozenset(item.claim.claim_id for item in printable)
        if apart and ids != self._compared:
            await self._ask(printable, progress)
            self._compared = ids
        by_id = {item.claim.claim_id: item for item in printable}
        for one_id, other_id in self._pairs:
            if one_id in by_id and other_id in by_id and _apart(by_id[one_id], by_id[other_id]):
                found.setdefault(frozenset((one_id, other_id)), (by_id[one_id], by_id[other_id]))
        return tuple(Conflict((_side(one), _side(other))) for one, other in found.values())[:_MAX_CONFLICTS]

    def _other_figure(self, one: VerifiedClaim, other: VerifiedClaim) -> bool:
        """Whether the passages of the other claim give another value for what the one claim gives a figure for."""
        lines = [line.text for line in numbered(self._bank.passages([other.claim])) if line.role is None]
        return any(finding.outcome is FactOutcome.OTHER for finding in check_facts(one.claim.text, lines))

    async def _ask(self, printable: Sequence[VerifiedClaim], progress: Progress) -> None:
        if self._calls is None or self._replacements.replaced(ModelRole.VERIFIER):
            return
        offered = {f"c{number}": item for number, item in enumerate(printable, start=1)}
        prompt = Prompt(
            "conflicts",
            VERSIONS["conflicts"],
            instructions("conflicts"),
            material=(Material("Statements", tuple((name, item.claim.text) for name, item in offered.items())),),
            max_tokens_out=400,
        )
        try:
            answer = await self._calls.ask(ModelRole.VERIFIER, prompt, Pairs, deadline_s=progress.seconds_left)
        except _PASSING as error:
            await self._replacements.note(ModelRole.VERIFIER, error)
            return
        self._replacements.answered(ModelRole.VERIFIER)
        self._pairs = tuple(
            (offered[pair.one].claim.claim_id, offered[pair.other].claim.claim_id)
            for pair in answer.pairs
            if pair.one in offered and pair.other in offered
        )


def _apart(one: VerifiedClaim, other: VerifiedClaim) -> bool:
    """Whether two claims can exclude each other: what one page says twice is its own to explain."""
    return one is not other and not {e.url for e in one.claim.evidence} & {e.url for e in other.claim.evidence}


def _side(item: VerifiedClaim) -> ConflictSide:
    return ConflictSide(item.claim.text, item.claim.claim_id, max(item.independent_sources, 1))

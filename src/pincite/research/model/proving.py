"""Composed sentences proven a section at a time; those that fail are mended in one call for all, twice at most."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import ContextRole, Evidence, Relation, VerdictStatus, VerifiedClaim
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.ports import ModelCalls
from pincite.research.model.blocks import LEAST_WORDS
from pincite.research.model.outputs import Repairs
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import LINE_ID, Checked, Proposed, SentenceProver
from pincite.research.model.wording import plain_line
from pincite.text.similarity import Bm25
from pincite.text.tokens import terms
from pincite.verification.snippets import on_one_line

# A sentence that fails a third time is told in the words of its passages, or not at all.
MENDED_AT_MOST: Final = 2
# Passages beside those named that a failed sentence may rest on: the one that was meant shares its words, or those that
# nothing named carries.
_NEAREST: Final = 3
# As far as a paragraph goes on both sides of a line that was named. Chosen, not measured.
_CLOSE_BY: Final = 4
# So that the model sees what its sentence is held to, not the whole page again.
_QUOTE_CHARS: Final = 500
# Where a passage stands, in front of it; its term is a part of the claim.
_PLACES: Final = frozenset({ContextRole.HEADING, ContextRole.LIST_INTRO, ContextRole.TABLE_HEADER})


class Mender:
    """Proves sentences, and has a model mend those that fail with the reason and their passages in sight.

    Args:
        calls: the models.
        prover: decides about every sentence.
    """

    def __init__(self, calls: ModelCalls, prover: SentenceProver) -> None:
        self._calls = calls
        self._prover = prover

    async def mended(
        self, checked: Sequence[Checked], offered: Mapping[str, VerifiedClaim], seconds_left: float | None
    ) -> list[Checked]:
        """The sentences, those that failed as the model mends them where that can be proven.

        What a judge did not answer about, as its call failed, is put before it again with the next mends. A mend that
        it never answers about leaves the sentence as it was.
        """
        found = list(checked)
        mends: dict[int, Checked] = {}  # that wait for the judge
        lost = {place: said for place, said in enumerate(found) if said.why and said.unanswered}
        for _ in range(MENDED_AT_MOST):
            waiting = {place: _again(said) for place, said in (lost | mends).items()}
            lost = {}  # once: a judge that can't be reached is not waited for three times
            failed = [place for place, said in enumerate(found) if _is_mendable(said) and place not in waiting]
            repairs = await self._asked([found[place] for place in failed], offered, seconds_left) if failed else {}
            tried = {**waiting, **{failed[index]: repair for index, repair in repairs.items()}}
            if not tried:
                break
            for place, proven in zip(tried, await self._prover.prove(list(tried.values()), offered), strict=True):
                old = found[place]
                # A repair that fails may name other passages: those of the sentence before still want to be told.
                both = tuple(dict.fromkeys((*old.items, *proven.items)))
                if proven.unanswered:
                    mends[place] = proven
                    found[place] = replace(old, items=both)
                else:
                    mends.pop(place, None)
                    found[place] = replace(proven, items=both) if proven.why else proven
        return found

    async def _asked(
        self, failed: Sequence[Checked], offered: Mapping[str, VerifiedClaim], seconds_left: float | None
    ) -> dict[int, Proposed]:
        """New sentences by the places of those that failed; those that the model leaves out are not there."""
        try:
            answer = await self._calls.ask(ModelRole.WRITER, _prompt(failed, offered), Repairs, deadline_s=seconds_left)
        except (ProviderError, RemoteError, BudgetExhausted):
            return {}
        repairs = {repair.id: repair for repair in answer.repairs if repair.text.strip()}
        found: dict[int, Proposed] = {}
        for place, old in enumerate(failed):
            repair = repairs.get(f"r{place + 1}")
            if repair is None:
                continue
            names = repair.lines or old.proposed.claims
            if plain_line(repair.text) != plain_line(old.proposed.text) or set(names) != set(old.proposed.claims):
                found[place] = replace(old.proposed, text=_led(repair.text, old.proposed), claims=names)
        return found


def _again(said: Checked) -> Proposed:
    """The sentence as it was written, to be proven anew."""
    return replace(said.proposed, text=said.written)


def _led(text: str, before: Proposed) -> str:
    """A new sentence that begins as the one before did, in bold: which the model was not shown."""
    lead = before.text[: before.lead]
    return f"**{lead}**{text[len(lead) :]}" if lead and text.startswith(lead) and len(text) > len(lead) else text


def _is_mendable(said: Checked) -> bool:
    """Whether somebody found fault with it: what nobody judged is no better for other words."""
    return bool(said.why and said.proposed.claims) and said.verdict is not VerdictStatus.UNCHECKED


def _prompt(failed: Sequence[Checked], offered: Mapping[str, VerifiedClaim]) -> Prompt:
    """What failed and why, with the passages that it named and those nearest to its words: ids are often mistaken."""
    lines: list[tuple[str, str]] = []
    wanted: dict[str, VerifiedClaim] = {}
    # A heading or the words before a list carry nothing, and look nearest for being short.
    names_of = [name for name, item in offered.items() if len(item.claim.text.split()) >= LEAST_WORDS]
    # Without its term, which has every argument of a function and stands before all that is said of it.
    index = Bm25([terms(_quote(offered[name])) for name in names_of])
    for number, found in enumerate(failed, start=1):
        said = found.proposed
        # Those of its own words, and those of the words that nothing carries: their line was often not named.
        near = [names_of[at] for text in (said.text, found.beyond) for at in _nearest(index.scores(terms(text)))]
        named = [name for name in said.claims if name in offered]
        beside = list(_beside(named, found.beyond, offered))
        names = list(dict.fromkeys([*named, *beside, *near]))
        wanted |= {name: offered[name] for name in names}
        place = f" (in a table, row {said.row}, column {said.column})" if said.is_cell else ""
        text = on_one_line(said.text) if said.is_code else said.text
        lines += [(f"r{number} sentence", text), (f"r{number} wrong", f"{found.why}{place}")]
        lines += [(f"r{number} beyond", found.beyond)] if found.beyond else []
        lines += [(f"r{number} stands after", said.before)] if said.before else []
        lines += [(f"r{number} examples", ", ".join(said.examples))] if said.examples else []
        lines.append((f"r{number} may rest on", ", ".join(names)))
    return Prompt(
        "rewrite",
        VERSIONS["rewrite"],
        instructions("rewrite"),
        material=(
            Material("Sentences", tuple(lines)),
            Material("Passages", tuple((name, _placed(item)) for name, item in wanted.items())),
        ),
        max_tokens_out=150 + 130 * len(failed),
    )


def _beside(named: Sequence[str], beyond: str, offered: Mapping[str, VerifiedClaim]) -> Iterator[str]:
    """The line after each, as writers name the sentence that begins a thought and not its end; and what is close by.

    Of that the lines with a word of what nothing carries: a condition ("On Windows, ...") stands a sentence away.
    """
    wanted = set(terms(beyond))
    for match in filter(None, map(LINE_ID.fullmatch, named)):
        for far in range(-_CLOSE_BY, _CLOSE_BY + 1):
            name = f"{match[1]}{int(match[2]) + far}"
            if name in offered and (far == 1 or wanted.intersection(terms(_quote(offered[name])))):
                yield name


def _nearest(scores: Sequence[float]) -> list[int]:
    """The places of the best scores, those without any left out."""
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:_NEAREST]
    return [at for at in order if scores[at] > 0]


def _quote(item: VerifiedClaim) -> str:
    """The passage as its page has it."""
    return _evidence(item).quote.text


def _evidence(item: VerifiedClaim) -> Evidence:
    return next(e for e in item.claim.evidence if e.relation is Relation.SUPPORTS)


def _placed(item: VerifiedClaim) -> str:
    """The passage behind the headings and the term that it stands under."""
    evidence = _evidence(item)
    above = [piece.text for piece in evidence.context if piece.role in _PLACES]
    return " > ".join([*above, item.claim.text[:_QUOTE_CHARS]])

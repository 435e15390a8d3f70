"""A summary of a page or of a finished run: every sentence quoted and checked like a claim of a report."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import anyio.to_thread

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import Claim, Evidence, Relation, Verdict, VerdictStatus, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.ids import claim_id
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import ReadPage
from pincite.domain.quotes import QuoteRecord
from pincite.domain.report import Mode
from pincite.ports import ModelCalls
from pincite.research.model.lines import numbered_lines
from pincite.research.model.outputs import Written
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.sentences import Proposed, SentenceProver
from pincite.text.instructions import is_flagged
from pincite.text.tokens import terms

# More is no summary.
MAX_SENTENCES: Final = 20
# About ten pages of print in one call; a longer page is shown by its best windows.
PAGE_TOKENS: Final = 6_000
_MIN_WORDS, _MAX_WORDS = 6, 60
# The words a page is about are few; further down they are anybody's.
_THEME_WORDS = 14
_ALONE = re.compile(
    r"(?!(?:it|its|this|that|these|those|they|he|she|such|here|there|however|but|and|so|also)\b)[A-Z0-9\"“]", re.I
)


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence with the exact passages it rests on. `url` is the page of the first one."""

    text: str
    url: str
    quotes: tuple[QuoteRecord, ...]


@dataclass(frozen=True, slots=True)
class Summarised:
    """The main points in reading order. `dropped` counts sentences of the model that did not pass their check."""

    title: str
    mode: Mode
    sentences: tuple[SummarySentence, ...]
    dropped: int = 0

    @property
    def text(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(sentence.text for sentence in self.sentences)


def page_material(page: ReadPage) -> dict[str, VerifiedClaim]:
    """The sentences of a page, each a claim with itself as the quote; what speaks to machines is out."""
    lines = numbered_lines(page, page.document.title, PAGE_TOKENS)
    found: dict[str, VerifiedClaim] = {}
    for line in lines:
        text = " ".join(line.text.split())
        if is_flagged(text):
            continue
        quote = page.document.quote(line.span.start, line.span.end)
        evidence = Evidence(quote, page.snapshot.snapshot_id, page.snapshot.body_sha256, page.url)
        claim = Claim(claim_id(text, page.url), text, page.document.title, evidence=(evidence,))
        found[line.line_id] = VerifiedClaim(claim, Verdict(VerdictStatus.SUPPORTED), 1)
    return found


async def summarise(
    title: str,
    material: Mapping[str, VerifiedClaim],
    prover: SentenceProver,
    *,
    calls: ModelCalls | None = None,
    sentences: int = 8,
) -> Summarised:
    """The summary, by the model where there is one and it can, else by choosing the most telling sentences.

    Args:
        title: what is summarised.
        material: what may be said, by ids offered to the model.
        prover: decides about every sentence a model writes.
        calls: the models; None for rules.
        sentences: sentences at most, up to 20.
    """
    most = min(max(sentences, 1), MAX_SENTENCES)
    dropped = 0
    if calls is not None and material:
        try:
            answer = await calls.ask(ModelRole.WRITER, _prompt(title, material, most), Written)
        except (ProviderError, RemoteError, BudgetExhausted):
            answer = Written(())
        # Twice what is wanted: some will not pass, and a model that writes on and on is cut.
        proposed = [Proposed(s.text, s.claims) for s in answer.sentences[: 2 * most]]
        checked = await prover.prove(proposed, material)
        kept = [found for found in checked if found.line is not None and found.line.items][:most]
        dropped = sum(bool(found.why) for found in checked)
        if kept:
            told = tuple(_sentence(found.line.text, found.line.items) for found in kept if found.line is not None)
            return Summarised(title, Mode.MODEL, told, dropped)
    chosen = await anyio.to_thread.run_sync(_central, title, list(material.values()), most)
    return Summarised(title, Mode.EXTRACTIVE, tuple(_sentence(item.claim.text, (item,)) for item in chosen), dropped)


def _sentence(text: str, items: Sequence[VerifiedClaim]) -> SummarySentence:
    evidence = [e for item in items for e in item.claim.evidence if e.relation is Relation.SUPPORTS]
    return SummarySentence(text, evidence[0].url, tuple(e.quote.record() for e in evidence))


def _central(title: str, items: Sequence[VerifiedClaim], most: int) -> list[VerifiedClaim]:
    """The sentences that hold most of what the text comes back to, in reading order; none twice in other words."""
    counts = Counter(term for item in items for term in set(terms(item.claim.text)))
    theme = {term: count for term, count in counts.most_common(_THEME_WORDS) if count > 1}
    for term in terms(title):
        # As much as two occurrences: a title names the subject, and is often too short to repeat it. Chosen, not
        # measured.
        theme[term] = theme.get(term, 0) + 2
    ranked: list[tuple[float, int]] = []
    for index, item in enumerate(items):
        text = item.claim.text
        mine = set(terms(text))
        if _MIN_WORDS <= len(text.split()) <= _MAX_WORDS and _ALONE.match(text) and text[-1:] in '.!?)"”':
            # Six words of room, or the shortest sentences would win by having nothing else in them; the first three of
            # a text tell what it is about. Chosen, not measured.
            score = sum(theme.get(term, 0) for term in mine) / (len(mine) + 6) * (1.3 if index < 3 else 1.0)
            ranked.append((score, index))
    chosen: list[int] = []
    for _, index in sorted(ranked, key=lambda row: (-row[0], row[1])):
        mine = set(terms(items[index].claim.text))
        others = (set(terms(items[other].claim.text)) for other in chosen)
        # Seven words of ten in common: the same said twice. Chosen, not measured.
        if len(chosen) < most and all(len(mine & other) < 0.7 * len(mine | other) for other in others):
            chosen.append(index)
    return [items[index] for index in sorted(chosen)]


def _prompt(title: str, material: Mapping[str, VerifiedClaim], most: int) -> Prompt:
    lines = tuple((name, item.claim.text) for name, item in material.items())
    return Prompt(
        "summary",
        VERSIONS["summary"],
        instructions("summary"),
        context=(f"At most {most} sentences.",),
        material=(Material(title, lines),),
        max_tokens_out=200 + 80 * most,
    )

"""Written sentences, list items and table cells to printable lines: each proven by the claims that it names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.plan import ReadPage
from pincite.domain.report import RejectedClaim
from pincite.domain.report_words import without_controls
from pincite.domain.statements import in_cell
from pincite.ports import Judge
from pincite.research.assembly import Line
from pincite.research.model.evidence import EvidenceBank
from pincite.research.model.prompts import instructions
from pincite.research.model.wording import Unmarked, gives_away, plain_line, private_words, unmarked
from pincite.text.context import numbered
from pincite.text.instructions import is_flagged
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.snippets import in_rows

# Four lines for each of four things that a sentence sums up; of more a judge can't tell what carries what. Chosen, not
# measured.
MAX_CLAIMS: Final = 16
MAX_SENTENCE_CHARS: Final = 700
# What "this option" is stands a sentence or two before. Chosen, not measured.
_ABOVE: Final = 3
LINE_ID: Final = re.compile(r"([a-z]+)(\d+)")
"""The id of a line: the letters of its page and its number there."""
# Prompts of a run; the judge's says nothing that a report could hold.
_PROMPTS: Final = ("compose", "planner", "rewrite")
_END: Final = '.!?:)"”’»'
# The mark of a list before its text, and no option or pattern that begins with the same sign (`--abort`, `*.c`).
_BULLET: Final = re.compile(r"^(?:[-•*–—]\s+)+")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A sentence as a model wrote it, with the ids of the statements it says it tells.

    `derived`: it goes beyond each of them (comparison, sum, conclusion). A cell of a table stands in a `row` and a
    `column` and may be a word. `after` is what a reader has read when it leans on that: the sentence before it, or
    the heading above a list. `before` is the sentence or item before it, whether it leans on that or not. `question` is
    what it is said to answer. The first `lead` characters say what it is about,
    and `code` are the spans that are set as code; `is_code`: all of it is, and `examples` are names of its own in it.
    """

    text: str
    claims: tuple[str, ...]
    derived: bool = False
    row: str = ""
    column: str = ""
    after: str = ""
    before: str = ""
    question: str = ""
    lead: int = 0
    code: tuple[tuple[int, int], ...] = ()
    is_code: bool = False
    examples: tuple[str, ...] = ()

    @property
    def is_cell(self) -> bool:
        """Whether it stands in a table."""
        return bool(self.row or self.column)


@dataclass(frozen=True, slots=True)
class Checked:
    """A proposed sentence with what became of it; `why` is empty when it may be printed, as `line` then.

    `proposed` has no marks any more, `written` is its text as it was written. `unanswered`: a judge was asked about it
    and did not answer.
    """

    proposed: Proposed
    written: str
    items: tuple[VerifiedClaim, ...] = ()
    line: Line | None = None
    why: str = ""
    beyond: str = ""
    verdict: VerdictStatus = VerdictStatus.UNSUPPORTED
    answers: bool | None = None
    unanswered: bool = False

    def rejected(self, then: str = "") -> RejectedClaim:
        """For the list of what was not printed; `then` says what stands in its place."""
        why = f"{self.why}; {then}" if then else self.why
        return RejectedClaim(self.proposed.text[:MAX_SENTENCE_CHARS], self.verdict, why, self.beyond)


class SentenceProver:
    """Proves what a model wrote, a section at a time.

    Args:
        judge: the judge of meaning; None for sentences in their sources' own words only.
        bank: the pages of the run as evidence.
        at: the time that is noted with judgements.
    """

    def __init__(self, judge: Judge | None, bank: EvidenceBank, at: datetime) -> None:
        self._judge = judge
        self._bank = bank
        self._at = at
        self._private: frozenset[str] = frozenset()

    def take_up(self, pages: Iterable[ReadPage], question: str = "") -> None:
        """Add pages to those that can be evidence; what the asker told of themselves is printed of no question."""
        self._bank.add(pages)
        self._private = private_words(question)

    async def prove(self, proposed: Sequence[Proposed], offered: Mapping[str, VerifiedClaim]) -> tuple[Checked, ...]:
        """Each sentence in order: a line to print, or why it is none.

        Without a claim a sentence is printed only when the judge says that it states nothing.
        """
        drafts = [_draft(item, offered, self._private) for item in proposed]
        drafts = [self._fuller(draft, offered, drafts) for draft in drafts]
        asked = [
            (index, self._statement(draft))
            for index, draft in enumerate(drafts)
            if not draft.why and draft.line is None  # decided already
        ]
        proven = await prove([statement for _, statement in asked], self._judge, at=self._at)
        for (index, _), found in zip(asked, proven, strict=True):
            drafts[index] = _proven(drafts[index], found)
        return tuple(drafts)

    def _fuller(self, draft: Checked, offered: Mapping[str, VerifiedClaim], together: Sequence[Checked]) -> Checked:
        """The sentence, where it lacks an exact fact also with the lines that carry it, as far as they were meant.

        Writers name the sentence ("Test it so:") and tell of the command below it, or call by its name what the line
        before names. In a table, one cell of a row names the line that says what the row is about, the others go
        without: so what a name of a row or column lacks, and not what stands in the cell itself, may be carried by
        a line of another cell.
        """
        lacking = [] if draft.why or draft.line is not None or not draft.items else _lacking(self._statement(draft))
        if not lacking:
            return draft
        said = draft.proposed
        more = [item for name in said.claims for item in self._listing_below(name, offered)]
        if not any(character.isdigit() for text in lacking for character in text):  # a name, as in "This option ..."
            more += [item for name in said.claims for item in self._above(name, offered)]
        if said.is_cell and not any(text in said.text for text in lacking):
            cells = (other for other in together if other.proposed.is_cell)
            beside = (o for o in cells if o.proposed.row == said.row or o.proposed.column == said.column)
            more += [item for other in beside for item in other.items]
        for item in dict.fromkeys(item for item in more if item not in draft.items):
            fuller = replace(draft, items=(*draft.items, item))
            left = _lacking(self._statement(fuller)) if len(fuller.items) <= MAX_CLAIMS else lacking
            if len(left) < len(lacking):
                draft, lacking = fuller, left
        return draft

    def _listing_below(self, name: str, offered: Mapping[str, VerifiedClaim]) -> Iterator[VerifiedClaim]:
        match = LINE_ID.fullmatch(name)
        below = None if match is None else offered.get(f"{match[1]}{int(match[2]) + 1}")
        above = offered.get(name)
        if above is None or below is None:
            return
        if self._bank.introduces(above.claim.evidence[0], below.claim.evidence[0]):
            yield below

    def _above(self, name: str, offered: Mapping[str, VerifiedClaim]) -> Iterator[VerifiedClaim]:
        """The lines close above a line, the nearest first."""
        match, line = LINE_ID.fullmatch(name), offered.get(name)
        if match is None or line is None:
            return
        for far in range(1, _ABOVE + 1):
            found = offered.get(f"{match[1]}{int(match[2]) - far}")
            if found is not None and self._bank.leads_to(found.claim.evidence[0], line.claim.evidence[0]):
                yield found

    def _statement(self, draft: Checked) -> Statement:
        claims = [item.claim for item in draft.items]
        passages = self._bank.passages(claims)
        premises = tuple(claim.text for claim in claims) if draft.proposed.derived and len(draft.items) > 1 else ()
        said = draft.proposed
        text = in_cell(said.row, said.column, said.text)
        pages = self._bank.text_of(passages)
        return Statement(
            text,
            passages,
            pages,
            premises,
            said.question,
            after=said.after,
            is_code=said.is_code,
            examples=said.examples,
        )


def _lacking(statement: Statement) -> list[str]:
    """Its exact facts that its passages do not have, or have another value for."""
    lines = [line.text for line in numbered(statement.evidence, statement.premises)]
    return [finding.text for finding in statement.facts(lines) if finding.problem]


def _draft(proposed: Proposed, offered: Mapping[str, VerifiedClaim], private: Collection[str]) -> Checked:
    """The sentence without links and marks; what it can't be printed for whatever a judge says."""
    if proposed.is_code:
        styled = Unmarked(in_rows(without_controls(proposed.text)))
    else:
        styled = unmarked(_BULLET.sub("", plain_line(proposed.text)))
    text = styled.text
    said = replace(proposed, text=text, lead=styled.lead, code=styled.code)
    items = tuple(offered[name] for name in dict.fromkeys(proposed.claims) if name in offered)
    if not text:
        return Checked(replace(said, text=proposed.text), proposed.text, items, why="it has no words")
    if len(items) > MAX_CLAIMS:
        why = f"it names {len(items)} lines; at most {MAX_CLAIMS} are judged together"
        return Checked(said, proposed.text, items, why=why)
    if len(text) > MAX_SENTENCE_CHARS:
        return Checked(said, proposed.text, items, why=f"it is longer than {MAX_SENTENCE_CHARS} characters")
    # What it is about may be them ("Bots: put postscreen in front"): each half is looked at by itself.
    if any(is_flagged(half) for half in (text[: said.lead], text[said.lead :])):
        return Checked(said, proposed.text, items, why="it speaks to machines")
    if gives_away(text, private, map(instructions, _PROMPTS)):
        return Checked(
            said, proposed.text, items, why="it tells what the asker or this program said, not what a page says"
        )
    if text[-1] not in _END and not said.is_cell and not said.is_code:
        said = replace(said, text=f"{text}.")
    if not items and proposed.claims:
        return Checked(said, proposed.text, (), why="it names no statement that was offered")
    own = next((item for item in items if _bare(item.claim.text) == _bare(said.text)), None)
    if own is not None and not said.is_cell and not said.is_code:
        return Checked(said, proposed.text, items, Line(own.claim.text, (own,)), verdict=own.verdict.status)
    return Checked(said, proposed.text, items)


def _proven(draft: Checked, found: Proven) -> Checked:
    """The sentence with its verdict: whole and proven it is a line, a connective one without claims, too."""
    said, draft = draft.proposed, replace(draft, answers=found.answers, unanswered=found.unanswered)
    leads_on = found.nothing_to_check and not any(character.isdigit() for character in said.text)
    leads_on = leads_on and not said.is_code
    if not draft.items or (leads_on and not said.is_cell):
        if leads_on and found.judgement is not None:
            line = Line(said.text, (), judgement=found.judgement, lead=said.lead, code=said.code)
            return replace(draft, line=line, verdict=VerdictStatus.SUPPORTED)
        return replace(draft, why="it names no statement", verdict=found.verdict)
    if found.verdict is VerdictStatus.SUPPORTED:
        line = Line(
            said.text, draft.items, proof=found.proof, judgement=found.judgement, lead=said.lead, code=said.code
        )
        return replace(draft, line=line, verdict=found.verdict)
    why = found.reason or "its passages do not say it"
    # What is carried in part is never printed as it stands.
    verdict = VerdictStatus.UNSUPPORTED if found.verdict is VerdictStatus.PARTIAL else found.verdict
    return replace(draft, why=why, beyond=found.beyond, verdict=verdict)


def _bare(text: str) -> str:
    return " ".join(text.split()).rstrip(".!?")

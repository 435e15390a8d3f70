"""How a statement earns its place: quoted, entailed or derived, decided alike for research, audit and check.

`prove` takes statements with their evidence in context and a judge of meaning (or none) and gives each a verdict, the
proof behind it and the judgement for the record. It never raises for a judge's failure: what was not judged is
`unchecked`, with the reason.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import anyio

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.evidence import (
    INSIDE,
    Check,
    CheckOutcome,
    ContextRole,
    EvidenceLine,
    EvidencePassage,
    JudgeCase,
    Judgement,
    JudgementLabel,
    Proof,
    RecordedJudgement,
    VerdictStatus,
    evidence_sha256,
)
from pincite.domain.frozen import dataclass
from pincite.domain.ids import judgement_id, statement_sha256
from pincite.ports import Judge
from pincite.text.context import numbered, pinned
from pincite.text.tokens import terms, words
from pincite.verification.facts import FactFinding, FactOutcome, check_facts
from pincite.verification.quotes import is_quoted
from pincite.verification.snippets import check_code, examples_in, on_one_line, stands_in
from pincite.verification.verdicts import ASKED_AGAIN, VERDICTS, Facts, Stance, facts_of, stance_of

# Modal verbs that a passage has and a statement drops: "may leak" told as "leaks". A hint for the judge, no verdict.
# Closed classes of grammar (English, German, French, Spanish): what may be, and what is only advised. Lower case only:
# "May" is a month, and no modal verb opens a statement.
_POSSIBLE: Final = (
    "may might can could kann können konnte konnten könnte könnten darf dürfen dürfte dürften mag mögen "
    "peut peuvent pourrait pourraient puede pueden podría podrían"
)
_ADVISED: Final = "should ought sollte sollten soll sollen devrait devraient debería deberían"
_CLASSES: Final = (frozenset(_POSSIBLE.split()), frozenset(_ADVISED.split()))


def dropped_hedges(statement: str, lines: Sequence[EvidenceLine]) -> tuple[str, ...]:
    """The modal verbs of the line that shares most with the statement, of classes of which the statement has none.

    Only passages and premises count, and of these one line: another sentence's "may" hedges something else.
    """
    wanted = set(terms(statement))
    stating = [line for line in lines if line.role in (None, ContextRole.PREMISE)]
    scores = [len(wanted.intersection(terms(line.text))) for line in stating]
    if not scores or not max(scores):
        return ()
    nearest = list(words(stating[scores.index(max(scores))].text))
    said = set(words(statement))
    lost = [hedges for hedges in _CLASSES if not hedges & said]
    return tuple(dict.fromkeys(word for word in nearest if any(word in hedges for hedges in lost)))


# Longer than any sentence: what is longer is a page, and no judge's window holds it with its evidence.
MAX_STATEMENT_CHARS: Final = 2_000
# About 6,000 tokens: 20 passages in context. More is not evidence for one sentence but a page that nobody searched.
MAX_EVIDENCE_CHARS: Final = 24_000
# For one batch: the judges of this program end earlier by deadlines of their own; one of somebody else's may hang.
JUDGE_DEADLINE_S: Final = 600.0
_FAILURES: Final = (ProviderError, RemoteError, BudgetExhausted)
# What a statement that is code claims. A prompt shows it on one line.
_OF_CODE: Final = (
    "it is code, its rows parted by ⏎, with their indentation as dots: it states that it does what is said before it, "
    "that each call, option and setting is used as its lines use or describe it, and what its comments say"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence to be proven, and by what.

    Attributes:
        text: the sentence as it is printed, without its `[n]`.
        evidence: the passages it rests on (`pincite.text.context.passage_in_context`).
        pages: the whole texts of their pages, as far as at hand: where a figure may stand elsewhere.
        premises: the proven statements that it follows from, when it goes beyond each of them (two or more).
        question: when given, the judge also says whether the statement stands alone and answers this.
        after: the sentence that stands before it in its text, where it leans on that ("Its keys ...").
        by_meaning: only a judge may find it stated; its words stand there, and what stands around them changed.
        repin: narrow the evidence to the passages that the judge names (of a claim; a printed sentence keeps all).
        is_code: it is code, put together from what its passages say (`pincite.verification.snippets`).
        examples: names in the code that are said to be examples.
    """

    text: str
    evidence: tuple[EvidencePassage, ...] = ()
    pages: tuple[str, ...] = ()
    premises: tuple[str, ...] = ()
    question: str = ""
    repin: bool = False
    after: str = ""
    by_meaning: bool = False
    is_code: bool = False
    examples: tuple[str, ...] = ()

    def facts(self, lines: Sequence[str]) -> tuple[FactFinding, ...]:
        """What became of its exact facts in these lines."""
        if self.is_code:
            return check_code(self.text, lines, self.examples)
        return check_facts(self.text, lines, self.pages)


@dataclass(frozen=True, slots=True)
class Proven:
    """What became of a statement.

    Attributes:
        verdict: supported, partial (then `beyond` holds the words not carried), contradicted, unsupported, unchecked.
        proof: how it is proven; None unless supported or partial.
        judgement: for the record of the report; None when no judge was asked or none answered.
        reason: why it is not supported, for a person; empty when it is.
        facts: its exact facts and what became of each.
        evidence: the passages that the verdict (and the judgement's hash) holds for.
        nothing_to_check: the judge says that it states nothing, and it has no exact fact either.
        unanswered: a judge was asked about it and did not answer.
    """

    statement: Statement
    verdict: VerdictStatus
    proof: Proof | None = None
    judgement: RecordedJudgement | None = None
    beyond: str = ""
    reason: str = ""
    facts: tuple[FactFinding, ...] = ()
    evidence: tuple[EvidencePassage, ...] = ()
    stands_alone: bool | None = None
    answers: bool | None = None
    nothing_to_check: bool = False
    unanswered: bool = False

    @property
    def judge(self) -> str:
        """Who judged it; empty where nobody did."""
        return self.judgement.judge if self.judgement is not None else ""

    @property
    def checks(self) -> tuple[Check, ...]:
        """Its exact facts, with what became of each in words."""
        return tuple(
            Check(
                fact.kind,
                CheckOutcome.FAILED if fact.problem else CheckOutcome.PASSED,
                fact.problem or f"{fact.text}: {fact.seen or 'in the passage'}",
            )
            for fact in self.facts
        )

    @property
    def telling(self) -> list[EvidencePassage]:
        """The passages with a line that the judge named, or with another value for one of its facts."""
        said = list(self.judgement.lines) if self.judgement is not None else []
        said += [fact.seen for fact in self.facts if fact.seen and fact.outcome is FactOutcome.OTHER]
        return [passage for passage in self.evidence if any(words in passage.text for words in said)]


async def prove(statements: Sequence[Statement], judge: Judge | None, *, at: datetime) -> tuple[Proven, ...]:
    """A verdict on each statement, in order. All that need a judge are put before it in one batch.

    Args:
        statements: what to prove.
        judge: None for quoted sentences and exact facts only.
        at: the time that is noted with the judgements.

    Errors: those of the record (RunFenced, storage), and of a judge's settings; never its failure to answer.
    """
    cases = [_Case(str(number), statement) for number, statement in enumerate(statements, start=1)]
    asking = [case for case in cases if case.needs_judge]
    said, failure = await _asked(judge, [case.question() for case in asking])
    again = [case for case in asking if case.disagrees(said.get(case.case_id), judge)]
    if again and judge is not None:
        second, _ = await _asked(judge, [case.question(pointed_out=True) for case in again])
        said |= second
    return tuple(case.decided(said.get(case.case_id), judge, at, failure) for case in cases)


async def _asked(judge: Judge | None, cases: Sequence[JudgeCase]) -> tuple[dict[str, Judgement], str]:
    """What the judge said of each case, as far as that can be used, and why it said nothing."""
    if judge is None or not cases:
        return {}, ""
    try:
        with anyio.fail_after(JUDGE_DEADLINE_S):
            answers = await judge.judge(cases)
    except _FAILURES as error:
        return {}, f"the judge could not be asked: {error.message}"
    except TimeoutError:
        return {}, f"the judge did not answer within {JUDGE_DEADLINE_S:g} s"
    return usable(answers, cases), ""


def usable(answers: Sequence[Judgement], cases: Sequence[JudgeCase]) -> dict[str, Judgement]:
    """The judgements by case, without those of cases that were not asked, second ones, and impossible likelihoods.

    Lines that were not shown are taken out, and words as `beyond` that are not a part of the statement's length.
    """
    asked = {case.case_id: case for case in cases}
    found: dict[str, Judgement] = {}
    for answer in answers:
        case = asked.get(answer.case_id)
        possible = answer.likelihood is None or (math.isfinite(answer.likelihood) and 0 <= answer.likelihood <= 1)
        # A judge is somebody else's program: what it was not asked, or says twice, does not count.
        if case is None or not possible or answer.case_id in found:
            continue
        shown = {line.line_id for line in case.lines}
        lines = tuple(dict.fromkeys(line for line in answer.line_ids if line in shown))
        beyond = " ".join(answer.beyond.split())
        # Words of the statement, somewhat reworded at the most: a lecture is no part of it.
        beyond = beyond if len(beyond) <= 2 * len(case.statement) else ""
        found[answer.case_id] = replace(answer, line_ids=lines, beyond=beyond)
    return found


def _standing(lines: Sequence[EvidenceLine]) -> list[str]:
    """The texts of the lines without what the page crosses out: an old price is no fact."""
    struck = [line for line in lines if line.role is ContextRole.STRUCK]
    texts: list[str] = []
    for line in lines:
        if line.role in INSIDE:
            continue
        text = line.text
        for gone in struck:
            if gone.page == line.page and None not in (gone.start, gone.end, line.start):
                low, high = max((gone.start or 0) - (line.start or 0), 0), max((gone.end or 0) - (line.start or 0), 0)
                text = text[:low] + " " * (min(high, len(text)) - min(low, len(text))) + text[high:]
        texts.append(text)
    return texts


class _Case:
    """One statement on its way: what code found, what is asked, what is decided."""

    def __init__(self, case_id: str, statement: Statement) -> None:
        self.case_id = case_id
        self.statement = statement
        self.lines: tuple[EvidenceLine, ...] = numbered(statement.evidence, statement.premises)
        quotes = stands_in if statement.is_code else is_quoted
        # Whoever put code together from several passages may still have it from one of them.
        own_words = (statement.is_code or not statement.premises) and not statement.by_meaning
        self.quoted = own_words and quotes(statement.text, statement.evidence)
        self.facts: tuple[FactFinding, ...] = ()
        if not self.quoted and self.lines and not self._too_long:
            self.facts = statement.facts(_standing(self.lines))

    @property
    def _too_long(self) -> str:
        if len(self.statement.text) > MAX_STATEMENT_CHARS:
            return f"the statement has {len(self.statement.text)} characters; at most {MAX_STATEMENT_CHARS} are judged"
        size = sum(len(line.text) for line in self.lines)
        if size > MAX_EVIDENCE_CHARS:
            return f"the evidence has {size} characters; at most {MAX_EVIDENCE_CHARS} are judged"
        return ""

    @property
    def needs_judge(self) -> bool:
        """Whether a judge may change the verdict (of a quoted one: whether it stands alone and answers)."""
        if self._too_long or not self.statement.text.strip():
            return False
        if self.quoted:
            return bool(self.statement.question)
        return self._found is not Facts.NOWHERE

    @property
    def _found(self) -> Facts:
        """Its facts as one. What code has and its passages have not is no question of meaning: no judge is asked."""
        found = facts_of(self.facts)
        return Facts.NOWHERE if self.statement.is_code and found is Facts.ABSENT else found

    def question(self, *, pointed_out: bool = False) -> JudgeCase:
        """What the judge is asked."""
        hints = [f"it stands after: {self.statement.after}"] if self.statement.after else []
        hints += [_OF_CODE] if self.statement.is_code else []
        examples = examples_in(self.statement.text, self.statement.examples)
        hints += [f"names of an example, to be replaced by who types it: {', '.join(examples)}"] if examples else []
        hints += [f.problem for f in self.facts if f.problem] if pointed_out else []
        sums = dict.fromkeys(f.seen for f in self.facts if f.outcome is FactOutcome.DERIVED and "=" in f.seen)
        hints += [f"executed and right, what no line has is the number of an example: {made}" for made in sums]
        is_told = not self.quoted and not self.statement.is_code
        dropped = dropped_hedges(self.statement.text, self.lines) if is_told else ()
        hints += [f"its line has {', '.join(dropped)}, it does not"] if dropped else []
        text = on_one_line(self.statement.text) if self.statement.is_code else self.statement.text
        return JudgeCase(self.case_id, text, self.lines, tuple(hints), self.statement.question)

    def disagrees(self, answer: Judgement | None, judge: Judge | None) -> bool:
        """Whether the judge finds stated what has another figure: then it is asked again."""
        thresholds = judge.thresholds if judge is not None else None
        return not self.quoted and (self._found, stance_of(answer, thresholds)) in ASKED_AGAIN

    def decided(self, answer: Judgement | None, judge: Judge | None, at: datetime, failure: str) -> Proven:
        """The verdict by the table."""
        evidence = self.statement.evidence
        answered = Proven(self.statement, VerdictStatus.UNCHECKED, facts=self.facts, evidence=evidence)
        if answer is not None:
            answered = replace(answered, stands_alone=answer.stands_alone, answers=answer.answers)
        if self.quoted:
            return replace(answered, verdict=VerdictStatus.SUPPORTED, proof=Proof.QUOTED)
        # Before the judge's word: what was not shown whole can't be judged.
        if self._too_long:
            return replace(answered, reason=self._too_long)
        facts = self._found
        said = stance_of(answer, judge.thresholds if judge is not None else None)
        if answer is not None and self.statement.repin and said in (Stance.STATES, Stance.PARTLY):
            evidence = self._narrowed(answer)
        beyond = self._beyond(answer, said)
        verdict = VERDICTS[facts, said] if self.lines else VerdictStatus.UNCHECKED
        if verdict is VerdictStatus.PARTIAL and not beyond:
            # Without the words that go beyond nobody can say what is carried.
            verdict = VerdictStatus.UNCHECKED
        printable = verdict in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL)
        return replace(
            answered,
            verdict=verdict,
            proof=(Proof.DERIVED if len(self.statement.premises) > 1 else Proof.ENTAILED) if printable else None,
            judgement=self._recorded(answer, judge, evidence, beyond, at),
            beyond=beyond if verdict is VerdictStatus.PARTIAL else "",
            reason="" if verdict is VerdictStatus.SUPPORTED else self._reason(facts, said, answer, failure, judge),
            evidence=evidence,
            nothing_to_check=answer is not None and answer.label is JudgementLabel.NOTHING_TO_CHECK and not self.facts,
            unanswered=answer is None and judge is not None and self.needs_judge,
        )

    def _narrowed(self, answer: Judgement) -> tuple[EvidencePassage, ...]:
        """The passages that the judge names, as long as the exact facts stand in these alone, too."""
        evidence = self.statement.evidence
        # Narrower only where it loses nothing: the record must be provable from these passages alone.
        narrow = pinned(evidence, [line for line in self.lines if line.line_id in answer.line_ids])
        if not self.facts or narrow == evidence:
            return narrow
        lines = [line.text for line in numbered(narrow, self.statement.premises)]
        return narrow if facts_of(self.statement.facts(lines)) is facts_of(self.facts) else evidence

    def _beyond(self, answer: Judgement | None, said: Stance) -> str:
        words = [answer.beyond] if answer is not None and said is Stance.PARTLY and answer.beyond else []
        # Code knows better than the judge which figures are not carried.
        words += [f.text for f in self.facts if f.outcome in (FactOutcome.OTHER, FactOutcome.ABSENT)]
        return "; ".join(dict.fromkeys(words))

    def _recorded(
        self,
        answer: Judgement | None,
        judge: Judge | None,
        evidence: tuple[EvidencePassage, ...],
        beyond: str,
        at: datetime,
    ) -> RecordedJudgement | None:
        if answer is None or judge is None:
            return None
        statement = statement_sha256(self.statement.text)
        shown = evidence_sha256(evidence, self.statement.premises)
        name = answer.judge or judge.name
        texts: Mapping[str, str] = {line.line_id: line.text for line in self.lines}
        return RecordedJudgement(
            judgement_id(name, statement, shown, answer.label, beyond),
            name,
            answer.label,
            statement,
            shown,
            at,
            answer.likelihood,
            beyond,
            tuple(texts[line_id] for line_id in answer.line_ids),
        )

    def _reason(self, facts: Facts, said: Stance, answer: Judgement | None, failure: str, judge: Judge | None) -> str:
        """Why it is not supported, as a person would say it."""
        problems = "; ".join(f.problem for f in self.facts if f.problem)
        if problems and (facts in (Facts.NOWHERE, Facts.NOWHERE_OTHER) or said is Stance.STATES):
            return problems
        if not self.lines:
            return "no passage was given" if answer is None else "it says nothing that could be checked"
        match said:
            case Stance.PARTLY if answer is not None and answer.beyond:
                return f"the passages do not carry: {answer.beyond}"
            case Stance.PARTLY:
                return "partly carried; the judge did not say which words are not"
            case Stance.CONTRADICTS:
                return problems or "the passages say otherwise"
            case Stance.ABSENT:
                return problems or "the passages do not say this"
        if failure:
            return failure
        if answer is not None and answer.label is JudgementLabel.NOTHING_TO_CHECK:
            return "it says nothing that could be checked"
        if answer is not None:
            return f"{answer.judge or (judge.name if judge else '')} is not sure enough ({answer.likelihood:.2f})"
        return "nobody judged it" if judge is None else "the judge did not answer"

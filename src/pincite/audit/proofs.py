"""How the sentences and claims of a stored report are proven, made anew from its stored pages without a judge.

Quoted: sliced again. Entailed and derived: the recorded judgement must be of exactly this sentence and these passages
(both are hashed into it), and the exact facts are compared again. Whether the judge was right is not looked at here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pincite.audit.stored import Problem, failed, unchecked
from pincite.domain.evidence import (
    ContextPiece,
    ContextRole,
    EvidencePassage,
    JudgementLabel,
    Proof,
    RecordedJudgement,
    Relation,
    VerdictStatus,
    arranged,
    evidence_sha256,
    named,
)
from pincite.domain.excerpts import Excerpts
from pincite.domain.frozen import dataclass
from pincite.domain.ids import judgement_id, statement_sha256
from pincite.domain.page import BLOCK_SEPARATOR, Block, BlockKind, Document
from pincite.domain.report import ReportClaim, ReportEvidence, evidence_of
from pincite.domain.statements import PARTIAL_MARK
from pincite.text.context import numbered, passage_in_context
from pincite.verification.facts import check_facts
from pincite.verification.quotes import is_quoted
from pincite.verification.snippets import check_code, examples_in, stands_in
from pincite.verification.verdicts import VERDICTS, Stance, facts_of, states_nothing

# What is stored of the page that an item of evidence was cut from.
Stored = Callable[[ReportEvidence], "Document | Excerpts | None"]

NOT_ON_RECORD = "is in other words than its passages, and no judgement is on record"
_LEADS = frozenset({ContextRole.HEADING, ContextRole.TERM, ContextRole.LIST_INTRO})


@dataclass(frozen=True, slots=True)
class ToProve:
    """A statement of the report: `where` it stands, how it is said to be proven, and the claims it rests on.

    `rests_on` are the claims that it names as premises; `verdict` is what is printed with it; `is_code`, whether it
    is printed as code, and `examples` names in it that are said to be examples.
    """

    where: str
    text: str
    proof: Proof | None
    judgement: str
    rests_on: tuple[ReportClaim, ...]
    verdict: VerdictStatus
    is_code: bool = False
    examples: tuple[str, ...] = ()


class Proofs:
    """Looks at one statement after the other; `used` are the judgements that hold for some of them.

    Args:
        stored: finds the page of an item of evidence.
        judgements: those of the report.
        recorded: whether reports of this schema say how their sentences are proven.
    """

    def __init__(self, stored: Stored, judgements: Sequence[RecordedJudgement], *, recorded: bool) -> None:
        self._stored = stored
        self._recorded = recorded
        self._judgements = {entry.id: entry for entry in judgements}
        self.used: list[RecordedJudgement] = []

    def statement(self, item: ToProve) -> Iterator[Problem]:
        """What is wrong with the proof of a statement that cites."""
        passages = passages_of(self._stored, item.rests_on)
        at_work = set(item.examples) - set(examples_in(item.text, item.examples))
        if at_work:
            yield failed(f"{item.where}.text", f"has as an example what does something: {', '.join(sorted(at_work))}")
        if passages is None:
            return  # what is not stored is told already
        quoted = (stands_in if item.is_code else is_quoted)(item.text, passages)
        if item.proof is Proof.QUOTED or (item.proof is None and quoted):
            if item.judgement:
                yield failed(f"{item.where}.judgement", "a sentence in its source's own words has no judge")
            if not quoted:
                cut = any(isinstance(self._stored(e), Excerpts) for e in _supporting(item.rests_on))
                # The words may stand outside of the windows that are kept: then nobody can tell.
                say = unchecked if cut else failed
                yield say(f"{item.where}.text", "is not in its sources' own words, as it is said to be")
        elif item.proof is None:
            # A report that doesn't say how a sentence was proven: its exact facts can be checked, and nothing more.
            problem = self._facts(item, [line.text for line in numbered(passages)], ())
            yield failed(f"{item.where}.text", problem) if problem else unchecked(f"{item.where}.text", NOT_ON_RECORD)
        else:
            yield from self._check_judgement(item)

    def second_sources(self, where: str, claim: ReportClaim) -> Iterator[Problem]:
        """What is wrong with the passages that are said to corroborate a claim: each has a judgement of its own."""
        context = next((item.context for item in claim.evidence if item.relation is Relation.SUPPORTS), ())
        said = statement_sha256(named(claim.text, context))
        for number, item in enumerate(claim.evidence):
            if item.relation is not Relation.CORROBORATES:
                continue
            shown = evidence_sha256([item.passage])
            entry = next(
                (e for e in self._judgements.values() if (e.statement_sha256, e.evidence_sha256) == (said, shown)), None
            )
            if entry is None or entry.label is not JudgementLabel.STATES:
                yield failed(f"{where}.evidence[{number}]", "is called a second source, and nobody judged that it is")
                continue
            page = self._stored(item)
            pages = (page.text,) if isinstance(page, Document) else ()
            lines = [line.text for line in numbered([item.passage])]
            for finding in check_facts(named(claim.text, context), lines, pages):
                if finding.problem:
                    yield failed(f"{where}.evidence[{number}]", finding.problem)

    def connective(self, where: str, text: str, judgement: str) -> Iterator[Problem]:
        """What is wrong with a sentence that cites nothing: it may be a phrase that joins, or judged to say nothing."""
        if not judgement:
            if not states_nothing(text):
                say = failed if self._recorded else unchecked
                yield say(f"{where}.text", "cites nothing, and nobody judged that it states nothing")
            return
        entry = self._judgements.get(judgement)
        if entry is None:
            yield failed(f"{where}.judgement", "is none of the report's judgements")
        elif entry.statement_sha256 != statement_sha256(text):
            yield failed(f"{where}.text", "is not the sentence that was judged")
        elif entry.label is not JudgementLabel.NOTHING_TO_CHECK:
            yield failed(f"{where}.judgement", "does not say that there is nothing to check")
        elif facts := check_facts(text, ()):
            yield failed(f"{where}.text", f"cites nothing and states {facts[0].text}")
        else:
            self.used.append(entry)

    def _check_judgement(self, item: ToProve) -> Iterator[Problem]:
        entry = self._judgements.get(item.judgement)
        if entry is None:
            yield failed(f"{item.where}.judgement", "is none of the report's judgements")
            return
        if entry.statement_sha256 != statement_sha256(item.text):
            yield failed(f"{item.where}.text", "is not the sentence that was judged")
            return
        passages = evidence_of(item.rests_on)
        # Hashed with the claims it follows from, or without: most sentences were judged by passages alone.
        hashed = (), tuple(claim.text for claim in item.rests_on)
        premises = next((p for p in hashed if evidence_sha256(passages, p) == entry.evidence_sha256), None)
        if premises is None:
            yield failed(f"{item.where}.judgement", "its passages are not those that were judged")
            return
        self.used.append(entry)
        lines = [line.text for line in numbered(passages, premises)]
        if set(entry.lines) - set(lines):
            yield failed(f"{item.where}.judgement", "rests on a line that is in none of its passages")
        problem = self._facts(item, lines, self._pages(item.rests_on), entry.label)
        if problem:
            yield failed(f"{item.where}.text", problem)

    def _facts(
        self, item: ToProve, lines: Sequence[str], pages: Sequence[str], label: JudgementLabel | None = None
    ) -> str:
        """Why the exact facts, and what was judged, don't make the verdict that is printed; empty when they do."""
        if item.is_code:
            findings = check_code(item.text, lines, item.examples)
        else:
            findings = check_facts(item.text, lines, pages)
        problems = "; ".join(f"{finding.problem}" for finding in findings if finding.problem)
        if label is None:
            return problems
        if label is JudgementLabel.NOTHING_TO_CHECK:
            return "was judged to state nothing, and is printed as a finding"
        verdict = VERDICTS[facts_of(findings), Stance(label.value)]
        if verdict is VerdictStatus.SUPPORTED or verdict is item.verdict is VerdictStatus.PARTIAL:
            return ""
        said = f"the judge said “{label.value}”"
        return problems or (
            f"is printed as supported, and {said}" if verdict is VerdictStatus.PARTIAL else f"is printed, and {said}"
        )

    def _pages(self, claims: Sequence[ReportClaim]) -> tuple[str, ...]:
        """The whole texts of the pages; none unless all are stored whole."""
        stored = [self._stored(item) for item in _supporting(claims)]
        whole = {page.document_id: page.text for page in stored if isinstance(page, Document)}
        # With a part of the pages a figure that stands on the missing one would look invented.
        return tuple(whole.values()) if all(isinstance(page, Document) for page in stored) else ()


def passages_of(stored: Stored, claims: Sequence[ReportClaim]) -> tuple[EvidencePassage, ...] | None:
    """The passages of the claims as the stored pages have them; None when a page is not stored."""
    found: list[EvidencePassage] = []
    for item in _supporting(claims):
        page = stored(item)
        if page is None:
            return None
        if not isinstance(page, Document):
            passage = _window(page, item)
        elif 0 <= item.start < item.end <= len(page.text):
            passage = passage_in_context(page, item.start, item.end)
        else:
            continue
        if passage is not None:
            found.append(passage)
    return arranged(found)


def record_problems(judgements: Sequence[RecordedJudgement], made_at: datetime | None) -> Iterator[Problem]:
    """What is wrong with the record of judgements itself."""
    seen: set[str] = set()
    for number, entry in enumerate(judgements):
        where = f"judgements[{number}]"
        made = judgement_id(entry.judge, entry.statement_sha256, entry.evidence_sha256, entry.label, entry.beyond)
        if entry.id != made:
            yield failed(where, "was changed: judge, statement, evidence and label make another id")
        if entry.id in seen:
            yield failed(where, "is there twice")
        seen.add(entry.id)
        if not entry.judge:
            yield failed(f"{where}.judge", "names nobody")
        # It is not part of the id, so that it can be changed unseen; at least it must be a share.
        if entry.likelihood is not None and not 0 <= entry.likelihood <= 1:
            yield failed(f"{where}.likelihood", f"is {entry.likelihood}, not between 0 and 1")
        if made_at is not None and entry.judged_at > made_at:
            yield failed(f"{where}.judged_at", "is later than the report itself")


def claim_problems(where: str, claim: ReportClaim, judgements: Mapping[str, RecordedJudgement]) -> Iterator[Problem]:
    """Whether what a claim says of its judgement is what stands on the record."""
    entry = judgements.get(claim.judgement)
    if claim.judgement and entry is None:
        yield failed(f"{where}.judgement", "is none of the report's judgements")
    judge, likelihood = ("", None) if entry is None else (entry.judge, entry.likelihood)
    if claim.judge != judge:
        yield failed(f"{where}.judge", f"is {claim.judge!r}, the record says {judge!r}")
    if claim.likelihood != likelihood:
        yield failed(f"{where}.likelihood", f"is {claim.likelihood}, the record says {likelihood}")
    if entry is not None and claim.verdict is VerdictStatus.PARTIAL and claim.beyond != entry.beyond:
        yield failed(f"{where}.beyond", f"is {claim.beyond!r}, the record says {entry.beyond!r}")
    if claim.verdict is VerdictStatus.PARTIAL and claim.proof is not None and not claim.beyond:
        yield failed(f"{where}.beyond", "is empty: nobody can say which words are not carried")
    if claim.verdict is VerdictStatus.SUPPORTED and claim.beyond:
        yield failed(f"{where}.beyond", "is not empty, and the claim is printed as supported")


def context_problems(where: str, item: ReportEvidence, document: Document) -> Iterator[Problem]:
    """Whether what is said to stand beside a quote stands on the page, and there."""
    if not item.context or not 0 <= item.start < item.end <= len(document.text):
        return
    today = passage_in_context(document, item.start, item.end).context
    for number, piece in enumerate(item.context):
        at = f"{where}.context[{number}]"
        if piece.start is None or piece.end is None:
            known = [document.title, *(block.note for block in document.blocks if block.note)]
            known += [other.text for other in today if other.role is ContextRole.SIGNED]
            if not any(text.startswith(piece.text) for text in known):
                yield failed(at, "is neither the title of the page, the kind of a box on it, nor who says it there")
        elif document.text[piece.start : piece.end] != piece.text:
            yield failed(at, "is not what stands there on the page")
        # Unchecked and not failed: another version of the reader may see other headings.
        elif piece.role in _LEADS and not any(
            other.role is piece.role and (other.start == piece.start or other.text.startswith(piece.text))
            for other in today
        ):
            yield unchecked(at, f"is no {piece.role.value.replace('_', ' ')} of the quote as this version reads pages")


def verdict_printed(text: str) -> VerdictStatus:
    """The verdict that a printed sentence carries."""
    return VerdictStatus.PARTIAL if text.endswith(PARTIAL_MARK) else VerdictStatus.SUPPORTED


def _supporting(claims: Sequence[ReportClaim]) -> list[ReportEvidence]:
    return [item for claim in claims for item in claim.evidence if item.relation is Relation.SUPPORTS]


def _window(excerpts: Excerpts, item: ReportEvidence) -> EvidencePassage | None:
    """The passage as far as can be told from the windows that are kept: its context where they hold it."""
    for at, text in excerpts.windows:
        if at <= item.start and item.end <= at + len(text):
            blocks = tuple(
                Block(BlockKind.TABLE if "\n" in part else BlockKind.PARAGRAPH, part)
                for part in text.split(BLOCK_SEPARATOR)
            )
            page = Document(excerpts.extractor, excerpts.version, blocks, title=excerpts.title)
            passage = passage_in_context(page, item.start - at, item.end - at)
            context = tuple(piece for piece in item.context if _stands_in_window(piece, excerpts))
            return replace(passage, document_id=item.document_id, start=item.start, end=item.end, context=context)
    return None


def _stands_in_window(piece: ContextPiece, excerpts: Excerpts) -> bool:
    if piece.start is None or piece.end is None:
        return bool(piece.text) and excerpts.title.startswith(piece.text)
    return any(
        at <= piece.start and text[piece.start - at : piece.end - at] == piece.text for at, text in excerpts.windows
    )

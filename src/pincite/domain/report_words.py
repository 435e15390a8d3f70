"""What a report says in every format: its headings, how well it is supported, what is missing, who disagrees.

And the text of others as it may be printed: on one line, without what moves a cursor or turns the direction of writing.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from pincite.domain.budget import Coverage
from pincite.domain.codec import in_utc
from pincite.domain.evidence import JudgementLabel, Proof
from pincite.domain.frozen import dataclass
from pincite.domain.layout import Sentence
from pincite.domain.reasons import plural
from pincite.domain.report import (
    Mode,
    PartStatus,
    Report,
    ReportConflict,
    ReportConflictSide,
    ReportGap,
    ReportPart,
    ReportStatus,
)
from pincite.domain.search import Constraints
from pincite.domain.statements import LOW_CONFIDENCE_LABEL, ONE_SOURCE_MARK, ONE_SOURCE_NOTE

ANSWER_HEADING = "Answer"
CONFLICTS_HEADING = "Where the sources disagree"
OPEN_HEADING = "What is missing"
SEARCHED_HEADING = "What was searched"
LEADS_HEADING = "Found but not read"
REFERENCES_HEADING = "References"
# A question that was pasted in with its material would push the answer off the first screen.
QUESTION_CHARS = 600
# Queries of a gap that are printed; the JSON has all.
QUERIES_SHOWN = 4
LEAD_ABOUT = "Seems to be about"
# What may be noted with a reference besides what its capture says.
UNDATED = "date unknown"
OLDER_COPY = "older copy, the site did not answer"
REFERENCE_NOTES = frozenset({UNDATED, OLDER_COPY})
SUPPORT_WORD = "Support"
BALANCE_WORD = "Proof"
SEARCHED_FOR = "searched for:"
PART_WORDS = {
    PartStatus.ANSWERED: "answered",
    PartStatus.PARTLY: "answered in part",
    PartStatus.NOT_HERE: "no sure answer found",
}
# Of a part whose passages are near, but not surely all of it.
NOT_SURELY_ALL = "these passages may not be the whole answer"
# Of a part that only passages were found for which are printed for another part.
NOTHING_BESIDE = "no passages were found beside those above for"
# A note of reports whose passages nothing but words found.
WORDS_ONLY = "Passages were found and ranked by words alone, so what is worded otherwise may be missed."
EXCLUDE_EACH_OTHER = "These statements exclude each other:"
TOUCHED_ON = "**No sure answer.** No passage was found that surely answers this; the nearest are below."
NO_ANSWER = "**Not enough evidence.** No passage was found that answers this, so no answer is given."
PARTIAL_ANSWER = "*This report is partial: not every part of the question could be answered.*"
PARTLY_ANSWERED = "*What is missing stands at the end.*"
MAYBE_PARTIAL = (
    "*Passages were found for the whole question. Whether they are the complete answer could not be determined.*"
)
# From so many judgements on it is told when there was not one doubt among them: a judge may be asleep.
_TELLING_JUDGEMENTS = 12


def no_answer_text(report: Report) -> str:
    """What a report without an answer says first: whether it still has passages that touch on the question."""
    return TOUCHED_ON if report.sections else NO_ANSWER


def partial_text(report: Report) -> str:
    """What a partial report says first: whether a part is known to lack something."""
    answered = all(part.status is not PartStatus.NOT_HERE for part in report.parts)
    unsure = answered and bool(report.gaps) and all(gap.reason == NOT_SURELY_ALL for gap in report.gaps)
    missing = open_points(report)
    if unsure and not missing:
        return MAYBE_PARTIAL
    return PARTLY_ANSWERED if report.parts and answered and missing else PARTIAL_ANSWER


def constraints_text(constraints: Constraints) -> str:
    """The limits of a run as one plain phrase, empty when there are none."""
    parts = (
        constraints.include_domains and "only " + ", ".join(constraints.include_domains),
        constraints.prefer_domains and "first " + ", ".join(constraints.prefer_domains),
        constraints.exclude_domains and "not " + ", ".join(constraints.exclude_domains),
        constraints.per_domain_cap is not None and f"at most {constraints.per_domain_cap} results per site",
        constraints.since and f"since {constraints.since}",
        constraints.until and f"until {constraints.until}",
        constraints.language and f"language {constraints.language}",
        constraints.file_type and f"files of type {constraints.file_type}",
        constraints.in_title and f"“{constraints.in_title}” in the title",
    )
    return "; ".join(part for part in parts if part)


def balance_text(report: Report) -> str:
    """How the sentences of a report were proven, as one line; empty for a report of schema 1 or without any.

    For instance: "14 sentences in their sources' words; 9 paraphrases, judged by openai:gpt-5-mini (not the model that
    wrote them); 1 derived."
    """
    proofs = Counter(s.proof for s in report.sentences() if s.proof is not None)
    quoted, entailed, derived = proofs[Proof.QUOTED], proofs[Proof.ENTAILED], proofs[Proof.DERIVED]
    by_whom = _judges(report)
    parts = (
        quoted and f"{quoted} {'sentence' if quoted == 1 else 'sentences'} in their sources' words",
        entailed and f"{entailed} {'paraphrase' if entailed == 1 else 'paraphrases'}{by_whom}",
        derived and f"{derived} derived{'' if entailed else by_whom}",
    )
    text = "; ".join(part for part in parts if part)
    names = {s.judgement for s in report.sentences()} | {claim.judgement for claim in report.claims}
    judged = [j for j in report.judgements if j.id in names]  # those of second sources are only on record where found
    everything = len(judged) >= _TELLING_JUDGEMENTS and all(j.label is JudgementLabel.STATES for j in judged)
    if text and everything and not report.rejected_claims:
        text += f"; nothing was left out, the judge let all {len(judged)} pass in the end"
    return f"{text}." if text else ""


def _judges(report: Report) -> str:
    """Who judged the sentences, and whether that was the one who wrote them."""
    used = {sentence.judgement for sentence in report.sentences() if sentence.judgement}
    judges = list(dict.fromkeys(j.judge for j in report.judgements if j.id in used))
    if not judges:
        return ""
    itself = ""
    if report.written_by:
        own = any(name in judges for name in report.written_by.split(", "))
        itself = " (the model that wrote them)" if own else " (not the model that wrote them)"
    return f", judged by {', '.join(judges)}{itself}"


def coverage_text(coverage: Coverage, notes: Sequence[str] = ()) -> str:
    """How well the report with these notes is supported, as one plain sentence; empty where it would say nothing.

    That no second source stands behind anything is worth a line only where somebody asked for one: all files of a
    folder are of one publisher.
    """
    if not coverage.claims or not (coverage.independent or coverage.wanted_share):
        return ""
    several = f"{coverage.independent} of {coverage.claims} statements rest on {coverage.wanted_sources} or more"
    text = f"{several} independent sources"
    if coverage.wanted_share is not None:
        text += f" ({coverage.wanted_share:.0%} were wanted"
        marked = coverage.below and ONE_SOURCE_NOTE not in notes
        text += f"; the others are marked “{ONE_SOURCE_MARK.strip('()')}”)" if marked else ")"
    return f"{text}."


def labelled(sentence: Sentence) -> str:
    """The words of a sentence with the version they hold for in front: "Version 2, less certain: ..."."""
    if not sentence.label:
        return sentence.text
    less_certain = LOW_CONFIDENCE_LABEL[0].lower() + LOW_CONFIDENCE_LABEL[1:]
    plain = sentence.text.removeprefix(LOW_CONFIDENCE_LABEL)
    return f"{sentence.label}: {plain}" if plain == sentence.text else f"{sentence.label}, {less_certain}{plain}"


def sources_text(count: int) -> str:
    """How many independent sources stand behind something: "1 independent source"."""
    return f"{count} independent {'source' if count == 1 else 'sources'}"


def counts_text(report: Report) -> str:
    """How much the report holds: "12 checked statements from 3 sources"."""
    return f"{plural(len(report.claims), 'checked statement')} from {plural(len(report.references), 'source')}"


def question_text(report: Report) -> str:
    """The question as it is printed under a title that says something else; empty where the title says it."""
    is_told = not report.title or one_line(report.title) == one_line(report.question)
    return "" if is_told else shortened(report.question)


def backing(side: ReportConflictSide, report: Report) -> tuple[str, list[int]]:
    """What stands behind a side of a conflict: "(2 independent sources)", and the numbers of its references.

    A side may rest on a page that the report does not list: no mark leads nowhere.
    """
    sources = f"({sources_text(side.independent_sources)})" if side.independent_sources else ""
    return sources, sorted({reference.n for reference in report.references} & {e.reference_n for e in side.evidence})


def conflict_text(conflict: ReportConflict) -> str:
    """The line above the sides of a conflict: what stands against what, where it can be said in a few words."""
    return f"{conflict.wording}:" if conflict.wording else EXCLUDE_EACH_OTHER


def shortened(text: str) -> str:
    """A question as it is printed: whole unless it is a page long; the JSON has every word."""
    line = one_line(text)
    if len(line) <= QUESTION_CHARS:
        return line
    return f"{line[:QUESTION_CHARS].rsplit(' ', 1)[0]}… ({len(line.split())} words)"


# What lacks in so many words says too little without the question that it belongs to. Chosen, not measured.
_FEW_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A line of what is missing: a part of the question, what became of it, and what was searched for in vain."""

    text: str
    became: str
    queries: tuple[str, ...] = ()
    status: PartStatus | None = None

    @property
    def searched(self) -> str:
        """The first queries in words, and how many more there were; empty without any."""
        shown = [f"“{query}”" for query in self.queries[:QUERIES_SHOWN]]
        more = len(self.queries) - len(shown)
        others = f"; and in {more} other wording{'s' * (more > 1)}" if more else ""
        return f"{SEARCHED_FOR} {'; '.join(shown)}{others}" if shown else ""

    @property
    def line(self) -> str:
        """What is missing on one line, without the queries: of a part that is answered but for something, that alone.

        In a few words ("the hour") it stands behind its part, and so does that nothing is known of what it is.
        """
        lacking = self.became.removeprefix(f"{PART_WORDS[PartStatus.PARTLY]}: ")
        if self.status is PartStatus.PARTLY and lacking.startswith(PART_WORDS[PartStatus.NOT_HERE]):
            return f"{shortened(self.text)} – {PART_WORDS[PartStatus.PARTLY]}"
        says_enough = lacking != self.became and len(lacking.split()) > _FEW_WORDS
        return lacking if self.status is PartStatus.PARTLY and says_enough else self.in_full

    @property
    def in_full(self) -> str:
        """The same with the part of the question in front, as reports had it before."""
        return f"{shortened(self.text)} – {self.became}" if self.text and self.became else self.text or self.became


def open_heading(report: Report) -> str:
    """What stands over the open points."""
    return SEARCHED_HEADING if report.status is ReportStatus.INSUFFICIENT_EVIDENCE else OPEN_HEADING


def unsure_points(report: Report) -> tuple[OpenPoint, ...]:
    """The parts of which passages were found that may not be the whole answer, with what was searched for."""
    return tuple(OpenPoint(part.text, gap.reason, gap.queries, part.status) for part, gap in _unsure(report))


def _unsure(report: Report) -> Iterator[tuple[ReportPart, ReportGap]]:
    gaps = {gap.sub_question: gap for gap in reversed(report.gaps) if gap.reason == NOT_SURELY_ALL}
    for part in report.parts:
        if part.status is PartStatus.PARTLY and part.missing in {"", NOT_SURELY_ALL} and part.text in gaps:
            yield part, gaps[part.text]


def open_points(report: Report) -> tuple[OpenPoint, ...]:
    """The parts of the question that are open, each once with its gap; then the gaps that are of no part.

    A part that has passages and of which nothing is known to be missing is not listed: the line above the answer
    (`MAYBE_PARTIAL`) says all that there is to say. `unsure_points` has those.
    """
    unsure = {part.text for part, _ in _unsure(report)}
    # Reversed, so that of several gaps of a part the first one stands.
    gaps = {gap.sub_question: gap for gap in reversed(report.gaps) if gap.reason != NOT_SURELY_ALL}
    points: list[OpenPoint] = []
    for part in report.parts:
        gap = gaps.get(part.text)
        if part.status is PartStatus.ANSWERED and gap is None:
            continue
        if part.text in unsure:
            continue
        word, why = PART_WORDS[part.status], (gap.reason if gap else "") or part.missing
        became = why if why.startswith(word) else f"{word}: {why}" if why else word
        points.append(OpenPoint(part.text, became, gap.queries if gap else (), part.status))
    parts = {part.text for part in report.parts}
    for gap in (gap for gap in report.gaps if gap.sub_question not in parts):
        nothing = gap.reason.startswith(PART_WORDS[PartStatus.NOT_HERE])
        # Of a part that a model added, what lacks is what a reader wants to know.
        if report.mode is Mode.MODEL and gap.sub_question and gap.queries and not nothing:
            became = f"{PART_WORDS[PartStatus.PARTLY]}: {gap.reason}"
            points.append(OpenPoint(gap.sub_question, became, gap.queries, PartStatus.PARTLY))
        else:
            points.append(OpenPoint(gap.sub_question, gap.reason, gap.queries))
    return tuple(points)


_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str) -> str:
    """`text` on one line without control characters, direction overrides and lone surrogates."""
    line = " ".join(text.split())
    # Most lines: the look at each character is the slow way.
    if line.isascii() and line.isprintable():
        return line
    return " ".join("".join(map(_visible, line)).split())


def without_controls(text: str) -> str:
    """`text` as printable characters, line feeds and tabs: no other control, no direction override."""
    return "".join(character if character in "\n\t" else _visible(character) for character in text)


def day(moment: datetime) -> str:
    """The UTC day as `2026-11-21`."""
    return in_utc(moment).date().isoformat()


def linkable(url: str) -> bool:
    """Whether `url` may be a link: web addresses only, so that no page can smuggle in a script."""
    return url.lower().startswith(("https://", "http://"))


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    # Half a surrogate pair can't be encoded: writing the report would fail.
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    return "" if category == "Cc" or character in _DIRECTION else character

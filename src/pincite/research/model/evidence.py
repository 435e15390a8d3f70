"""Where a statement's evidence is looked for: its own passages in context, and the best others of the pages read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pincite.domain.evidence import Claim, Evidence, EvidencePassage, Relation
from pincite.domain.page import Document
from pincite.domain.plan import ReadPage
from pincite.text.chunks import chunks
from pincite.text.context import passage_in_context
from pincite.text.fragments import fragment_url
from pincite.text.sentences import sentences
from pincite.text.similarity import Bm25
from pincite.text.tokens import terms

# Passages that a statement gets besides its own when these don't carry it (docs/verification.md).
FURTHER_PASSAGES: Final = 5
_MOST_SENTENCES: Final = 3
# A few sentences: with its context a passage stays below 500 tokens, and five of them within a judge's window.
_PASSAGE_TOKENS: Final = 160


@dataclass
class EvidenceBank:
    """The pages of a run as evidence. Grows with the pages; passages and contexts are made once.

    A statement's page is looked for by the id of its document, so that a page captured anew is another one.
    """

    _pages: dict[str, ReadPage] = field(default_factory=dict)
    _contexts: dict[tuple[str, int, int], EvidencePassage] = field(default_factory=dict)
    _spans: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _terms: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def add(self, pages: Iterable[ReadPage]) -> None:
        """Take up the pages that are new."""
        self._pages.update((page.document.document_id, page) for page in pages)

    def page(self, document_id: str) -> ReadPage | None:
        """The page whose text has that id; None when it is none of the run."""
        return self._pages.get(document_id)

    def passage(self, evidence: Evidence) -> EvidencePassage:
        """The quote in its context."""
        quote = evidence.quote
        page = self._pages.get(quote.document_id)
        if page is None:
            return evidence.passage
        return self.in_context(page.document, quote.start, quote.end)

    def in_context(self, document: Document, start: int, end: int) -> EvidencePassage:
        """The span in its context."""
        key = (document.document_id, start, end)
        if key not in self._contexts:
            self._contexts[key] = passage_in_context(document, start, end)
        return self._contexts[key]

    def passages(self, claims: Iterable[Claim]) -> tuple[EvidencePassage, ...]:
        """What supports the claims, each passage once."""
        found = (self.passage(e) for claim in claims for e in claim.evidence if e.relation is Relation.SUPPORTS)
        return tuple({(p.document_id, p.start, p.end): p for p in found}.values())

    def texts(self, claims: Iterable[Claim]) -> tuple[str, ...]:
        """The whole texts of the claims' pages."""
        ids = dict.fromkeys(e.quote.document_id for claim in claims for e in claim.evidence)
        return tuple(self._pages[name].document.text for name in ids if name in self._pages)

    def text_of(self, passages: Sequence[EvidencePassage]) -> tuple[str, ...]:
        """The whole texts of the pages of some passages."""
        ids = dict.fromkeys(passage.document_id for passage in passages)
        return tuple(self._pages[name].document.text for name in ids if name in self._pages)

    def further(self, claim: Claim, limit: int = FURTHER_PASSAGES) -> tuple[EvidencePassage, ...]:
        """The passages of all pages that share most with the claim's words, without its own; blocks: CPU work."""
        own = {(e.quote.document_id, e.quote.start, e.quote.end) for e in claim.evidence}
        places = [(name, *span) for name, page in self._pages.items() for span in self._cut(page)]
        cut = [words for page in self._pages.values() for words in self._words(page)]
        scores = Bm25(cut).scores(terms(claim.text))
        ranked = sorted(range(len(places)), key=lambda index: (-scores[index], index))
        best = [places[index] for index in ranked if scores[index] > 0]
        outside = [place for place in best if not any(_within(quote, place) for quote in own)]
        return tuple(self.in_context(self._pages[name].document, *span) for name, *span in outside[:limit])

    def evidence(self, passage: EvidencePassage) -> Evidence | None:
        """The passage as evidence of a claim; None when its page is not at hand."""
        page = self._pages.get(passage.document_id)
        if page is None:
            return None
        return Evidence(
            quote=page.document.quote(passage.start, passage.end),
            snapshot_id=page.snapshot.snapshot_id,
            body_sha256=page.snapshot.body_sha256,
            url=page.url,
            fragment_url=fragment_url(page.url, page.document.text, passage.start, passage.end),
            context=passage.context,
        )

    def resting_on(self, claim: Claim, passages: Sequence[EvidencePassage]) -> Claim:
        """The claim with just these passages as its evidence."""
        known = {(e.quote.document_id, e.quote.start, e.quote.end): e for e in claim.evidence}
        found = [known.get((p.document_id, p.start, p.end)) or self.evidence(p) for p in passages]
        return replace(claim, evidence=tuple(evidence for evidence in found if evidence is not None))

    def _cut(self, page: ReadPage) -> tuple[tuple[int, int], ...]:
        name = page.document.document_id
        if name not in self._spans:
            cut = chunks(page.document, target_tokens=_PASSAGE_TOKENS, overlap_tokens=0)
            self._spans[name] = tuple((chunk.start, chunk.end) for chunk in cut if chunk.text.strip())
        return self._spans[name]

    def _words(self, page: ReadPage) -> tuple[tuple[str, ...], ...]:
        name = page.document.document_id
        if name not in self._terms:
            text = page.document.text
            self._terms[name] = tuple(tuple(terms(text[start:end])) for start, end in self._cut(page))
        return self._terms[name]


def quoted_words(claim: Claim) -> str:
    """The claim's passages in their own words, where they are of one page and make a sentence each; else nothing."""
    quotes = sorted((e.quote for e in claim.evidence if e.relation is Relation.SUPPORTS), key=lambda q: q.start)
    if not quotes or len({quote.document_id for quote in quotes}) > 1:
        return ""
    texts = [" ".join(quote.text.split()) for quote in quotes]
    whole = all(text[-1:] in '.!?)"”’»' and len(list(sentences(text))) <= _MOST_SENTENCES for text in texts)
    return " ".join(texts) if whole else ""


def _within(quote: tuple[str, int, int], place: tuple[str, int, int]) -> bool:
    name, start, end = place
    return quote[0] == name and quote[1] <= start and end <= quote[2]

"""The pages of a run as evidence: passages in their context, and the whole texts where a figure may stand."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

from pincite.domain.evidence import Claim, Evidence, EvidencePassage, Relation
from pincite.domain.frozen import dataclass
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.text.context import passage_in_context

# Two sentences or three. Chosen, not measured.
_CLOSE_CHARS: Final = 400


@dataclass
class EvidenceBank:
    """The pages of a run as evidence. Grows with the pages; contexts are made once.

    A statement's page is looked for by the id of its document, so that a page captured anew is another one.
    """

    _pages: dict[str, ReadPage] = field(default_factory=dict)
    _contexts: dict[tuple[str, int, int], EvidencePassage] = field(default_factory=dict)

    def add(self, pages: Iterable[ReadPage]) -> None:
        """Take up the pages that are new."""
        self._pages.update((page.document.document_id, page) for page in pages)

    def passage(self, evidence: Evidence) -> EvidencePassage:
        """The quote in its context."""
        quote = evidence.quote
        page = self._pages.get(quote.document_id)
        if page is None:
            return evidence.passage
        return self._in_context(page.document, quote.start, quote.end)

    def passages(self, claims: Iterable[Claim]) -> tuple[EvidencePassage, ...]:
        """What supports the claims, each passage once."""
        found = (self.passage(e) for claim in claims for e in claim.evidence if e.relation is Relation.SUPPORTS)
        return tuple({(p.document_id, p.start, p.end): p for p in found}.values())

    def introduces(self, before: Evidence, after: Evidence) -> bool:
        """Whether a page's listing begins right behind the sentence: "Test it so:", and below it the command."""
        page, first, then = self._pages.get(before.quote.document_id), before.quote, after.quote
        if page is None or first.document_id != then.document_id or not 0 < first.end < then.start:
            return False
        document = page.document
        here = document.block_at(first.end - 1)
        if here + 1 >= len(document.blocks) or document.blocks[here + 1].kind is not BlockKind.CODE:
            return False
        ends = not document.text[first.end : document.starts[here + 1]].strip()
        return ends and document.blocks[here].kind is not BlockKind.CODE and then.start == document.starts[here + 1]

    def leads_to(self, before: Evidence, after: Evidence) -> bool:
        """Whether a passage stands close above another, under the same heading: it may say what "this option" is."""
        page, first, then = self._pages.get(before.quote.document_id), before.quote, after.quote
        if page is None or first.document_id != then.document_id or not 0 <= then.start - first.end < _CLOSE_CHARS:
            return False
        return page.document.section_path(first.start) == page.document.section_path(then.start)

    def text_of(self, passages: Sequence[EvidencePassage]) -> tuple[str, ...]:
        """The whole texts of the pages of some passages."""
        ids = dict.fromkeys(passage.document_id for passage in passages)
        return tuple(self._pages[name].document.text for name in ids if name in self._pages)

    def _in_context(self, document: Document, start: int, end: int) -> EvidencePassage:
        key = (document.document_id, start, end)
        if key not in self._contexts:
            self._contexts[key] = passage_in_context(document, start, end)
        return self._contexts[key]

"""Code that a report shows as its page has it: the text is a slice of the page, so it needs no judge."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.research.assembly import Content, DraftedSection, reference_numbers


def code_among(offered: Mapping[str, VerifiedClaim], pages: Iterable[ReadPage]) -> dict[str, VerifiedClaim]:
    """The claims that are listings of their pages."""
    documents = {page.document.document_id: page.document for page in pages}
    return {name: item for name, item in offered.items() if item.printable and _is_code(item, documents)}


def _is_code(item: VerifiedClaim, documents: Mapping[str, Document]) -> bool:
    quote = item.claim.evidence[0].quote
    document = documents.get(quote.document_id)
    return document is not None and document.blocks[document.block_at(quote.start)].kind is BlockKind.CODE


def with_places(content: Content, pages: Iterable[ReadPage]) -> Content:
    """The content, its blocks of code with what is said above them: where they come from."""
    documents = {page.document.document_id: page.document for page in pages}
    numbers = reference_numbers(content)
    return replace(content, sections=tuple(_placed(section, numbers, documents) for section in content.sections))


def _placed(section: DraftedSection, numbers: Mapping[str, int], documents: Mapping[str, Document]) -> DraftedSection:
    blocks: list[ReportBlock] = []
    for block in section.blocks:
        if block.form is BlockForm.EXCERPT and block.excerpt is None:
            evidence = section.lines[block.items[0][0]].items[0].claim.evidence[0]
            document, start = documents[evidence.quote.document_id], evidence.quote.start
            path = document.section_path(start)[-1:]  # the sentence before it says what it is
            language = document.blocks[document.block_at(start)].language
            excerpt = Excerpt(ExcerptKind.CODE, numbers[evidence.url], path, language=language)
            blocks.append(replace(block, excerpt=excerpt))
        else:
            blocks.append(block)
    return replace(section, blocks=tuple(blocks))

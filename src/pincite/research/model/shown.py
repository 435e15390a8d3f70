"""Code that a report shows as its page has it: the text is a slice of the page, so it needs no judge."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.ids import claim_id
from pincite.domain.layout import BlockForm, Excerpt, ExcerptKind, ReportBlock
from pincite.domain.page import BlockKind, Document
from pincite.domain.plan import ReadPage
from pincite.research.assembly import Content, DraftedSection, reference_numbers
from pincite.verification.snippets import as_typed


def code_among(offered: Mapping[str, VerifiedClaim], pages: Iterable[ReadPage]) -> dict[str, VerifiedClaim]:
    """The claims that are listings of their pages."""
    documents = {page.document.document_id: page.document for page in pages}
    return {name: item for name, item in offered.items() if item.printable and _is_code(item, documents)}


def _is_code(item: VerifiedClaim, documents: Mapping[str, Document]) -> bool:
    quote = item.claim.evidence[0].quote
    document = documents.get(quote.document_id)
    return document is not None and document.blocks[document.block_at(quote.start)].kind is BlockKind.CODE


def part_of(item: VerifiedClaim, wanted: str, pages: Iterable[ReadPage]) -> VerifiedClaim:
    """The rows of a listing from the first to the last one wanted; all of it where these rows do not stand in it.

    A prompt shows rows without their indentation. Of a row its command or a part may be wanted: it is shown whole.
    """
    evidence = item.claim.evidence[0]
    quote = evidence.quote
    rows = [_flat(row) for row in wanted.split("\n") if row.strip()]
    document = next((p.document for p in pages if p.document.document_id == quote.document_id), None)
    if document is None or not rows:
        return item
    there = document.text[quote.start : quote.end].split("\n")
    forms = [{_flat(form) for form in as_typed(row)} for row in there]
    places: list[int] = []
    for row in rows:  # in their order
        left = range(places[-1] + 1 if places else 0, len(there))
        whole = (n for n in left if row in forms[n])
        part = (n for n in left if f" {row} " in f" {_flat(there[n])} ")
        at = next(chain(whole, part), None)
        if at is None:
            return item
        places.append(at)
    start = quote.start + sum(len(row) + 1 for row in there[: places[0]])
    text = "\n".join(there[places[0] : places[-1] + 1])
    part_quote = replace(evidence, quote=document.quote(start, start + len(text)))
    claim = replace(item.claim, claim_id=claim_id(text, item.claim.sub_question), text=text, evidence=(part_quote,))
    return replace(item, claim=claim)


def _flat(row: str) -> str:
    return " ".join(row.split())


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
            language = document.blocks[document.block_at(start)].language
            excerpt = Excerpt(ExcerptKind.CODE, numbers[evidence.url], (), language=language)  # said before it
            blocks.append(replace(block, excerpt=excerpt))
        else:
            blocks.append(block)
    return replace(section, blocks=tuple(blocks))

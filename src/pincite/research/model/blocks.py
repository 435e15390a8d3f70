"""A written part as blocks: which sentence stands where, and what stands there when it can't be printed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pincite.domain.evidence import VerifiedClaim
from pincite.domain.layout import BlockForm, ReportBlock
from pincite.research.assembly import DraftedSection, Line
from pincite.research.model.outputs import Written, WrittenBlock, WrittenPart, WrittenSentence
from pincite.research.model.sentences import Checked, Proposed
from pincite.research.model.wording import links_in, plain_line
from pincite.text.context import points_back
from pincite.text.instructions import is_flagged

# Sentences or items of one block; more is a copy of a page.
MAX_ITEMS: Final = 40
# A table that a reader compares; each cell is proven by itself.
MAX_ROWS: Final = 20
# What fits a page's width.
MAX_COLUMNS: Final = 6
# Of a row or a column; longer ones state something.
_NAME_CHARS: Final = 80
CODE: Final = "code"
"""The form of a block that shows the code a statement comes with; its words are the page's, whatever was written."""
_FORMS: Final = {"list": BlockForm.LIST, "steps": BlockForm.STEPS, "table": BlockForm.TABLE}


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """A block of lines: an item for a paragraph, each entry, or each cell row by row."""

    form: BlockForm
    items: tuple[tuple[Line, ...], ...]
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def lines(self) -> Iterator[Line]:
        """All lines in order."""
        for item in self.items:
            yield from item


@dataclass(frozen=True, slots=True)
class Planned:
    """A block as it was written: what is to be proven for each item. Of an excerpt nothing: `shown` is its page's."""

    form: BlockForm
    items: tuple[tuple[Proposed, ...], ...]
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    shown: VerifiedClaim | None = None


def planned(
    written: Written | WrittenPart, *, heading: str = "", code: Mapping[str, VerifiedClaim] | None = None
) -> tuple[tuple[Planned, ...], tuple[Proposed, ...]]:
    """The blocks of a written part, and what is more than a part may have. Without a heading all is one paragraph.

    `code` is what may be shown, by the statement that comes with it: each once.
    """
    forms = bool(heading)
    blocks: list[Planned] = []
    over: list[Proposed] = []
    left = dict(code or {})
    if written.sentences:
        blocks.append(Planned(BlockForm.PARAGRAPH, (_leaning(written.sentences[:MAX_ITEMS]),)))
        over += map(_proposed, written.sentences[MAX_ITEMS:])
    for block in written.blocks:
        if block.form == CODE:
            names = [name for item in block.items for name in item.claims] if forms else []
            blocks += [Planned(BlockForm.EXCERPT, (), shown=left.pop(name)) for name in names if name in left]
            continue
        form = _FORMS.get(block.form, BlockForm.PARAGRAPH) if forms else BlockForm.PARAGRAPH
        if form is BlockForm.TABLE:
            made, more = _table(block)
            blocks += [made] if made is not None else []
            over += more
            continue
        over += map(_proposed, block.items[MAX_ITEMS:])
        items = block.items[:MAX_ITEMS]
        if form is BlockForm.PARAGRAPH:
            blocks += [Planned(form, (_leaning(items),))] if items else []
        elif items:
            blocks.append(Planned(form, tuple((replace(_proposed(item), after=heading),) for item in items)))
    return tuple(blocks), tuple(over)


def _proposed(said: WrittenSentence) -> Proposed:
    return Proposed(said.text, said.claims, said.derived)


def _leaning(written: Sequence[WrittenSentence]) -> tuple[Proposed, ...]:
    """The sentences of a paragraph; one that points back ("It ...", "Therefore ...") with the one before it."""
    befores = ("", *(said.text for said in written))
    return tuple(
        replace(_proposed(said), after=plain_line(before) if points_back(said.text) else "")
        for before, said in zip(befores, written, strict=False)
    )


def _table(block: WrittenBlock) -> tuple[Planned | None, list[Proposed]]:
    """The table where it has columns and cells; each cell is proven with the names of its row and column."""
    header = tuple(_name(text) for text in block.header[:MAX_COLUMNS])
    columns = header[1:]
    if not columns or not all(columns) or not block.rows:
        return None, [_proposed(cell) for row in block.rows for cell in row.cells]
    over = [_proposed(cell) for row in block.rows[MAX_ROWS:] for cell in row.cells]
    items: list[tuple[Proposed, ...]] = []
    names: list[str] = []
    for row in block.rows[:MAX_ROWS]:
        name = _name(row.name)
        names.append(name)
        over += map(_proposed, row.cells[len(columns) :])
        for place, column in enumerate(columns):
            cell = row.cells[place] if place < len(row.cells) else None
            told = cell is not None and cell.text.strip(" -–—")
            items.append((replace(_proposed(cell), row=name, column=column),) if cell is not None and told else ())
    return Planned(BlockForm.TABLE, tuple(items), header, tuple(names)), over


def _name(text: str) -> str:
    """The name of a row or column: a plain line without links.

    Names like `main.cf` stay: each cell is proven together with the names of its row and column.
    """
    line = plain_line(text).strip(" #*_:|")[:_NAME_CHARS]
    return "" if links_in(line, known=line) or is_flagged(line) else line


def laid_out(blocks: Sequence[Planned], checked: Mapping[int, Checked], mine: Sequence[VerifiedClaim]) -> tuple[
    DraftBlock, ...
]:  # fmt: skip
    """The blocks with what is proven; claims of sentences that are not stand in their own words, each once.

    Claims of other parts are told there, in their place.

    Args:
        blocks: as planned.
        checked: what became of each planned item, by `id`.
        mine: the claims of the part; all of them are told when no sentence is proven, or when one that failed named
            only claims of other parts, so that nobody knows which of these it was to tell.
    """
    own = {item.claim.claim_id for item in mine}
    strayed = any(found.line is None and found.items and not _own(found, own) for found in checked.values())
    # A sentence in one statement's own words tells that one, whichever others it names.
    told = {item.claim.claim_id for found in checked.values() if found.line is not None for item in found.line.items}
    made: list[DraftBlock] = []
    for block in blocks:
        if block.shown is not None:
            made.append(DraftBlock(BlockForm.EXCERPT, ((Line(block.shown.claim.text, (block.shown,)),),)))
            continue
        if block.form is BlockForm.TABLE:
            made += _laid_table(block, checked, told, own)
            continue
        items: list[tuple[Line, ...]] = []
        for item in block.items:
            lines: list[Line] = []
            for said in item:
                found = checked[id(said)]
                lines += [found.line] if found.line is not None else own_words(_own(found, own), told)
            if block.form is BlockForm.PARAGRAPH:
                items += [tuple(lines)] if lines else []
            else:
                items += [(line,) for line in lines]
        if items:
            made.append(DraftBlock(block.form, tuple(items)))
    if not any(line.items for block in made if block.form is not BlockForm.EXCERPT for line in block.lines()):
        made = [DraftBlock(BlockForm.PARAGRAPH, (tuple(own_words(mine, told)),))] if mine else []
    elif strayed:
        made.append(DraftBlock(BlockForm.PARAGRAPH, (tuple(own_words(mine, told)),)))
    return tuple(block for block in made if any(block.items))


def _own(found: Checked, own: Collection[str]) -> list[VerifiedClaim]:
    """The claims of the part among those that the sentence names."""
    return [item for item in found.items if item.claim.claim_id in own]


def _laid_table(
    block: Planned, checked: Mapping[int, Checked], told: set[str], own: Collection[str]
) -> list[DraftBlock]:
    """The table with its proven cells; rows without one go, and what the others' claims say follows as a list."""
    width = len(block.header) - 1
    cells = [tuple(f.line for f in (checked[id(said)] for said in item) if f.line is not None) for item in block.items]
    kept = [at for at in range(len(block.rows)) if any(cells[at * width : (at + 1) * width])]
    made: list[DraftBlock] = []
    if kept:
        items = tuple(cell for at in kept for cell in cells[at * width : (at + 1) * width])
        made.append(DraftBlock(BlockForm.TABLE, items, block.header, tuple(block.rows[at] for at in kept)))
    failed = [checked[id(said)] for item in block.items for said in item if checked[id(said)].line is None]
    left = [line for found in failed for line in own_words(_own(found, own), told)]
    return [*made, *([DraftBlock(BlockForm.LIST, tuple((line,) for line in left))] if left else [])]


def own_words(items: Sequence[VerifiedClaim], told: set[str]) -> list[Line]:
    """The claims that no sentence tells, in the words in which they were proven; `told` grows."""
    lines = [Line(item.claim.text, (item,)) for item in items if item.claim.claim_id not in told]
    told.update(item.claim.claim_id for item in items)
    return lines


def drafted(heading: str, blocks: Sequence[DraftBlock]) -> DraftedSection:
    """The section; plain paragraphs need no blocks of their own."""
    lines: list[Line] = []
    laid: list[ReportBlock] = []
    for block in blocks:
        items: list[tuple[int, ...]] = []
        for item in block.items:
            start = len(lines)
            lines += item
            items.append(tuple(range(start, len(lines))))
        laid.append(ReportBlock(block.form, tuple(items), block.header, block.rows))
    plain = len(blocks) == 1 and blocks[0].form is BlockForm.PARAGRAPH
    return DraftedSection(heading, tuple(lines), blocks=() if plain else tuple(laid))

"""A composed section as blocks: which sentence stands where, and what stands there when it can't be printed."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from pincite.domain.citation import cut_on_word
from pincite.domain.evidence import VerdictStatus, VerifiedClaim
from pincite.domain.frozen import dataclass
from pincite.domain.layout import BlockForm, ReportBlock
from pincite.domain.report import RejectedClaim
from pincite.research.assembly import DraftedSection, Line
from pincite.research.model.outputs import ComposedBlock, ComposedRow, ComposedSentence
from pincite.research.model.sentences import MAX_CLAIMS, Checked, Proposed
from pincite.research.model.wording import beside_code, in_code, links_in, unmarked
from pincite.text.context import points_back
from pincite.text.instructions import is_flagged
from pincite.text.tokens import words
from pincite.verification.snippets import examples_in

# Sentences or items of one block; more is a copy of a page.
MAX_ITEMS: Final = 40
# A table that a reader compares; each cell is proven by itself.
MAX_ROWS: Final = 20
# What fits a page's width.
MAX_COLUMNS: Final = 6
# A count, what a row is about, and something of it.
_COUNTED_COLUMNS: Final = 3
# Of a row or a column. Situations that a reader looks up have up to 130; cut at 80 they broke off in mid-word.
_NAME_CHARS: Final = 160
# A scrap of a line says nothing in the place of a sentence.
LEAST_WORDS: Final = 5
CODE: Final = "code"
"""The form of a block that shows code: a page's, whatever was written, or what is `derived` from several passages."""
_OVER: Final = "beyond the length of the report"
_TWICE: Final = "it stands in the report already"
_FORMS: Final = {"list": BlockForm.LIST, "steps": BlockForm.STEPS, "table": BlockForm.TABLE}


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """A block of lines: an item for a paragraph, each entry, or each cell row by row.

    `code` are names of rows and columns that are set as code; of code, names that are examples.
    """

    form: BlockForm
    items: tuple[tuple[Line, ...], ...]
    header: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    continued: bool = False

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
    code: tuple[str, ...] = ()
    shown: VerifiedClaim | None = None
    continued: bool = False

    def proposed(self) -> Iterator[Proposed]:
        """What is to be proven."""
        for item in self.items:
            yield from item


Propose = Callable[[ComposedSentence], Proposed]
Show = Callable[[ComposedSentence], Sequence[VerifiedClaim]]


def planned(
    blocks: Sequence[ComposedBlock], propose: Propose, show: Show, heading: str
) -> tuple[tuple[Planned, ...], tuple[Proposed, ...]]:
    """The blocks of a section, and what is more than a block may have.

    Args:
        blocks: as they were composed.
        propose: makes a sentence to be proven.
        show: the listings, or their rows, that an item of code names.
        heading: what the section stands under.
    """
    made: list[Planned] = []
    over: list[Proposed] = []
    shown: set[str] = set()
    before = ""
    for block in blocks:
        if block.form == CODE:
            # What names no listing can't be a page's, whatever its writer calls it.
            own = [said for said in block.items if said.text.strip() and (said.derived or not show(said))]
            names = tuple(unmarked(name).text for name in block.header)
            code = (replace(propose(said), after=before, is_code=True, examples=names) for said in own[:1])
            made += [Planned(BlockForm.CODE, ((said,),), code=names) for said in code]
            over += map(propose, own[1:])
            found = {item.claim.text: item for said in block.items if said not in own for item in show(said)}
            made += [Planned(BlockForm.EXCERPT, (), shown=item) for text, item in found.items() if text not in shown]
            shown.update(found)
            continue
        above, before = before, unmarked(block.items[-1].text).text if block.items else ""
        form = _FORMS.get(block.form, BlockForm.PARAGRAPH)
        if form is BlockForm.TABLE:
            table, more = _table(block, propose)
            made += [table] if table is not None else []
            over += more
            continue
        over += map(propose, block.items[MAX_ITEMS:])
        items = block.items[:MAX_ITEMS]
        if items and form is BlockForm.PARAGRAPH:
            made.append(Planned(form, (leaning(items, propose, above),)))
        elif items:
            made.append(Planned(form, _entries(items, propose, heading), continued=block.continued))
    return tuple(made), tuple(over)


def left_open(blocks: Sequence[Planned], checked: Mapping[int, Checked]) -> Iterator[Proposed]:
    """The sentences that are printed and announce code with a colon ("..., run:") which is not."""
    for before, block in pairwise(blocks):
        refused = block.form is BlockForm.CODE and all(checked[id(said)].line is None for said in block.proposed())
        last = before.items[-1][-1] if refused and before.items and before.items[-1] else None
        line = None if last is None else checked[id(last)].line
        if last is not None and line is not None and line.text.endswith(":"):
            yield last


def orphaned(blocks: Sequence[Planned], checked: Mapping[int, Checked]) -> Iterator[tuple[Proposed, str]]:
    """The printed sentences that lean on one that is not ("It ..."), each with what stands before it instead."""
    stands, is_lost = "", False
    for block in blocks:
        if block.form in (BlockForm.CODE, BlockForm.EXCERPT):
            continue  # a paragraph goes on behind it
        if block.form is BlockForm.TABLE:
            stands, is_lost = "", False
            continue
        for item in block.items:
            if block.form is not BlockForm.PARAGRAPH:
                is_lost = False  # an entry begins by itself
            for said in item:
                found = checked[id(said)]
                if found.line is not None:
                    if is_lost and said.after:
                        yield said, stands
                    stands, is_lost = found.line.text, False
                elif lines := own_words(found.items, set()):
                    stands, is_lost = lines[-1].text, False
                else:
                    is_lost = True


def _entries(written: Sequence[ComposedSentence], propose: Propose, heading: str) -> tuple[tuple[Proposed, ...], ...]:
    """The entries of a list: each begins under the heading, and what goes on in it leans as in a paragraph."""
    starts = [at for at, said in enumerate(written) if at == 0 or not said.goes_on]
    entries: list[tuple[Proposed, ...]] = []
    before = ""
    for start, end in pairwise([*starts, len(written)]):
        first, *more = leaning(written[start:end], propose)
        entries.append((replace(first, after=heading, before=before), *more))
        before = unmarked(written[end - 1].text).text
    return tuple(entries)


def leaning(written: Sequence[ComposedSentence], propose: Propose, above: str = "") -> tuple[Proposed, ...]:
    """The sentences of a paragraph; one that points back ("It ...", "Therefore ...") with the one before it.

    `above` is the last sentence before the paragraph.
    """
    befores = (above, *(unmarked(said.text).text for said in written))
    return tuple(
        replace(propose(said), after=before if points_back(said.text) else "", before=before)
        for before, said in zip(befores, written, strict=False)
    )


def _table(block: ComposedBlock, propose: Propose) -> tuple[Planned | None, list[Proposed]]:
    """The table where it has columns and cells; each cell is proven with the names of its row and column."""
    block = _uncounted(block)
    header = tuple(_name(text) for text in block.header[:MAX_COLUMNS])
    columns = header[1:]
    if not columns or not all(columns) or not block.rows:
        return None, [propose(cell) for row in block.rows for cell in row.cells]
    over = [propose(cell) for row in block.rows[MAX_ROWS:] for cell in row.cells]
    items: list[tuple[Proposed, ...]] = []
    names: list[str] = []
    for row in block.rows[:MAX_ROWS]:
        name = _name(row.name)
        if not name:  # a reader can't tell what its cells are about
            over += map(propose, row.cells)
            continue
        names.append(name)
        over += map(propose, row.cells[len(columns) :])
        for place, column in enumerate(columns):
            cell = row.cells[place] if place < len(row.cells) else None
            told = cell is not None and cell.text.strip(" -–—")
            items.append((replace(propose(cell), row=name, column=column),) if cell is not None and told else ())
    labels = [*block.header, *(row.name for row in block.rows)]
    code = dict.fromkeys(name for text in labels for name in in_code(text) if _is_code_in_all(name, labels))
    made = Planned(BlockForm.TABLE, tuple(items), header, tuple(names), tuple(code)) if names else None
    return made, over


def _uncounted(block: ComposedBlock) -> ComposedBlock:
    """The table without a first column that counts its rows: the next one names them, and lends them its lines.

    A rank is in no line, so that each cell beside it would be refused for a figure. Below a word ("Exit code") a number
    may be what its row is about, and stays.
    """
    rows, more = block.rows[:MAX_ROWS], block.rows[MAX_ROWS:]
    counts = [str(place) for place in range(1, len(rows) + 1)]
    if len(block.header) < _COUNTED_COLUMNS or any(character.isalpha() for character in block.header[0]):
        return block
    if not rows or [_name(row.name).rstrip(".)") for row in rows] != counts:
        return block
    names = {row.cells[0].text for row in rows if row.cells and len(row.cells[0].text) <= _NAME_CHARS}
    if len(names) < len(rows) or not all(map(_name, names)):  # a reader could not tell the rows apart
        return block
    return replace(block, header=block.header[1:], rows=(*(_named_by(*row.cells) for row in rows), *more))


def _named_by(first: ComposedSentence, *cells: ComposedSentence) -> ComposedRow:
    """The row of the other cells, each of which may rest on what its name does."""
    lines = (tuple(dict.fromkeys((*cell.lines, *first.lines)))[:MAX_CLAIMS] for cell in cells)
    return ComposedRow(first.text, tuple(replace(cell, lines=own) for cell, own in zip(cells, lines, strict=True)))


def _is_code_in_all(name: str, labels: Sequence[str]) -> bool:
    """Whether no other row or column has as a plain word what one sets as code ("`check`", "By hand, with a check")."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return not any(word.search(beside_code(text)) for text in labels)


def _name(text: str) -> str:
    """The name of a row or column: a plain line without links.

    Names like `main.cf` stay: each cell is proven together with the names of its row and column.
    """
    line = cut_on_word(unmarked(text).text.strip(" #*_:|"), _NAME_CHARS)
    return "" if links_in(line, known=line) or is_flagged(line) else line


def laid_out(blocks: Sequence[Planned], checked: Mapping[int, Checked], told: set[str]) -> tuple[DraftBlock, ...]:
    """The blocks with what is proven. A sentence that is not gives its place to what it rests on, each line once.

    Args:
        blocks: as planned.
        checked: what became of each planned item, by `id`.
        told: the claims that stand in the report already; it grows.
    """
    made: list[DraftBlock] = []
    for block in blocks:
        if block.shown is not None:
            made.append(DraftBlock(BlockForm.EXCERPT, ((Line(block.shown.claim.text, (block.shown,)),),)))
            continue
        if block.form is BlockForm.TABLE:
            made += _laid_table(block, checked)
            continue
        items: list[tuple[Line, ...]] = []
        for item in block.items:
            lines: list[Line] = []
            for said in item:
                found = checked[id(said)]
                if found.line is not None:
                    lines.append(found.line)
                elif not said.is_code:
                    lines += own_words(found.items, told)
            items += [tuple(lines)] if lines else []
        if items and block.form is BlockForm.CODE:
            made.append(DraftBlock(block.form, tuple(items), code=examples_in(items[0][0].text, block.code)))
        elif items:
            made.append(DraftBlock(block.form, tuple(items), continued=block.continued))
    return tuple(made)


def _laid_table(block: Planned, checked: Mapping[int, Checked]) -> list[DraftBlock]:
    """The table with its proven cells; rows without one go, and the table with its last row."""
    width = len(block.header) - 1
    cells = [tuple(f.line for f in (checked[id(said)] for said in item) if f.line is not None) for item in block.items]
    kept = [at for at in range(len(block.rows)) if any(cells[at * width : (at + 1) * width])]
    items = tuple(cell for at in kept for cell in cells[at * width : (at + 1) * width])
    rows = tuple(block.rows[at] for at in kept)
    return [DraftBlock(BlockForm.TABLE, items, block.header, rows, block.code)] if kept else []


def own_words(items: Sequence[VerifiedClaim], told: set[str]) -> list[Line]:
    """The claims that nothing tells and that a reader understands without their page; `told` grows."""
    lines = [
        Line(item.claim.text, (item,))
        for item in items
        if item.claim.claim_id not in told
        and "\n" not in item.claim.text
        and len(item.claim.text.split()) >= LEAST_WORDS
        and item.claim.text[-1:] in '.!?)"”'
        and not points_back(item.claim.text)
    ]
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
        by_row = block.form is BlockForm.TABLE
        laid.append(
            ReportBlock(
                block.form,
                tuple(items),
                block.header,
                block.rows,
                code=block.code,
                marks_by_row=by_row,
                continued=block.continued,
            )
        )
    plain = len(blocks) == 1 and blocks[0].form is BlockForm.PARAGRAPH
    return DraftedSection(heading, tuple(lines), blocks=() if plain else tuple(laid))


@dataclass(slots=True)
class Room:
    """What a report still holds: words, and sentences that were not said yet."""

    left: int
    said: set[str]
    rejected: list[RejectedClaim]

    def holds(self, said: Proposed) -> bool:
        """Whether the sentence is new and there is room for it, which it takes then; else why not is noted."""
        mine = " ".join(words(said.text)).lower()
        size = len(said.text.split())
        why = _TWICE if mine in self.said else _OVER if size > self.left else ""
        if why:
            self.rejected.append(RejectedClaim(said.text, VerdictStatus.UNCHECKED, why))
            return False
        self.said.add(mine)
        self.left -= size
        return True

    def fitting(self, block: Planned) -> Planned | None:
        """The block with what is new and fits; a table stays whole or goes. Code is shown beside the words."""
        if block.shown is not None:
            shown = block.shown.claim.text
            if shown in self.said:
                self.rejected.append(RejectedClaim(shown, VerdictStatus.UNCHECKED, _TWICE))
                return None
            self.said.add(shown)
            return block
        if block.form is BlockForm.CODE:
            new = [said for said in block.proposed() if said.text not in self.said]
            self.said.update(said.text for said in new)
            return block if new else None
        if block.form is BlockForm.TABLE:
            size = sum(len(said.text.split()) for said in block.proposed())
            if size > self.left:
                self.rejected += [RejectedClaim(said.text, VerdictStatus.UNCHECKED, _OVER) for said in block.proposed()]
                return None
            self.left -= size
            return block
        items = (tuple(said for said in item if self.holds(said)) for item in block.items)
        kept = tuple(item for item in items if item)
        return replace(block, items=kept) if kept else None


def lifted(
    sections: Sequence[tuple[str, list[DraftBlock]]],
) -> tuple[list[Line], list[tuple[str, list[DraftBlock]]]]:
    """The first sentence that states something as the direct answer, and the sections without it."""
    for at, (heading, blocks) in enumerate(sections):
        for number, block in enumerate(blocks):
            line = next((line for line in block.lines() if line.items), None)
            if block.form in (BlockForm.TABLE, BlockForm.CODE, BlockForm.EXCERPT) or line is None:
                continue
            items = tuple(tuple(other for other in item if other is not line) for item in block.items)
            left = replace(block, items=tuple(item for item in items if item))
            rest = [*blocks[:number], *([left] if left.items else []), *blocks[number + 1 :]]
            stating = any(line.items for block in rest for line in block.lines())
            return [line], [*sections[:at], *([(heading, rest)] if stating else []), *sections[at + 1 :]]
    return [], list(sections)

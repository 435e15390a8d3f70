"""From a passage that answers to what is printed of it: sentences, a list, rows of a table, a definition, code.

Everything is a slice of the page. What a procedure answers with is its steps and its code, so those come whole.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Final
from unicodedata import category

from pincite.domain.evidence import Claim, Evidence, NoteForm
from pincite.domain.frozen import dataclass
from pincite.domain.ids import claim_id
from pincite.domain.page import QUOTED_NOTE, Block, BlockKind, Document, MarkKind
from pincite.domain.page_markdown import header_row_count
from pincite.domain.plan import ReadPage
from pincite.ranking.passages import MAX_WORDS, word_count
from pincite.ranking.ranker import RankedPassage
from pincite.ranking.scores import Rarity
from pincite.text.context import antecedent_of, context_of
from pincite.text.sentences import Span, sentences
from pincite.text.tokens import first_words, index_terms, words
from pincite.verification.claims import claim_type

# The rows nearest to the question; the whole table is a click away.
MAX_ROWS: Final = 6
_DIRECT_WORDS: Final = (5, 48)
_SENTENCE_ENDS: Final = (".", "!", ".”", '."', ".)", "。", "！")
# What opens with a bracket is said beside something else: "(See the section about restoring.)"
_ASIDE: Final = ("(", "[", "（")
# "Please see Package relationships for more information" says where something is said, and nothing itself.
# In eight manuals that this was not written for 1,223 sentences begin so; of 40 drawn by lot all point elsewhere. Those
# that say for what first ("For more information, see ...") are 61 in three manuals, and all of 45 of them do as well.
_ELSEWHERE: Final = re.compile(
    r"(?:(?:for|für|pour|para)\b[^.!?,()]{0,100}?,? )?(?:please |bitte )?"
    r"(?:(?:see|refer to|consult)\b(?! that\b)|siehe\b|vgl\.|voir\b|cf\.|véase\b|consulte\b)",
    re.IGNORECASE,
)
# "Yes, that is supported" answers the question that stands above it on its page, which need not be the one asked here.
# In eight manuals that this was not written for 26 of 28 paragraphs that begin so stand below a question, and the other
# two answer one in thought. Not "no: ..." and "no - ...": those are values of a list; "Non-blocking" is one word.
_ANSWERING: Final = re.compile(r"(?:yes|no|ja|nein|nee|oui|non|s[ií]|sì|sim|não|да|нет)\s*[,.;!–—]", re.IGNORECASE)
# "and" and "or" stand between links. Chosen, not measured.
_LINKED_SHARE: Final = 0.8
_TEXT_KINDS: Final = frozenset(
    {BlockKind.PARAGRAPH, BlockKind.DEFINITION, BlockKind.QUOTATION, BlockKind.FOOTNOTE, BlockKind.CAPTION}
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive units of one page: sentences, list items, rows, or one block of code.

    `nearness` are those of the units to the question, by words or meaning, in the same order.
    """

    passage: RankedPassage
    form: NoteForm
    units: tuple[Span, ...]
    nearness: tuple[float, ...]

    @property
    def start(self) -> int:
        """Where it begins in the text of its page."""
        return self.units[0].start

    @property
    def texts(self) -> tuple[str, ...]:
        """The units in their own words."""
        text = self.passage.source.document.text
        return tuple(text[unit.start : unit.end] for unit in self.units)

    @property
    def words(self) -> int:
        """How many words it has; lines of code are short and don't count as such."""
        return sum(word_count(text.replace("\n", "")) for text in self.texts)


def excerpts_of(passage: RankedPassage, terms: Sequence[str], rarity: Rarity) -> tuple[Excerpt, ...]:
    """What is printed of a passage: its sentences, lists and code in their order, of a table the rows that matter.

    A passage is whole blocks under one heading and about as long as a person takes in at a glance, so it is printed
    whole; of several entries that share one only that of the nearest unit, so that none stands under another's term.
    """
    document = passage.source.document
    first, last = document.block_at(passage.draft.start), document.block_at(max(passage.draft.end - 1, 0))
    units = [unit for index in range(first, last + 1) for unit in _units(document, index, passage)]
    # What is longer without an end is no sentence, row or line that anybody reads.
    units = [(index, span) for index, span in units if _readable(document, index, span)]
    # "See Locks." alone answers nothing: it stands in the place of an answer.
    if all(_ELSEWHERE.match(document.text[span.start : span.end]) for _, span in units):
        return ()
    told = {span.start: value for span, value in passage.sentences}
    near = [_nearness(document, span, told, terms, rarity) for _, span in units]
    if document.blocks[first].kind is BlockKind.TABLE:
        return _table(passage, [(span, value) for (_, span), value in zip(units, near, strict=True)])
    # Code holds many words; what is said of it is read first.
    told_in = [at for at in range(len(units)) if document.blocks[units[at][0]].kind is not BlockKind.CODE]
    best = max(told_in or range(len(units)), key=lambda at: (near[at], -at))
    # Behind another term stands what is true of that one.
    nearest = units[best][0]
    between = [document.blocks[min(nearest, index) : max(nearest, index)] for index, _ in units]
    entry = [at for at, blocks in enumerate(between) if all(block.kind is not BlockKind.TERM for block in blocks)]
    sizes = list(accumulate(word_count(document.text[units[at][1].start : units[at][1].end]) for at in entry))
    # Only a block that could not be cut is longer than a passage may be: from the nearest sentence on, as far as fits.
    if sizes[-1] > MAX_WORDS:
        skipped = sizes[entry.index(best) - 1] if entry.index(best) else 0
        entry = [at for at, size in zip(entry, sizes, strict=True) if at == best or 0 < size - skipped <= MAX_WORDS]
    made: list[Excerpt] = []
    for form, run in groupby(entry, key=lambda at: _form(document, units[at][0], is_entry=bool(passage.draft.label))):
        chosen = list(run)
        if form is None:
            made += [Excerpt(passage, NoteForm.STATEMENT, (units[at][1],), (near[at],)) for at in chosen]
        else:
            made.append(
                Excerpt(passage, form[0], tuple(units[at][1] for at in chosen), tuple(near[at] for at in chosen))
            )
    return tuple(made)


def _readable(document: Document, index: int, span: Span) -> bool:
    text = document.text[span.start : span.end]
    parts = text.split("\n") if document.blocks[index].kind is BlockKind.CODE else [text]
    return all(word_count(part) <= MAX_WORDS for part in parts)


def _form(document: Document, index: int, *, is_entry: bool) -> tuple[NoteForm, bool] | None:
    """What the units of a block are printed as, and whether as a list; None for code."""
    block = document.blocks[index]
    if block.kind is BlockKind.CODE:
        return None
    if block.kind is BlockKind.LIST_ITEM:
        return (NoteForm.STEP if block.ordered else NoteForm.STATEMENT), True
    return (NoteForm.DEFINITION if is_entry else NoteForm.STATEMENT), False


def claims_of(excerpt: Excerpt, page: ReadPage, part: str, group: str, confidence: float) -> tuple[Claim, ...]:
    """One claim for each unit, in its page's own words; those of one excerpt share a group."""
    made = []
    for unit in excerpt.units:
        raw = page.document.as_shown(unit.start, unit.end)
        block = page.document.blocks[page.document.block_at(unit.start)]
        is_code = excerpt.form is NoteForm.STATEMENT and block.kind is BlockKind.CODE and "\n" in raw
        text = raw if is_code else " ".join(raw.split())
        evidence = Evidence(
            page.document.quote(unit.start, unit.end),
            page.snapshot.snapshot_id,
            page.snapshot.body_sha256,
            page.url,
            context=context_of(page.document, unit.start, unit.end),
        )
        made.append(
            Claim(
                claim_id(text, part),
                text,
                part,
                claim_type(page.document.standing(unit.start, unit.end)),
                confidence,
                evidence=(evidence,),
                form=excerpt.form,
                group=group,
            )
        )
    return tuple(made)


def stands_alone(document: Document, unit: Span) -> bool:
    """Whether a unit can open an answer: a whole sentence of text that needs no other one to be understood."""
    block = document.blocks[document.block_at(unit.start)]
    text = document.text[unit.start : unit.end].strip()
    least, most = _DIRECT_WORDS
    if block.kind not in _TEXT_KINDS | {BlockKind.LIST_ITEM} or not least <= word_count(text) <= most:
        return False
    if (
        text.startswith(_ASIDE)
        or _ELSEWHERE.match(text)
        or _ANSWERING.match(text)
        or not text.endswith(_SENTENCE_ENDS)
        or not (text[0].isupper() or not text[0].isascii() or not text[0].isalpha())
    ):
        return False
    return antecedent_of(document, unit.start, unit.end) is None


def marked_words(text: str, terms: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The spans of the words of `text` that the question has, in any inflection."""
    wanted, found, at = set(terms), [], 0
    for word in words(text):
        start = text.index(word, at)
        at = start + len(word)
        if wanted.intersection(index_terms(word)):
            found.append((start, at))
    return tuple(found)


def table_header(document: Document, start: int) -> tuple[str, ...]:
    """The names of the columns of the table at that place; empty where it has no header."""
    block = document.blocks[document.block_at(start)]
    rows = header_row_count(block)
    return block.rows[rows - 1] if rows and len(block.rows) >= rows else ()


def _units(document: Document, index: int, passage: RankedPassage) -> Iterator[tuple[int, Span]]:
    """The sentences of a block, rows of a table, or code as a whole, as far as they lie within the passage."""
    block, base = document.blocks[index], document.starts[index]
    low, high = passage.draft.start, passage.draft.end
    if block.kind in (BlockKind.HEADING, BlockKind.TERM) or block.note == QUOTED_NOTE or not block.text.strip():
        return
    if block.kind is BlockKind.CODE:
        start = max(base, low)
        code = document.text[start : min(base + len(block.text), high)].rstrip()
        if code:
            yield index, Span(start + len(code) - len(code.lstrip("\n")), start + len(code))
        return
    if block.kind is BlockKind.TABLE:
        yield from ((index, span) for span in _rows(block, base) if low <= span.start and span.end <= high)
        return
    if _only_leads_on(block):
        return
    # What stands by a table or picture, and is no sentence, is its name; a table is a passage of its own.
    after = document.blocks[index + 1].kind if index + 1 < len(document.blocks) else None
    names = block.kind is BlockKind.CAPTION or (block.kind is BlockKind.PARAGRAPH and after is BlockKind.TABLE)
    for span in sentences(block.text):
        found = Span(base + span.start, base + span.end)
        if names and not block.text[: span.end].endswith((*_SENTENCE_ENDS, ":", "?")):
            continue
        if low <= found.start and found.end <= high and _says_something(document.standing(found.start, found.end)):
            yield index, found


def _only_leads_on(block: Block) -> bool:
    """Whether a paragraph is links and no sentence: "VACUUM, vacuumdb, Section 20.4.4" under "See Also".

    Six manuals (3,450 pages) have 1,075 of them. Of 40 from a sample all lead elsewhere, and none holds one
    of the 215 passages that answer the labelled questions about these manuals.
    """
    if block.kind not in (BlockKind.PARAGRAPH, BlockKind.DEFINITION) or block.text.rstrip().endswith(_SENTENCE_ENDS):
        return False
    linked = {at for mark in block.marks if mark.kind is MarkKind.LINK for at in range(mark.start, mark.end)}
    letters = [at for at, character in enumerate(block.text) if character.isalnum()] if linked else []
    return bool(letters) and len(linked.intersection(letters)) >= _LINKED_SHARE * len(letters)


def _rows(block: Block, base: int) -> Iterator[Span]:
    at = 0
    for number, line in enumerate(block.text.split("\n")):
        if line.strip() and number >= header_row_count(block):
            yield Span(base + at, base + at + len(line))
        at += len(line) + 1


def _says_something(text: str) -> bool:
    """Whether a sentence is more than a scrap: three words, most of it letters and their marks (as of Thai)."""
    signs = sum(not (character.isalpha() or character.isspace() or category(character)[0] == "M") for character in text)
    many = len(text.split()) >= 3 or (not text.isascii() and len(first_words(text, 3)) == 3)
    return many and signs * 2 <= len(text)


def _nearness(document: Document, span: Span, told: dict[int, float], terms: Sequence[str], rarity: Rarity) -> float:
    """How near a unit is to the question: by meaning where that is known, a little by its words in any case."""
    found = set(index_terms(document.text[span.start : span.end]))
    total = sum(map(rarity.weight, terms)) or 1.0
    return told.get(span.start, 0.0) + 0.3 * sum(rarity.weight(term) for term in terms if term in found) / total


def _table(passage: RankedPassage, rows: Sequence[tuple[Span, float]]) -> tuple[Excerpt, ...]:
    """The rows that matter, in their order."""
    best = sorted(range(len(rows)), key=lambda at: -rows[at][1])[:MAX_ROWS]
    floor = rows[best[0]][1] / 2
    kept = sorted(at for at in best if rows[at][1] >= floor)
    return (Excerpt(passage, NoteForm.ROW, tuple(rows[at][0] for at in kept), tuple(rows[at][1] for at in kept)),)

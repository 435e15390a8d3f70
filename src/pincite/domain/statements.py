"""What the sentences of a report state: their words without the marks that are printed with them."""

from pincite.domain.layout import BlockForm, Section, Sentence

PARTIAL_MARK = "(partly supported)"
LOW_CONFIDENCE_LABEL = "Less certain: "
ONE_SOURCE_MARK = "(one source)"
# Among the notes of a report all of whose claims would carry the mark: it is said once, and no sentence has it.
ONE_SOURCE_NOTE = "No statement of this report rests on more than one independent source."
UNRESOLVED_MARK = "(not confirmed again)"


def stated(sentence: Sentence) -> str:
    """What a sentence states, without the marks that are printed with it: what was proven, and what is hashed."""
    text = sentence.text.removeprefix(LOW_CONFIDENCE_LABEL)
    for mark in (PARTIAL_MARK, UNRESOLVED_MARK, ONE_SOURCE_MARK):  # the last that was added first
        text = text.removesuffix(mark).rstrip()
    return text


def statements_of(section: Section) -> tuple[str, ...]:
    """What each sentence of a section states, as it is proven and hashed.

    A cell of a table states nothing by itself: its row and its column stand in front ("work_mem: default: 4MB").
    """
    found = [stated(sentence) for sentence in section.sentences]
    for block in section.blocks:
        if block.form is not BlockForm.TABLE:
            continue
        columns = block.header[1:] if block.rows else block.header
        for place, item in enumerate(block.items):
            row = block.rows[place // len(columns)] if block.rows else ""
            for index in item:
                found[index] = in_cell(row, columns[place % len(columns)], found[index])
    return tuple(found)


def in_cell(row: str, column: str, text: str) -> str:
    """What a cell of a table states: its text after the names of its row and column."""
    return ": ".join(part for part in (row, column, text) if part)

"""The shapes in which models answer, and that of a report, which `markup` reads out of their Markdown.

Ids in them were offered by code; an id that was not is dropped.
"""

from pincite.domain.frozen import dataclass


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One part of the question as the planner sees it.

    `form` is that of the answer wanted, `depends_on` the number of the part whose answer it needs (0: none).
    """

    question: str
    heading: str
    queries: tuple[str, ...]
    form: str = "prose"
    depends_on: int = 0


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """The parts in reading order."""

    parts: tuple[PlannedPart, ...]


@dataclass(frozen=True, slots=True)
class ChosenPassages:
    """Ids of passages, or runs of them ("p3-p7"), the most important first."""

    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence and the ids of the statements it tells."""

    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A text of one paragraph."""

    sentences: tuple[WrittenSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class ComposedSentence:
    """A sentence, item or cell and the ids of the lines it rests on.

    `derived`: it goes beyond what they say (compares, concludes, calculates). `part` is the part of the question that
    it answers, `conflict` that it tells how two pages contradict each other. `goes_on`: it stands in the entry of a
    list or of steps that the item before it began.
    """

    text: str
    lines: tuple[str, ...]
    derived: bool = False
    part: str = ""
    conflict: bool = False
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ComposedRow:
    """A row of a table: its name, and a cell for each further column."""

    name: str
    cells: tuple[ComposedSentence, ...]


@dataclass(frozen=True, slots=True)
class ComposedBlock:
    """A paragraph, list or steps with its `items`, a table with `header` and `rows`, or code that an item names.

    Steps that are `continued` go on behind something that parts them.
    """

    form: str
    items: tuple[ComposedSentence, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[ComposedRow, ...] = ()
    continued: bool = False


@dataclass(frozen=True, slots=True)
class ComposedSection:
    """A heading and what stands under it."""

    heading: str
    blocks: tuple[ComposedBlock, ...]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A part that these pages do not answer and queries that may; `question` words it anew, now that more is known."""

    part: str
    what: str = ""
    queries: tuple[str, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class Composed:
    """A whole report: the direct answer, sections, and what is missing."""

    answer: tuple[ComposedSentence, ...] = ()
    sections: tuple[ComposedSection, ...] = ()
    missing: tuple[MissingPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """A new sentence for the one with this id, and the ids of the lines it rests on."""

    id: str
    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repairs:
    """New sentences for those that failed."""

    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class LeadNote:
    """What the page with this id seems to be about."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class LeadNotes:
    """A few words for each page that was not read."""

    notes: tuple[LeadNote, ...]


@dataclass(frozen=True, slots=True)
class FilledField:
    """A value for the field with this id and the ids of the statements that say it.

    `rows` tell the rows of a list apart, the outermost list first; `statement` is a sentence that says yes or no.
    """

    id: str
    value: str
    claims: tuple[str, ...]
    rows: tuple[int, ...] = ()
    statement: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """The fields that could be filled."""

    fields: tuple[FilledField, ...]

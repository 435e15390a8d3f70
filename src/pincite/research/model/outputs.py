"""The shapes in which models answer. Ids in them were offered by code; an id that was not is dropped."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One part of the question as the planner sees it.

    `form` is that of the answer wanted, `depends_on` the number of the part whose answer it needs (0: none).
    """

    question: str
    heading: str
    kind: str
    queries: tuple[str, ...]
    form: str = "prose"
    depends_on: int = 0


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """The parts in reading order."""

    parts: tuple[PlannedPart, ...]


@dataclass(frozen=True, slots=True)
class NewQueries:
    """Further queries for the part with this id; `question` words it anew, now that more is known."""

    part: str
    queries: tuple[str, ...]
    question: str = ""


@dataclass(frozen=True, slots=True)
class AddedPart:
    """A part that what was found shows to be missing, and why."""

    question: str
    heading: str
    reason: str
    queries: tuple[str, ...] = ()
    form: str = "prose"


@dataclass(frozen=True, slots=True)
class DroppedPart:
    """A part that what was found shows to be pointless, and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Further queries for open parts, and what changes in the plan."""

    parts: tuple[NewQueries, ...]
    added: tuple[AddedPart, ...] = ()
    dropped: tuple[DroppedPart, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A statement with the ids of the lines that say it, or their exact words.

    `form` is statement, figure, step, row or definition; `group` names what steps and rows belong to, `holds_for` the
    version, date or speaker that the page names.
    """

    text: str
    part: str
    lines: tuple[str, ...]
    quote: str = ""
    kind: str = "fact"
    confidence: float = 0.5
    form: str = "statement"
    group: str = ""
    holds_for: str = ""


@dataclass(frozen=True, slots=True)
class PageClaims:
    """What one page says about the question; `more` are ids of windows that should be read as well."""

    claims: tuple[FoundClaim, ...]
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements that exclude each other."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """The conflicts found."""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class OutlinedSection:
    """A heading and the ids told under it; `form` is prose, list, steps or table, `purpose` what it is for."""

    heading: str
    claims: tuple[str, ...]
    form: str = "prose"
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """The order of a report."""

    answer: tuple[str, ...]
    sections: tuple[OutlinedSection, ...]


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence and the ids of the statements it tells; `derived` when it goes beyond each of them."""

    text: str
    claims: tuple[str, ...]
    derived: bool = False


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """A row of a table: its name, and a cell for each further column."""

    name: str
    cells: tuple[WrittenSentence, ...]


@dataclass(frozen=True, slots=True)
class WrittenBlock:
    """A paragraph, list or steps with its `items`, a table with `header` and `rows`, or code that an item names."""

    form: str
    items: tuple[WrittenSentence, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[WrittenRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A text: sentences of a paragraph, then blocks."""

    sentences: tuple[WrittenSentence, ...] = ()
    blocks: tuple[WrittenBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The part of a report that was asked for under this id."""

    id: str
    sentences: tuple[WrittenSentence, ...] = ()
    blocks: tuple[WrittenBlock, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenParts:
    """The parts of one call."""

    parts: tuple[WrittenPart, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """New words for the heading or sentence with this id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class EditedReport:
    """What an editor changes: headings, sentences, the order of sections, sentences that repeat others."""

    headings: tuple[Edit, ...] = ()
    sentences: tuple[Edit, ...] = ()
    order: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """A new sentence for the one with this id."""

    id: str
    text: str
    claims: tuple[str, ...]


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

"""How the asker wants the report, as lines of a prompt: they shape it, and never what counts as true."""

from typing import Final

from pincite.domain.plan import ReportDepth, ReportLength, ReportStyle, Task
from pincite.research.model.wording import plain_line

# A sixth more than is asked for, so that what closes a report is not cut off for a paragraph too many.
WORDS: Final = {ReportLength.SHORT: 350, ReportLength.STANDARD: 1_400, ReportLength.LONG: 2_800}
ASKED_WORDS: Final = {ReportLength.SHORT: 300, ReportLength.STANDARD: 1_200, ReportLength.LONG: 2_400}
"""The most that is asked for; `WORDS` is what is printed at most."""
# A number of sentences beside that of words made writers pack several things into each.
_WANTED: Final = {
    ReportLength.SHORT: "short, 150 to 300 words in all",
    ReportLength.STANDARD: "800 to 1,200 words in all, tables and listings counted, where the pages carry it, fewer "
    "where not; leave out rather than pack",
    ReportLength.LONG: "1,500 to 2,400 words in all, tables and listings counted, where the pages carry it, fewer "
    "where not; leave out rather than pack",
}
_DEPTHS: Final = {
    ReportDepth.OVERVIEW: "an overview: the main points, no detail",
    ReportDepth.STANDARD: "",
    ReportDepth.EXPERT: "for experts: conditions, exceptions, figures and mechanisms in full",
}
# A page of wishes; more would crowd out the rules of the prompt.
_INSTRUCTION_CHARS: Final = 2_000


def style_lines(task: Task) -> tuple[str, ...]:
    """The wishes of the asker, one line each."""
    style: ReportStyle = task.style
    wishes = plain_line(style.instructions)[:_INSTRUCTION_CHARS]
    told = (
        f"Length: {_WANTED[style.length]}.",
        f"Depth: {_DEPTHS[style.depth]}." if _DEPTHS[style.depth] else "",
        f"Reader: {plain_line(style.audience)[:200]}." if style.audience else "",
        language_line(task),
        f"Wishes of the asker about the form, never about what is true or cited: {wishes}" if wishes else "",
    )
    return tuple(line for line in told if line)


def language_line(task: Task) -> str:
    """In which language to write."""
    wanted = plain_line(task.style.language)[:40]
    return f"Language: write in {wanted}." if wanted else "Language: that of the question."

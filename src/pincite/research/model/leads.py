"""What pages that were found but not read seem to be about: a few words each, which state nothing and cite nothing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.errors import BudgetExhausted, ProviderError, RemoteError
from pincite.domain.model import Material, ModelRole, Prompt
from pincite.domain.plan import Lead, Progress
from pincite.ports import ModelCalls
from pincite.research.model.outputs import LeadNotes
from pincite.research.model.prompts import VERSIONS, instructions
from pincite.research.model.wording import links_in, plain_line
from pincite.text.instructions import is_flagged
from pincite.text.tokens import is_stop, terms, words

# As many as a report lists (`research.assembly`).
MAX_LEADS: Final = 10
# "A few words each": a longer line would state something about a page that nobody read.
_MOST_WORDS: Final = 14
# What engines give.
_SNIPPET_CHARS: Final = 300
# Words with which a subject turns into a statement.
_STATES: Final = frozenset(
    "is are was were be been being am has have had does did do can could will would shall should must may might "
    "says said shows proves means isn't aren't wasn't doesn't can't won't not no never always only best".split()
)


async def described(leads: Sequence[Lead], calls: ModelCalls, seconds_left: float | None) -> tuple[Lead, ...]:
    """The leads, those with a snippet with what they seem to be about; as they are when no model can."""
    told = {f"l{number}": lead for number, lead in enumerate(leads[:MAX_LEADS], start=1) if lead.snippet.strip()}
    if not told:
        return tuple(leads)
    lines = tuple((name, _source(lead)) for name, lead in told.items())
    prompt = Prompt(
        "leads",
        VERSIONS["leads"],
        instructions("leads"),
        material=(Material("Pages that were not read", lines),),
        max_tokens_out=100 + 40 * len(told),
    )
    try:
        answer = await calls.ask(ModelRole.WRITER, prompt, LeadNotes, deadline_s=seconds_left)
    except (ProviderError, RemoteError, BudgetExhausted):
        return tuple(leads)
    notes = {note.id: subject_of(note.text, _source(told[note.id])) for note in answer.notes if note.id in told}
    abouts = {id(lead): notes.get(name, "") for name, lead in told.items()}
    return tuple(replace(lead, about=abouts.get(id(lead), "")) for lead in leads)


async def with_leads(progress: Progress, calls: ModelCalls) -> Progress:
    """The progress with its leads described."""
    return replace(progress, leads=await described(progress.leads, calls, progress.seconds_left))


def subject_of(text: str, source: str) -> str:
    """The words where they name a subject out of the source and no more, else nothing."""
    line = plain_line(text).strip(" .,;:-–\"'").removeprefix("About ").removeprefix("about ")
    found = [word.lower() for word in words(line)]
    states = any(word in _STATES for word in found) or any(character.isdigit() for character in line)
    if not 1 <= len(found) <= _MOST_WORDS or states or links_in(line) or is_flagged(line) or is_flagged(source):
        return ""
    known = set(terms(source)) | {word.lower() for word in words(source)}
    own = [word for word in found if not is_stop(word) and word not in known and not set(terms(word)) <= known]
    return "" if own else line


def _source(lead: Lead) -> str:
    return f"{lead.title}: {lead.snippet[:_SNIPPET_CHARS]}"

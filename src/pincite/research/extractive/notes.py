"""What a reader is told about how the question was read, where that is not as it was written."""

from pincite.domain.library import Survey
from pincite.research.extractive.questions import MAX_TERMS
from pincite.research.extractive.words import URL, in_words, key_terms
from pincite.text.tokens import is_stop, words

_FEW_WORDS = 4


def notes_on(question: str, survey: Survey, *, of_pages_read: bool = False) -> tuple[str, ...]:
    """Sentences about misspelt words, addresses, words that were left out, words that no page has."""
    plain = URL.sub(" ", question)
    page = "page read" if of_pages_read else "page"
    notes = [f"Searched for “{read_as}”: no {page} has “{written}”." for written, read_as in survey.spellings]
    if in_words(question) != question:
        notes.append("The question is only an address: its words were searched for. To have a page read, use --url.")
    elif plain != question:
        notes.append("The address in the question was not searched for; pages that are to be read are named by --url.")
    if len(set(key_terms(plain))) > MAX_TERMS:
        notes.append("The question is long: only its first words were searched for.")
    found = [word for word in words(plain) if not is_stop(word)]
    unknown = [word for word, passages in survey.frequencies if not passages]
    if survey.passages and len(found) >= _FEW_WORDS and len(unknown) > len(survey.frequencies) / 2:
        notes.append("Most words of the question are on no page; perhaps the pages are in another language.")
    return tuple(notes)

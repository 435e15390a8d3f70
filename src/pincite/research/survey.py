"""What the libraries of a run know of its question's words, asked once and kept in the run's record."""

from collections.abc import Sequence

import anyio.to_thread

from pincite.domain.budget import Usage
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import Conflict
from pincite.domain.library import Survey
from pincite.domain.records import Outcome
from pincite.ports import Ledger, Vocabulary


class LibrarySurvey:
    """Asks every library of a run; for a run that also searches elsewhere there is none to ask.

    None instead of libraries stands for a run made again from its record: what is not on it is not known.
    """

    def __init__(self, vocabularies: Sequence[Vocabulary] | None, ledger: Ledger) -> None:
        self._vocabularies = None if vocabularies is None else tuple(vocabularies)
        self._ledger = ledger

    async def __call__(self, question: str) -> Survey:
        """What is known of the question's words; nothing when there is no library.

        Errors:
            StorageUnavailable: an index is damaged.
        """
        if self._vocabularies == ():
            return Survey()
        try:
            record = await self._ledger.call("survey", {"question": question}, Usage(), lambda: self._ask(question))
        except Conflict:
            return Survey()
        return from_json(Survey, record)

    async def _ask(self, question: str) -> Outcome:
        found = [await anyio.to_thread.run_sync(each.survey, question) for each in self._vocabularies or ()]
        return Outcome(to_json(merged(found)))


def merged(surveys: Sequence[Survey]) -> Survey:
    """Several libraries as one: a word is misspelt only when all of them miss it."""
    frequencies: dict[str, int] = {}
    for survey in surveys:
        for word, passages in survey.frequencies:
            frequencies[word] = frequencies.get(word, 0) + passages
    spellings: dict[str, str] = {}
    for survey in surveys:
        for written, read_as in survey.spellings:
            if not frequencies.get(written):
                spellings.setdefault(written, read_as)
    return Survey(
        passages=sum(survey.passages for survey in surveys),
        frequencies=tuple(frequencies.items()),
        spellings=tuple(spellings.items()),
        sites=tuple(dict.fromkeys(site for survey in surveys for site in survey.sites)),
    )

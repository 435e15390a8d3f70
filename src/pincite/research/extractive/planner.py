"""Question to parts and queries that a person would type: the part as asked, and at most one other wording of it."""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from pincite.domain.plan import Plan, Progress, SubQuestion, Task
from pincite.domain.report_words import WORDS_ONLY
from pincite.domain.search import Constraints, Query, Survey
from pincite.research.extractive.parts import asked_for, item_of, sides_of, split_question
from pincite.research.state import open_sub_questions, query_key
from pincite.text.abbreviations import other_form, other_names
from pincite.text.pasted import searchable
from pincite.text.tokens import is_frequent_word, is_identifier, is_stop, words

_URL: Final = re.compile(r"\bhttps?://\S+|\bwww\.\S+", re.IGNORECASE)
_WORD_END: Final = re.compile(r"['’]\w{1,2}$")
# The shortest limit of any engine (Brave).
_QUERY_CHARS: Final = 400
# With fewer words the second wording asks for something else.
_LEAST_WORDS: Final = 3
# Preferred sites asked alone; each is a search of its own.
_MOST_SITES: Final = 3
# Engines find less with every further word.
_MAX_QUERY_WORDS: Final = 16
# An error line; engines overlook what is longer, and every word more is one more that no page has.
_MAX_EXACT_WORDS: Final = 12
_QUOTED: Final = re.compile(r'"([^"\n]{3,120})"|“([^”\n]{3,120})”|`([^`\n]{2,120})`')
# A question that is an error line and nothing else: where one ends inside a sentence nobody can tell.
_ERROR: Final = re.compile(
    r"(?:[\w.]*(?:Error|Exception)|fatal|FATAL|ERROR|panic|error): (?P<said>[^\n?\"“”`]{8,120}?)[.!]?"
)
_DOTTED: Final = re.compile(r"[A-Za-z]\w*(?:(?:\.|::)[A-Za-z]\w+)+(?:\(\))?|--[a-z][\w-]+")
# "PDFs on owls", "find me the PDF of a manual": a kind of file that heads what is wanted. Anywhere else it may be what
# is asked about ("merge two PDF files"); none of 936 public questions has it so.
_FILES: Final = re.compile(
    r"(?:^|\b(?:me|us) )(?:an? |the |any |some )?(?P<type>pdf|docx?|xlsx?|pptx?|csv|epub|odt)s?"
    r"(?: files?| documents?| versions?)? (?:of|on|about|from|by)\b",
    re.IGNORECASE,
)
_AROUND_NAMES: Final = ".,;:!?()[]{}\"'`“”"
# Of a pasted error, in a note: two lines.
_SHOWN_CHARS: Final = 200
# Words that no page has, in a note: those a reader can take in; more are mostly typos.
_MOST_UNKNOWN: Final = 3
# Different words; such a question holds material that says nothing of what is asked.
_LONG_QUESTION: Final = 60
# A library is asked for so many times more pages by one query: it costs nothing, and there are no other wordings.
_FROM_LIBRARY: Final = 2
# The provider of results from local libraries.
_LIBRARY: Final = "local"
# What the search service gives at most for one query, where the settings don't ask for more.
_MOST_RESULTS: Final = 10


class ExtractivePlanner:
    """Implements `roles.Planner`: splits by punctuation and coordination; a second round asks for what is missing."""

    def __init__(
        self,
        *,
        survey: Callable[[str], Awaitable[Survey]] | None = None,
        results_per_query: int = 5,
        words_only: bool = False,
        sparing: bool = False,
    ) -> None:
        self._survey = survey
        self._results_per_query = results_per_query
        self._words_only = words_only
        self._sparing = sparing

    async def plan(self, task: Task, progress: Progress) -> Plan:
        """All parts with the queries to send: the part as asked, and in a later round its bare words."""
        if progress.round_number > 1:
            return self._again(task, progress)
        question = asked_for(_in_words(searchable(task.question)))
        survey = await self._survey(question) if self._survey else Survey()
        survey = replace(survey, spellings=survey.spellings[:1])
        read = survey.corrected(question)
        parts = task.parts or split_question(read)
        sides = frozenset(sides_of(read))
        wanted = _FILES.search(task.question)
        file_type = wanted["type"].lower() if wanted and len(parts) == 1 else None
        return Plan(
            tuple(
                part
                if part.queries
                else self._asked(part, _texts(part, read, sides), survey, task.constraints, file_type)
                for part in parts
            ),
            survey,
            (*_notes(task.question, survey), *([WORDS_ONLY] if self._words_only else [])),
        )

    def _asked(
        self,
        part: SubQuestion,
        texts: Sequence[str],
        survey: Survey,
        constraints: Constraints,
        file_type: str | None,
    ) -> SubQuestion:
        wanted = self._results_per_query
        if survey.passages:
            wanted = max(wanted, min(wanted * _FROM_LIBRARY, _MOST_RESULTS))
        queries = [Query(text[:_QUERY_CHARS], wanted, constraints, include_answer=False) for text in texts]
        if file_type and not constraints.file_type:
            limited = replace(constraints, file_type=file_type)
            queries.append(Query(texts[0][:_QUERY_CHARS], self._results_per_query, limited, include_answer=False))
        queries[1:1] = variants(tuple(queries[:1]), constraints)
        # Where one query takes seconds the other wording waits for the second round, and for parts that are open then.
        if not survey.passages and not self._sparing and (bare := _bare(part.standalone)):
            exact = _exact(part.standalone)
            queries.append(_in_quotes(bare, exact, self._results_per_query, constraints))
        return replace(part, queries=tuple({query_key(query): query for query in queries}.values()))

    def _again(self, task: Task, progress: Progress) -> Plan:
        """What is open asked once more: in bare words, by another name that pages give, in the verifier's words."""
        asked, missing = set(progress.asked), open_sub_questions(progress)
        forms = other_names(page.document for page in progress.pages) if missing else {}
        # A library's index ranks by the telling words already: asked in these alone it gives the same pages.
        over_web = not progress.results or any(result.provider != _LIBRARY for result in progress.results)
        parts = []
        for part in progress.plan.sub_questions:
            asked_as = part.standalone
            texts = [_bare(asked_as), _bare(item_of(asked_as))] if part.text in missing and over_web else []
            texts += [_bare(other_form(asked_as, forms))] if part.text in missing else []
            exact = _exact(asked_as)
            fresh = [_in_quotes(text, exact, self._results_per_query, task.constraints) for text in texts if text]
            fresh += progress.follow_ups if part.sub_question_id == "1" else ()
            new = {query_key(query): query for query in fresh if query_key(query) not in asked}
            asked.update(new)
            parts.append(replace(part, queries=tuple(new.values())))
        return replace(progress.plan, sub_questions=tuple(parts))


def _texts(part: SubQuestion, question: str, sides: Collection[str]) -> tuple[str, ...]:
    """What is searched for a part: itself; for a side of a comparison the whole question comes first.

    A side is searched alone only when it says enough by itself: "a list" without "and a tuple" is on every page.
    """
    if part.text not in sides:
        return (part.standalone,)
    return (question, part.text) if _bare(part.text) else (question,)


def _in_words(question: str) -> str:
    """The question without addresses, or the words of the address that it consists of."""
    plain = " ".join(_URL.sub(" ", question).split())
    if any(character.isalnum() for character in plain):
        return plain
    spoken = re.sub(r"\bhttps?://(?:www\.)?|\.(?:html?|php|pdf)\b", " ", question, flags=re.IGNORECASE)
    return " ".join(re.findall(r"\w+", spoken)) or question


def _bare(text: str) -> str:
    """The words that carry content, as written; empty where that would be a scrap."""
    content = (word for word in words(text) if len(word) > 1 and not is_stop(_WORD_END.sub("", word)))
    kept = list(dict.fromkeys(content))[:_MAX_QUERY_WORDS]
    return " ".join(kept) if len(kept) >= _LEAST_WORDS else ""


def _exact(text: str) -> tuple[str, ...]:
    """What has to stand on a page as it is written, at most two: words in quotation marks, errors, names of code."""
    quoted = [run.strip() for match in _QUOTED.finditer(text) for run in match.groups() if run]
    error = _ERROR.fullmatch(text.strip())
    errors = [error["said"].strip()] if error else []
    names = [word.strip(_AROUND_NAMES) for word in text.split()]
    found = [*quoted, *errors, *(name for name in names if is_identifier(name) or _DOTTED.fullmatch(name))]
    short = [run for run in found if 0 < len(run.split()) <= _MAX_EXACT_WORDS]
    return tuple(dict.fromkeys(run for run in short if not any(run != other and run in other for other in short)))[:2]


def _in_quotes(bare: str, exact: Sequence[str], results: int, constraints: Constraints) -> Query:
    """The query in bare words; what is exact stands in it as it was written, for engines that know quotation marks."""
    told = {word for run in exact for word in words(run)}
    text = " ".join([*(word for word in bare.split() if word not in told), *exact])
    return Query(text[:_QUERY_CHARS], results, constraints, include_answer=False, exact=tuple(exact))


def _notes(question: str, survey: Survey) -> tuple[str, ...]:
    """What a reader is told of how the question was read, where that is not as it was written."""
    notes = [f"Searched for “{read_as}”: no page has “{written}”." for written, read_as in survey.spellings]
    kept = searchable(question)
    if kept != question:
        notes.append(f"Of the error that was pasted this was searched for: “{kept[:_SHOWN_CHARS]}”.")
        question = kept
    found = [word for word in words(_in_words(question)) if not is_stop(word)]
    if _URL.search(question):
        alone = not any(character.isalnum() for character in _URL.sub(" ", question))
        notes.append(
            "The question is only an address: its words were searched for. To have a page read, use --url."
            if alone
            else "The address in the question was not searched for; pages that are to be read are named by --url."
        )
    if len(set(found)) > _LONG_QUESTION:
        notes.append("The question is long: shorter ones are answered better.")
    unknown = [word for word, passages in survey.frequencies if not passages]
    most = len(found) > _LEAST_WORDS and len(unknown) > len(survey.frequencies) / 2
    if survey.frequencies and not survey.passages:
        notes.append("The library holds no page that can be read.")
    elif most or len(unknown) == len(survey.frequencies) >= _LEAST_WORDS:
        notes.append("Most words of the question are on no page; perhaps the pages are in another language.")
    else:
        # Of 202 answerable public questions 14 have such a word, of 32 others 13.
        # Names of code that are missing are named in what is said of their part; a sign of Chinese is no word.
        named = (word for word in unknown if word in found and len(word) > 1)
        asked = [word for word in named if not is_identifier(word) and not is_frequent_word(word)]
        notes += [f"No page has {' or '.join(f'“{word}”' for word in asked[:_MOST_UNKNOWN])}."] if asked else []
    return tuple(notes)


def variants(queries: Sequence[Query], constraints: Constraints) -> tuple[Query, ...]:
    """The first query once for each preferred or single allowed site, and once with the years of the period.

    Engines rank a whole list of sites as one: a site asked alone gets its turn. Pages often carry their year in the
    text where they carry no date.
    """
    if not queries:
        return ()
    first = queries[0]
    sites = constraints.prefer_domains or (constraints.include_domains if len(constraints.include_domains) > 1 else ())
    found = [
        replace(first, constraints=replace(constraints, include_domains=(site,), prefer_domains=()))
        for site in sites[:_MOST_SITES]
    ]
    years = sorted({day.year for day in (constraints.since, constraints.until) if day is not None})
    if years:
        found.append(replace(first, text=" ".join([first.text, *map(str, years)])))
    return tuple(found)

"""Exact facts: figures with their units, dates, versions, times, money, identifiers, addresses, quoted words.

Code compares these and nothing else. Names of people and things, negation, quantity words, modality, roles and
conditions are meaning, which a judge decides. Precision comes first: what can be read two ways counts as found.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property, lru_cache

from pincite.domain.frozen import dataclass
from pincite.text.normalise import fold
from pincite.text.tokens import terms
from pincite.verification.arithmetic import reckoned
from pincite.verification.comparison import derived, equal, implied, joined, same_thing, with_unit_behind
from pincite.verification.dates import Moment, moments
from pincite.verification.figures import Figure, figures
from pincite.verification.units import CURRENCY_SIGNS, DAY_S, MONTH_S, ORDINALS, UNITS


class FactKind(StrEnum):
    """What an exact fact is."""

    NUMBER = "number"
    DATE = "date"
    IDENTIFIER = "identifier"
    ADDRESS = "address"
    QUOTED = "quoted"


class FactOutcome(StrEnum):
    """What became of an exact fact in the evidence."""

    FOUND = "found"  # there, equal after normalising
    DERIVED = "derived"  # follows from figures that are there, by arithmetic that was executed
    OTHER = "other"  # another value stands there for the same thing
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class FactFinding:
    """An exact fact of a statement, `text` as written there, and what became of it.

    `seen` is what stands in the evidence: the equal value, the arithmetic, or the other value. `nowhere`: the pages
    were searched, too, and don't have it.
    """

    kind: FactKind
    text: str
    outcome: FactOutcome
    seen: str = ""
    nowhere: bool = False

    @property
    def problem(self) -> str:
        """What is wrong, for a person; empty when nothing is."""
        if self.outcome is FactOutcome.OTHER:
            return f"{self.text} in the statement, {self.seen} in the passage"
        if self.outcome is FactOutcome.ABSENT:
            return f"{self.text} is {'nowhere on the page' if self.nowhere else 'not in the passage'}"
        return ""


ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+")
_EXTENSION = (
    r"(?:conf|cfg|cf|ini|toml|json|ya?ml|xml|html?|md|txt|log|csv|sql|db|py|sh|js|ts|c|h|cpp|rs|go|so|exe|deb|rpm|zip|t?gz|"
    r"pdf)"
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])--?[A-Za-z][\w-]*"  # --force, -v
    r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.~*/-]+\w"  # /etc/hosts, ./configure
    rf"|(?<![\w/])[\w*-][\w.*-]*\.{_EXTENSION}(?!\w)"  # sources.list has no known ending and counts as dotted
    r"|(?<![\w.])[A-Za-z]\w*(?:\.\w+)*\.[A-Za-z]\w+(?!\w)"  # asyncio.run, gc.pruneExpire
    r"|(?<!\w)\w*[^\W_]_\w+"  # work_mem, PGDATA_DIR
    r"|(?<!\w)[a-z]+[A-Z]\w*(?:\.\d+)*"  # pruneExpire
    r"|(?<![\w-])[A-Z]+-?\d[\d.-]*\d(?!\w)"  # SHA-256, CVE-2021-44228; one digit makes names (TiO2, IPv4)
    r"|(?<![\w.-])\d+[A-Z]+\d+(?!\w)"  # 42P01
)
_QUOTED = re.compile(r'"([^"\n]{1,600})"|`([^`\n]{1,200})`')
_ELLIPSIS = re.compile(r"\s*(?:\[\s*\.{3}\s*\]|\.{3,})\s*")
_EDGES = " .,;:!?'\""
# English titles write all words but small ones with a capital; sentences hardly any.
_TITLE_SHARE = 0.6
# Titles of works are short; a longer text in capitals is a quotation that somebody shouts.
_TITLE_WORDS = 12
# The number of a list item before it, or of the first item behind what leads in the list.
_LIST_NUMBER = re.compile(r"^\(?\d{1,2}[.)] +(?=\D)|: +1\.$")
_THOUGHT = re.compile(r"(?<=\d)—(?=\d)")
# Brackets of an editor: "the [21st] century".
_INSERTED = str.maketrans("[]", "  ")
_DATING = re.compile(r"\d|century", re.IGNORECASE)
_DATED = frozenset({"date", "decade", "century"})
_STANDING = frozenset({FactOutcome.FOUND, FactOutcome.DERIVED})


def check_facts(statement: str, evidence: Sequence[str], pages: Sequence[str] = ()) -> tuple[FactFinding, ...]:
    """What became of each exact fact of the statement.

    Args:
        statement: one sentence.
        evidence: the texts of the passages and their context.
        pages: the whole texts they are from; empty when they are not at hand, then nothing is `nowhere`.
    """
    folded = _folded(statement)
    facts = tuple(_facts(folded))
    if not facts:
        return ()
    stated = [fact.figure for fact in facts if fact.figure is not None]
    shown = _Seen(evidence)
    whole = _Seen(pages)
    said = figures(folded)
    told = [figure for figure in said if figure.exact or not any(map(str.isdigit, figure.text))]  # no TOPS-10
    follows = {id(stated[at]): how for at, how in reckoned(folded, shown.figures, stated, said).items()}
    found: list[FactFinding] = []
    for fact in facts:
        finding = _compared(fact, shown, told)
        if finding.outcome is FactOutcome.OTHER and not shown.nearest(folded).has_word(finding.seen.lower()):
            finding = FactFinding(fact.kind, fact.text, FactOutcome.ABSENT)
        if finding.outcome not in _STANDING and id(fact.figure) in follows:
            finding = replace(finding, outcome=FactOutcome.DERIVED, seen=follows[id(fact.figure)])
        if pages and finding.outcome not in _STANDING:
            finding = replace(finding, nowhere=_compared(fact, whole, told).outcome not in _STANDING)
        found.append(finding)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Fact:
    kind: FactKind
    text: str
    figure: Figure | None = None
    moment: Moment | None = None
    united: Figure | None = None  # with the unit of the figure that it is joined to: the 0.5 of "0.5 to 8 MB"


class _Seen:
    """Texts that facts are looked for in; read only as far as somebody asks."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._nearest: dict[str, _Seen] = {}

    @cached_property
    def flat(self) -> str:
        """All of it in lower case, one space between words, and a bar between texts."""
        return " | ".join(" ".join(_folded(text).lower().split()) for text in self._texts)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure."""
        return tuple(figure for text in self._texts for figure in _read(text)[0])

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Every date."""
        return tuple(moment for text in self._texts for moment in _read(text)[1])

    @cached_property
    def operands(self) -> tuple[Figure, ...]:
        """The figures that can be reckoned with: in digits or with a unit, and dates (a year left out goes on)."""
        dated: list[Figure] = []
        year: int | None = None
        for moment in self.moments:
            year = moment.year or year
            if moment.kind == "date" and year is not None:
                at = (12 * year + (moment.month or 1)) * MONTH_S + (moment.day or 1) * DAY_S
                dated.append(Figure(moment.text, moment.start, moment.end, (float(year),), (at,), kind="moment"))
        return (*(figure for figure in self.figures if figure.exact), *dated)

    def of(self, dimension: str) -> Sequence[Figure]:
        """The figures that may be of this quantity, bare ones with the units that the texts name by themselves, too.

        "MINUTES: the default is 3" are 180 seconds, and 4096 may be bytes. A bare number is money only where the
        currency is named, and never where it counts something: "600 requests" are no 600 euros.
        """
        bare = [f for f in self.figures if not f.dimension and not f.counts and (f.exact or f.kind == "year")]
        if dimension in _CURRENCIES:
            named = any(self.has_word(name) if name.isalpha() else name in self.flat for name in _CURRENCIES[dimension])
            return [*(f for f in self.figures if f.dimension == dimension), *(bare if named else ())]
        sizes = {UNITS[name][1] for name in self.units if UNITS[name][0] == dimension}
        sizes |= {(1.0,)} if dimension == "data" else set()
        return self.figures + tuple(
            replace(f, values=tuple(v * size for v in f.raw for size in factors), dimension=dimension)
            for factors in sizes
            for f in bare
        )

    @cached_property
    def units(self) -> frozenset[str]:
        """The units of time and of data that stand there without a figure: "in seconds", "Size (MB)"."""
        words = set(_UNIT_ALONE.findall(self.flat)) & UNITS.keys()
        return frozenset(word for word in words if UNITS[word][0] in ("time", "data"))

    def nearest(self, statement: str) -> "_Seen":
        """The text that shares most with the statement, and what this introduces.

        What is called a passage's context stands before it ("The park opened in 2019." before "It makes 398 MW.").
        Further off a value is of something else, as the year of a copyright.
        """
        if statement not in self._nearest:
            wanted = set(terms(statement))
            shared = [len(wanted.intersection(terms(text))) for text in self._texts]
            most = max(shared, default=0)
            near = dict.fromkeys(n for at, count in enumerate(shared) if count == most for n in (at, at + 1))
            # Brackets of an editor are no part of the values that were read.
            self._nearest[statement] = _Seen(
                [text.translate(_INSERTED) for n in near for text in self._texts[n : n + 1]]
            )
        return self._nearest[statement]

    def has_letter(self, letter: str) -> bool:
        """Whether an option of this letter stands there, by itself or with others ("-am")."""
        option = re.compile(rf"(?<![\w-])-(?=[A-Za-z]*{letter})[A-Za-z]++(?![\w-])")
        return any(option.search(fold(text).text) for text in self._texts)

    def has_number(self, number: str) -> bool:
        """Whether it stands there in a name, a date or a version, not in a larger number nor behind a minus."""
        alone = re.compile(rf"(?<!\w)(?<!\d[.,])(?<!^-)(?<!\W-){re.escape(number)}(?!\w|[.,]\d)")
        dated = any(number in re.split(r"\D+", moment.text) for moment in self.moments)
        versions = (figure.text.lstrip("vV") for figure in self.figures if figure.kind == "version")
        return dated or bool(alone.search(self.flat)) or any(v.startswith(f"{number}.") for v in versions)

    def has_word(self, word: str) -> bool:
        """Whether it stands there by itself: `work_mem` is not `maintenance_work_mem`."""
        return word in self.flat and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.flat) is not None


def _folded(text: str) -> str:
    """As `fold`, yet a dash that parts thoughts is none of a range: "in 2015—20 people"."""
    return fold(_THOUGHT.sub(" — ", text)).text


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[tuple[Figure, ...], tuple[Moment, ...]]:
    folded = " ".join(_folded(text).translate(_INSERTED).split())
    dates = _dates(folded)
    years = {moment.start for moment in dates if _is_bare_year(moment)}
    # "2048 bytes" and "2000 rows" are read as years and as figures: whichever a statement means, it finds.
    found = figures(_blanked(folded, [(m.start, m.end) for m in dates if m.start not in years]))
    found = tuple(replace(f, exact=False, kind="year") if f.start in years and not _is_measure(f) else f for f in found)
    # In parts, too: "2 hours" of "2 hours 15 minutes" is not the whole, but nothing wrong.
    alone = {id(figure) for figure in found}
    more = (figure for figure in joined(found, folded) if id(figure) not in alone)
    return (*found, *more, *with_unit_behind(found, folded)), dates


def _is_bare_year(moment: Moment) -> bool:
    return moment.kind == "date" and moment.text.isdecimal() and len(moment.text) > 2


def _is_measure(figure: Figure) -> bool:
    """Whether its unit says that it is no year: "2048 bytes", but "the 2012 second edition"."""
    return bool(figure.dimension) and figure.unit not in ORDINALS


def _dates(text: str) -> tuple[Moment, ...]:
    """Every date. Without a digit there is at most a century or a month, and looking for those costs a millisecond."""
    return tuple(moments(text)) if _DATING.search(text) else ()


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _facts(text: str) -> Iterator[_Fact]:
    """The exact facts of folded text: what is inside a quotation, an address or an identifier is no fact by itself."""
    taken: list[tuple[int, int]] = []
    for match in _QUOTED.finditer(text):
        words = next(group for group in match.groups() if group is not None).strip(_EDGES)
        if words and not is_title(words):
            taken.append(match.span())
            yield _Fact(FactKind.QUOTED, words)
    for pattern, kind in ((ADDRESS, FactKind.ADDRESS), (_IDENTIFIER, FactKind.IDENTIFIER)):
        for match in pattern.finditer(_blanked(text, taken)):
            if match.group().lower() in UNITS:
                continue  # "8 kB", "14 cents per kWh"
            taken.append(match.span())
            yield _Fact(kind, match.group().rstrip(".,;:-"))
    text = _blanked(text, [*taken, *(match.span() for match in _LIST_NUMBER.finditer(text))])
    dates = [moment for moment in _dates(text) if moment.kind in _DATED]
    found = joined(figures(_blanked(text, [(m.start, m.end) for m in dates if not _is_bare_year(m)])), text)
    united = {figure.start: figure for figure in with_unit_behind(found, text)}
    numbers = {figure.start: figure for figure in found}
    for moment in dates:
        number = numbers.get(moment.start) if _is_bare_year(moment) else None
        if number is not None and _is_measure(number):
            continue
        numbers.pop(moment.start, None)
        if moment.year is not None or moment.day is not None:
            yield _Fact(FactKind.DATE, moment.text, number, moment)
    for figure in numbers.values():
        if figure.exact:
            yield _Fact(FactKind.NUMBER, figure.text.strip(), figure=figure, united=united.get(figure.start))


def quantities(text: str) -> Iterator[tuple[Figure, str]]:
    """The exact figures of a text, dates and names of code aside, each with the words before it."""
    folded = " ".join(_folded(text).translate(_INSERTED).split())
    for fact in _facts(folded):
        if fact.figure is not None and fact.moment is None:
            yield fact.figure, folded[: fact.figure.start]


def is_title(text: str) -> bool:
    """Whether most of the longer words are capitalised, as in the name of a song: names are no exact facts."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in words)
    return bool(words) and len(text.split()) in range(2, _TITLE_WORDS + 1) and capitals >= _TITLE_SHARE * len(words)


def _compared(fact: _Fact, seen: _Seen, told: Sequence[Figure]) -> FactFinding:
    if fact.moment is not None:
        return _date(fact, fact.moment, seen)
    if fact.figure is not None:
        return _number(fact, fact.figure, seen, told)
    return FactFinding(fact.kind, fact.text, FactOutcome.FOUND if _words_there(fact, seen) else FactOutcome.ABSENT)


def _words_there(fact: _Fact, seen: _Seen) -> bool:
    wanted = " ".join(fact.text.lower().split())
    if fact.kind is FactKind.QUOTED:
        parts = [part.strip(_EDGES) for part in _ELLIPSIS.split(wanted)]
        return all(part in seen.flat for part in parts)
    if fact.kind is FactKind.ADDRESS:
        return wanted.rstrip("/") in seen.flat
    if _LETTER.fullmatch(fact.text):  # git's -m and -M are two
        return seen.has_letter(fact.text[-1])
    # `--force` may be called "the force option", inetd.conf that of inetd, asyncio.run stand under its module, SHA-256
    # be written SHA256.
    bare = wanted.lstrip("-./~")
    head, _, tail = bare.rpartition(".")
    part = head.rpartition("/")[2] if _FILE_ENDING.fullmatch(tail) else tail if not tail[-1:].isdigit() else bare
    return any(seen.has_word(form) for form in {wanted, bare, part, bare.replace("-", "")} if form)


_CURRENCIES = {
    currency: [name for name, (dimension, _) in UNITS.items() if dimension == currency]
    + [name for name, of in CURRENCY_SIGNS.items() if of == currency]
    for currency in {*CURRENCY_SIGNS.values(), "chf"}
}
# "us" is a word; single letters are names.
_UNIT_ALONE = re.compile(r"(?<![\d.,] )(?<![\w.,-])(?!us\b)[^\W\d_]{2,}(?!\w)")
_LETTER = re.compile("-[A-Za-z]")
_FILE_ENDING = re.compile(_EXTENSION)


def _date(fact: _Fact, wanted: Moment, seen: _Seen) -> FactFinding:
    # A passage that says "on 7 May" leaves the year to the date of the page.
    no_year = (None, wanted.month, wanted.day) if wanted.day is not None else None
    same = next((moment for moment in seen.moments if wanted.same(moment) or moment.parts == no_year), None)
    if same is not None:
        return FactFinding(fact.kind, fact.text, FactOutcome.FOUND, same.text)
    if wanted.month is None and seen.has_word(str(wanted.year)):
        return FactFinding(fact.kind, fact.text, FactOutcome.FOUND, str(wanted.year))
    number = fact.figure  # "2000 rows" may be the page's "2,000 rows"
    numbers = [f for f in seen.figures if f.exact] if number is not None else []
    written = next((f.text for f in numbers if number and (equal(number, f) or implied(number, f))), "")
    if written:
        return FactFinding(fact.kind, fact.text, FactOutcome.FOUND, written.strip())
    left_out = [part is None for part in wanted.parts]
    alike = [moment for moment in seen.moments if moment.kind == wanted.kind]
    others = {moment.text for moment in alike if [part is None for part in moment.parts] == left_out}
    if len(others) == 1:
        return FactFinding(fact.kind, fact.text, FactOutcome.OTHER, others.pop())
    return FactFinding(fact.kind, fact.text, FactOutcome.ABSENT)


def _number(fact: _Fact, wanted: Figure, seen: _Seen, told: Sequence[Figure]) -> FactFinding:
    """What became of a figure of a sentence that has told these."""
    said = (wanted, fact.united) if fact.united is not None else (wanted,)
    # It says no more than its digits: 600, but "600 a day", which the 600 of an hour is not.
    is_bare = not wanted.dimension and not wanted.per and wanted.kind != "clock"
    known = seen.of(wanted.dimension)
    same = next((figure for figure in known if any(equal(one, figure) for one in said)), None)
    outcome, shown = FactOutcome.ABSENT, ""
    if same is not None:
        outcome, shown = FactOutcome.FOUND, same.text
    elif is_bare and seen.has_number(wanted.text.lower().removeprefix("v")):
        outcome, shown = FactOutcome.FOUND, wanted.text
    else:
        follows = next((figure.text for figure in seen.figures if implied(wanted, figure)), "")
        beside = [figure for figure in told if not wanted.start <= figure.start < wanted.end]
        shown = follows or next(filter(None, (derived(one, seen.operands, beside) for one in said)), "")
        others = {figure.text.strip() for figure in seen.figures if same_thing(wanted, figure)}
        if shown:
            outcome = FactOutcome.DERIVED
        elif len(others) == 1:
            outcome, shown = FactOutcome.OTHER, others.pop()
    return FactFinding(fact.kind, fact.text, outcome, shown.strip())

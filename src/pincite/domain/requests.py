"""What a person may ask for, written once: research, a search, a page.

Every door renders these: the command line its options, HTTP its bodies, MCP its tools' arguments, `pincite batch` its
lines, Python its keywords. What a member means, which values it takes, and where it goes by another name or is left
out stands in its `Rule`; `tests/unit/surfaces/test_requests.py` proves that each door has each member.
"""

import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.fetch import FetchRequest, Hosted, Render
from pincite.domain.frozen import dataclass
from pincite.domain.given import day, member, names
from pincite.domain.plan import AnswerForm, ReportDepth, ReportLength, ReportStyle, SubQuestion
from pincite.domain.search import Constraints, Depth, Query, TimeRange, Topic, since_of

# The settings that a single run may make stricter: lower, but for the coverage that it requires.
CAPS: Final = (
    "max_rounds",
    "max_searches",
    "max_pages",
    "max_web_requests",
    "max_cost_usd",
    "max_tokens",
    "deadline_s",
    "require_coverage",
)

PROFILE_NAMES: Final = ("quick", "standard", "thorough", "offline")
# Pairs a run may carry for its asker, as OpenAI's responses have it.
MAX_METADATA: Final = 16

_OPERATORS = "which places are searched, and at whose price, the operator's settings say"
_PERSONS = "says that a person typed this address; a program may not claim it"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one member means, and which values it takes. `low` and `high` are inclusive.

    Args:
        note: the meaning, in a line.
        low: the least value.
        high: the greatest value.
        choices: the only values.
        above_0: whether 0 is too little.
        pattern: what a text must match as a whole.
        longest: characters of a text, or entries of a list, at most.
        shortest: the least of the same.
        flags: of the command line, where others than `--name-of-the-member`.
        also: other names in JSON.
        names: of the member at a door (`mcp`, ...) that calls it otherwise.
        not_at: doors that leave it out, each with the reason.
        commas: several entries may stand in one value of the command line.
    """

    note: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    above_0: bool = False
    pattern: str = ""
    longest: int | None = None
    shortest: int = 0
    flags: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    not_at: Mapping[str, str] = field(default_factory=dict)
    commas: bool = False


def _asked(note: str, default: Any = None, **more: Any) -> Any:  # what `dataclasses.field` returns
    return field(default=default, metadata={"rule": Rule(note, **more)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """Where and when evidence may come from, and for how much."""

    include_domains: tuple[str, ...] = _asked("only these domains", (), flags=("--include-domain",), commas=True)
    prefer_domains: tuple[str, ...] = _asked("rank these domains first", (), flags=("--prefer-domain",), commas=True)
    exclude_domains: tuple[str, ...] = _asked("never these domains", (), flags=("--exclude-domain",), commas=True)
    per_domain_cap: int | None = _asked("results per domain at most", low=1)
    since: date | None = _asked("published on or after this day (YYYY-MM-DD)")
    until: date | None = _asked("published on or before this day (YYYY-MM-DD)")
    time_range: TimeRange | None = _asked(
        "only what was published since, instead of `since`", choices=("day", "week", "month", "year")
    )
    language: str | None = _asked("language of the pages, as in `en`")
    file_type: str | None = _asked("only files of this type, as in `pdf`", pattern=r"\.?[A-Za-z0-9]{1,8}")
    in_title: str | None = _asked("only pages whose title has these words", longest=200)
    max_cost_usd: float | None = _asked(
        "US dollars at most", low=0, high=1_000_000, flags=("--max-cost",), names={"mcp": "budget_usd"}
    )

    def cost_cap(self) -> Decimal | None:
        """The cap on dollars, exactly as it was written."""
        return None if self.max_cost_usd is None else Decimal(str(self.max_cost_usd))

    def constraints(self) -> Constraints:
        """These limits as searches take them. Errors: InvalidInput (`dates_contradict`)."""
        since = self.since
        if self.time_range is not None:
            if since is not None:
                raise InvalidInput(
                    "time_range and since say the same thing", reason="dates_contradict", hint="Give one of the two."
                )
            since = since_of(self.time_range, datetime.now(UTC).date())
        if since and self.until and since > self.until:
            raise InvalidInput(
                f"since {since} is after until {self.until}", reason="dates_contradict", hint="Swap the two days."
            )
        lists = (self.include_domains, self.prefer_domains, self.exclude_domains)
        kind = (self.file_type, self.in_title)
        return Constraints(*lists, self.per_domain_cap, since, self.until, self.language, *kind)


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One part of a plan that its asker has seen; `after` is the number of the part whose answer it needs."""

    question: str = _asked("what this part asks", longest=500)
    heading: str = _asked("a short title", "", longest=90)
    form: AnswerForm = _asked("the form of answer that it wants", AnswerForm.PROSE)
    queries: tuple[str, ...] = _asked("what is searched for it", (), longest=6)
    after: int | None = _asked("the number of the earlier part whose answer it needs", low=1, high=8)

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", member(AnswerForm, self.form, "form"))
        object.__setattr__(self, "queries", tuple(self.queries))

    @classmethod
    def of(cls, part: SubQuestion) -> "PlanPart":
        """The part of a plan as it is shown."""
        after = int(part.depends_on) if part.depends_on else None
        return cls(part.text, part.heading, part.form, tuple(query.text for query in part.queries), after)


@dataclass(frozen=True, slots=True)
class ResearchRequest(_Limits):
    """A question, with all that may be said of how it is answered."""

    question: str = field(metadata={"rule": Rule("the question", longest=20_000, also=("query", "input"))})
    urls: tuple[str, ...] = _asked(
        "read these pages; with no source named, only these", (), flags=("--url",), longest=100
    )
    profile: str | None = _asked(
        "how much to search and read: a preset of caps", choices=PROFILE_NAMES, names={"mcp": "effort"}
    )
    source: tuple[str, ...] = _asked(
        "where to search: `auto`, provider names, or `local:PATH`",
        (),
        commas=True,
        not_at={"http": _OPERATORS, "mcp": _OPERATORS},
    )
    llm: str | None = _asked(
        "language model as PROVIDER:NAME (a server: one that its operator allows), or `none`; never a key", longest=200
    )
    judge: str | None = _asked(
        "who judges meaning: `model`, `none`, or what the settings name (the operator: any judge)", longest=200
    )
    words_only: bool = _asked("rank by words alone: faster, and finds less of what is worded otherwise", default=False)
    max_rounds: int | None = _asked("rounds of search and reading at most", low=1)
    max_searches: int | None = _asked("searches at most", low=0)
    max_pages: int | None = _asked("pages read at most", low=0)
    max_web_requests: int | None = _asked("requests of all kinds together at most", low=0)
    max_tokens: int | None = _asked("tokens of models at most", low=0)
    deadline_s: float | None = _asked(
        "seconds after which the run ends with what it has", above_0=True, flags=("--deadline",)
    )
    require_coverage: float | None = _asked(
        "share of the question's parts that must be answered (0 to 1)", above_0=True, high=1
    )
    audience: str = _asked("who reads the report, as in `new administrators` (with a model)", "", longest=200)
    length: ReportLength = _asked("how long the report may be: 350, 1,200, 2,500 words", ReportLength.STANDARD)
    report_language: str = _asked("language of the report; else the question's (with a model)", "", longest=40)
    depth: ReportDepth = _asked("how deep the report goes (with a model)", ReportDepth.STANDARD)
    instructions: str = _asked(
        "wishes about the report's form, in your own words; never about what is true (with a model)", "", longest=2_000
    )
    plan: tuple[PlanPart | SubQuestion, ...] = _asked("a plan that was shown before, perhaps changed", (), longest=8)
    output_schema: Mapping[str, Json] | None = _asked(
        "JSON Schema of the answer, filled from the report with the passages of each value (with a model)"
    )
    continues: str = _asked(
        "go on from this run (or `last`): its pages are at hand, its claims are candidates",
        "",
        longest=100,
        flags=("--continue",),
        also=("previous_run_id",),
    )
    project: str = _asked("file the run under this project", "", longest=200)
    metadata: Mapping[str, str] | None = _asked("pairs of your own that come back with the run", longest=MAX_METADATA)

    def __post_init__(self) -> None:
        parts = tuple(PlanPart(**part) if isinstance(part, Mapping) else part for part in self.plan)
        object.__setattr__(self, "plan", parts)
        object.__setattr__(self, "length", member(ReportLength, self.length, "length"))
        object.__setattr__(self, "depth", member(ReportDepth, self.depth, "depth"))
        dollars: Any = self.max_cost_usd  # settings and records have it exactly, or as text
        if isinstance(dollars, str | Decimal):
            object.__setattr__(self, "max_cost_usd", float(dollars))
        _settle(self)

    @classmethod
    def of(cls, question: "str | ResearchRequest", asked: Mapping[str, Any]) -> "ResearchRequest":
        """The request that a question and keywords make; `constraints`, `style`, `caps` stand for their members.

        Errors: InvalidInput (an unknown keyword, a value that is none).
        """
        given = {name: value for name, value in asked.items() if name not in ("constraints", "style", "caps", "parts")}
        limits, style = asked.get("constraints"), asked.get("style")
        if limits is not None:
            given |= {one.name: getattr(limits, one.name) for one in fields(limits)}
        if style is not None:
            given |= {one.name: getattr(style, one.name) for one in fields(style)}
            given["report_language"] = style.language
            given["language"] = None if limits is None else limits.language
        if asked.get("parts"):
            given["plan"] = tuple(asked["parts"])
        given |= asked.get("caps") or {}
        known = [one.name for one in fields(cls)]
        if unknown := sorted(set(given) - set(known)):
            near = get_close_matches(unknown[0], known, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
            raise InvalidInput(f"research has no option {unknown[0]!r}", reason="unknown_keyword", hint=hint)
        return replace(question, **given) if isinstance(question, ResearchRequest) else cls(question, **given)

    def style(self) -> ReportStyle:
        """How the report shall be."""
        return ReportStyle(self.audience, self.length, self.report_language, self.depth, self.instructions)

    def caps(self) -> dict[str, object]:
        """The caps that are asked for, by the name of their setting."""
        given: dict[str, object] = {name: getattr(self, name) for name in CAPS if getattr(self, name) is not None}
        return given if self.max_cost_usd is None else given | {"max_cost_usd": self.cost_cap()}

    def settings(self) -> dict[str, object]:
        """What an operator's own request says of the settings; names that were not given are left out."""
        given = {"profile": self.profile, "source": self.source or None, "llm": self.llm, "judge": self.judge}
        more = {"per_domain_cap": self.per_domain_cap, "embeddings": "none" if self.words_only else None}
        return {name: value for name, value in {**given, **more, **self.caps()}.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SearchRequest(_Limits):
    """One search."""

    query: str = field(metadata={"rule": Rule("what to look for", longest=2_000, shortest=1)})
    source: tuple[str, ...] = _asked(
        "where to search: `auto`, provider names, or `local:PATH`",
        (),
        commas=True,
        not_at={"http": _OPERATORS, "mcp": _OPERATORS},
    )
    max_results: int = _asked("results at most: 10, or `results_per_query` if that is higher", 5, low=1, high=50)
    region: str | None = _asked("country of the results, as in `de`")
    topic: Topic = _asked("the kind of source", Topic.GENERAL)
    depth: Depth | None = _asked(
        "how hard engines shall look; by default what the money allows",
        flags=("--depth", "--search-depth"),
        also=("search_depth",),
        names={"mcp": "search_depth"},
    )
    include_answer: bool = _asked(
        "ask for the engine's own answer: a lead, no evidence", default=True, flags=("--no-answer",)
    )
    lane: str | None = _asked("who goes first at a short limit", choices=("critical", "interactive", "batch"))
    confidence: float | None = _asked(
        "how sure your own retrieval is; the gate may then spare the web and answer from what is kept", low=0, high=1
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "topic", member(Topic, str(self.topic).lower(), "topic"))
        if self.depth is not None:
            object.__setattr__(self, "depth", member(Depth, str(self.depth).lower(), "depth"))
        _settle(self)

    def asked(self) -> Query:
        """The request as searches take it. Errors: InvalidInput."""
        limits = self.constraints()
        return Query(self.query, self.max_results, limits, self.region, self.topic, self.depth, self.include_answer)


_WINDOW = "characters of one window; the rest by `offset`"
_TYPED = {"http": _PERSONS, "mcp": _PERSONS, "cli": "a person typed it: always true"}
# The same for a page. Defaults are those of `FetchRequest` itself, which has members of the service's own, too.
RULES: Final[dict[str, Rule]] = {
    "url": Rule("the page", longest=8192),
    "mode": Rule(
        "`auto` and `reader` give what was read, `raw` the page's own source", choices=("auto", "reader", "raw")
    ),
    "output_format": Rule(
        "how what was read is written",
        choices=("markdown", "text"),
        flags=("--format", "--output-format"),
        also=("output_format",),
        names={"http": "format"},
    ),
    "markdown": Rule(
        "who writes the Markdown: `rules`, or a `model` (docs/models.md); quotes never come from it",
        choices=("rules", "model"),
    ),
    "max_chars": Rule(_WINDOW, 1, 12_000),
    "max_html_chars": Rule(
        "characters of one window in mode `raw`, and of the cleaned HTML that a model converts", 1, 120_000
    ),
    "offset": Rule("where the window begins: the `next_offset` of the page before", 0),
    "include_links": Rule("list the links of the page", flags=("--links", "--include-links")),
    "max_links": Rule("how many links at most", 0, 500),
    "allow_redirects": Rule("false gives the 3xx answer and its target (`location`)", flags=("--no-redirects",)),
    "persist": Rule(
        "false neither reads nor writes the shared page cache; a run still stores its evidence", flags=("--no-persist",)
    ),
    "force_refresh": Rule("ask the site even if a copy is fresh"),
    "prefer_language": Rule("sent as `Accept-Language`, as in `de, en;q=0.5`", pattern=r"[A-Za-z0-9*,;=. -]{1,100}"),
    "render": Rule("whether a browser may be used", choices=tuple(Render)),
    "hosted": Rule("whether a paid scraper that the operator configured may be asked", choices=tuple(Hosted)),
    "include_domains": Rule("only these domains; narrows the operator's", flags=("--include-domain",), commas=True),
    "exclude_domains": Rule("never these domains", flags=("--exclude-domain",), commas=True),
    "deadline_s": Rule("seconds in all, at most 40; none: the limit `total_s`", above_0=True, flags=("--deadline",)),
    "user_triggered": Rule(
        "a person typed this URL; matters for the setting `robots = user_triggered` alone", not_at=_TYPED
    ),
}

Request = TypeVar("Request", ResearchRequest, SearchRequest, FetchRequest, PlanPart)


def rules_of(kind: type) -> dict[str, Rule]:
    """The rules of a request's members, in order."""
    if kind is FetchRequest:
        return {one.name: RULES[one.name] for one in fields(FetchRequest) if one.name in RULES}
    found = {one.name: one.metadata["rule"] for one in fields(kind)}
    own = [name for name in found if name in kind.__annotations__]
    return {name: found[name] for name in (*own, *found)}


_CHECKED: dict[type, tuple[tuple[str, Rule], ...]] = {}


def _checked(kind: type) -> tuple[tuple[str, Rule], ...]:
    """The rules that an instance is held to: looked up once, for a request may be one page of thousands."""
    if kind not in _CHECKED:
        had = {one.name for one in fields(kind)}
        _CHECKED[kind] = tuple((name, rule) for name, rule in rules_of(kind).items() if name in had)
    return _CHECKED[kind]


def check_request(request: FetchRequest | ResearchRequest | SearchRequest) -> None:
    """Return when every member of `request` is within its rule.

    Errors: InvalidInput (`reason` is the name of the member).
    """
    for name, rule in _checked(type(request)):
        value = getattr(request, name)
        if value is None or value == ():
            if value is None and isinstance(request, FetchRequest) and rule.low is not None:
                raise InvalidInput(f"{name} must be a whole number", reason=name)
            continue
        if rule.choices and value not in rule.choices:
            raise InvalidInput(f"{name} must be one of {', '.join(rule.choices)}", reason=name)
        _check_amount(name, rule, value)
        if (
            rule.longest is not None and name not in ("question", "url") and len(value) > rule.longest
        ):  # those are vetted as such
            raise InvalidInput(f"{name} is longer than {rule.longest}", reason=name)
        if rule.pattern and not re.fullmatch(rule.pattern, value):
            raise InvalidInput(f"{name} does not have the required form", reason=name, hint=f"{name}: {rule.note}.")


def _check_amount(name: str, rule: Rule, value: Any) -> None:
    if rule.low is None and rule.high is None and not rule.above_0:
        return
    if not isinstance(value, int | float | Decimal) or value != value:  # what is no number isn't itself
        raise InvalidInput(f"{name} must be a number", reason=name)
    if rule.above_0 and value <= 0:
        raise InvalidInput(f"{name} must be more than 0", reason=name)
    too_low = rule.low is not None and value < rule.low
    if too_low and rule.high is None:
        raise InvalidInput(f"{name} must be at least {rule.low:g}", reason=name)
    if too_low or (rule.high is not None and value > rule.high):
        least = "above 0" if rule.low is None else f"{rule.low:g}"
        raise InvalidInput(f"{name} must be between {least} and {rule.high:,g}".replace(",", ""), reason=name)


def _settle(request: ResearchRequest | SearchRequest) -> None:
    """Words and lists as the types say, everything within its rule. Errors: InvalidInput."""
    for name in ("include_domains", "prefer_domains", "exclude_domains", "source", "urls"):
        if hasattr(request, name):
            value = getattr(request, name)
            object.__setattr__(
                request, name, (value,) if name == "urls" and isinstance(value, str) else names(value, name)
            )
    for name in ("since", "until"):
        object.__setattr__(request, name, day(getattr(request, name), name))
    check_request(request)


def shown_defaults() -> dict[str, str]:
    """The default of every rule of a page, as the documentation writes it."""
    shown = {
        one.name: "none"
        if one.default in (None, ())
        else str(one.default).lower()
        if isinstance(one.default, bool)
        else str(one.default)
        for one in fields(FetchRequest)
        if one.name in RULES and one.name != "url"
    }
    return {name: shown[name] for name in RULES if name in shown}

"""What a person may ask for, written once: research, a search, a page.

Every door renders these: the command line its options, HTTP its bodies, MCP its tools' arguments, `pincite batch` its
lines, Python its keywords. What a member means, which values it takes, and where it goes by another name or is left
out stands in its `Rule`; `tests/unit/surfaces/test_requests.py` proves that each door has each member.
"""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from pincite.domain.errors import InvalidInput
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.given import Rule, asked, check_request, day, member, names
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """Where and when evidence may come from, and for how much."""

    include_domains: tuple[str, ...] = asked("only these domains", (), flags=("--include-domain",), commas=True)
    prefer_domains: tuple[str, ...] = asked("rank these domains first", (), flags=("--prefer-domain",), commas=True)
    exclude_domains: tuple[str, ...] = asked("never these domains", (), flags=("--exclude-domain",), commas=True)
    per_domain_cap: int | None = asked("results per domain at most", low=1)
    since: date | None = asked("published on or after this day (YYYY-MM-DD)")
    until: date | None = asked("published on or before this day (YYYY-MM-DD)")
    time_range: TimeRange | None = asked(
        "only what was published since, instead of `since`", choices=("day", "week", "month", "year")
    )
    language: str | None = asked("language of the pages, as in `en`")
    file_type: str | None = asked("only files of this type, as in `pdf`", pattern=r"\.?[A-Za-z0-9]{1,8}")
    in_title: str | None = asked("only pages whose title has these words", longest=200)
    max_cost_usd: float | None = asked(
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

    question: str = field(metadata={"rule": Rule("what this part asks", longest=500, shortest=1)})
    heading: str = asked("a short title", "", longest=90)
    form: AnswerForm = asked("the form of answer that it wants", AnswerForm.PROSE)
    queries: tuple[str, ...] = asked("what is searched for it", (), longest=6)
    after: int | None = asked("the number of the earlier part whose answer it needs", low=1, high=8)

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
    urls: tuple[str, ...] = asked(
        "read these pages; with no source named, only these", (), flags=("--url",), longest=100
    )
    profile: str | None = asked(
        "how much to search and read: a preset of caps", choices=PROFILE_NAMES, names={"mcp": "effort"}
    )
    source: tuple[str, ...] = asked(
        "where to search: `auto`, provider names, or `local:PATH`",
        (),
        commas=True,
        not_at={"http": _OPERATORS, "mcp": _OPERATORS},
    )
    llm: str | None = asked(
        "language model as PROVIDER:NAME (a server: one that its operator allows), or `none`; never a key", longest=200
    )
    judge: str | None = asked(
        "who judges meaning: `model`, `none`, or what the settings name (the operator: any judge)", longest=200
    )
    words_only: bool = asked("rank by words alone: faster, and finds less of what is worded otherwise", default=False)
    max_rounds: int | None = asked("rounds of search and reading at most", low=1)
    max_searches: int | None = asked("searches at most", low=0)
    max_pages: int | None = asked("pages read at most", low=0)
    max_web_requests: int | None = asked("requests of all kinds together at most", low=0)
    max_tokens: int | None = asked("tokens of models at most", low=0)
    deadline_s: float | None = asked(
        "seconds after which the run ends with what it has", above_0=True, flags=("--deadline",)
    )
    require_coverage: float | None = asked(
        "share of the question's parts that must be answered (0 to 1)", above_0=True, high=1
    )
    audience: str = asked("who reads the report, as in `new administrators` (with a model)", "", longest=200)
    length: ReportLength = asked("how long the report may be: 350, 1,200, 2,500 words", ReportLength.STANDARD)
    report_language: str = asked("language of the report; else the question's (with a model)", "", longest=40)
    depth: ReportDepth = asked("how deep the report goes (with a model)", ReportDepth.STANDARD)
    instructions: str = asked(
        "wishes about the report's form, in your own words; never about what is true (with a model)", "", longest=2_000
    )
    plan: tuple[PlanPart | SubQuestion, ...] = asked("a plan that was shown before, perhaps changed", (), longest=8)
    output_schema: Mapping[str, Json] | None = asked(
        "JSON Schema of the answer, filled from the report with the passages of each value (with a model)"
    )
    continues: str = asked(
        "go on from this run (or `last`), where it searched: its pages are at hand, its claims are candidates",
        "",
        longest=100,
        flags=("--continue",),
        also=("previous_run_id",),
    )
    project: str = asked("file the run under this project", "", longest=200)
    metadata: Mapping[str, str] | None = asked("pairs of your own that come back with the run", longest=MAX_METADATA)

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
    source: tuple[str, ...] = asked(
        "where to search: `auto`, provider names, or `local:PATH`",
        (),
        commas=True,
        not_at={"http": _OPERATORS, "mcp": _OPERATORS},
    )
    max_results: int = asked("results at most: 10, or `results_per_query` if that is higher", 5, low=1, high=50)
    region: str | None = asked("country of the results, as in `de`")
    topic: Topic = asked("the kind of source", Topic.GENERAL)
    depth: Depth | None = asked(
        "how hard engines shall look; by default what the money allows",
        flags=("--depth", "--search-depth"),
        also=("search_depth",),
        names={"mcp": "search_depth"},
    )
    include_answer: bool = asked(
        "ask for the engine's own answer: a lead, no evidence", default=True, flags=("--no-answer",)
    )
    lane: str | None = asked("who goes first at a short limit", choices=("critical", "interactive", "batch"))
    confidence: float | None = asked(
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

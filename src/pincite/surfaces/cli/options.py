"""Options that several commands share, each written once."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from pincite.domain.errors import InvalidInput
from pincite.domain.plan import ReportDepth, ReportLength, ReportStyle
from pincite.domain.search import Constraints, since_of

Llm = Annotated[
    str | None,
    typer.Option("--llm", metavar="MODEL", help="Language model as PROVIDER:NAME, or none (docs/models.md)."),
]
WordsOnly = Annotated[
    bool,
    typer.Option("--words-only", help="Rank by words alone: faster, and finds less of what is worded otherwise."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        help="Who judges meaning: model, PROVIDER:NAME, http://..., a local one, or none (docs/verification.md).",
    ),
]
Audience = Annotated[str | None, typer.Option(help="Who reads the report, as in `new administrators` (with a model).")]
Length = Annotated[ReportLength | None, typer.Option(help="How long the report may be (with a model).")]
ReportLanguage = Annotated[
    str | None, typer.Option("--report-language", help="Language of the report; else the question's (with a model).")
]
Depth = Annotated[ReportDepth | None, typer.Option(help="How deep the report goes (with a model).")]
Instructions = Annotated[
    str | None,
    typer.Option(help="Wishes about the report's form, in your own words; never about what is true (with a model)."),
]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan", metavar="show|edit|FILE", help="Print the plan only, edit it first, or take it from a file."
    ),
]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print every event of the run.")]
RequireCoverage = Annotated[
    float | None, typer.Option(help="Share of the question's parts that must be answered (0 to 1), else exit 7.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Profile = Annotated[str | None, typer.Option(help="Preset of caps: quick, standard, thorough or offline.")]
Source = Annotated[
    list[str] | None,
    typer.Option("--source", help="auto, provider names, or local:PATH; repeat or separate by comma."),
]
IncludeDomain = Annotated[list[str] | None, typer.Option("--include-domain", help="Only this domain (repeatable).")]
PreferDomain = Annotated[list[str] | None, typer.Option("--prefer-domain", help="Rank this domain first.")]
ExcludeDomain = Annotated[list[str] | None, typer.Option("--exclude-domain", help="Never this domain.")]
PerDomainCap = Annotated[int | None, typer.Option("--per-domain-cap", min=1, help="Results per domain at most.")]
Since = Annotated[str | None, typer.Option(help="Published on or after this day (YYYY-MM-DD).")]
Until = Annotated[str | None, typer.Option(help="Published on or before this day (YYYY-MM-DD).")]
Language = Annotated[str | None, typer.Option(help="Language of the pages, as in `en`.")]
Output = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", help="Also write this file; its suffix gives the format (repeatable)."),
]
Resolve = Annotated[list[str] | None, typer.Option("--resolve", help="HOST:PORT:ADDRESS, as in curl (repeatable).")]
AllowNetwork = Annotated[
    list[str] | None, typer.Option("--allow-network", help="CIDR of a private network to open (repeatable).")
]
Home = Annotated[Path | None, typer.Option("--home", help="Folder of the database and indexes (PINCITE_HOME).")]


def style(
    audience: str | None,
    length: ReportLength | None,
    language: str | None,
    depth: ReportDepth | None,
    instructions: str | None,
) -> ReportStyle:
    """The wishes about a report."""
    return ReportStyle(
        audience or "",
        length or ReportLength.STANDARD,
        language or "",
        depth or ReportDepth.STANDARD,
        instructions or "",
    )


def joined(values: list[str] | None) -> tuple[str, ...] | None:
    """The values of a repeatable option, each of which may hold several by comma; None when not given."""
    if values is None:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def constraints(
    *,
    include: list[str] | None = None,
    prefer: list[str] | None = None,
    exclude: list[str] | None = None,
    cap: int | None = None,
    since: str | None = None,
    until: str | None = None,
    language: str | None = None,
    time_range: str | None = None,
) -> Constraints:
    """The options as Constraints.

    Errors:
        InvalidInput: a day that is none, `since` after `until`, a time range that is none or given beside `since`.
    """
    found = Constraints(
        include_domains=joined(include) or (),
        prefer_domains=joined(prefer) or (),
        exclude_domains=joined(exclude) or (),
        per_domain_cap=cap,
        since=_day("--since", since) if time_range is None else _since(time_range, since),
        until=_day("--until", until),
        language=language,
    )
    if found.since and found.until and found.since > found.until:
        raise InvalidInput(f"--since {found.since} is after --until {found.until}", hint="Swap the two days.")
    return found


def _since(time_range: str, since: str | None) -> date:
    if since is not None:
        raise InvalidInput("--time-range and --since say the same thing", hint="Give one of the two.")
    return since_of(time_range, datetime.now(UTC).date())


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{option} {text!r} is not a day", hint="Write it as YYYY-MM-DD.") from None

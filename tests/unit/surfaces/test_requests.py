"""Whatever one door can be asked, all can: each member of a request at each door, by name and by value.

A member that a door leaves out says why in its rule (`not_at`); there is no other exception.
"""

import json
from dataclasses import fields
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pincite.domain.errors import InvalidInput
from pincite.domain.fetch import FetchRequest
from pincite.domain.given import rules_of
from pincite.domain.plan import ReportDepth
from pincite.domain.requests import PlanPart, ResearchRequest, SearchRequest
from pincite.surfaces.cli import options
from pincite.surfaces.http.research import ResearchBody
from pincite.surfaces.http.tools import FetchBody, SearchBody
from pincite.surfaces.mcp.server import make_server, own_tools
from pincite.surfaces.requests import body_of, read_row, request_of, tool_arguments

KINDS = (ResearchRequest, SearchRequest, FetchRequest)
DOORS = ("cli", "http", "mcp", "batch", "python")
NOT_OF_A_CALLER = {
    "validators": "conditional headers of a stored capture, set by the service",
    "confirms": "a capture that the site shall confirm, set by recheck",
}
"""Members of `FetchRequest` that no rule names, and why."""
SCHEMA = {"type": "object", "properties": {"year": {"type": "integer"}}}
VALUES: dict[str, Any] = {
    "question": "When was it opened?", "query": "bridge", "url": "https://a.test/", "profile": "quick",
    "urls": ("https://a.test/1,2",), "source": ("local:a", "wikipedia"), "llm": "none", "judge": "none",
    "audience": "beginners", "length": "short", "report_language": "de", "depth": "expert", "instructions": "Be brief.",
    "plan": (PlanPart("What is it?", queries=("it",)),), "output_schema": SCHEMA, "continues": "last",
    "project": "bridges", "metadata": {"ticket": "7"}, "since": date(2026, 1, 2), "until": date(2026, 2, 3),
    "time_range": "week", "language": "en", "region": "de", "topic": "news", "lane": "batch", "confidence": 0.4,
    "mode": "raw", "output_format": "text", "markdown": "model", "prefer_language": "de", "render": "never",
    "hosted": "never", "require_coverage": 0.5, "per_domain_cap": 2, "file_type": "pdf", "in_title": "bridge",
}  # fmt: skip


def value_of(kind: type, name: str) -> Any:
    """A value of a member that isn't its default."""
    if name == "depth" and kind is SearchRequest:
        return "advanced"
    if name in VALUES:
        return VALUES[name]
    default = next(one.default for one in fields(kind) if one.name == name)
    if isinstance(default, bool):
        return not default
    return ("a.test", "b.test") if default == () else 7


def members(door: str) -> list[Any]:
    return [
        pytest.param(kind, name, id=f"{kind.__name__}.{name}")
        for kind in KINDS
        for name, rule in rules_of(kind).items()
        if door not in rule.not_at
    ]


def least(kind: type) -> dict[str, Any]:
    required = next(name for name in rules_of(kind) if name in ("question", "query", "url"))
    return {required: VALUES[required]}


def plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple):
        return [
            {"question": part.question, "queries": ["it"]} if isinstance(part, PlanPart) else part for part in value
        ]
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_has_a_rule_and_every_exception_a_reason(kind: type) -> None:
    rules = rules_of(kind)
    assert {one.name for one in fields(kind)} == set(rules) | (set(NOT_OF_A_CALLER) if kind is FetchRequest else set())
    for name, rule in rules.items():
        assert rule.note, name
        assert set(rule.not_at) <= set(DOORS), name
        assert all(len(why) > 20 for why in rule.not_at.values()), name


@pytest.mark.parametrize(("kind", "name"), members("cli"))
def test_the_command_line_has_each(kind: type, name: str, tmp_path: Path) -> None:
    got: list[Any] = []
    app = typer.Typer()

    @app.command()
    @options.asking(kind, beside=("plan",) if kind is ResearchRequest else ())
    def command(asked: Any, plan: str | None = None) -> None:
        got.append(asked if name != "plan" else SimpleNamespace(plan=plan))

    value, rule = value_of(kind, name), rules_of(kind)[name]
    if name == "plan":
        value = "show"  # the command itself shows it, has it edited or reads it from a file
    flag = rule.flags[0] if rule.flags else f"--{name.replace('_', '-')}"
    if name == "output_schema":
        (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
        typed = [flag, str(tmp_path / "schema.json")]
    elif name == "metadata":
        typed = [flag, "ticket=7"]
    elif isinstance(value, bool):
        typed = [flag]
    else:
        typed = [part for each in (value if isinstance(value, tuple) else (value,)) for part in (flag, str(each))]
    required = next(iter(least(kind)))
    ended = CliRunner().invoke(app, [VALUES[required], *(() if name == required else typed)])
    assert ended.exit_code == 0, ended.output
    assert getattr(got[0], name) == value


@pytest.mark.parametrize(("kind", "name"), members("http"))
def test_http_has_each(kind: type, name: str) -> None:
    body: Any = {ResearchRequest: ResearchBody, SearchRequest: SearchBody, FetchRequest: FetchBody}[kind]
    rule = rules_of(kind)[name]
    own = rule.names.get("http", name)
    assert own in body.model_json_schema()["properties"]
    for given in (own, *rule.also):
        sent = body.model_validate(
            {**least(kind), **({} if name in least(kind) else {given: plain(value_of(kind, name))})}
        )
        assert getattr(request_of(kind, sent), name) == value_of(kind, name)


@pytest.mark.parametrize(("kind", "name"), members("batch"))
def test_lines_of_a_batch_have_each(kind: type, name: str) -> None:
    found: Any = read_row(kind, {**least(kind), name: plain(value_of(kind, name))})
    assert getattr(found, name) == value_of(kind, name)


@pytest.mark.parametrize(("kind", "name"), members("mcp"))
async def test_tools_have_each(kind: type, name: str) -> None:
    got: list[Any] = []

    @tool_arguments(kind)
    async def tool(asked: Any) -> None:
        got.append(asked())

    own = rules_of(kind)[name].names.get("mcp", name)
    await tool(**{**least(kind), own: plain(value_of(kind, name))})
    assert getattr(got[0], name) == value_of(kind, name)


@pytest.mark.parametrize(("tool", "kind"), [
    ("research", ResearchRequest), ("research_plan", ResearchRequest), ("web_search", SearchRequest),
    ("web_fetch", FetchRequest),
])  # fmt: skip
async def test_the_schema_of_a_tool_names_each_and_says_what_it_means(tool: str, kind: type, tmp_path: Path) -> None:
    listed = {one.name: one for one in await make_server(own_tools(home=tmp_path)).list_tools()}
    properties = listed[tool].input_schema["properties"]
    for name, rule in rules_of(kind).items():
        shown = properties.get(rule.names.get("mcp", name))
        assert (shown is None) == ("mcp" in rule.not_at), name
        assert shown is None or shown["description"], name


@pytest.mark.parametrize(("kind", "name"), members("python"))
def test_python_has_each_as_a_keyword(kind: type, name: str) -> None:
    value = value_of(kind, name)
    given = {**least(kind), name: value}
    assert getattr(kind(**given), name) == value
    if kind is ResearchRequest and name != "question":
        assert getattr(ResearchRequest.of("When?", {name: value}), name) == value


def test_what_is_left_out_is_really_not_there() -> None:
    for door in ("http", "mcp", "batch"):
        for kind in KINDS:
            for name, rule in rules_of(kind).items():
                if door in rule.not_at:
                    assert name not in body_of(kind, door).model_fields, (door, name)


@pytest.mark.parametrize(("given", "reason"), [
    ({"profile": "huge"}, "profile"), ({"max_rounds": 0}, "max_rounds"), ({"depth": "deepest"}, "depth"),
    ({"require_coverage": 1.5}, "require_coverage"), ({"since": "soon"}, "since"), ({"deadline_s": 0}, "deadline_s"),
    ({"instructions": "x" * 2_001}, "instructions"), ({"colour": "red"}, "unknown_keyword"),
    ({"metadata": {str(n): "" for n in range(17)}}, "metadata"), ({"include_domains": [1]}, "include_domains"),
])  # fmt: skip
def test_what_is_out_of_range_is_refused_by_name(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        ResearchRequest.of("When?", given)
    assert refusal.value.reason == reason


def test_days_that_contradict_each_other_are_refused() -> None:
    for given in ({"since": "2026-02-01", "until": "2026-01-01"}, {"since": "2026-02-01", "time_range": "week"}):
        with pytest.raises(InvalidInput) as refusal:
            ResearchRequest.of("When?", given).constraints()
        assert refusal.value.reason == "dates_contradict"


def test_a_mistaken_line_names_its_member() -> None:
    with pytest.raises(InvalidInput, match="unknown member 'colour'"):
        read_row(ResearchRequest, {"question": "When?", "colour": "red"})
    with pytest.raises(InvalidInput) as refusal:
        read_row(ResearchRequest, {"question": "When?", "max_pages": "many"})
    assert refusal.value.reason == "max_pages"


def test_a_request_stands_for_itself_with_keywords_beside_it() -> None:
    first = ResearchRequest("When?", depth=ReportDepth.EXPERT, max_cost_usd=0.1)
    again = ResearchRequest.of(first, {"max_pages": 3})
    assert (again.depth, again.max_pages, str(again.cost_cap())) == ("expert", 3, "0.1")

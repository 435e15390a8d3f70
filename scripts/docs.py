"""Write the generated tables of docs/*.md from the code; with --check, fail when one is out of date.

A page holds a table between `<!-- generated: NAME -->` and `<!-- end -->`; NAME is one of `TABLES`.
"""

import ast
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import get_args

from pydantic_core import PydanticUndefined

from pincite.domain import events
from pincite.domain.errors import PinciteError, leaves
from pincite.domain.events import EventType
from pincite.domain.fetch import FetchRequest
from pincite.domain.given import Rule, rules_of
from pincite.domain.requests import ResearchRequest, SearchRequest
from pincite.exports import codec
from pincite.fetch.limits import CEILINGS, NOTES, FetchLimits
from pincite.search.catalogue import CATALOGUE, RETIRED, Terms
from pincite.settings import Settings, environment_names
from pincite.surfaces.errors import EXIT_CODES, HTTP_STATUS
from pincite.wiring.registry import export_formats

FOLDER = Path("docs")
BLOCK = re.compile(r"(<!-- generated: (?P<name>[a-z_]+) -->\n).*?(\n<!-- end -->)", re.DOTALL)
EVENT_LINE = re.compile(r'^    (?P<name>[A-Z_]+) = "[a-z_.]+"  # (?P<note>.+)$', re.MULTILINE)


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def first_line(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def errors() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for leaf in leaves():
            family = next(base for base in leaf.__mro__[1:] if base in (PinciteError, *PinciteError.__subclasses__()))
            kind = "" if family is PinciteError else family.__name__
            again = "yes" if leaf.default_retryable else "no"
            hint = f" *{leaf.default_hint}*" if leaf.default_hint else ""
            yield (
                f"`{leaf.code}`",
                str(EXIT_CODES[leaf.code]),
                str(HTTP_STATUS[leaf.code]),
                again,
                kind,
                first_line(leaf) + hint,
            )

    return table(("code", "exit", "HTTP", "retry", "family", "what it means, *what to do*"), rows())


def event_types() -> str:
    notes = {m["name"]: m["note"] for m in EVENT_LINE.finditer(inspect.getsource(events))}
    told = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted(Path("src/pincite").rglob("*.py"))
        if not {"testing", "domain", "surfaces"} & set(path.parts)
    )

    def rows() -> Iterator[tuple[str, ...]]:
        for event in EventType:
            reserved = "" if f"EventType.{event.name}" in told else " (reserved: this version doesn't tell it)"
            what, _, data = notes[event.name].partition("; `")
            yield f"`{event.value}`", what + reserved, f"`{data}" if data else ""

    return table(("type", "what happened", "in `data`"), rows())


def default_of(name: str) -> str:
    field = Settings.model_fields[name]
    value = field.default
    if value is PydanticUndefined:
        return "platform's"
    if value is None or value in ((), {}):
        return "–"
    if isinstance(value, tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def settings() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for name, field in Settings.model_fields.items():
            variables = ", ".join(f"`{variable}`" for variable in environment_names(name))
            choices = get_args(field.annotation)
            allowed = (
                f" One of {', '.join(f'`{c}`' for c in choices)}." if choices and isinstance(choices[0], str) else ""
            )
            yield f"`{name}`", variables, default_of(name), (field.description or "") + allowed

    return table(("in `pincite.toml`", "in the environment", "default", "what it does"), rows())


def money(amount: Decimal) -> str:
    return f"${amount * 1000:f}".rstrip("0").rstrip(".") if amount else "free"


def terms(known: Terms) -> str:
    if known.read_on is None:
        return f"not read: kept {known.cap_s() / 86_400:g} day, one scope"
    shared = "may be shared" if known.may_share() else "one scope"
    return f"kept {known.cap_s() / 86_400:g} days, {shared} (read {known.read_on})"


def providers() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for card in CATALOGUE.values():
            price = "unknown" if card.price is None else money(card.price.basic)
            if card.price is not None and card.price.note:
                price += f" ({card.price.note})"
            key = f"`{card.key_variable}`" if card.key_variable else "none"
            yield (
                f"`{card.name}`",
                card.title,
                key,
                price,
                card.limits_text,
                ", ".join(card.native),
                str(card.max_results),
                terms(card.terms),
            )

    head = (
        "name",
        "engine",
        "key",
        "list price per 1,000",
        "its limits",
        "filters it applies itself",
        "results at most",
        "terms for its answers",
    )
    dated = max(card.price.dated for card in CATALOGUE.values() if card.price)
    gone = " ".join(f"`{name}`: {why}." for name, why in RETIRED.items())
    return f"{table(head, rows())}\n\nPrices and limits as read on {dated}; they drift. Retired: {gone}"


def schemas() -> str:
    ids = {name: json.loads(codec.published(name))["$id"] for name in codec.SCHEMAS}
    rows = ((f"`{name}`", f"`pincite/schemas/{name}.json`", found) for name, found in ids.items())
    return table(("shape", "file in the package", "`$id`"), rows)


def formats() -> str:
    rows = (
        (f"`{one.name}`", one.title, one.about, f'`pip install ".[{one.needs}]"`' if one.needs else "")
        for one in export_formats()
    )
    return table(("format", "what", "for", "needs"), rows)


def values_of(rule: Rule) -> str:
    if rule.choices:
        return ", ".join(f"`{choice}`" for choice in rule.choices)
    if rule.low is None:
        return "more than 0" if rule.above_0 else ""
    return f"from {rule.low:g}" if rule.high is None else f"{rule.low:g} to {rule.high:g}"


def fetch_request() -> str:
    def shown(value: object) -> str:
        return "none" if value in (None, ()) else str(value).lower() if isinstance(value, bool) else str(value)

    defaults = {one.name: shown(one.default) for one in fields(FetchRequest) if one.name != "url"}
    rules = rules_of(FetchRequest).items()
    rows = ((f"`{name}`", defaults[name], values_of(rule), rule.note) for name, rule in rules if name in defaults)
    return table(("request", "default", "values", "what it does"), rows)


def request_of(kind: type) -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for name, rule in rules_of(kind).items():
            flags = rule.flags or (() if name in ("question", "query") else (f"--{name.replace('_', '-')}",))
            own = [f"{door.upper()}: `{other}`" for door, other in rule.names.items()]
            also = [*own, *(f"`{other}`" for other in rule.also)]
            note = rule.note + "".join(f"; not over {door.upper()}: {why}" for door, why in rule.not_at.items())
            yield f"`{name}`", ", ".join(f"`{flag}`" for flag in flags), ", ".join(also), values_of(rule), note

    return table(("member", "command line", "other names", "values", "what it means"), rows())


def fetch_limits() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for field in fields(FetchLimits):
            ceiling = CEILINGS.get(field.name)
            shown = "" if ceiling is None else f"{ceiling:g}" if ceiling < 1e5 else str(ceiling)
            yield f"`{field.name}`", str(field.default), shown, NOTES[field.name]

    return table(("limit", "default", "ceiling", "of what"), rows())


def layers() -> str:
    """The layers that `lint-imports` holds, top first, with what the code says of each package."""
    contracts = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (held,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")

    def rows() -> Iterator[tuple[str, ...]]:
        for number, layer in enumerate(reversed(held), 1):
            for name in re.findall(r"\w+", layer):
                module = Path("src/pincite", name)
                source = file if (file := module.with_suffix(".py")).is_file() else module / "__init__.py"
                says = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
                yield str(number), f"`{name}`", says.partition("\n")[0]

    return table(("layer", "package or module", "what it is"), iter(reversed(list(rows()))))


TABLES: dict[str, Callable[[], str]] = {
    "layers": layers,
    "research_request": lambda: request_of(ResearchRequest),
    "search_request": lambda: request_of(SearchRequest),
    "errors": errors,
    "events": event_types,
    "settings": settings,
    "providers": providers,
    "schemas": schemas,
    "formats": formats,
    "fetch_request": fetch_request,
    "fetch_limits": fetch_limits,
}


def renewed(text: str) -> str:
    """The page with every generated table as the code has it now."""
    return BLOCK.sub(lambda found: found[1] + TABLES[found["name"]]() + found[3], text)


def main() -> int:
    stale = []
    for path in sorted(FOLDER.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        wanted = renewed(text)
        if text != wanted:
            stale.append(str(path))
            if "--check" not in sys.argv:
                path.write_text(wanted, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"out of date: {', '.join(stale)}; run: python scripts/docs.py")
        return 1
    print(f"written: {', '.join(stale)}" if stale else "docs: generated tables up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())

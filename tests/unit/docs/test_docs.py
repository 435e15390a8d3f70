"""The docs are true: generated tables are fresh, code runs, links lead somewhere, every name appears."""

import asyncio
import importlib.util
import inspect
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pincite.domain.errors import leaves
from pincite.domain.events import EventType
from pincite.settings import Settings, environment_names
from pincite.surfaces.cli.app import app

ROOT = Path(__file__).parents[3]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^```(?P<kind>[a-z]+)(?P<note>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|citation:)([^)#\s]+)")


def fences(kind: str) -> Iterator[tuple[str, str]]:
    for page in [*PAGES, ROOT / "README.md"]:
        for index, found in enumerate(FENCE.finditer(page.read_text(encoding="utf-8"))):
            if found["kind"] == kind and "no-run" not in found["note"]:
                yield f"{page.relative_to(ROOT)}:{index}", found["code"]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location(f"script_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["docs", "schemas"])
def test_generated_files_are_fresh(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = script(name, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--check"])
    assert module.main() == 0


PYTHON = list(fences("python"))


@pytest.mark.parametrize("code", [code for _, code in PYTHON], ids=[place for place, _ in PYTHON])
def test_python_blocks_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")  # the library of the examples
    monkeypatch.setenv("PINCITE_HOME", str(tmp_path / "home"))
    pasted = "asyncio.run(" in code  # as it would be run from a file
    compiled = compile(code, "docs", "exec", flags=0 if pasted else 0x2000)  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    running = eval(compiled, {"__name__": "docs"})
    if inspect.iscoroutine(running):
        asyncio.run(running)


TOML = list(fences("toml"))


@pytest.mark.parametrize(("place", "code"), TOML, ids=[place for place, _ in TOML])
def test_toml_blocks_are_toml_and_settings_are_settings(place: str, code: str) -> None:
    found = tomllib.loads(code)
    if place.startswith("docs/settings.md"):
        Settings.model_validate(found)


LINKING = [*PAGES, *ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md")]


@pytest.mark.parametrize("page", LINKING, ids=[str(page.relative_to(ROOT)) for page in LINKING])
def test_links_lead_to_pages(page: Path) -> None:
    written = FENCE.sub("", page.read_text(encoding="utf-8"))
    missing = [link for link in LINK.findall(written) if not (page.parent / link).exists()]
    assert missing == []


def test_every_error_event_and_setting_is_documented() -> None:
    text = {
        name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("errors", "events", "settings")
    }
    assert [leaf.code for leaf in leaves() if f"`{leaf.code}`" not in text["errors"]] == []
    assert [event.value for event in EventType if f"`{event.value}`" not in text["events"]] == []
    for name in Settings.model_fields:
        assert f"`{name}`" in text["settings"]
        assert all(f"`{variable}`" in text["settings"] for variable in environment_names(name))


def commands() -> Iterator[str]:
    """Every command as it is typed."""
    for info in app.registered_commands:
        yield f"pincite {info.name}"
    for group in app.registered_groups:
        assert group.typer_instance
        for info in group.typer_instance.registered_commands:
            name = info.name or (info.callback.__name__.replace("_", "-") if info.callback else "")
            yield f"pincite {group.name} {name}"


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [command for command in commands() if f"`{command}" not in text] == []


def test_every_page_is_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        waiting += [page.parent / link for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page.resolve() not in seen] == []


JSON = list(fences("json"))


@pytest.mark.parametrize("code", [code for _, code in JSON], ids=[place for place, _ in JSON])
def test_json_blocks_are_json(code: str) -> None:
    json.loads(code)


def test_every_host_that_starts_the_command_gives_it_its_environment() -> None:
    """Hosts start commands with few variables of the shell: keys, home and engines would be lost."""
    snippets = [code for _, code in JSON if '"command"' in code]
    assert len(snippets) >= 2
    for code in snippets:
        found = json.loads(code)
        servers = found.get("mcpServers") or found["servers"]
        assert all("PINCITE_HOME" in server["env"] for server in servers.values()), code
    known = {variable for name in Settings.model_fields for variable in environment_names(name)}
    named = {name for code in snippets for server in json.loads(code).values() if isinstance(server, dict)
             for one in server.values() for name in one["env"]}  # fmt: skip
    assert named <= known
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert "claude mcp add pincite --env " in text
    for line in text.splitlines():
        assert "MCPServerStdio(params={" not in line or '"env"' in line, line


def test_no_page_installs_from_an_index_that_has_no_pincite() -> None:
    for page in [*PAGES, ROOT / "README.md"]:
        wrong = re.findall(r"pip install ['\"]?pincite\b[^\n]*", page.read_text(encoding="utf-8"))
        assert wrong == [], page.name


def test_the_example_of_the_readme_runs_as_it_is_pasted() -> None:
    (code,) = [code for place, code in PYTHON if place.startswith("README.md")]
    compile(code, "README.md", "exec")  # no `await` outside a function
    assert "asyncio.run(" in code


def test_the_readme_names_the_variables_of_keys() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", text))
    known = {variable for name in Settings.model_fields for variable in environment_names(name)}
    assert {"TAVILY_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PINCITE_HOME"} <= named
    assert named <= known


def test_decisions_name_modules_that_are_there() -> None:
    layers = {path.stem for path in (ROOT / "src" / "pincite").iterdir()}
    missing = []
    for page in (ROOT / "docs" / "adr").glob("*.md"):
        for name in re.findall(r"`(?:pincite\.)?([a-z_]+(?:\.[a-z_]+)+)`", page.read_text(encoding="utf-8")):
            first, *rest = name.split(".")
            place = ROOT / "src" / "pincite" / first
            if first in layers and rest[0] not in ("py", "js", "sqlite", "txt") and place.is_dir():
                found = (place / rest[0]).is_dir() or (place / f"{rest[0]}.py").is_file()
                missing += [] if found else [f"{page.name}: {name}"]
    assert missing == []


def test_the_map_of_modules_names_all_that_are_there_and_no_others() -> None:
    source = ROOT / "src" / "pincite"
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("| package | modules |")[2]
    rows = [row.split("|") for row in table.partition("\n\n")[0].splitlines()[2:]]
    assert len(rows) > 10
    missing: list[str] = []
    for _, packages, modules, _ in rows:
        own = [source / name for name in re.findall(r"`(\w+)`", packages)]
        places = [source, *own]
        names = re.findall(r"`([a-z_/]+?)/?`", modules.replace("`tests/fakes`", ""))
        there = {name for name in names for at in places if (at / name).is_dir() or (at / f"{name}.py").is_file()}
        missing += [name for name in names if name not in there]
        missing += [
            f"{path.parent.name}/{path.stem} is not in the map"
            for at in own
            for path in at.glob("[!_]*.py")
            if path.stem not in names
        ]
    assert missing == []


def test_every_kind_of_event_is_told_by_somebody() -> None:
    sources = [path for path in (ROOT / "src" / "pincite").rglob("*.py") if "surfaces" not in path.parts]
    told = " ".join(path.read_text(encoding="utf-8") for path in sources)
    assert [kind.name for kind in EventType if f"EventType.{kind.name}" not in told] == []

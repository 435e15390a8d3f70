"""What the setting `source` means, on a person's machine and on a server."""

import threading
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from pincite.domain.errors import InvalidInput, InvalidSetting, LibraryNotFound
from pincite.domain.events import Event, EventType
from pincite.engine import Engine
from pincite.library.local import LocalLibrary
from pincite.settings import Settings
from pincite.surfaces.cli import progress
from pincite.surfaces.http.serving import engine_opener
from pincite.wiring import libraries
from pincite.wiring.sources import Sources, resolve_libraries, resolve_sources


def settings(home: Path, **given: object) -> Settings:
    return Settings.model_validate({"home": home, **given})


def test_without_a_key_duckduckgo_is_asked(tmp_path: Path) -> None:
    assert resolve_sources(settings(tmp_path)) == Sources(providers=("duckduckgo", "wikipedia"))


def test_with_keys_their_engines_are_asked(tmp_path: Path) -> None:
    given = settings(tmp_path, exa_api_key="k", searxng_base_url="http://127.0.0.1:8080")
    assert resolve_sources(given).providers == ("exa", "searxng")
    assert resolve_sources(settings(tmp_path, exa_api_key="k", serving=True)).providers == ("exa",)


def test_a_server_does_not_ask_duckduckgo_by_itself(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="no search engine is set up") as missing:
        resolve_sources(settings(tmp_path, serving=True))
    assert missing.value.reason == "no_search_provider"
    assert "TAVILY_API_KEY" in missing.value.hint
    assert "PINCITE_SOURCE=bundled" in missing.value.hint
    assert "PINCITE_DUCKDUCKGO" in missing.value.hint
    with pytest.raises(InvalidSetting, match="DuckDuckGo is off") as named:
        resolve_sources(settings(tmp_path, serving=True, source="duckduckgo"))
    assert named.value.reason == "provider_off"


def test_a_server_asks_duckduckgo_when_it_is_turned_on(tmp_path: Path) -> None:
    given = settings(tmp_path, serving=True, duckduckgo=True)
    assert resolve_sources(given).providers == ("duckduckgo", "wikipedia")


def test_duckduckgo_can_be_turned_off_everywhere(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="DuckDuckGo is off"):
        resolve_sources(settings(tmp_path, duckduckgo=False))


def test_a_server_without_an_engine_still_reads_pages(tmp_path: Path) -> None:
    assert resolve_libraries(settings(tmp_path, serving=True)) == ()
    assert resolve_sources(settings(tmp_path, serving=True), only_urls=True) == Sources()


@pytest.mark.parametrize("typed", ["docs/", "./pages", "/srv/pages.warc.gz"])
def test_a_folder_without_its_word_is_told_how_to_be_named(tmp_path: Path, typed: str) -> None:
    with pytest.raises(InvalidSetting, match="there is no source") as refused:
        resolve_sources(settings(tmp_path, source=typed))
    assert f"local:{typed}" in refused.value.hint


def test_local_without_a_path_is_not_the_folder_that_this_runs_in(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="names no folder"):
        resolve_sources(settings(tmp_path, source="local:"))


async def test_a_folder_may_be_named_by_a_text(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Gulls\n\nThe gull nests on the roof.\n")
    async with Engine.from_settings(home=tmp_path / "home") as engine:
        assert (await engine.index(str(tmp_path / "page.md"))).pages == 1


def test_the_bundled_pages_are_a_source(tmp_path: Path) -> None:
    (library,) = resolve_sources(settings(tmp_path, source="bundled")).libraries
    assert library.is_file()


def test_named_libraries_are_found_and_missing_ones_said(tmp_path: Path) -> None:
    given = settings(tmp_path, source=f"local:{tmp_path},exa", exa_api_key="k")
    assert resolve_sources(given) == Sources((tmp_path.resolve(),), ("exa",))
    with pytest.raises(LibraryNotFound):
        resolve_sources(settings(tmp_path, source="local"))


async def test_the_gate_and_the_lane_are_asked_for_by_the_engine(tmp_path: Path) -> None:
    async with Engine.from_settings(home=tmp_path, exa_api_key="k", exa_base_url="http://127.0.0.1:9") as engine:
        spared = await engine.search("history of the bicycle", context=0.9)
        assert spared.results == ()
        assert spared.info.reason.startswith("no web needed")
        with pytest.raises(InvalidInput, match="confidence"):
            await engine.search("history of the bicycle", context=1.5)
        with pytest.raises(InvalidInput, match="lane"):
            await engine.search("history of the bicycle", lane="fast")


async def test_the_engines_of_a_server_know_that_they_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINCITE_DUCKDUCKGO", raising=False)
    engine = engine_opener(tmp_path)("local", None)
    assert engine.settings.serving
    async with engine:
        with pytest.raises(InvalidSetting, match="no search engine is set up"):
            await engine.search("connection pool")


async def test_a_folder_is_read_when_its_run_is_worked_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_REPORT_EVERY_S", 0.0)
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"# Pier {name}\n\nPier {name} is 31 metres long.\n", encoding="utf-8")
    told: list[Event] = []
    async with Engine.from_settings(home=tmp_path / "home", source=f"local:{folder}", embeddings="none") as engine:
        run_id = await engine.start("How long is pier one?")
        assert libraries.library_state(folder, engine.settings).pages == 0, "whoever asks does not wait for it"
        report = await engine.resume(run_id, on_event=told.append)
    assert "31 metres" in report.markdown
    reading = [event.data for event in told if event.type is EventType.LIBRARY_READ]
    assert reading == [{"library": "notes", "pages": 1}, {"library": "notes", "pages": 2}]
    assert told[2].type is EventType.RUN_STARTED, "the time that a run may take has not begun before"


async def test_a_library_that_several_runs_begin_with_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)
    real, made = libraries._library, []

    def opened(path: Path, given: Settings) -> LocalLibrary:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # passes only where another one is here, too
        made.append(real(path, given))
        return made[-1]

    monkeypatch.setattr(libraries, "_library", opened)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "bees.html").write_text("<h1>Bees</h1><p>They are counted in spring.</p>")
    async with Engine(settings(tmp_path / "home", embeddings="none")) as engine, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(engine._parts._libraries.vet, tmp_path / "pages")
    assert len(made) == 1


async def test_indexing_tells_how_far_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("bees", "boats"):
        (folder / f"{name}.html").write_text(f"<h1>{name}</h1><p>The {name} are counted by the harbour in spring.</p>")
    told: list[str] = []
    async with Engine(settings(tmp_path / "home", embeddings="none")) as engine:
        await engine.index(folder, progress=told.append)
    assert told == ["1 page read", "2 pages read"]


def test_without_a_terminal_what_takes_long_says_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.progress_line() as tell:
        tell("1 page read")
        assert capsys.readouterr().err == "", "not of what is done soon"
        monkeypatch.setattr(progress, "_A_LINE_EVERY_S", 0.0)
        tell("vectors of 64 of 14,362 passages")
    assert capsys.readouterr().err == "vectors of 64 of 14,362 passages\n"

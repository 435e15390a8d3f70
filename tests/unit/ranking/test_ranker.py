"""Passages ranked for a question, by words and by meaning, and how likely they answer it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.fakes.embedder import WordEmbedder
from tests.fakes.small_web import document_of

from pincite.domain.search import Survey
from pincite.library.vectors import VectorFile
from pincite.ranking.answerable import is_here, part_features, part_likelihood
from pincite.ranking.passages import vector_key
from pincite.ranking.ranker import SENTENCES_OF, PassageRanker, Ranking, Source, word_weights
from pincite.ranking.scores import Rarity
from pincite.ranking.vectors import KeptVectors
from pincite.text.tokens import plain_words

PAGES = {
    "https://owls.test/box": "# Owl boxes\n\nAn owl box is made of larch. It hangs six metres above the ground.",
    "https://owls.test/food": "# What owls eat\n\nOwls eat mice and voles. A barn owl eats four mice a night.",
    "https://web.test/mail": "# Mail queue\n\nThe queue manager retries deferred mail for five days.",
}
SOURCES = [Source(url, document_of(text)) for url, text in PAGES.items()]


class Meaning(WordEmbedder):
    """Knows that who dines eats, and nothing else."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return super().embed([text.replace("dines on", "eats mice and voles") for text in texts])


class ByWord(WordEmbedder):
    """Compares word by word, too, and knows that who dines eats."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = 0

    def nearness(self, question: str, weights: Mapping[str, float], passages: Sequence[Sequence[str]]) -> list[float]:
        self.compared += len(passages)
        asked = dict.fromkeys(word for word in plain_words(question) if word in weights)
        total = sum(weights[word] for word in asked) or 1.0
        read = [set(plain_words(" ".join(texts))) for texts in passages]
        return [
            sum(weights[word] for word in asked if word in found or (word == "dines" and "eat" in found)) / total
            for found in read
        ]


@pytest.mark.parametrize(
    ("question", "url"),
    [("What do owls eat?", "https://owls.test/food"), ("How long is mail retried?", "https://web.test/mail")],
)
@pytest.mark.parametrize("embedder", [None, WordEmbedder(), ByWord()])
def test_the_passage_with_the_words_comes_first(question: str, url: str, embedder: WordEmbedder | None) -> None:
    ranking = PassageRanker(embedder).rank(question, SOURCES)
    assert ranking.passages[0].source.url == url
    assert ranking.words_only is (embedder is None)
    likelihoods = [passage.likelihood for passage in ranking.passages]
    assert likelihoods == sorted(likelihoods, reverse=True)


def test_meaning_brings_up_what_is_worded_otherwise() -> None:
    question = "What an owl dines on above the ground"
    assert PassageRanker().rank(question, SOURCES).passages[0].source.url == "https://owls.test/box"
    near = {p.source.url: p.features.similarity for p in PassageRanker(Meaning()).rank(question, SOURCES).passages}
    assert near["https://owls.test/food"] > near["https://owls.test/box"]


@pytest.mark.parametrize("kept", [False, True])
def test_words_of_the_same_meaning_decide_where_words_are_compared_one_by_one(kept: bool) -> None:
    embedder = KeptVectors(ByWord()) if kept else ByWord()
    ranking = PassageRanker(embedder).rank("What a barn owl dines on", SOURCES)
    best = ranking.passages[0]
    assert (ranking.model, best.model, best.source.url) == ("close", "close", "https://owls.test/food")
    assert best.features.near_score == 1.0
    assert best.features.near_strength > ranking.passages[1].features.near_strength
    assert not ranking.words_only
    assert PassageRanker(WordEmbedder()).rank("What a barn owl dines on", SOURCES).model == "meaning"


def test_only_the_best_are_read_sentence_by_sentence() -> None:
    text = "# Owls\n\n" + "\n\n".join(f"## Box {n}\n\nThe owl box {n} is made of larch." for n in range(30))
    passages = PassageRanker(ByWord()).rank(
        "What is an owl box made of?", [Source("https://o.test/", document_of(text))]
    )
    unread = 30 - SENTENCES_OF
    assert [p.model for p in passages.passages] == ["close"] * SENTENCES_OF + ["unread"] * unread
    assert [bool(p.sentences) for p in passages.passages] == [True] * SENTENCES_OF + [False] * unread
    assert len({p.draft.start for p in passages.passages}) == 30


def test_words_weigh_by_rarity_however_they_are_written() -> None:
    rarity = Rarity(1_000, {"wal_level": 5, "wal": 50, "level": 400, "schlüssel": 9, "the": 990})
    weights = word_weights("What does the wal_level of a Schlüssel do?", rarity)
    assert weights["wal"] > weights["level"]
    assert weights["schlussel"] == rarity.weight("schlüssel")
    assert {"the", "does", "_"}.isdisjoint(weights)


def test_other_wordings_of_a_question_count_too() -> None:
    ranking = PassageRanker().rank("How is post handled?", SOURCES, queries=["deferred mail queue"])
    assert ranking.passages[0].source.url == "https://web.test/mail"


def test_sentences_have_offsets_into_their_page_and_the_nearest_is_told() -> None:
    best = PassageRanker(WordEmbedder()).rank("How many mice does a barn owl eat a night?", SOURCES).passages[0]
    spans = {best.source.document.text[span.start : span.end]: near for span, near in best.sentences}
    assert max(spans, key=lambda text: spans[text]) == "A barn owl eats four mice a night."


def test_a_question_of_other_things_is_less_likely_answered_than_one_of_these() -> None:
    ranker = PassageRanker(WordEmbedder())
    here, elsewhere = (
        ranker.rank(q, SOURCES) for q in ("How many mice does a barn owl eat?", "Who owns the tax office?")
    )
    assert part_likelihood(here) > part_likelihood(elsewhere)
    assert part_likelihood(Ranking()) == 0.0
    assert not is_here(Ranking())
    assert set(part_features(here)) == set(part_features(Ranking()))


def test_rarity_is_that_of_the_library_where_one_is_known() -> None:
    survey = Survey(passages=10_000, frequencies=(("owl", 9_000), ("larch", 3)))
    ranking = PassageRanker().rank("owl larch", SOURCES, survey=survey)
    assert ranking.rarity.weight("larch") > 10 * ranking.rarity.weight("owl")


def test_each_text_is_embedded_once_and_vectors_outlive_the_process(tmp_path: Path) -> None:
    first, file = WordEmbedder(), VectorFile(tmp_path / "vectors.sqlite")
    kept = KeptVectors(first, file)
    one = PassageRanker(kept).rank("What do owls eat?", SOURCES)
    embedded = len(first.embedded)
    assert PassageRanker(kept).rank("What do owls eat?", SOURCES) == one
    assert len(first.embedded) == embedded
    second = WordEmbedder()
    again = PassageRanker(KeptVectors(second, VectorFile(tmp_path / "vectors.sqlite"))).rank(
        "What do owls eat?", SOURCES
    )
    assert not second.embedded
    assert [p.source.url for p in again.passages] == [p.source.url for p in one.passages]


def test_each_passage_is_compared_with_a_question_once_as_long_as_its_words_weigh_the_same(tmp_path: Path) -> None:
    first, second, question = ByWord(), ByWord(), "What do owls eat?"
    one = PassageRanker(KeptVectors(first, VectorFile(tmp_path / "vectors.sqlite"))).rank(question, SOURCES)
    assert first.compared > 0
    kept = KeptVectors(second, VectorFile(tmp_path / "vectors.sqlite"))
    again = PassageRanker(kept).rank(question, SOURCES)
    near = [[p.features.near_strength for p in ranking.passages] for ranking in (one, again)]
    assert near[0] == pytest.approx(near[1])
    assert any(near[0])
    assert second.compared == 0, "a later process reads nothing again"
    texts = [["owls eat mice"]]
    assert kept.nearness(question, {"owls": 1.0, "eat": 1.0}, texts) == [1.0]
    assert kept.nearness(question, {"owls": 1.0, "eat": 1.0, "do": 2.0}, texts) == [0.5]
    assert second.compared == 2


def test_a_file_of_vectors_that_is_damaged_costs_nothing_but_time(tmp_path: Path) -> None:
    broken = tmp_path / "vectors.sqlite"
    broken.write_bytes(b"no database" * 500)
    file = VectorFile(broken)
    assert file.vectors([vector_key("owl")]) == {}
    file.keep({vector_key("owl"): [1.0, 0.0]})
    assert PassageRanker(KeptVectors(WordEmbedder(), file)).rank("What do owls eat?", SOURCES).passages


def test_beside_a_few_passages_a_common_word_is_no_rarer_than_a_name() -> None:
    towns = ("Ostrow", "Zator", "Mielec")
    pages = [
        Source(f"https://{town}.test/", document_of(f"# {town}\n\nThe bridge of {town} carries three railway tracks."))
        for town in towns
    ]
    ranking = PassageRanker().rank("How many tracks has the bridge of Zator?", pages)
    assert ranking.passages[0].source.url == "https://Zator.test/"
    assert ranking.rarity.weight("mani") < ranking.rarity.weight("zator")
    assert is_here(ranking)

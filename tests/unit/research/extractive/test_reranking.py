"""Ranking by meaning: what it moves, what it costs, and that it is off unless it is asked for."""

from typing import Any

from pincite.domain.plan import Task
from pincite.research.extractive.passages import cut
from pincite.research.extractive.questions import read_question
from pincite.research.extractive.ranking import PassageIndex
from pincite.research.extractive.reranking import PASSAGES, Reranker
from pincite.testing.embedder import WordEmbedder
from pincite.testing.small_web import document_of


def index_of(*texts: str) -> PassageIndex:
    index = PassageIndex()
    for number, text in enumerate(texts):
        url = f"https://{number}.test/"
        index.add(url, cut(url, document_of(text)))
    return index


class Opinionated(WordEmbedder):
    """Finds only what speaks of refunds near anything."""

    def embed(self, texts: Any) -> list[list[float]]:
        self.embedded.extend(texts)
        return [[1.0, 0.0] if "refund" in text.lower() or "money" in text.lower() else [0.0, 1.0] for text in texts]


QUESTION = "How do I get my money back from the shop?"


def test_what_means_the_same_moves_up() -> None:
    index = index_of("# Shop\n\nThe shop opens at nine on Mondays.", "# Refunds\n\nRefunds from the shop take a week.")
    ask = read_question(QUESTION)
    plain = index.statements(ask)
    moved = Reranker(Opinionated()).rerank(QUESTION, plain)
    assert plain[0].passage.url == "https://0.test/"
    assert moved[0].passage.url == "https://1.test/"
    assert {item.coverage for item in moved} == {item.coverage for item in plain}


def test_only_the_best_passages_are_embedded_and_each_once() -> None:
    index = index_of(*(f"# Page {n}\n\nThe shop number {n} gives money back." for n in range(PASSAGES + 20)))
    embedder = WordEmbedder()
    reranker = Reranker(embedder)
    scored = index.statements(read_question(QUESTION))
    reranker.rerank(QUESTION, scored)
    assert len(embedder.embedded) == PASSAGES + 1
    reranker.rerank(QUESTION, scored)
    assert len(embedder.embedded) == PASSAGES + 1
    assert reranker.rerank(QUESTION, []) == []


async def test_nothing_is_embedded_unless_asked_for(bench: Any) -> None:
    report = await bench().service().run(Task("How long does the database wait on a lock?"))
    assert report.claims

"""What every reranker keeps to: a server and a folder; and that one has the last word on the order, not on the odds."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cohere
import httpx2
import pytest
from tests.fakes.loopback import QuietHandler, serving_at
from tests.fakes.small_web import document_of
from tests.fakes.tiny_onnx import write_tiny_judge

from pincite.domain.errors import InvalidSetting, NetworkError, PinciteError, ProviderAuth, ProviderBadReply
from pincite.embeddings.endpoint import EndpointReranker
from pincite.embeddings.local import FolderReranker
from pincite.ports import Reranker
from pincite.ranking.ranker import PassageRanker, Source
from pincite.settings import load_settings
from pincite.wiring.libraries import ranker_of

QUESTION = "How long is deferred mail retried?"
SHORT = "Five days."
LONG = "The queue manager retries deferred mail for five days, and then it goes back to whoever sent it to somebody."


class RerankServer(QuietHandler):
    """`POST /v2/rerank` as Cohere documents it: best first, by the number of words."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"].lower() != "bearer secret" or self.path != "/v2/rerank":
            self.send_error(401)
            return
        assert asked["model"]
        assert asked["query"]
        scored = [{"index": n, "relevance_score": len(text.split()) / 100} for n, text in enumerate(asked["documents"])]
        best = sorted(scored, key=lambda row: -row["relevance_score"])[: asked["top_n"]]
        self.answer({"id": "1", "results": best, "meta": {"api_version": {"version": "2"}}})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving_at(RerankServer) as address:
        yield address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of one output, which grows with the passage's share of the words."""
    return write_tiny_judge(tmp_path_factory.mktemp("reranker"), f"{QUESTION} {LONG}".split(), ("relevance",))


@pytest.fixture(params=["server", "folder"])
def reranker(request: pytest.FixtureRequest) -> Reranker:
    if request.param == "server":
        return EndpointReranker(f"{request.getfixturevalue('server')}/v2#longest", api_key="secret")
    return FolderReranker(request.getfixturevalue("folder"))


def test_each_passage_has_a_score_in_order(reranker: Reranker) -> None:
    scores = reranker.scores(QUESTION, [SHORT, LONG, "", SHORT, "你好 \ud800 \x00"])
    assert len(scores) == 5
    assert scores[1] == max(scores)
    assert scores[0] == pytest.approx(scores[3])
    assert list(reranker.scores(QUESTION, [])) == []


def test_a_passage_alone_and_among_others_scores_the_same(reranker: Reranker) -> None:
    [alone] = reranker.scores(QUESTION, [SHORT])
    assert alone == pytest.approx(reranker.scores(QUESTION, [LONG, SHORT])[1], abs=1e-5)


# Cohere's client uses it on Python 3.14.
@pytest.mark.filterwarnings("ignore:'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning")
def test_the_official_client_gets_what_we_get(server: str) -> None:
    with cohere.ClientV2(base_url=server, api_key="secret") as client:
        theirs = client.rerank(model="longest", query=QUESTION, documents=[SHORT, LONG], top_n=2).results
    ours = EndpointReranker(f"{server}/v2#longest", api_key="secret").scores(QUESTION, [SHORT, LONG])
    assert {row.index: row.relevance_score for row in theirs} == dict(enumerate(ours))


def _failing(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


def _answering(status: int, answer: object) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(status, content=json.dumps(answer).encode())


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (_failing, NetworkError),
        (_answering(403, {}), ProviderAuth),
        (_answering(422, {}), ProviderBadReply),
        (_answering(200, []), ProviderBadReply),
        (_answering(200, {"results": "none"}), ProviderBadReply),
        (_answering(200, {"results": [{"index": 0, "relevance_score": 0.5}]}), ProviderBadReply),
        (_answering(200, {"results": [{"index": n, "relevance_score": None} for n in (0, 1)]}), ProviderBadReply),
        (_answering(200, {"results": [{"index": n, "relevance_score": 0.1} for n in (0, 7)]}), ProviderBadReply),
    ],
)
def test_a_bad_server_is_one_typed_error(
    handler: Callable[[httpx2.Request], httpx2.Response], error: type[PinciteError]
) -> None:
    made = EndpointReranker("http://10.0.0.1/v2", transport=httpx2.MockTransport(handler))
    with pytest.raises(error, match="server of `reranker`"):
        made.scores(QUESTION, [SHORT, LONG])


def test_a_judge_is_no_reranker(tmp_path: Path) -> None:
    judge = write_tiny_judge(tmp_path, QUESTION.split())
    with pytest.raises(InvalidSetting, match="3 outputs"):
        FolderReranker(judge).scores(QUESTION, [SHORT])
    with pytest.raises(InvalidSetting, match="no model for `reranker`"):
        FolderReranker(tmp_path / "none")


class Backwards:
    """Likes what stands last."""

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        assert question == QUESTION
        return [float(place) for place, _ in enumerate(passages)]


def test_the_order_changes_and_the_likelihoods_stay() -> None:
    pages = (
        "# Mail\n\n" + LONG,
        "# Days\n\nMail is sorted on five days.",
        "# Queue\n\nDeferred is a queue.",
    )
    sources = [Source(f"https://mail.test/{n}", document_of(text)) for n, text in enumerate(pages)]
    before = PassageRanker().rank(QUESTION, sources).passages
    after = PassageRanker(reranker=Backwards()).rank(QUESTION, sources).passages
    assert [passage.text for passage in after] == [passage.text for passage in before[::-1]]
    assert [passage.likelihood for passage in after] == [passage.likelihood for passage in before]
    assert PassageRanker(reranker=Backwards()).rank(QUESTION, []).passages == ()


def test_the_setting_names_it_and_words_only_leaves_it_out(folder: Path, tmp_path: Path) -> None:
    pages = ("# Deferred mail\n\nDeferred mail is retried.", f"# Mail\n\n{LONG}")
    sources = [Source(f"https://mail.test/{n}", document_of(text)) for n, text in enumerate(pages)]
    first = {}
    for embeddings in ("auto", "none"):
        given = {"home": tmp_path, "reranker": str(folder), "embeddings": embeddings}
        settings = load_settings(given, environ={}, files=())
        first[embeddings] = ranker_of(settings).rank("Is deferred mail retried?", sources).passages[0].text
    assert first == {"auto": LONG, "none": "Deferred mail is retried."}

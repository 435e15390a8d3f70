"""The pool of reading processes: same answers as in process, and it survives what its workers do not."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from pincite.domain.errors import EmptyContent, InvalidInput, ParseError, TooLarge, UnsupportedContentType
from pincite.domain.page import Block, BlockKind, CellSpan, Document, Mark, MarkKind
from pincite.fetch.extractors import extract
from pincite.fetch.worker import ExtractorPool
from pincite.fetch.worker_process import pack_document, unpack_reply

URL = "https://site.example/page"
PAGE = """<html lang=de><head><title>Zeilen</title><meta property=article:published_time content=2024-05-03></head>
<body><article><h1>Zeilen</h1><p>Ein <a href=/x>Satz</a> mit <code>xmin</code> und genug Wörtern, damit er zählt.</p>
<table><tr><th>a<th>b<tr><td>1<td>2</table></article></body></html>""".encode()


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractorPool]:
    with ExtractorPool(1, deadline_s=30) as pool:
        yield pool


def test_same_document_as_in_process(pool: ExtractorPool) -> None:
    assert pool.extract(PAGE, URL, "text/html") == extract(PAGE, URL, "text/html")


def test_errors_come_through_with_reason_and_hint(pool: ExtractorPool) -> None:
    with pytest.raises(EmptyContent) as empty:
        pool.extract(b" ", URL, None)
    assert empty.value.reason == "empty_body"
    with pytest.raises(UnsupportedContentType):
        pool.extract(b"\x89PNG\r\n\x1a\n" + bytes(100), URL, "text/html")
    with pytest.raises(ParseError) as deep:
        pool.extract(b"<div>" * 2000, URL, "text/html")
    assert deep.value.reason == "too_deep"


def test_dead_worker_is_replaced(pool: ExtractorPool) -> None:
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
    with ExtractorPool(1, deadline_s=0.05) as pool:
        began = time.monotonic()
        with pytest.raises(ParseError) as late:
            pool.extract(slow, URL, "text/html")
        assert late.value.reason == "parser_timeout"
        assert time.monotonic() - began < 60


def test_a_page_is_not_to_blame_for_a_machine_that_gives_it_no_time() -> None:
    """The reader is stopped for longer than its deadline, as on a machine with much else to do."""
    with ExtractorPool(1, deadline_s=1.0) as pool:
        pool.extract(PAGE, URL, "text/html")
        (worker,) = [item for item in pool._idle.queue if item is not None]
        os.kill(worker.process.pid, signal.SIGSTOP)
        threading.Timer(1.5, os.kill, (worker.process.pid, signal.SIGCONT)).start()
        assert pool.extract(PAGE, URL, "text/html").title == "Zeilen"


def test_a_reader_that_stands_still_is_ended_in_the_end() -> None:
    with ExtractorPool(1, deadline_s=0.1) as pool:
        worker = pool._started()
        pool._idle.get()
        pool._idle.put(worker)
        os.kill(worker.process.pid, signal.SIGSTOP)
        with pytest.raises(ParseError) as still:
            pool.extract(PAGE, URL, "text/html")
        assert still.value.reason == "parser_timeout"


def test_worker_is_recycled_and_pool_closes() -> None:
    pool = ExtractorPool(1, deadline_s=30, pages_per_worker=1)
    pool.extract(b"<p>one", URL, "text/html")
    assert pool._idle.queue == [None]
    pool.close()
    with pytest.raises(InvalidInput, match="closed"):
        pool.extract(PAGE, URL, None)


def test_memory_limit_costs_one_page() -> None:
    with ExtractorPool(1, deadline_s=30, memory_bytes=400_000_000) as pool:
        with pytest.raises((ParseError, TooLarge)):
            pool.extract(b"[" + b"[1]," * 4_900_000 + b"1]", URL, "application/json")
        assert pool.extract(PAGE, URL, "text/html").title == "Zeilen"


def test_reply_that_makes_no_sense_is_a_parse_error() -> None:
    for reply in (b"", b"[]", b'{"document":{}}', b'{"error":[]}', b"\xff"):
        with pytest.raises(ParseError):
            unpack_reply(reply)


def test_wire_keeps_every_field() -> None:
    table = Block(
        BlockKind.TABLE, "a | ", 1, rows=(("a", ""),), has_header=True, page=3, secondary=True, parent=0, note="tip",
        header_rows=1, header_columns=1, spans=(CellSpan(0, 0, 1, 2),), marks=(Mark(0, 1, MarkKind.LINK, "x", "y"),),
    )  # fmt: skip
    item = Block(BlockKind.LIST_ITEM, "one", 0, ordered=True, number=3)
    document = Document("pdf", "1", (item, table), warnings=("w",))
    assert unpack_reply(pack_document(document)) == document

"""What every store of captures and of documents must do."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Block, BlockKind, Document, Link, Snapshot

AT = datetime(2026, 3, 4, 5, 6, 7, 123456, tzinfo=UTC)


def capture(body: bytes, url: str = "https://a.example/ü?q=1", at: datetime = AT) -> Snapshot:
    return Snapshot(
        snapshot_id=snapshot_id(url, at, sha256_hex(body)),
        url=url,
        final_url=url,
        canonical_url=url,
        status=200,
        content_type="text/html; charset=utf-8",
        headers=(("set-thing", "a"), ("set-thing", "b")),
        body=body,
        body_sha256=sha256_hex(body),
        fetched_at=at,
        via="direct",
        usage_signals=("tdm: no",),
        redirects=("https://b.example/",),
        note="from a package",
    )


def reading(text: str, title: str = "T") -> Document:
    return Document("html", "3", (Block(BlockKind.PARAGRAPH, text),), title=title, links=(Link("u", "t", 1),))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=5000))
async def test_a_capture_comes_back_byte_for_byte(stores: Any, body: bytes) -> None:
    snapshot = capture(body)
    await stores.snapshots.put(snapshot)
    await stores.snapshots.put(snapshot)
    assert await stores.snapshots.get(snapshot.snapshot_id) == snapshot


async def test_what_is_not_there_is_none(stores: Any) -> None:
    assert await stores.snapshots.get("snap_0") is None
    assert await stores.documents.get("doc_0") is None


async def test_a_document_comes_back_by_id_and_by_capture(stores: Any) -> None:
    one, other = capture(b"one"), capture(b"other")
    first, second = reading("Same text.", "First"), reading("Same text.", "Second")
    assert first.document_id == second.document_id
    for snapshot, document in ((one, first), (other, second)):
        await stores.snapshots.put(snapshot)
        await stores.documents.put(document, snapshot.snapshot_id)
    assert await stores.documents.newest_for_snapshot(one.snapshot_id) == first
    assert await stores.documents.newest_for_snapshot(other.snapshot_id) == second
    assert await stores.documents.newest_for_snapshot("snap_0") is None
    found = await stores.documents.get(first.document_id)
    assert found in (first, second)

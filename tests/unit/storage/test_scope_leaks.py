"""Bob tries every way of reading and changing with Alice's ids; nothing comes out and nothing changes."""

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import RunFenced, RunNotFound
from pincite.domain.events import EventType, RunStatus
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.page import Kept as WhatStays
from pincite.domain.records import Entry, Outcome, PlannedCall, RunRecord, SettledCall
from pincite.domain.report import Report
from pincite.storage.cache import TableCache
from pincite.storage.evidence import EvidenceReader
from pincite.storage.schema import metadata
from pincite.storage.service import ScopedStorage, SharedTables, Storage, open_storage
from pincite.testing.clock import FrozenClock
from pincite.testing.reports import sample_report
from pincite.urls.policy import Retention

SECRET = "Alice asks about her merger"


class Kept:
    """What Alice has stored, and its ids."""

    def __init__(self, run: RunRecord, snapshot: Snapshot, document: Document, report: Report, planned: PlannedCall):
        self.run, self.snapshot, self.document, self.report, self.planned = run, snapshot, document, report, planned


async def kept_by(alice: ScopedStorage, clock: FrozenClock) -> Kept:
    body = SECRET.encode()
    url = "https://private.example/"
    snapshot = Snapshot(
        snapshot_id(url, clock.now(), sha256_hex(body)),
        url,
        url,
        url,
        200,
        "text/html",
        (),
        body,
        sha256_hex(body),
        clock.now(),
        "direct",
    )
    document = Document("html", "1", (Block(BlockKind.PARAGRAPH, SECRET),))
    run_id = f"run_{uuid4()}"
    await alice.runs.create(RunRecord(run_id, "", SECRET, RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget()))
    run = await alice.runs.take(run_id, "elsewhere/x/1/1", 30)
    ledger, events = await alice.ledger(run), await alice.events(run)

    async def fetch() -> Outcome:
        await alice.snapshots.put(snapshot)
        await alice.documents.put(document, snapshot.snapshot_id)
        return Outcome({"snapshot_id": snapshot.snapshot_id, "text": SECRET}, Usage(pages=1))

    await ledger.call("fetch", {"url": url}, Usage(pages=1), fetch)
    await events.emit(EventType.RUN_STARTED, {"question": SECRET})
    report = replace(sample_report().report, run_id=run_id)
    await alice.runs.put_report(report)
    return Kept(run, snapshot, document, report, PlannedCall("0" * 40, "fetch", "{}", Usage(pages=1)))


SETTLED = SettledCall('{"value":1}', Usage(), True, False, 0.0)
Try = Callable[[ScopedStorage, Kept], Awaitable[Any]]
READS: dict[str, Try] = {
    "runs.list": lambda bob, kept: bob.runs.list(),
    "runs.get": lambda bob, kept: bob.runs.get(kept.run.run_id),
    "runs.get_report": lambda bob, kept: bob.runs.get_report(kept.run.run_id),
    "runs.events": lambda bob, kept: bob.runs.events(kept.run.run_id),
    "runs.calls": lambda bob, kept: bob.runs.calls(kept.run.run_id),
    "runs.latest_calls": lambda bob, kept: bob.runs.latest_calls(100),
    "snapshots.get": lambda bob, kept: bob.snapshots.get(kept.snapshot.snapshot_id),
    "snapshots.of_body": lambda bob, kept: bob.snapshots.of_body(kept.snapshot.url, kept.snapshot.body_sha256[:16]),
    "snapshots.listed": lambda bob, kept: bob.snapshots.listed(None, 100),
    "documents.get": lambda bob, kept: bob.documents.get(kept.document.document_id),
    "documents.excerpts": lambda bob, kept: bob.documents.excerpts(kept.document.document_id),
    "documents.newest_for_snapshot": lambda bob, kept: bob.documents.newest_for_snapshot(kept.snapshot.snapshot_id),
    "calls.load": lambda bob, kept: bob.calls(kept.run).load(),
    "calls.confirm": lambda bob, kept: bob.calls(kept.run).confirm(),
    "calls.spent": lambda bob, kept: bob.calls(kept.run).spent(),
    "captured_bytes": lambda bob, kept: bob.captured_bytes(),
    "replay": lambda bob, kept: _recorded(bob, kept),
    "events": lambda bob, kept: _followed(bob, kept),
}
NOTHING_WHOLE = Retention(WhatStays.EXCERPTS)
CHANGES: dict[str, Try] = {
    "runs.claim": lambda bob, kept: bob.runs.claim(kept.run.run_id, "bob", 30, 4),
    "runs.queue": lambda bob, kept: bob.runs.queue(kept.run.run_id, 5),
    "runs.hand_back": lambda bob, kept: bob.runs.hand_back(kept.run.run_id, kept.run.epoch),
    "runs.take": lambda bob, kept: bob.runs.take(kept.run.run_id, "bob", 30),
    "runs.renew": lambda bob, kept: bob.runs.renew(kept.run.run_id, kept.run.epoch, 30),
    "runs.cancel": lambda bob, kept: bob.runs.cancel(kept.run.run_id),
    "runs.finish": lambda bob, kept: bob.runs.finish(kept.run.run_id, kept.run.epoch, RunStatus.FAILED),
    "runs.delete": lambda bob, kept: bob.runs.delete(kept.run.run_id),
    "calls.reserve": lambda bob, kept: bob.calls(kept.run).reserve(kept.planned),
    "calls.refuse": lambda bob, kept: bob.calls(kept.run).refuse(kept.planned, '{"value":1}'),
    "calls.settle": lambda bob, kept: bob.calls(kept.run).settle(kept.planned, SETTLED),
    "events.emit": lambda bob, kept: _emitted(bob, kept),
    "settle_run": lambda bob, kept: bob.settle_run(kept.run.run_id, NOTHING_WHOLE),
    "settle_page": lambda bob, kept: bob.settle_page(kept.snapshot.snapshot_id, NOTHING_WHOLE),
    "prune": lambda bob, kept: bob.prune(max_bytes=0),
    "delete_everything": lambda bob, kept: bob.delete_everything(),
}
OWN_ROWS_ONLY = {"runs.create", "runs.put_report", "snapshots.put", "documents.put", "ledger"}
"""What writes rows of the caller's own scope, or is made of what is tried here."""


async def _recorded(bob: ScopedStorage, kept: Kept) -> Any:
    ledger = await bob.replay(kept.run.run_id)
    return ledger._recorded


async def _followed(bob: ScopedStorage, kept: Kept) -> Any:
    sink = await bob.events(kept.run)
    sink.close()
    return [event async for event in sink.follow()]


async def _emitted(bob: ScopedStorage, kept: Kept) -> Any:
    return await (await bob.events(kept.run)).emit(EventType.RUN_STARTED, {"by": "bob"})


def test_every_way_into_a_scope_is_tried() -> None:
    ways = set()
    scoped = ScopedStorage(None, "a", FrozenClock())  # type: ignore[arg-type]  # no database: only looked at
    for name, part in (
        ("", scoped),
        ("runs.", scoped.runs),
        ("snapshots.", scoped.snapshots),
        ("documents.", scoped.documents),
    ):
        ways |= {name + method for method, _ in inspect.getmembers(part, callable) if not method.startswith("_")}
    ways -= {
        "calls",
        "cache",
        "common_cache",
        "limiter",
        "breaker",
        "buckets",
    }  # limits are public by design; the cache has its test below
    ways |= {f"calls.{name}" for name in ("load", "reserve", "refuse", "settle", "spent", "confirm")}
    tried = set(READS) | set(CHANGES) | OWN_ROWS_ONLY
    assert ways - tried == set()


@pytest.mark.parametrize("way", sorted(READS))
async def test_nothing_of_alice_is_read(storage: Storage, clock: FrozenClock, way: str) -> None:
    kept = await kept_by(storage.scope(f"alice-{uuid4()}"), clock)
    seen: Any = None
    with suppress(RunNotFound, RunFenced):
        seen = await READS[way](storage.scope(f"bob-{uuid4()}"), kept)
    assert not seen or seen == Usage()


@pytest.mark.parametrize("way", sorted(CHANGES))
async def test_nothing_of_alice_is_changed(storage: Storage, clock: FrozenClock, way: str) -> None:
    alice = storage.scope(f"alice-{uuid4()}")
    kept = await kept_by(alice, clock)
    before = (await alice.runs.get(kept.run.run_id), await alice.runs.events(kept.run.run_id))
    clock.advance(7200)
    with suppress(RunNotFound, RunFenced):
        await CHANGES[way](storage.scope(f"bob-{uuid4()}"), kept)
    assert (await alice.runs.get(kept.run.run_id), await alice.runs.events(kept.run.run_id)) == before
    assert await alice.snapshots.get(kept.snapshot.snapshot_id) == kept.snapshot
    assert await alice.runs.get_report(kept.run.run_id) == kept.report


async def test_a_body_known_to_bob_tells_him_nothing_of_alice(storage: Storage, clock: FrozenClock) -> None:
    alice, bob = storage.scope(f"alice-{uuid4()}"), storage.scope(f"bob-{uuid4()}")
    kept = await kept_by(alice, clock)
    mine = replace(kept.snapshot, snapshot_id=f"snap_{'0' * 32}", url="https://bob.example/")
    await bob.snapshots.put(mine)
    assert await bob.snapshots.get(kept.snapshot.snapshot_id) is None
    assert await bob.delete_everything() > 0
    assert await alice.snapshots.get(kept.snapshot.snapshot_id) == kept.snapshot


async def test_the_shared_cache_keeps_scopes_apart(storage: Storage, clock: FrozenClock) -> None:
    alice = TableCache(SharedTables(storage.database, f"alice-{uuid4()}"), clock)
    bob = TableCache(SharedTables(storage.database, f"bob-{uuid4()}"), clock)
    later = clock.now() + timedelta(hours=1)
    await alice.put("page", "k", Entry(SECRET.encode(), later, later, clock.now(), {}))
    assert await alice.lease("page", "other", 60)
    assert await bob.get("page", "k") is None
    assert await bob.delete("page") == await bob.prune() == 0
    assert await bob.lease("page", "other", 60)
    assert await alice.get("page", "k") is not None


async def test_the_light_reader_keeps_to_its_scope(tmp_path: Path, clock: FrozenClock) -> None:
    async with open_storage(tmp_path, clock) as storage:
        kept = await kept_by(storage.scope("alice"), clock)
    with EvidenceReader(tmp_path / "pincite.sqlite", "bob") as reader:
        assert not reader.runs()
        assert not reader.events(kept.run.run_id)
        seen = (
            reader.snapshot(kept.snapshot.snapshot_id),
            reader.document(kept.document.document_id),
            reader.document(kept.document.document_id, kept.snapshot.snapshot_id),
            reader.report(kept.run.run_id),
        )
        assert seen == (None, None, None, None)
        with pytest.raises(RunNotFound):
            reader.run(kept.run.run_id)


def test_every_table_has_a_scope_that_is_part_of_its_key() -> None:
    for table in metadata.sorted_tables:
        assert not table.c.scope.nullable
        assert table.c.scope.primary_key

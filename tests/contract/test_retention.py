"""What stays of captures after a run, in every database."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pincite.domain.budget import Budget
from pincite.domain.events import RunStatus
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Block, BlockKind, Document, Kept, Snapshot
from pincite.domain.records import RunRecord
from pincite.storage.retention import delete_snapshots
from pincite.storage.schema import blobs, run_snapshots
from pincite.storage.service import ScopedStorage, open_storage
from pincite.storage.transactions import Transaction
from pincite.testing.clock import FrozenClock
from pincite.urls.policy import Retention

TEXT = " ".join(f"Sentence number {n} of the page." for n in range(60))


@pytest.fixture(params=["sqlite", "postgresql"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> AsyncIterator[ScopedStorage]:
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(place, clock) as opened:
        yield opened.scope(f"alice-{uuid4()}")


def capture(url: str, clock: FrozenClock, **more: Any) -> Snapshot:
    body = TEXT.encode()
    made = Snapshot(
        snapshot_id=snapshot_id(url, clock.now(), sha256_hex(body)),
        url=url,
        final_url=url,
        canonical_url=url,
        status=200,
        content_type="text/html",
        headers=(),
        body=body,
        body_sha256=sha256_hex(body),
        fetched_at=clock.now(),
        via="direct",
    )
    return replace(made, **more)


async def kept(storage: ScopedStorage, snapshot: Snapshot, rules: Retention) -> tuple[Kept, bool, bool]:
    """What is kept of the capture, whether its body is there, and its document."""
    document = Document("html", "3", (Block(BlockKind.PARAGRAPH, TEXT),))
    await storage.snapshots.put(snapshot)
    await storage.documents.put(document, snapshot.snapshot_id)
    for _ in range(2):  # doing it again changes nothing
        await storage.settle_page(snapshot.snapshot_id, rules)
    found = await storage.snapshots.get(snapshot.snapshot_id)
    assert found is not None
    read = await storage.documents.newest_for_snapshot(snapshot.snapshot_id)
    return found.kept, bool(found.body), read is not None


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Retention(), (Kept.FULL, True, True)),
        (Retention(Kept.RUN), (Kept.RUN, False, True)),
        (Retention(Kept.EXCERPTS), (Kept.EXCERPTS, False, False)),
        (Retention(domains={"a.example": Kept.RUN}), (Kept.RUN, False, True)),
        (Retention(Kept.RUN, {"a.example": Kept.FULL}), (Kept.FULL, True, True)),
        (Retention(Kept.EXCERPTS, {"=other.example": Kept.FULL}), (Kept.EXCERPTS, False, False)),
    ],
)
async def test_a_page_is_cut_back_as_far_as_the_rules_ask(
    storage: ScopedStorage, clock: FrozenClock, rules: Retention, expected: tuple[Kept, bool, bool]
) -> None:
    assert await kept(storage, capture("https://www.a.example/1", clock), rules) == expected


async def test_what_was_cut_back_does_not_come_back_when_rules_are_loosened(
    storage: ScopedStorage, clock: FrozenClock
) -> None:
    page = capture("https://a.example/1", clock)
    assert await kept(storage, page, Retention(Kept.EXCERPTS)) == (Kept.EXCERPTS, False, False)
    await storage.settle_page(page.snapshot_id, Retention(Kept.RUN))
    found = await storage.snapshots.get(page.snapshot_id)
    assert (found and found.kept) is Kept.EXCERPTS, "of its text only the windows are left"


async def test_own_libraries_stay_and_noarchive_goes(storage: ScopedStorage, clock: FrozenClock) -> None:
    own = capture("https://docs.example/1", clock, via="archive")
    assert await kept(storage, own, Retention(Kept.EXCERPTS)) == (Kept.FULL, True, True)
    clock.advance(1)
    asked = capture("https://a.example/2", clock, usage_signals=("noarchive",), body=b"other", body_sha256="0" * 64)
    assert (await storage.snapshots.get(own.snapshot_id) or own).body
    asked = replace(asked, body_sha256=sha256_hex(b"other"))
    assert await kept(storage, asked, Retention()) == (Kept.EXCERPTS, False, False)


async def test_what_a_live_run_uses_is_cut_back_when_it_ends(storage: ScopedStorage, clock: FrozenClock) -> None:
    page, moment = capture("https://a.example/1", clock), clock.now()
    await storage.runs.create(RunRecord("run_1", storage._scope, "?", RunStatus.QUEUED, moment, moment, {}, Budget()))

    def use(tx: Transaction) -> None:
        tx.insert(run_snapshots, run_id="run_1", snapshot_id=page.snapshot_id)

    await storage._database.write(storage._scope, use)
    assert await kept(storage, page, Retention(Kept.EXCERPTS)) == (Kept.FULL, True, True)
    await storage.runs.cancel("run_1")
    assert await kept(storage, page, Retention(Kept.EXCERPTS)) == (Kept.EXCERPTS, False, False)


async def test_equal_bytes_that_may_stay_elsewhere_stay(storage: ScopedStorage, clock: FrozenClock) -> None:
    rules = Retention(domains={"b.example": Kept.EXCERPTS})
    await storage.snapshots.put(capture("https://a.example/same", clock))
    assert await kept(storage, capture("https://b.example/same", clock), rules) == (Kept.FULL, True, False)
    only = capture("https://b.example/only", clock, body=b"only here", body_sha256=sha256_hex(b"only here"))
    assert (await kept(storage, only, rules))[1] is False
    again = replace(only, snapshot_id=f"snap_{'1' * 32}", final_url="https://a.example/only")
    await storage.snapshots.put(again)  # what was dropped comes back where it may be kept
    assert (await storage.snapshots.get(again.snapshot_id) or only).body == b"only here"


async def test_what_two_captures_share_goes_with_the_last_of_them(storage: ScopedStorage, clock: FrozenClock) -> None:
    document = Document("html", "3", (Block(BlockKind.PARAGRAPH, TEXT),))
    made = [capture(url, clock) for url in ("https://a.example/", "https://b.example/")]
    made.append(capture("https://c.example/", clock, body=b"other", body_sha256=sha256_hex(b"other")))
    for snapshot in made:
        await storage.snapshots.put(snapshot)
        await storage.documents.put(document, snapshot.snapshot_id)

    async def gone(snapshot: Snapshot) -> int:
        def delete(tx: Transaction) -> int:
            return delete_snapshots(tx, (snapshot.snapshot_id,))

        return await storage._database.write(storage._scope, delete)

    def left(tx: Transaction) -> int:
        return len(tx.run(tx.select(blobs)))

    for number, snapshot in enumerate(made):
        read = await storage.documents.newest_for_snapshot(snapshot.snapshot_id)
        assert read is not None, "the same text is on pages that went"
        assert read.text == TEXT
        assert (await storage.snapshots.get(snapshot.snapshot_id) or made[-1]).body == snapshot.body
        assert await gone(snapshot) == 1
        assert await storage._database.read(storage._scope, left) == (3, 2, 0)[number]

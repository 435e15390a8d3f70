import os
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread
from sqlalchemy import create_engine, inspect

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import (
    BudgetExhausted,
    Conflict,
    InvalidInput,
    InvalidSetting,
    Locked,
    PinciteError,
    RunNotFound,
    SchemaMismatch,
    StorageFull,
    StorageUnavailable,
)
from pincite.domain.events import EventType, RunStatus
from pincite.domain.evidence import ClaimType, VerdictStatus
from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.layout import Section, Sentence, SentenceKind
from pincite.domain.page import Block, BlockKind, Document, Snapshot
from pincite.domain.records import ApiKey, Outcome, RunRecord
from pincite.domain.report import Mode, Reference, Report, ReportClaim, ReportEvidence, ReportStatus, Summary
from pincite.runtime.lease import is_gone, this_worker
from pincite.storage import migrations
from pincite.storage.evidence import EvidenceReader
from pincite.storage.pages import HomePages
from pincite.storage.retention import rows_of
from pincite.storage.schema import api_keys, metadata
from pincite.storage.server import SqlKeys
from pincite.storage.service import ScopedStorage, open_storage
from pincite.testing.clock import FrozenClock

TEXT = "The turbine gave 398 MW in May."


def capture(clock: FrozenClock, body: bytes = b"<p>The turbine</p>", url: str = "https://a.example/") -> Snapshot:
    sha = sha256_hex(body)
    at = clock.now()
    return Snapshot(snapshot_id(url, at, sha), url, url, url, 200, "text/html", (), body, sha, at, "direct")


def report_on(snapshot: Snapshot, document: Document, run_id: str = "run_1", version: int = 1) -> Report:
    quote = document.quote(0, len(TEXT))
    proof = ReportEvidence(
        document.document_id,
        snapshot.snapshot_id,
        snapshot.body_sha256,
        snapshot.url,
        quote.text,
        quote.start,
        quote.end,
        reference_n=1,
    )
    sentence = Sentence(TEXT, SentenceKind.CLAIM, ("claim_1",), (1,))
    return Report(
        run_id,
        "rep_1",
        "How much?",
        "Turbine",
        snapshot.fetched_at,
        "standard",
        Mode.EXTRACTIVE,
        ReportStatus.COMPLETE,
        Summary((sentence,)),
        (Section("Power", (sentence,), (1,)),),
        (ReportClaim("claim_1", TEXT, ClaimType.FACT, 0.9, VerdictStatus.SUPPORTED, (), (proof,)),),
        (Reference(1, snapshot.url, "T", snapshot.fetched_at, snapshot.snapshot_id, TEXT),),
        version=version,
    )


async def researched(
    alice: ScopedStorage, clock: FrozenClock, run_id: str, snapshot: Snapshot
) -> tuple[RunRecord, Report]:
    """A finished run that read `snapshot` and cites it."""
    await alice.runs.create(
        RunRecord(run_id, "alice", "How much?", RunStatus.QUEUED, clock.now(), clock.now(), {}, Budget(pages=9))
    )
    run = await alice.runs.take(run_id, this_worker(), 30)
    ledger, sink = await alice.ledger(run), await alice.events(run)
    document = Document("html", "1", (Block(BlockKind.PARAGRAPH, TEXT),))

    async def fetch() -> Outcome:
        await alice.snapshots.put(snapshot)
        await alice.documents.put(document, snapshot.snapshot_id)
        return Outcome({"snapshot_id": snapshot.snapshot_id}, Usage(pages=1))

    await ledger.call("fetch", {"url": snapshot.url}, Usage(pages=1), fetch)
    await sink.emit(EventType.PAGE_FETCHED, {"url": snapshot.url})
    report = report_on(snapshot, document, run_id)
    await alice.runs.put_report(report)
    await alice.runs.finish(run_id, run.epoch, RunStatus.COMPLETED)
    return await alice.runs.get(run_id), report


async def test_the_migrations_make_the_schema_of_the_code(alice: ScopedStorage, tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/pincite.sqlite")
    found = inspect(engine)
    assert set(found.get_table_names()) == set(metadata.tables)
    for name, table in metadata.tables.items():
        columns = {column["name"]: column for column in found.get_columns(name)}
        assert set(columns) == {column.name for column in table.columns}
        assert found.get_pk_constraint(name)["constrained_columns"] == [c.name for c in table.primary_key.columns]
        assert not columns["scope"]["nullable"]
    engine.dispose()


async def test_a_report_with_its_evidence_is_read_without_the_database_layer(
    alice: ScopedStorage, clock: FrozenClock, tmp_path: Path
) -> None:
    snapshot = capture(clock)
    run, report = await researched(alice, clock, "run_1", snapshot)
    second = replace(report, version=2, title="Turbine, again")
    await alice.runs.put_report(second)
    await alice.runs.put_report(second)
    assert await alice.runs.get_report("run_1") == second
    assert await alice.runs.get_report("run_1", 1) == report
    with EvidenceReader(tmp_path / "pincite.sqlite", "alice") as reader:
        assert reader.snapshot(snapshot.snapshot_id) == snapshot
        proof = report.claims[0].evidence[0]
        document = reader.document(proof.document_id, snapshot.snapshot_id)
        assert document is not None
        assert document.text == TEXT
        assert reader.document(proof.document_id) == document
        assert reader.report("run_1") == second
        assert reader.report("run_1", 1) == report
        assert reader.runs() == (run,)
        assert reader.run("run_1") == run
        assert reader.events("run_1") == await alice.runs.events("run_1")
        assert (reader.snapshot("snap_1"), reader.document("doc_1"), reader.report("run_2")) == (None, None, None)
        with pytest.raises(RunNotFound):
            reader.run("run_2")
    with EvidenceReader(tmp_path / "pincite.sqlite", "bob") as reader:
        assert (reader.snapshot(snapshot.snapshot_id), reader.report("run_1")) == (None, None)
        assert reader.runs() == ()


async def test_pages_of_a_home_are_found_and_kept_without_the_database_layer(
    alice: ScopedStorage, clock: FrozenClock, tmp_path: Path
) -> None:
    snapshot, other = capture(clock), capture(clock, b"<p>Another</p>", "https://b.example/")
    _, report = await researched(alice, clock, "run_1", snapshot)
    document_id = report.claims[0].evidence[0].document_id
    pages = HomePages(tmp_path / "pincite.sqlite", "alice", clock)
    assert await pages.is_current()
    assert await pages.snapshots.get(snapshot.snapshot_id) == await alice.snapshots.get(snapshot.snapshot_id)
    assert await pages.documents.get(document_id) == await alice.documents.get(document_id)

    await pages.snapshots.put(other)
    reading = Document("test", "1", (Block(BlockKind.PARAGRAPH, "Another"),))
    for _ in range(2):
        await pages.snapshots.put(other)
        await pages.documents.put(reading, other.snapshot_id)
    assert await pages.snapshots.get(other.snapshot_id) == other == await alice.snapshots.get(other.snapshot_id)
    assert await pages.documents.get(reading.document_id) == await alice.documents.get(reading.document_id) == reading
    assert await alice.documents.newest_for_snapshot(other.snapshot_id) == reading
    assert await pages.snapshots.get("snap_none") is None
    assert await pages.documents.get("doc_none") is None
    assert await pages.documents.newest_for_snapshot(snapshot.snapshot_id) == await alice.documents.get(document_id)
    with pytest.raises(InvalidInput, match="can't be stored"):
        await pages.snapshots.put(replace(other, snapshot_id="snap_half", note="\ud800"))
    bob = HomePages(tmp_path / "pincite.sqlite", "bob", clock)
    assert await bob.snapshots.get(other.snapshot_id) is None
    assert await bob.documents.get(reading.document_id) is None
    assert not await HomePages(tmp_path / "none.sqlite", "alice", clock).is_current()

    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        raw.execute("UPDATE blobs SET content = x'656c7365', encoding = 'raw'")
    for get in (lambda: pages.snapshots.get(snapshot.snapshot_id), lambda: pages.documents.get(document_id)):
        with pytest.raises(StorageUnavailable, match="is not what was stored"):
            await get()
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        raw.execute("DELETE FROM schema_versions WHERE version = (SELECT max(version) FROM schema_versions)")
    assert not await pages.is_current()
    pages.close()


async def test_a_body_is_stored_once_and_packed(alice: ScopedStorage, clock: FrozenClock, tmp_path: Path) -> None:
    body = b"<p>again and again</p>" * 5000
    for n in range(3):
        await alice.snapshots.put(capture(clock, body, f"https://{n}.example/"))
    random = bytes(zlib.compress(bytes(range(256)) * 3)) * 40
    await alice.snapshots.put(capture(clock, random))
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        sizes = raw.execute("SELECT size_bytes, stored_bytes FROM blobs ORDER BY size_bytes DESC").fetchall()
    raw.close()
    assert len(sizes) == 2
    assert sizes[0] == (len(body), pytest.approx(len(body) / 100, rel=0.9))


async def test_deleting_a_run_removes_what_only_it_used(
    alice: ScopedStorage, clock: FrozenClock, tmp_path: Path
) -> None:
    shared, own = capture(clock, b"shared text"), capture(clock, b"own secret text", "https://b.example/")
    await researched(alice, clock, "run_1", shared)
    await researched(alice, clock, "run_2", shared)
    await researched(alice, clock, "run_3", own)
    await alice.runs.delete("run_3")
    assert await alice.snapshots.get(own.snapshot_id) is None
    assert await alice.documents.newest_for_snapshot(own.snapshot_id) is None
    await alice.runs.delete("run_1")
    assert await alice.snapshots.get(shared.snapshot_id) == shared
    await alice.runs.delete("run_2")
    assert await alice.snapshots.get(shared.snapshot_id) is None
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        tables = [name for name in metadata.tables if name != "schema_versions"]
        left = {name: raw.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    assert set(left.values()) == {0}
    assert b"own secret text" not in (tmp_path / "pincite.sqlite").read_bytes()


async def test_old_captures_go_unless_a_run_needs_them(alice: ScopedStorage, clock: FrozenClock) -> None:
    cited = capture(clock, b"cited", "https://cited.example/")
    await researched(alice, clock, "run_1", cited)
    loose = [capture(clock, bytes([n]) * 50_000, f"https://{n}.example/") for n in range(5)]
    for snapshot in loose:
        await alice.snapshots.put(snapshot)
        clock.advance(60)
    assert await alice.prune(max_bytes=0) == 0, "fresh captures may be about to be used"
    clock.advance(7200)
    young = capture(clock, b"young", "https://young.example/")
    await alice.snapshots.put(young)
    assert await alice.prune(max_age=timedelta(seconds=7200 + 150)) == 3
    assert await alice.prune(max_age=timedelta(days=30)) == 0
    assert await alice.prune(max_bytes=0) == 2
    assert await alice.snapshots.get(cited.snapshot_id) == cited
    assert await alice.snapshots.get(young.snapshot_id) == young


async def test_a_tampered_body_is_never_given_out_as_evidence(
    alice: ScopedStorage, clock: FrozenClock, tmp_path: Path
) -> None:
    snapshot = capture(clock)
    await researched(alice, clock, "run_1", snapshot)
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        raw.execute("UPDATE blobs SET content = ?, encoding = 'raw'", (b"<p>The turbines</p>",))
    raw.close()
    with pytest.raises(StorageUnavailable) as caught:
        await alice.snapshots.get(snapshot.snapshot_id)
    assert caught.value.reason == "corrupt"
    with EvidenceReader(tmp_path / "pincite.sqlite", "alice") as reader:
        stored = reader.snapshot(snapshot.snapshot_id)
        assert stored is not None
        assert sha256_hex(stored.body) != stored.body_sha256


async def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path, clock: FrozenClock) -> None:
    async with open_storage(tmp_path, clock):
        pass
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        raw.execute("INSERT INTO schema_versions VALUES ('public', 9000, 'later', '2030')")
    raw.close()
    with pytest.raises(SchemaMismatch) as caught:
        async with open_storage(tmp_path, clock):
            pass
    assert caught.value.reason == "newer_schema"


async def test_an_interrupted_migration_leaves_the_old_schema(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = migrations.known()
    broken = (*good[:-1], (*good[-1][:2], "CREATE TABLE half (a TEXT);\nNONSENSE;\n"))
    monkeypatch.setattr(migrations, "known", lambda: broken)
    with pytest.raises(SchemaMismatch):
        async with open_storage(tmp_path, clock):
            pass
    monkeypatch.setattr(migrations, "known", lambda: good)
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == []
    raw.close()
    async with open_storage(tmp_path, clock) as storage:
        assert await storage.scope("alice").runs.list() == ()


def older_home(home: Path, versions: int, alembic: bool) -> None:
    """A home as an earlier release left it; some of them had Alembic note the version as well."""
    home.mkdir(exist_ok=True)
    with closing(sqlite3.connect(home / "pincite.sqlite")) as raw, raw:
        for number, name, script in migrations.known()[:versions]:
            for statement in migrations.statements(script, "sqlite"):
                raw.execute(statement)
            raw.execute("INSERT INTO schema_versions VALUES ('public', ?, ?, '2026')", (number, name))
        if alembic:
            raw.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
            raw.execute("INSERT INTO alembic_version VALUES (?)", (f"{versions:04d}",))
        raw.execute(
            "INSERT INTO runs (scope, run_id, question, status, inputs, budget, created_at, updated_at,"
            " cancel_requested) VALUES ('alice', 'run_old', 'Why?', 'completed', '{}', '{}',"
            " '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z', 0)"
        )
    raw.close()


@pytest.mark.parametrize(("versions", "alembic"), [(1, False), (2, False), (2, True)])
async def test_a_home_of_an_earlier_release_is_brought_up_to_date(
    tmp_path: Path, clock: FrozenClock, versions: int, alembic: bool
) -> None:
    older_home(tmp_path, versions, alembic)
    async with open_storage(tmp_path, clock) as storage:
        assert [run.run_id for run in await storage.scope("alice").runs.list()] == ["run_old"]
    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        found = raw.execute("SELECT version FROM schema_versions ORDER BY version").fetchall()
        assert found == [(number,) for number, _, _ in migrations.known()]
    raw.close()


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _, _ in migrations.known()] == list(range(1, migrations.newest() + 1))


@pytest.mark.parametrize("url", ["mysql://h/db", "://", "sqlite://", "sqlite:///:memory:", "nonsense://x"])
async def test_other_databases_are_refused_without_showing_the_url(url: str, clock: FrozenClock) -> None:
    with pytest.raises(InvalidSetting):
        async with open_storage(url, clock):
            pass


async def test_a_home_that_cannot_be_made_is_a_typed_error(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageUnavailable):
        async with open_storage(tmp_path / "file" / "home", clock):
            pass
    with pytest.raises(StorageUnavailable):
        EvidenceReader(tmp_path / "none.sqlite")


async def test_a_file_that_is_no_database_is_a_typed_error(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / "pincite.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StorageUnavailable) as caught:
        async with open_storage(tmp_path, clock):
            pass
    assert caught.value.reason == "corrupt"
    assert "backup" in caught.value.hint
    with pytest.raises(PinciteError):
        EvidenceReader(tmp_path / "pincite.sqlite").runs()


async def test_a_full_disk_is_a_typed_error_and_nothing_is_lost(
    alice: ScopedStorage, clock: FrozenClock, tmp_path: Path
) -> None:
    snapshot = capture(clock)
    run, report = await researched(alice, clock, "run_1", snapshot)
    database = alice._database

    def limit(pages: int) -> None:
        with database._writer.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    with closing(sqlite3.connect(tmp_path / "pincite.sqlite")) as raw, raw:
        used = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.close()
    limit(used + 2)
    with pytest.raises(StorageFull):
        await alice.snapshots.put(capture(clock, os.urandom(200_000), "https://big.example/"))
    assert await alice.runs.get("run_1") == run
    assert await alice.runs.get_report("run_1") == report
    limit(1_000_000)
    await alice.snapshots.put(capture(clock, os.urandom(200_000), "https://big.example/"))


async def test_a_database_that_another_process_holds_is_locked(tmp_path: Path, clock: FrozenClock) -> None:
    from pincite.storage.database import open_database

    opening = partial(open_database, tmp_path / "p.sqlite", clock, busy_timeout_s=0.05)
    database = await to_thread.run_sync(opening)
    with closing(sqlite3.connect(tmp_path / "p.sqlite", isolation_level=None)) as raw, raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(Locked) as caught:
            await database.write("alice", lambda tx: tx.now_s())
        assert caught.value.retryable
        assert await database.read("alice", lambda tx: tx.scope) == "alice"
        raw.execute("ROLLBACK")
    raw.close()
    assert await database.write("alice", lambda tx: tx.scope) == "alice"
    await database.close()


async def test_two_homes_open_at_once_and_see_each_other(tmp_path: Path, clock: FrozenClock) -> None:
    async with open_storage(tmp_path, clock) as one, open_storage(tmp_path, clock) as two:
        await one.scope("alice").snapshots.put(capture(clock))
        assert await two.scope("alice").snapshots.get(capture(clock).snapshot_id) == capture(clock)
        assert await two.scope("bob").snapshots.get(capture(clock).snapshot_id) is None


def test_this_process_is_there_and_a_made_up_one_is_gone() -> None:
    me = this_worker()
    host, boot, _, started = me.split("/")
    assert not is_gone(me)
    assert is_gone(f"{host}/{boot}/999999999/{started}")
    assert is_gone(me[:-1] + ("1" if me[-1] == "0" else "0"))
    assert not is_gone("elsewhere/x/1/2")
    assert is_gone("")


async def test_the_hash_of_a_key_is_in_nothing_that_is_handed_out(alice: ScopedStorage) -> None:
    key = ApiKey("laptop", "alice", "ab" * 32, "2026-01-01T00:00:00Z")
    assert SqlKeys(alice._database).add(key)
    [row] = await rows_of(alice._database, "alice", api_keys, 0)
    assert row["name"] == "laptop"
    assert key.sha256 not in row.values()


async def test_a_refusal_for_a_cap_is_met_again_by_a_replay(alice: ScopedStorage, clock: FrozenClock) -> None:
    moment = clock.now()
    budget = Budget(searches=0)
    await alice.runs.create(RunRecord("run_1", "alice", "?", RunStatus.QUEUED, moment, moment, {}, budget))
    ledger = await alice.ledger(await alice.runs.take("run_1", "w1", 30))

    async def never() -> Outcome:
        raise AssertionError

    with pytest.raises(BudgetExhausted):
        await ledger.call("search", {"q": "a"}, Usage(searches=1), never)
    replayed = await alice.replay("run_1")
    with pytest.raises(BudgetExhausted):
        await replayed.call("search", {"q": "a"}, Usage(searches=1), never)
    with pytest.raises(Conflict):
        await replayed.call("search", {"q": "b"}, Usage(searches=1), never)

"""Thousands of ended runs, put into a database at once: for what must not depend on how much is kept."""

from datetime import datetime, timedelta
from typing import Any

from pincite.domain.ids import sha256_hex
from pincite.storage.schema import (
    DIMENSIONS,
    blobs,
    calls,
    citations,
    claims,
    documents,
    events,
    evidence,
    reports,
    run_snapshots,
    runs,
    snapshots,
)
from pincite.storage.transactions import Transaction

CALLS, EVENTS, CLAIMS, PAGES = 12, 30, 8, 6
_COMMON = 50
"""Captures that all runs share; each run has `PAGES - 2` of its own beside two of these."""


def put_ended_runs(tx: Transaction, first: int, count: int, ended_at: datetime) -> None:
    """Store `count` ended runs, from `run_FIRST` on, each a second younger, with what a run usually leaves."""
    if first == 0:
        for n in range(_COMMON):
            _put_capture(tx, f"common{n}", ended_at)
    for n in range(first, first + count):
        own = [f"own{n}_{i}" for i in range(PAGES - 2)]
        for name in own:
            _put_capture(tx, name, ended_at)
        used = [_id(name) for name in (*own, f"common{n % _COMMON}", f"common{(n + 7) % _COMMON}")]
        _put_run(tx, f"run_{n}", ended_at + timedelta(seconds=n), used)


def _id(name: str) -> str:
    return f"snap_{name}"


def _put_capture(tx: Transaction, name: str, at: datetime) -> None:
    body, text = sha256_hex(f"body {name}".encode()), sha256_hex(f"text {name}".encode())
    for digest in (body, text):
        content = digest.encode() * 60
        size = {"size_bytes": len(content), "stored_bytes": len(content)}
        tx.insert_new(blobs, sha256=digest, encoding="", content=content, stored_at=at, **size)
    url = f"https://pages.example/{name}"
    tx.insert(
        snapshots,
        snapshot_id=_id(name),
        url=url,
        final_url=url,
        canonical_url=url,
        status=200,
        content_type="text/html",
        headers=[],
        body_sha256=body,
        fetched_at=at,
        via="direct",
        robots="",
        usage_signals=[],
        redirects=[],
        note="",
        stored_at=at,
    )
    tx.insert(
        documents,
        snapshot_id=_id(name),
        extractor="html",
        version="1",
        document_id=f"doc_{name}",
        content_sha256=text,
        stored_at=at,
    )


def _put_run(tx: Transaction, run_id: str, at: datetime, used: list[str]) -> None:
    nothing: dict[str, Any] = {f"{kind}_{name}": 0 for kind in ("spent", "reserved") for name in DIMENSIONS}
    tx.insert(
        runs,
        run_id=run_id,
        question="?",
        status="completed",
        inputs={},
        budget={},
        created_at=at,
        updated_at=at,
        epoch=1,
        cancel_requested=False,
        for_workers=False,
        reason="",
        project="",
        worker="",
        request_id="",
        **nothing,
    )
    per_call = {f"{kind}_{name}": 1 for kind in ("estimate", "used") for name in DIMENSIONS}
    made = {"run_id": run_id, "kind": "fetch", "request": "{}", "status": "ok", "outcome": "x" * 500, "epoch": 1}
    timed = {"attempts": 1, "started_at": at, "settled_at": at, "latency_ms": 1.0}
    tx.insert_many(calls, [{**made, **timed, **per_call, "call_key": f"c{n}"} for n in range(CALLS)])
    said = {"run_id": run_id, "type": "page.fetched", "at": at, "data": {"url": "https://pages.example/"}}
    tx.insert_many(events, [{**said, "seq": n + 1, "identity": str(n)} for n in range(EVENTS)])
    tx.insert_many(run_snapshots, [{"run_id": run_id, "snapshot_id": snapshot} for snapshot in used])
    of = {"run_id": run_id, "report_version": 1}
    head = {"run_id": run_id, "version": 1, "report_id": f"rep_{run_id}", "status": "complete", "title": "?"}
    tx.insert(reports, **head, created_at=at, content=b"x" * 4_000)
    stated = {"text": "?", "type": "fact", "confidence": 0.9, "verdict": "supported", "independent_sources": 1}
    tx.insert_many(claims, [{**of, **stated, "claim_id": f"cl_{n}"} for n in range(CLAIMS)])
    quoted = {"n": 0, "document_id": "doc", "url": "https://pages.example/", "start_offset": 0, "end_offset": 1}
    proof = {**of, **quoted, "quote": "x" * 200, "relation": "supports", "reference_n": 1}
    rows = [{**proof, "claim_id": f"cl_{n}", "snapshot_id": used[n % len(used)]} for n in range(CLAIMS)]
    tx.insert_many(evidence, rows)
    cited = {"url": "https://pages.example/", "title": "?", "accessed_at": at, "published_at": None, "excerpt": "?"}
    tx.insert_many(citations, [{**of, **cited, "n": n + 1, "snapshot_id": used[n]} for n in range(len(used))])

"""The tables, as the newest migration leaves them. Every table has a `scope`; nothing is read across scopes.

Times are text (`2026-11-21T08:15:00.000000Z`), money is whole nano-dollars, structured values are JSON text: the same
on SQLite and PostgreSQL, and readable by any tool. docs/storage.md says what each table is for.
"""

from decimal import ROUND_CEILING, Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from pincite.domain.budget import Usage
from pincite.storage.columns import JsonText, Moment, key, text_column
from pincite.storage.limits import MAX_RATES

DIMENSIONS = ("searches", "pages", "web_requests", "size_bytes", "tokens_in", "tokens_out", "cost_nanousd")
# Money is stored as whole billionths of a dollar: sums are exact in every database.
_NANO = Decimal(1_000_000_000)


def nano_usd(amount: Decimal) -> int:
    """Dollars as whole nano-dollars, rounded up so that a cap is never passed by rounding."""
    return int((amount * _NANO).to_integral_value(ROUND_CEILING))


def usd(amount_nanousd: int) -> Decimal:
    """Nano-dollars as dollars."""
    return (Decimal(amount_nanousd) / _NANO).normalize() + Decimal(0)


def usage_values(prefix: str, usage: Usage) -> dict[str, int]:
    """The columns of one usage, all seven, named `prefix_dimension`."""
    amounts = (usage.searches, usage.pages, usage.web_requests, usage.size_bytes, usage.tokens_in, usage.tokens_out)
    return {
        f"{prefix}_{name}": amount
        for name, amount in zip(DIMENSIONS, (*amounts, nano_usd(usage.cost_usd)), strict=True)
    }


def usage_of(prefix: str, row: Any) -> Usage:  # a row of SQLAlchemy's with those columns
    """The usage in the columns `prefix_dimension` of a row."""
    *amounts, cost = (int(getattr(row, f"{prefix}_{name}")) for name in DIMENSIONS)
    searches, pages, web_requests, size_bytes, tokens_in, tokens_out = amounts
    return Usage(searches, pages, web_requests, size_bytes, tokens_in, tokens_out, usd(cost))


def _usage_columns(prefix: str, *, nullable: bool = False) -> list[Column[Any]]:
    return [
        Column(f"{prefix}_{name}", BigInteger, nullable=nullable, server_default=None if nullable else "0")
        for name in DIMENSIONS
    ]


metadata = MetaData()


def _table(name: str, *parts: Column[Any] | Index | UniqueConstraint) -> Table:
    """A table of rows that each belong to a scope, the first part of its key."""
    return Table(name, metadata, Column("scope", Text, nullable=False, primary_key=True), *parts)


schema_versions = _table(
    "schema_versions",
    key("version", Integer),
    text_column("name", None),
    Column("applied_at", Moment, nullable=False),
)

runs = _table(
    "runs",
    key("run_id"),
    text_column("question", None),
    text_column("status", None),
    text_column("reason"),
    text_column("project"),
    Column("inputs", JsonText, nullable=False),
    Column("budget", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    # Counts the owners: whoever writes with an older one is fenced (ADR 0005).
    Column("epoch", Integer, nullable=False, server_default="0"),
    text_column("worker"),
    Column("lease_until_s", Double, nullable=False, server_default="0"),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False),
    # Beside the run and not in a table of their own: a reservation changes one row, which is its own lock.
    *_usage_columns("cap", nullable=True),
    *_usage_columns("spent"),
    *_usage_columns("reserved"),
    # Whether workers may take it. A run without this is that of the process that made it, unless it is abandoned
    # (`storage.queue`).
    Column("for_workers", Boolean, nullable=False, server_default="FALSE"),
    # What is held against a run (`storage.queue.Redelivery`): `deaths`, `losses`, whether others were in work beside it
    # when its owner died, and until when it waits.
    Column("deaths", Integer, nullable=False, server_default="0"),
    # When it was offered to workers last: polls do not offer it again and again meanwhile.
    Column("offered_at_s", Double, nullable=False, server_default="0"),
    text_column("request_id"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("in_company", Boolean, nullable=False, server_default="FALSE"),
    Column("not_before_s", Double, nullable=False, server_default="0"),
    Index("ix_runs_project", "scope", "project", "created_at"),
    Index("ix_runs_scope_created", "scope", "created_at"),
    # For the sweep over all scopes: the only index of `runs` without the scope in front.
    Index("ix_runs_status_lease", "status", "lease_until_s"),
    Index("ix_runs_updated", "scope", "updated_at"),
)

calls = _table(
    "calls",
    key("run_id"),
    key("call_key"),
    text_column("kind", None),
    text_column("request", None),
    text_column("status", None),
    Column("outcome", Text),
    Column("epoch", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("settled_at", Moment),
    Column("latency_ms", Double),
    *_usage_columns("estimate"),
    *_usage_columns("used"),
    # For `pincite log` over all runs, newest first.
    Index("ix_calls_started", "scope", "started_at", "call_key"),
)

provider_attempts = _table(
    "provider_attempts",
    key("run_id"),
    key("call_key"),
    # A resumed run may make the same call again: `attempt` says which time it was, `n` which provider was asked in it.
    key("attempt", Integer),
    key("n", Integer),
    text_column("provider", None),
    text_column("outcome", None),
    Column("latency_ms", Double, nullable=False),
    Column("cost_nanousd", BigInteger, nullable=False),
    text_column("detail"),
)

events = _table(
    "events",
    key("run_id"),
    key("seq", Integer),
    text_column("identity", None),
    text_column("type", None),
    Column("at", Moment, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("request_id", Text),
    Column("topic_hash", Text),
    # What is the same event said by another owner (`storage.events`), so that no two owners can both store it.
    UniqueConstraint("scope", "run_id", "identity", name="uq_events_identity"),
)

# By the hash of the content: a body that was captured twice is stored once.
blobs = _table(
    "blobs",
    key("sha256"),
    text_column("encoding", None),
    Column("content", LargeBinary, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("stored_at", Moment, nullable=False),
)

snapshots = _table(
    "snapshots",
    key("snapshot_id"),
    text_column("url", None),
    text_column("final_url", None),
    text_column("canonical_url", None),
    Column("status", Integer, nullable=False),
    text_column("content_type", None),
    Column("headers", JsonText, nullable=False),
    text_column("body_sha256", None),
    Column("fetched_at", Moment, nullable=False),
    text_column("via", None),
    text_column("robots", None),
    Column("usage_signals", JsonText, nullable=False),
    Column("redirects", JsonText, nullable=False),
    text_column("note"),
    Column("stored_at", Moment, nullable=False),
    Index("ix_snapshots_body", "scope", "body_sha256"),
    Index("ix_snapshots_stored", "scope", "stored_at"),
)

documents = _table(
    "documents",
    key("snapshot_id"),
    # Another version of an extractor makes another document of the same capture; a quote points into that which it was
    # cut from.
    key("extractor"),
    key("version"),
    text_column("document_id", None),
    text_column("content_sha256", None),
    Column("stored_at", Moment, nullable=False),
    Index("ix_documents_document", "scope", "document_id"),
    Index("ix_documents_content", "scope", "content_sha256"),
)

# What keeps a capture from being pruned: the runs that refer to it.
run_snapshots = _table(
    "run_snapshots",
    key("run_id"),
    key("snapshot_id"),
    Index("ix_run_snapshots_snapshot", "scope", "snapshot_id"),
)

reports = _table(
    "reports",
    key("run_id"),
    key("version", Integer),
    text_column("report_id", None),
    text_column("status", None),
    text_column("title", None),
    Column("created_at", Moment, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# The report holds this too; here SQL of one's own can ask over many reports.
claims = _table(
    "claims",
    key("run_id"),
    key("report_version", Integer),
    key("claim_id"),
    text_column("text", None),
    text_column("type", None),
    Column("confidence", Double, nullable=False),
    text_column("verdict", None),
    Column("independent_sources", Integer, nullable=False),
)

evidence = _table(
    "evidence",
    key("run_id"),
    key("report_version", Integer),
    key("claim_id"),
    key("n", Integer),
    text_column("document_id", None),
    text_column("snapshot_id", None),
    text_column("url", None),
    Column("start_offset", Integer, nullable=False),
    Column("end_offset", Integer, nullable=False),
    text_column("quote", None),
    text_column("relation", None),
    Column("reference_n", Integer),
    Index("ix_evidence_snapshot", "scope", "snapshot_id"),
)

citations = _table(
    "citations",
    key("run_id"),
    key("report_version", Integer),
    key("n", Integer),
    text_column("url", None),
    text_column("title", None),
    text_column("snapshot_id", None),
    Column("accessed_at", Moment, nullable=False),
    Column("published_at", Moment),
    text_column("excerpt", None),
    Index("ix_citations_snapshot", "scope", "snapshot_id"),
)

buckets = _table(
    "buckets",
    key("bucket_key"),
    # When the bucket of each rate is full again: one number in place of a level and the time it was read at.
    *(Column(f"full_{n}_s", Double, nullable=False) for n in range(1, MAX_RATES + 1)),
    Column("blocked_until_s", Double, nullable=False),
)

breakers = _table(
    "breakers",
    key("breaker_key"),
    Column("failures", Integer, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("open_until_s", Double, nullable=False),
    Column("probe_until_s", Double, nullable=False),
)

cache_entries = _table(
    "cache_entries",
    key("namespace"),
    key("entry_key"),
    Column("value", LargeBinary, nullable=False),
    text_column("sha256", None),
    Column("fresh_until", Moment, nullable=False),
    Column("stale_until", Moment, nullable=False),
    Column("stored_at", Moment, nullable=False),
    Column("validators", JsonText, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("used_at_s", Double, nullable=False),
    Index("ix_cache_entries_used", "scope", "used_at_s"),
)

# Who fetches what is missing in the cache; others wait instead of asking a provider the same thing.
cache_leases = _table(
    "cache_leases",
    key("namespace"),
    key("entry_key"),
    Column("until_s", Double, nullable=False),
)

request_keys = _table(
    "request_keys",
    key("request_key"),
    text_column("body_sha256", None),
    text_column("run_id", None),
    Column("created_at", Moment, nullable=False),
    Index("ix_request_keys_run", "scope", "run_id"),
)

spendings = _table(
    "spendings",
    key("key_name"),
    key("day"),
    Column("taken_nanousd", BigInteger, nullable=False),
)

webhooks = _table(
    "webhooks",
    key("delivery_id"),
    text_column("run_id", None),
    text_column("url", None),
    text_column("status", None),
    Column("tries", Integer, nullable=False),
    Column("next_at_s", Double, nullable=False),
    text_column("detail"),
    Column("created_at", Moment, nullable=False),
    Index("ix_webhooks_due", "status", "next_at_s"),
    Index("ix_webhooks_run", "scope", "run_id"),
)

api_keys = _table(
    "api_keys",
    key("name"),
    text_column("sha256", None),
    text_column("created_at", None),
    Column("revoked_at", Text),
    Column("rate_per_min", Integer),
    Column("daily_usd", Text),
    UniqueConstraint("name", name="uq_api_keys_name"),
    # Over all scopes: the key that somebody shows is what tells the scope.
    UniqueConstraint("sha256", name="uq_api_keys_sha256"),
)

server_secrets = _table(
    "server_secrets",
    key("name"),
    text_column("value", None),
    text_column("created_at", None),
)

tool_log = _table(
    "tool_log",
    key("at", Moment),
    key("id"),
    text_column("surface", None),
    text_column("tool", None),
    text_column("request", None),
    text_column("outcome", None),
    Column("latency_ms", Double, nullable=False),
    text_column("cost_usd", None),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    text_column("run_id", None),
    text_column("session_id", None),
    text_column("request_id", None),
    Index("ix_tool_log_run", "scope", "run_id"),
    # For deleting by age, over all scopes.
    Index("ix_tool_log_at", "at"),
)

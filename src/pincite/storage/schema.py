"""The tables, as the newest migration leaves them. Every table has a `scope`; nothing is read across scopes.

Times are text (`2026-11-21T08:15:00.000000Z`), money is whole nano-dollars, structured values are JSON text: the same
on SQLite and PostgreSQL, and readable by any tool. docs/storage.md says what each table is for.
"""

import json
from datetime import datetime
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
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect

from pincite.domain.budget import Usage
from pincite.domain.codec import utc_moment, utc_text

DIMENSIONS = ("searches", "pages", "web_requests", "size_bytes", "tokens_in", "tokens_out", "cost_nanousd")
MAX_RATES = 4
"""Rates that a shared limit of one key may have (a second, a minute, a day, a month)."""
_NANO = Decimal(1_000_000_000)


class Moment(TypeDecorator[datetime]):
    """An aware datetime, kept as text of fixed width so that text order is time order."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """The text."""
        return None if value is None else utc_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """The moment."""
        return None if value is None else utc_moment(value)


class JsonText(TypeDecorator[Any]):  # any JSON value
    """A JSON value, kept as text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """The text."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """The value."""
        return None if value is None else json.loads(value)


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


def _scope() -> Column[str]:
    return Column("scope", Text, nullable=False, primary_key=True)


def _key(name: str, type_: Any = Text) -> Column[Any]:
    return Column(name, type_, nullable=False, primary_key=True, autoincrement=False)


def _text(name: str, default: str | None = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=default)


metadata = MetaData()

schema_versions = Table(
    "schema_versions",
    metadata,
    _scope(),
    _key("version", Integer),
    _text("name", None),
    Column("applied_at", Moment, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    _scope(),
    _key("run_id"),
    _text("question", None),
    _text("status", None),
    _text("reason"),
    _text("project"),
    Column("inputs", JsonText, nullable=False),
    Column("budget", JsonText, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),
    _text("worker"),
    Column("lease_until_s", Double, nullable=False, server_default="0"),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False),
    *_usage_columns("cap", nullable=True),
    *_usage_columns("spent"),
    *_usage_columns("reserved"),
    Column("for_workers", Boolean, nullable=False, server_default="FALSE"),
    Column("deaths", Integer, nullable=False, server_default="0"),
    Column("offered_at_s", Double, nullable=False, server_default="0"),
    _text("request_id"),
    Index("ix_runs_project", "scope", "project", "created_at"),
    Index("ix_runs_scope_created", "scope", "created_at"),
    Index("ix_runs_status_lease", "status", "lease_until_s"),
)

calls = Table(
    "calls",
    metadata,
    _scope(),
    _key("run_id"),
    _key("call_key"),
    _text("kind", None),
    _text("request", None),
    _text("status", None),
    Column("outcome", Text),
    Column("epoch", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("settled_at", Moment),
    Column("latency_ms", Double),
    *_usage_columns("estimate"),
    *_usage_columns("used"),
)

provider_attempts = Table(
    "provider_attempts",
    metadata,
    _scope(),
    _key("run_id"),
    _key("call_key"),
    _key("attempt", Integer),
    _key("n", Integer),
    _text("provider", None),
    _text("outcome", None),
    Column("latency_ms", Double, nullable=False),
    Column("cost_nanousd", BigInteger, nullable=False),
    _text("detail"),
)

events = Table(
    "events",
    metadata,
    _scope(),
    _key("run_id"),
    _key("seq", Integer),
    _text("identity", None),
    _text("type", None),
    Column("at", Moment, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("request_id", Text),
    Column("topic_hash", Text),
    UniqueConstraint("scope", "run_id", "identity", name="uq_events_identity"),
)

blobs = Table(
    "blobs",
    metadata,
    _scope(),
    _key("sha256"),
    _text("encoding", None),
    Column("content", LargeBinary, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("stored_at", Moment, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    _scope(),
    _key("snapshot_id"),
    _text("url", None),
    _text("final_url", None),
    _text("canonical_url", None),
    Column("status", Integer, nullable=False),
    _text("content_type", None),
    Column("headers", JsonText, nullable=False),
    _text("body_sha256", None),
    Column("fetched_at", Moment, nullable=False),
    _text("via", None),
    _text("robots", None),
    Column("usage_signals", JsonText, nullable=False),
    Column("redirects", JsonText, nullable=False),
    _text("note"),
    Column("stored_at", Moment, nullable=False),
    Index("ix_snapshots_body", "scope", "body_sha256"),
    Index("ix_snapshots_stored", "scope", "stored_at"),
)

documents = Table(
    "documents",
    metadata,
    _scope(),
    _key("snapshot_id"),
    _key("extractor"),
    _key("version"),
    _text("document_id", None),
    _text("content_sha256", None),
    Column("stored_at", Moment, nullable=False),
    Index("ix_documents_document", "scope", "document_id"),
    Index("ix_documents_content", "scope", "content_sha256"),
)

run_snapshots = Table(
    "run_snapshots",
    metadata,
    _scope(),
    _key("run_id"),
    _key("snapshot_id"),
    Index("ix_run_snapshots_snapshot", "scope", "snapshot_id"),
)

reports = Table(
    "reports",
    metadata,
    _scope(),
    _key("run_id"),
    _key("version", Integer),
    _text("report_id", None),
    _text("status", None),
    _text("title", None),
    Column("created_at", Moment, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

claims = Table(
    "claims",
    metadata,
    _scope(),
    _key("run_id"),
    _key("report_version", Integer),
    _key("claim_id"),
    _text("text", None),
    _text("type", None),
    Column("confidence", Double, nullable=False),
    _text("verdict", None),
    Column("independent_sources", Integer, nullable=False),
)

evidence = Table(
    "evidence",
    metadata,
    _scope(),
    _key("run_id"),
    _key("report_version", Integer),
    _key("claim_id"),
    _key("n", Integer),
    _text("document_id", None),
    _text("snapshot_id", None),
    _text("url", None),
    Column("start_offset", Integer, nullable=False),
    Column("end_offset", Integer, nullable=False),
    _text("quote", None),
    _text("relation", None),
    Column("reference_n", Integer),
    Index("ix_evidence_snapshot", "scope", "snapshot_id"),
)

citations = Table(
    "citations",
    metadata,
    _scope(),
    _key("run_id"),
    _key("report_version", Integer),
    _key("n", Integer),
    _text("url", None),
    _text("title", None),
    _text("snapshot_id", None),
    Column("accessed_at", Moment, nullable=False),
    Column("published_at", Moment),
    _text("excerpt", None),
)

buckets = Table(
    "buckets",
    metadata,
    _scope(),
    _key("bucket_key"),
    *(Column(f"full_{n}_s", Double, nullable=False) for n in range(1, MAX_RATES + 1)),
    Column("blocked_until_s", Double, nullable=False),
)

breakers = Table(
    "breakers",
    metadata,
    _scope(),
    _key("breaker_key"),
    Column("failures", Integer, nullable=False),
    Column("opened", Integer, nullable=False),
    Column("open_until_s", Double, nullable=False),
    Column("probe_until_s", Double, nullable=False),
)

cache_entries = Table(
    "cache_entries",
    metadata,
    _scope(),
    _key("namespace"),
    _key("entry_key"),
    Column("value", LargeBinary, nullable=False),
    _text("sha256", None),
    Column("fresh_until", Moment, nullable=False),
    Column("stale_until", Moment, nullable=False),
    Column("stored_at", Moment, nullable=False),
    Column("validators", JsonText, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("used_at_s", Double, nullable=False),
    Index("ix_cache_entries_used", "scope", "used_at_s"),
)

cache_leases = Table(
    "cache_leases",
    metadata,
    _scope(),
    _key("namespace"),
    _key("entry_key"),
    Column("until_s", Double, nullable=False),
)

request_keys = Table(
    "request_keys",
    metadata,
    _scope(),
    _key("request_key"),
    _text("body_sha256", None),
    _text("run_id", None),
    Column("created_at", Moment, nullable=False),
)

spendings = Table(
    "spendings",
    metadata,
    _scope(),
    _key("key_name"),
    _key("day"),
    Column("taken_nanousd", BigInteger, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    _scope(),
    _key("delivery_id"),
    _text("run_id", None),
    _text("url", None),
    _text("status", None),
    Column("tries", Integer, nullable=False),
    Column("next_at_s", Double, nullable=False),
    _text("detail"),
    Column("created_at", Moment, nullable=False),
    Index("ix_webhooks_due", "status", "next_at_s"),
)

"""The tables' columns, by the kind of what they hold. Every table has a `scope`; nothing is read across scopes.

What else there is to a table (what may be missing, defaults, indexes) the migrations say, which make it. Times are text
(`2026-11-21T08:15:00.000000Z`), money is whole nano-dollars, structured values are JSON text: the same on SQLite and
PostgreSQL, and readable by any tool. docs/storage.md says what each table is for.
"""

import json
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.engine import Dialect

from pincite.domain.budget import Usage
from pincite.domain.codec import utc_moment, utc_text
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


_KINDS: Final[dict[str, Any]] = {  # types of SQLAlchemy and of ours
    "texts": Text,
    "moments": Moment,
    "json": JsonText,
    "numbers": Integer,
    "amounts": BigInteger,
    "reals": Double,
    "flags": Boolean,
    "contents": LargeBinary,
}
metadata = MetaData()


def _table(name: str, keys: str, **columns: str) -> Table:
    """A table whose key is the scope and `keys`, with columns by `_KINDS`; a key that is in none of them is a text."""
    kinds = {column: _KINDS[kind] for kind, names in columns.items() for column in names.split()}
    key = ["scope", *keys.split()]
    return Table(
        name,
        metadata,
        *(Column(part, kinds.pop(part, Text), primary_key=True, autoincrement=False) for part in key),
        *(Column(column, kind) for column, kind in kinds.items()),
    )


def _usage(*prefixes: str) -> str:
    return " ".join(f"{prefix}_{name}" for prefix in prefixes for name in DIMENSIONS)


schema_versions = _table("schema_versions", "version", numbers="version", texts="name", moments="applied_at")

# `epoch` counts the owners: whoever writes with an older one is fenced (ADR 0005). What is held against a run is in
# `deaths`, `losses`, `in_company` (others were in work beside it when its owner died) and `not_before_s` (until when it
# waits; `storage.queue.Redelivery`). A run that is not `for_workers` is that of the process that made it, unless it is
# abandoned. `offered_at_s`: polls do not offer it again and again.
#
# Caps, what was spent and what is reserved stand beside the run and not in a table of their own: a reservation changes
# one row, which is its own lock.
runs = _table(
    "runs",
    "run_id",
    texts="question status reason project worker request_id",
    json="inputs budget",
    moments="created_at updated_at",
    numbers="epoch priority deaths losses",
    reals="lease_until_s offered_at_s not_before_s",
    flags="cancel_requested for_workers in_company",
    amounts=_usage("cap", "spent", "reserved"),
)

calls = _table(
    "calls",
    "run_id call_key",
    texts="kind request status outcome",
    numbers="epoch attempts",
    moments="started_at settled_at",
    reals="latency_ms",
    amounts=_usage("estimate", "used"),
)

# A resumed run may make the same call again: `attempt` says which time it was, `n` which provider was asked in it.
provider_attempts = _table(
    "provider_attempts",
    "run_id call_key attempt n",
    texts="provider outcome detail",
    numbers="attempt n",
    reals="latency_ms",
    amounts="cost_nanousd",
)

# `identity`: what is the same event said by another owner (`storage.events`), so that no two owners can both store it.
events = _table(
    "events",
    "run_id seq",
    texts="identity type request_id topic_hash",
    numbers="seq",
    moments="at",
    json="data",
)

# By the hash of the content: a body that was captured twice is stored once.
blobs = _table(
    "blobs",
    "sha256",
    texts="encoding",
    contents="content",
    amounts="size_bytes stored_bytes",
    moments="stored_at",
)

snapshots = _table(
    "snapshots",
    "snapshot_id",
    texts="url final_url canonical_url content_type body_sha256 via robots note",
    numbers="status",
    json="headers usage_signals redirects",
    moments="fetched_at stored_at",
)

# Another version of an extractor makes another document of the same capture; a quote points into that which it was cut
# from.
documents = _table(
    "documents",
    "snapshot_id extractor version",
    texts="document_id content_sha256",
    moments="stored_at",
)

# What keeps a capture from being pruned: the runs that refer to it.
run_snapshots = _table("run_snapshots", "run_id snapshot_id")

reports = _table(
    "reports",
    "run_id version",
    numbers="version",
    texts="report_id status title",
    moments="created_at",
    contents="content",
)

# The report holds these three too; here SQL of one's own can ask over many reports.
claims = _table(
    "claims",
    "run_id report_version claim_id",
    numbers="report_version independent_sources",
    texts="text type verdict",
    reals="confidence",
)

evidence = _table(
    "evidence",
    "run_id report_version claim_id n",
    numbers="report_version n start_offset end_offset reference_n",
    texts="document_id snapshot_id url quote relation",
)

citations = _table(
    "citations",
    "run_id report_version n",
    numbers="report_version n",
    texts="url title snapshot_id excerpt",
    moments="accessed_at published_at",
)

# When the bucket of each rate is full again: one number in place of a level and the time it was read at.
buckets = _table(
    "buckets",
    "bucket_key",
    reals=" ".join([*(f"full_{n}_s" for n in range(1, MAX_RATES + 1)), "blocked_until_s"]),
)

breakers = _table(
    "breakers",
    "breaker_key",
    numbers="failures opened",
    reals="open_until_s probe_until_s",
)

cache_entries = _table(
    "cache_entries",
    "namespace entry_key",
    contents="value",
    texts="sha256",
    moments="fresh_until stale_until stored_at",
    json="validators",
    amounts="size_bytes",
    reals="used_at_s",
)

# Who fetches what is missing in the cache; others wait instead of asking a provider the same thing.
cache_leases = _table("cache_leases", "namespace entry_key", reals="until_s")

request_keys = _table("request_keys", "request_key", texts="body_sha256 run_id", moments="created_at")

spendings = _table("spendings", "key_name day", amounts="taken_nanousd")

webhooks = _table(
    "webhooks",
    "delivery_id",
    texts="run_id url status detail",
    numbers="tries",
    reals="next_at_s",
    moments="created_at",
)

# A name and a hash are unique over all scopes: the key that somebody shows is what tells the scope.
api_keys = _table("api_keys", "name", texts="sha256 created_at revoked_at daily_usd", numbers="rate_per_min")

server_secrets = _table("server_secrets", "name", texts="value created_at")

tool_log = _table(
    "tool_log",
    "at id",
    moments="at",
    texts="surface tool request outcome cost_usd run_id session_id request_id",
    reals="latency_ms",
    amounts="tokens_in tokens_out",
)

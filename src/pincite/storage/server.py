"""What servers and workers of one database share: API keys, what requests were for, webhooks, secrets, waiting runs."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import ColumnElement, and_, case, func, or_

from pincite.domain.codec import utc_text
from pincite.domain.events import RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.domain.records import ApiKey, Offer, QueueCounts, Webhook
from pincite.ports import Clock
from pincite.runtime.lease import is_gone
from pincite.storage.database import Database, Scoped, reads, writes
from pincite.storage.schema import (
    api_keys,
    calls,
    nano_usd,
    request_keys,
    runs,
    server_secrets,
    spendings,
    usd,
    webhooks,
)
from pincite.storage.transactions import AcrossScopes, Transaction

# Who repeats a request does so within minutes or days; Stripe keeps its keys for one day at least.
KEYS_KEPT: Final = timedelta(days=7)
TriedStatus: TypeAlias = Literal["sent", "given_up", "waiting"]
_ACTIVE = (RunStatus.QUEUED.value, RunStatus.RUNNING.value)
_ALL: Final = AcrossScopes()
# The scope of reading transactions whose statements look at every scope.
_PUBLIC: Final = "public"


class SqlServerMemory(Scoped):
    """The memory of a server for one scope."""

    # ---- idempotency keys ----

    @reads
    def started_with(self, tx: Transaction, key: str) -> tuple[str, str] | None:
        """The hash of the body that came with an idempotency key, and the run it started; None for a new key."""
        return _started_with(tx, key)

    @writes
    def remember(self, tx: Transaction, key: str, body_sha256: str, run_id: str) -> tuple[str, str]:
        """As `started_with`, once the key is on record: with this run, or with the one of whoever was faster."""
        now = self._clock.now()
        # Here and not in a sweep: whoever adds keys pays for those that are past their time.
        tx.change(tx.delete(request_keys).where(request_keys.c.created_at < now - KEYS_KEPT))
        tx.insert_new(request_keys, request_key=_hashed(key), body_sha256=body_sha256, run_id=run_id, created_at=now)
        return _started_with(tx, key) or (body_sha256, run_id)

    # ---- what an API key spends in a day ----

    @reads
    def taken(self, tx: Transaction, key_name: str, day: str) -> Decimal:
        """What a key has spent or set aside on a day (`2026-11-22`)."""
        row = tx.first(tx.select(spendings).where(*_of_day(key_name, day)))
        return Decimal(0) if row is None else usd(row.taken_nanousd)

    @writes
    def take(self, tx: Transaction, key_name: str, day: str, amount: Decimal, cap: Decimal) -> bool:
        """Set an amount aside, if it fits under the cap of the day; whether it did."""
        tx.insert_new(spendings, key_name=key_name, day=day, taken_nanousd=0)
        more = spendings.c.taken_nanousd + nano_usd(amount)
        fits = tx.update(spendings).where(*_of_day(key_name, day), more <= nano_usd(cap))
        return tx.change(fits.values(taken_nanousd=more)) == 1

    @writes
    def give_back(self, tx: Transaction, key_name: str, day: str, amount: Decimal) -> None:
        """Put back what was set aside and not spent."""
        less = spendings.c.taken_nanousd - nano_usd(amount)
        tx.change(tx.update(spendings).where(*_of_day(key_name, day)).values(taken_nanousd=less))

    # ---- webhooks ----

    @writes
    def add_webhook(self, tx: Transaction, delivery_id: str, run_id: str, url: str) -> None:
        """Have `url` told when the run has ended."""
        now = self._clock.now()
        tx.insert(
            webhooks,
            delivery_id=delivery_id,
            run_id=run_id,
            url=url,
            status="waiting",
            tries=0,
            next_at_s=now.timestamp(),
            created_at=now,
        )

    @reads
    def webhooks(self, tx: Transaction, run_id: str) -> Sequence[Webhook]:
        """What became of the webhooks of a run."""
        found = tx.run(tx.select(webhooks).where(webhooks.c.run_id == run_id).order_by(webhooks.c.delivery_id))
        return tuple(_webhook(row) for row in found)

    @writes
    def webhook_tried(
        self, tx: Transaction, delivery_id: str, status: TriedStatus, *, next_in_s: float = 0.0, detail: str = ""
    ) -> None:
        """Note a try that was answered, or after which another one waits for `next_in_s`."""
        next_at_s = self._clock.now().timestamp() + next_in_s
        tried = {"tries": webhooks.c.tries + 1, "status": status, "next_at_s": next_at_s, "detail": detail[:300]}
        tx.change(tx.update(webhooks).where(webhooks.c.delivery_id == delivery_id).values(**tried))


async def due_webhooks(database: Database, clock: Clock, limit: int, hold_s: float) -> Sequence[Webhook]:
    """Webhooks of all scopes whose run has ended and whose time has come; each is held for `hold_s` by who got it."""
    now_s = clock.now().timestamp()
    ended = _ALL.select(runs, runs.c.run_id).where(runs.c.status.not_in(_ACTIVE), runs.c.scope == webhooks.c.scope)
    query = _ALL.select(webhooks, *webhooks.c).where(
        webhooks.c.status == "waiting", webhooks.c.next_at_s <= now_s, webhooks.c.run_id.in_(ended)
    )
    oldest = query.order_by(webhooks.c.next_at_s).limit(limit)
    if not await database.read(_PUBLIC, lambda tx: tx.run(oldest)):
        return ()

    def held(tx: Transaction) -> Sequence[Webhook]:
        found = tx.run(oldest)
        for row in found:
            tx.change(
                _ALL.update(webhooks)
                .where(webhooks.c.scope == row.scope, webhooks.c.delivery_id == row.delivery_id)
                .values(next_at_s=now_s + hold_s)
            )
        return tuple(_webhook(row) for row in found)

    return await database.write(_PUBLIC, held, durable=False)


def _started_with(tx: Transaction, key: str) -> tuple[str, str] | None:
    row = tx.first(tx.select(request_keys).where(request_keys.c.request_key == _hashed(key)))
    return None if row is None else (row.body_sha256, row.run_id)


def _of_day(key_name: str, day: str) -> tuple[ColumnElement[bool], ...]:
    return spendings.c.key_name == key_name, spendings.c.day == day


def _webhook(row: Any) -> Webhook:  # a row of `webhooks`
    return Webhook(row.scope, row.delivery_id, row.run_id, row.url, row.status, row.tries, row.detail)


def _hashed(key: str) -> str:
    return sha256_hex(key.encode("utf-8", "surrogatepass"))


# The API keys of all machines that use one database: hashes, limits, the scope that each opens.
#
# A row belongs to the scope its key opens, but a key is known before its scope is: this module looks across scopes.


class SqlKeys:
    """Implements `ports.KeyStore`. Errors of every method: StorageUnavailable, Locked."""

    is_local = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> str:
        """Changes whenever a key is made or revoked."""
        columns = (func.count(), func.count(api_keys.c.revoked_at), func.max(api_keys.c.created_at))
        rows = self._database.read_now(_PUBLIC, lambda tx: tx.run(_ALL.select(api_keys, *columns)))
        return "/".join(map(str, rows[0]))

    def read(self) -> tuple[ApiKey, ...]:
        """Every key, in the order of their making."""
        query = _ALL.select(api_keys, *api_keys.c).order_by(api_keys.c.created_at, api_keys.c.name)
        rows = self._database.read_now(_PUBLIC, lambda tx: tx.run(query))
        return tuple(ApiKey(**row._mapping) for row in rows)  # noqa: SLF001  # the public way to columns by name

    def add(self, key: ApiKey) -> bool:
        """Store a key unless its name is taken, or it is there already under any name; whether it was stored."""
        columns = {name: value for name, value in asdict(key).items() if name != "scope"}
        return self._database.write_now(key.scope, lambda tx: tx.insert_new(api_keys, **columns))

    def revoke(self, name: str, at: str) -> bool:
        """Note when an active key was revoked; whether there was one."""
        active = _ALL.update(api_keys).where(api_keys.c.name == name, api_keys.c.revoked_at.is_(None))
        return self._database.write_now(_PUBLIC, lambda tx: tx.change(active.values(revoked_at=at))) == 1

    def take_over(self, keys: tuple[ApiKey, ...]) -> int:
        """Store keys of another home; how many were new. One whose name is taken gets a number behind it."""
        stored = 0
        for key in keys:
            known = {other.sha256: other.name for other in self.read()}
            while key.sha256 not in known:
                names = (key.name if n == 1 else f"{key.name} ({n})" for n in count(1))
                if self.add(replace(key, name=next(name for name in names if name not in known.values()))):
                    stored += 1
                    break
                known = {other.sha256: other.name for other in self.read()}  # another process took the name meanwhile
        return stored


async def common_secret(database: Database, clock: Clock, name: str, offered: str) -> str:
    """The secret of that name in the database; `offered` becomes it where there is none yet.

    Errors: StorageUnavailable, StorageFull, Locked.
    """

    def agree(tx: Transaction) -> str:
        tx.insert_new(server_secrets, name=name, value=offered, created_at=utc_text(clock.now()))
        found = tx.run(tx.select(server_secrets, server_secrets.c.value).where(server_secrets.c.name == name))
        return str(found[0].value)

    return await database.write(_PUBLIC, agree)


# Runs that wait for a worker: the operator's view of all scopes, and what the death of an owner means for a run.
#
# The view shows ids and states alone, never what was asked.

# Doubled with each death, so that a run that may kill its workers does not kill them all at once.
BACKOFF_S: Final = 10.0
# From the second death in company on a run waits, twice as long each time: longer than a restart of all workers takes,
# so that what killed them (another run, a deployment, the machine) is over.
BACKOFF_MAX_S: Final = 160.0


@dataclass(frozen=True, slots=True)
class Redelivery:
    """What is held against a run: owners lost in a row, those of them that count, and how long it waits for another."""

    losses: int
    deaths: int
    wait_s: float


def redelivery_of(tx: Transaction, row: Any) -> Redelivery:  # a row of `runs`
    """Where a run stands whose owner died.

    A death counts when nothing else was in work at that owner, or when the run had waited before that try: only then
    is the run itself to be suspected. The other runs of the same owner are noted as its company.
    """
    # An owner that had finished a call before it died was getting on: the run is not what kills its owners.
    finished = (calls.c.run_id == row.run_id, calls.c.epoch == row.epoch, calls.c.status != "reserved")
    if tx.first(tx.select(calls, calls.c.call_key).where(*finished).limit(1)) is not None:
        # A death beside other runs counts for nobody yet: any of them may have been the cause.
        held = Redelivery(1, 1, 0.0)
        return held if not _company(tx, row) else Redelivery(1, 0, 0.0)
    in_company = _company(tx, row)
    losses = row.losses + 1
    deaths = row.deaths + (not in_company or row.not_before_s > 0)
    # The first death in company is forgiven: mostly it was a deployment.
    waits = in_company and losses > 1
    return Redelivery(losses, deaths, min(BACKOFF_S * 2.0 ** (losses - 2), BACKOFF_MAX_S) if waits else 0.0)


def _company(tx: Transaction, row: Any) -> bool:  # a row of `runs`
    """Whether the owner had other runs in work; they are told, since each is looked at by itself."""
    others = (runs.c.worker == row.worker, runs.c.status == RunStatus.RUNNING.value, runs.c.run_id != row.run_id)
    told = tx.change(_ALL.update(runs).where(*others).values(in_company=True)) if row.worker else 0
    return bool(told or row.in_company)


# The runs' own rows are the truth. Whatever wakes workers (a queue, a poll) is a hint that may be lost or come twice.

# A run that was offered and not taken is offered again after this: the hint may have been lost.
OFFERED_AGAIN_S: Final = 10.0
# A run that was stored before this process began, and not taken for so long, is for anybody.
ABANDONED_S: Final = 60.0
# The scope of the transaction itself; the statements here look at every scope.
_SCOPE: Final = "public"


class SqlRunQueue:
    """The runs of all scopes that wait.

    Args:
        since: when this process began; runs stored later may still be taken by who stored them.
    """

    def __init__(self, database: Database, since: datetime) -> None:
        self._database = database
        self._since = since

    async def due(self, limit: int, *, per_scope: int, scope: str | None = None) -> Sequence[Offer]:
        """Runs that nobody works on and somebody should, marked as offered; each again only after a while."""
        found = await self._database.read(_SCOPE, lambda tx: _waiting(tx, limit, per_scope, scope, self._since))
        if not found:
            return ()
        return await self._database.write(_SCOPE, lambda tx: _offer(tx, found), durable=False)

    async def scopes(self) -> Sequence[str]:
        """Every scope that has runs."""
        query = _ALL.select(runs, runs.c.scope).distinct().order_by(runs.c.scope)
        return tuple(row.scope for row in await self._database.read(_SCOPE, lambda tx: tx.run(query)))

    async def counts(self) -> QueueCounts:
        """How much there is to do."""
        waiting = and_(runs.c.status == RunStatus.QUEUED.value, runs.c.for_workers)
        query = _ALL.select(runs, runs.c.status, func.count().label("runs")).where(
            or_(runs.c.status == RunStatus.RUNNING.value, waiting)
        )
        rows = await self._database.read(_SCOPE, lambda tx: tx.run(query.group_by(runs.c.status)))
        found = {row.status: int(row.runs) for row in rows}
        return QueueCounts(found.get(RunStatus.QUEUED, 0), found.get(RunStatus.RUNNING, 0))


def _waiting(
    tx: Transaction, limit: int, per_scope: int, scope: str | None, since: datetime
) -> Sequence[Any]:  # rows of `runs`
    """Runs without a live owner within the places of their scope: live ones come first, then by priority and age."""
    now_s = tx.now_s()
    running = runs.c.status == RunStatus.RUNNING.value
    live = and_(running, runs.c.lease_until_s > now_s)
    before = min(since, datetime.fromtimestamp(now_s - ABANDONED_S, UTC))
    abandoned = and_(runs.c.epoch == 0, runs.c.created_at < before)
    waits = and_(runs.c.status == RunStatus.QUEUED.value, runs.c.not_before_s <= now_s)
    wanted = or_(running, and_(waits, or_(runs.c.for_workers, abandoned)))
    place = func.row_number().over(
        partition_by=runs.c.scope,
        order_by=(case((live, 0), else_=1), runs.c.priority.desc(), runs.c.created_at, runs.c.run_id),
    )
    ranked = _ALL.select(runs, *runs.c, live.label("live"), place.label("place")).where(wanted)
    if scope is not None:
        ranked = ranked.where(runs.c.scope == scope)
    of = ranked.subquery()
    columns = (of.c.scope, of.c.run_id, of.c.priority, of.c.worker, of.c.live, of.c.offered_at_s)
    query = _ALL.select(of, *columns).where(  # type: ignore[arg-type]  # a subquery stands where a table does
        of.c.place <= per_scope, or_(of.c.live, of.c.offered_at_s <= now_s - OFFERED_AGAIN_S)
    )
    query = query.order_by(of.c.priority.desc(), of.c.place, of.c.created_at)  # by turns of users
    rows = [
        row
        for row in tx.run(query)
        if not row.live or (row.offered_at_s <= now_s - OFFERED_AGAIN_S and is_gone(row.worker))
    ]
    return rows[:limit]


def _offer(tx: Transaction, found: Sequence[Any]) -> tuple[Offer, ...]:
    now_s = tx.now_s()
    offers = []
    for row in found:
        this = (runs.c.scope == row.scope, runs.c.run_id == row.run_id, runs.c.offered_at_s == row.offered_at_s)
        if tx.change(_ALL.update(runs).where(*this).values(offered_at_s=now_s)):
            offers.append(Offer(row.scope, row.run_id, row.priority))
    return tuple(offers)

"""Runs that wait for a worker: the operator's view of all scopes, and what the death of an owner means for a run.

The view shows ids and states alone, never what was asked.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import and_, case, func, or_

from pincite.domain.events import RunStatus
from pincite.domain.frozen import dataclass
from pincite.domain.records import Offer, QueueCounts
from pincite.runtime.lease import is_gone
from pincite.storage.database import Database
from pincite.storage.schema import calls, runs
from pincite.storage.transactions import AcrossScopes, Transaction

_ALL: Final = AcrossScopes()
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

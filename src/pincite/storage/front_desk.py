"""What a server remembers of requests: which key started which run, what an API key spent today, webhooks to send."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from pincite.domain.calls import Webhook
from pincite.domain.events import RunStatus
from pincite.domain.ids import sha256_hex
from pincite.ports import Clock
from pincite.storage.database import AcrossScopes, Database, Transaction
from pincite.storage.schema import nano_usd, request_keys, runs, spendings, usd, webhooks

KEYS_KEPT: Final = timedelta(days=7)
WAITING, SENT, GIVEN_UP = "waiting", "sent", "given_up"
_ACTIVE = (RunStatus.QUEUED.value, RunStatus.RUNNING.value)
_ALL: Final = AcrossScopes()
_PUBLIC: Final = "public"


class SqlFrontDesk:
    """The memory of a server for one scope."""

    def __init__(self, database: Database, scope: str, clock: Clock) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock

    # ---- idempotency keys ----

    async def started_with(self, key: str) -> tuple[str, str] | None:
        """The hash of the body that came with an idempotency key, and the run it started; None for a new key."""
        return await self._database.read(self._scope, lambda tx: _started_with(tx, key))

    async def remember(self, key: str, body_sha256: str, run_id: str) -> tuple[str, str]:
        """As `started_with`, once the key is on record: with this run, or with the one of whoever was faster."""
        return await self._database.write(self._scope, lambda tx: self._remember(tx, key, body_sha256, run_id))

    # ---- what an API key spends in a day ----

    async def taken(self, key_name: str, day: str) -> Decimal:
        """What a key has spent or set aside on a day (`2026-11-22`)."""
        return await self._database.read(self._scope, lambda tx: _taken(tx, key_name, day))

    async def take(self, key_name: str, day: str, amount: Decimal, cap: Decimal) -> bool:
        """Set an amount aside, if it fits under the cap of the day; whether it did."""
        return await self._database.write(self._scope, lambda tx: _take(tx, key_name, day, amount, cap))

    async def give_back(self, key_name: str, day: str, amount: Decimal) -> None:
        """Put back what was set aside and not spent."""
        await self._database.write(self._scope, lambda tx: _give_back(tx, key_name, day, amount))

    # ---- webhooks ----

    async def add_webhook(self, delivery_id: str, run_id: str, url: str) -> None:
        """Have `url` told when the run has ended."""
        now = self._clock.now()
        await self._database.write(
            self._scope,
            lambda tx: tx.insert(
                webhooks,
                delivery_id=delivery_id,
                run_id=run_id,
                url=url,
                status=WAITING,
                tries=0,
                next_at_s=now.timestamp(),
                created_at=now,
            ),
        )

    async def webhooks(self, run_id: str) -> Sequence[Webhook]:
        """What became of the webhooks of a run."""
        return await self._database.read(self._scope, lambda tx: _of_run(tx, run_id))

    async def webhook_tried(self, delivery_id: str, status: str, *, next_in_s: float = 0.0, detail: str = "") -> None:
        """Note a try: `sent`, `given_up`, or `waiting` for another in `next_in_s`."""
        next_at_s = self._clock.now().timestamp() + next_in_s
        statement = {"status": status, "next_at_s": next_at_s, "detail": detail[:300]}
        await self._database.write(
            self._scope,
            lambda tx: tx.change(
                tx.update(webhooks)
                .where(webhooks.c.delivery_id == delivery_id)
                .values(tries=webhooks.c.tries + 1, **statement)
            ),
        )

    def _remember(self, tx: Transaction, key: str, body_sha256: str, run_id: str) -> tuple[str, str]:
        tx.change(tx.delete(request_keys).where(request_keys.c.created_at < self._clock.now() - KEYS_KEPT))
        tx.insert_new(
            request_keys,
            request_key=_hashed(key),
            body_sha256=body_sha256,
            run_id=run_id,
            created_at=self._clock.now(),
        )
        return _started_with(tx, key) or (body_sha256, run_id)


async def due_webhooks(database: Database, clock: Clock, limit: int, hold_s: float) -> Sequence[Webhook]:
    """Webhooks of all scopes whose run has ended and whose time has come; each is held for `hold_s` by who got it."""
    now_s = clock.now().timestamp()
    ended = _ALL.select(runs, runs.c.run_id).where(runs.c.status.not_in(_ACTIVE), runs.c.scope == webhooks.c.scope)
    query = _ALL.select(webhooks, *webhooks.c).where(
        webhooks.c.status == WAITING, webhooks.c.next_at_s <= now_s, webhooks.c.run_id.in_(ended)
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


def _taken(tx: Transaction, key_name: str, day: str) -> Decimal:
    row = tx.first(tx.select(spendings).where(spendings.c.key_name == key_name, spendings.c.day == day))
    return Decimal(0) if row is None else usd(row.taken_nanousd)


def _take(tx: Transaction, key_name: str, day: str, amount: Decimal, cap: Decimal) -> bool:
    tx.insert_new(spendings, key_name=key_name, day=day, taken_nanousd=0)
    fits = spendings.c.taken_nanousd + nano_usd(amount) <= nano_usd(cap)
    mine = (spendings.c.key_name == key_name, spendings.c.day == day)
    more = tx.update(spendings).where(*mine, fits).values(taken_nanousd=spendings.c.taken_nanousd + nano_usd(amount))
    return tx.change(more) == 1


def _give_back(tx: Transaction, key_name: str, day: str, amount: Decimal) -> None:
    mine = (spendings.c.key_name == key_name, spendings.c.day == day)
    less = spendings.c.taken_nanousd - nano_usd(amount)
    tx.change(tx.update(spendings).where(*mine).values(taken_nanousd=less))


def _of_run(tx: Transaction, run_id: str) -> Sequence[Webhook]:
    found = tx.run(tx.select(webhooks).where(webhooks.c.run_id == run_id).order_by(webhooks.c.delivery_id))
    return tuple(_webhook(row) for row in found)


def _webhook(row: Any) -> Webhook:  # a row of `webhooks`
    return Webhook(row.scope, row.delivery_id, row.run_id, row.url, row.status, row.tries, row.detail)


def _hashed(key: str) -> str:
    return sha256_hex(key.encode("utf-8", "surrogatepass"))

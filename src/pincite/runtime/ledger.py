"""The ledger of a run: reserve, call, settle, replay. Where calls are kept is behind `ports.CallStore`."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, Protocol

import anyio

from pincite.domain.budget import Budget, Usage
from pincite.domain.errors import (
    BudgetExhausted,
    Conflict,
    InputError,
    Internal,
    PinciteError,
    PolicyRefusal,
    SearchProviderUnavailable,
    leaves,
)
from pincite.domain.events import Json
from pincite.domain.records import Outcome, PlannedCall, SettledCall
from pincite.ports import CallStore, Clock
from pincite.runtime import telemetry
from pincite.runtime.concurrency import SingleFlight
from pincite.runtime.lease import Lease
from pincite.runtime.telemetry import METER, Span, Value, span

# A ledger for calls that belong to no run: within a budget, on no record.


class BudgetAccount(Protocol):
    """Whose money it is."""

    async def reserve(self, estimate: Usage) -> None:
        """Set the estimate aside. Errors: BudgetExhausted."""

    async def settle(self, estimate: Usage, actual: Usage) -> None:
        """Replace the estimate by what it came to."""


class PassingLedger:
    """Implements `ports.Ledger` in memory: an estimate is reserved before each call and settled after it.

    The dollars come out of the `account` as well, where there is one.
    """

    def __init__(self, budget: Budget, account: BudgetAccount | None = None) -> None:
        self._budget = budget
        self._account = account
        self._spent = Usage()
        self._reserved = Usage()

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """What the call gives. Errors: BudgetExhausted (nothing was called), and what `do` raises."""
        exceeded = self._budget.first_exceeded(self._spent + self._reserved + estimate)
        if exceeded:
            raise BudgetExhausted(f"the cap on {exceeded} is reached", reason=exceeded)
        money = Usage(cost_usd=estimate.cost_usd)
        if self._account is not None and money.cost_usd:
            await self._account.reserve(money)
        self._reserved = self._reserved + estimate
        # Cancelled or broken: what the call cost is unknown, and the estimate is the safe guess.
        used = estimate
        try:
            outcome = await do()
            used = outcome.usage
        finally:
            if self._account is not None and money.cost_usd:
                await self._account.settle(money, Usage(cost_usd=used.cost_usd))
            self._reserved = self._reserved - estimate
            self._spent = self._spent + used
        return outcome.value

    async def spent(self) -> Usage:
        """What was settled so far."""
        return self._spent

    def cache_reads(self) -> tuple[int, int]:
        """None: nothing is counted here."""
        return 0, 0


# A resumed run executes the same code; a call with a final outcome on record returns it without being made. So the key
# is the logical request alone (kind and arguments), and everything that must not change it stays outside.

# Counted up when what a key is made of changes: calls on record then no longer answer.
KEY_VERSION: Final = 1
# On record for a call that was cancelled or broke: nobody knows what came of it.
UNKNOWN_OUTCOME: Final = '{"error":null}'
_SNAPSHOT_ID: Final = re.compile(r"snap_[0-9a-f]{32}")
# Errors raised before anything was sent: nothing is charged for them.
_FREE: Final = (InputError, PolicyRefusal, BudgetExhausted)


class RunLedger:
    """Implements `ports.Ledger` for one run. Made by `open_ledger`.

    Args:
        recorded: final outcomes by key.
        strict: replay only: a call that is not on record is an error, nothing is made or written.
        lease: until when the run is surely ours; asked again just before anything is sent.
    """

    def __init__(
        self, store: CallStore, clock: Clock, recorded: Mapping[str, str], *, strict: bool, lease: Lease | None
    ) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._recorded = dict(recorded)
        self._strict = strict
        self._flights: SingleFlight[str] = SingleFlight()
        self._from_cache: dict[str, bool] = {}

    async def call(
        self, kind: str, request: Mapping[str, Json], estimate: Usage, do: Callable[[], Awaitable[Outcome]]
    ) -> Json:
        """The outcome of this logical call, from the record where it is final; equal calls in flight are one call.

        What `do` used is charged as it says, and so is an error that says what it used. Any other error that left
        this machine is charged the estimate, because nobody knows whether it was billed; one raised before (refused,
        bad input) is free.

        Errors: BudgetExhausted (nothing was called), RunFenced, StorageUnavailable, StorageFull, Conflict (strict
            replay met a call that is not on record), and what `do` raises.
        """
        key, canonical = call_key(kind, request)
        outcome = self._recorded.get(key)
        if outcome is not None:
            METER.add(telemetry.REPLAYED, 1, kind)
        if outcome is None and self._strict:
            raise Conflict(
                f"the replay asked for a {kind} call that the run did not make: {canonical[:200]}",
                reason="replay_miss",
                hint="The code or its settings changed since the run. `pincite runs resume` makes the missing calls.",
            )
        if outcome is None:
            planned = PlannedCall(key, kind, canonical, estimate)
            # Equal calls in flight are one call: two would be two bills for one outcome on record.
            outcome, _ = await self._flights.run(key, lambda: self._make_call(planned, do))
        return self._value_of(key, outcome)

    async def spent(self) -> Usage:
        """What the run has settled so far."""
        return await self._store.spent()

    def cache_reads(self) -> tuple[int, int]:
        """Hits and misses of the cache among the calls asked for so far, each call once, replayed ones as they were."""
        hits = sum(self._from_cache.values())
        return hits, len(self._from_cache) - hits

    def _value_of(self, key: str, outcome: str) -> Json:
        data = json.loads(outcome)
        if "error" in data:
            raise _error_of(data["error"])
        if "from_cache" in data:
            self._from_cache[key] = data["from_cache"]
        value: Json = data["value"]
        return value

    async def _make_call(self, planned: PlannedCall, do: Callable[[], Awaitable[Outcome]]) -> str:
        try:
            await self._store.reserve(planned)
        except BudgetExhausted as error:
            # On record, so that a strict replay meets the same refusal; never final, so that a resumed run with more
            # money asks.
            await self._store.refuse(planned, _dumps({"error": _error_json(error)}))
            raise
        if self._lease is not None and not self._lease.is_sure:  # stopped for a while since the reservation
            await self._store.confirm()
        started = self._clock.monotonic_s()
        failure: PinciteError | None = None
        try:
            try:
                # The key and never the request: traces leave the machine.
                with span(planned.kind, {telemetry.CALL_KIND: planned.kind, telemetry.CALL_KEY: planned.key}) as around:
                    settled = await _call_in_span(planned, do, around)
            except PinciteError as error:
                failure = error
                settled = _failed(planned, error)
        except BaseException:  # cancelled, or a defect in `do`: whether it was paid is unknown
            with anyio.CancelScope(shield=True), suppress(PinciteError):
                unknown = SettledCall(UNKNOWN_OUTCOME, planned.estimate.perhaps_billed, False, True, 0.0)
                await self._store.settle(planned, self._with_latency(unknown, started))
            raise
        settled = self._with_latency(settled, started)
        _count(planned, settled, failure)
        with anyio.CancelScope(shield=True):
            await self._store.settle(planned, settled)
        if settled.final:
            # Once it is in the store, so that nothing is answered from memory that a crash would forget.
            self._recorded[planned.key] = settled.outcome
        if failure is not None:
            raise failure
        return settled.outcome

    def _with_latency(self, settled: SettledCall, started: float) -> SettledCall:
        return replace(settled, latency_ms=(self._clock.monotonic_s() - started) * 1000)


async def open_ledger(store: CallStore, clock: Clock, *, strict: bool = False, lease: Lease | None = None) -> RunLedger:
    """The ledger of a run with its record loaded. Errors: RunFenced, StorageUnavailable."""
    return RunLedger(store, clock, await store.load(), strict=strict, lease=lease)


def call_key(kind: str, request: Mapping[str, Json]) -> tuple[str, str]:
    """The key of a call and its canonical request: the same on every machine, whatever the order of members."""
    try:
        canonical = _dumps(request)
    except (TypeError, ValueError) as error:
        raise Internal(f"a {kind} call whose request is not plain JSON: {error}", reason="ledger_request") from error
    return hashlib.sha256(f"{kind}\0{KEY_VERSION}\0{canonical}".encode()).hexdigest()[:40], canonical


async def _call_in_span(planned: PlannedCall, do: Callable[[], Awaitable[Outcome]], around: Span) -> SettledCall:
    try:
        made = await do()
    except PinciteError as error:
        around.failed(error.code)
        around.set(
            {telemetry.ERROR_TYPE: error.code, **_model_attributes(planned, str(error.context.get("model") or ""))}
        )
        raise
    used: dict[str, Value] = {telemetry.COST_USD: float(made.usage.cost_usd)}
    if made.usage.tokens_in or made.usage.tokens_out:
        used |= {telemetry.INPUT_TOKENS: made.usage.tokens_in, telemetry.OUTPUT_TOKENS: made.usage.tokens_out}
    around.set(used | _model_attributes(planned, made.attempts[0].provider if made.attempts else ""))
    return _succeeded(made)


def _model_attributes(planned: PlannedCall, model: str) -> dict[str, Value]:
    """The attributes of a call to a model that is named `provider:model`; of any other call none."""
    if planned.kind != telemetry.OF_MODELS or not model:
        return {}
    provider, _, name = model.partition(":")
    asked = {telemetry.PROVIDER: provider, telemetry.REQUEST_MODEL: name or provider}
    return {telemetry.OPERATION: telemetry.CHAT, **asked}


def _count(planned: PlannedCall, settled: SettledCall, failure: PinciteError | None) -> None:
    kind, used = planned.kind, settled.usage
    METER.add(telemetry.CALLS, 1, kind, "ok" if failure is None else failure.code)
    METER.add(telemetry.CALL_SECONDS, settled.latency_ms / 1000, kind)
    METER.add(telemetry.COST, float(used.cost_usd), kind)
    for direction, tokens in (("in", used.tokens_in), ("out", used.tokens_out)):
        METER.add(telemetry.TOKENS, tokens, direction)
    for tried in settled.attempts:
        METER.add(telemetry.ATTEMPTS, 1, tried.provider, str(tried.outcome))


def _dumps(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _succeeded(outcome: Outcome) -> SettledCall:
    try:
        cached = {} if outcome.from_cache is None else {"from_cache": outcome.from_cache}
        text = _dumps({"value": outcome.value, **cached})
    except (TypeError, ValueError) as error:
        raise Internal(f"an outcome that is not plain JSON: {error}", reason="ledger_outcome") from error
    found = tuple(dict.fromkeys(_SNAPSHOT_ID.findall(text)))
    return SettledCall(text, outcome.usage, True, False, 0.0, outcome.attempts, found)


def _failed(planned: PlannedCall, error: PinciteError) -> SettledCall:
    estimate = Usage() if isinstance(error, _FREE) else planned.estimate
    charged = estimate if error.spent is None else error.spent
    text = _dumps({"error": _error_json(error)})
    # A defect of ours says nothing about the world: once it is mended, a resumed run makes the call again.
    final = not (error.retryable or isinstance(error, Internal))
    return SettledCall(text, charged, final, True, 0.0)


def _error_json(error: PinciteError) -> dict[str, Json]:
    data: dict[str, Json] = {
        **error.as_dict(),
        "retry_after_s": error.retry_after_s,
        "context": {name: error.context[name] for name in sorted(error.context)},
    }
    if isinstance(error, SearchProviderUnavailable):
        data["causes"] = {name: _error_json(cause) for name, cause in sorted(error.causes.items())}
    return data


def _error_of(data: Mapping[str, Any]) -> PinciteError:  # the JSON that `_error_json` wrote
    kinds = {kind.code: kind for kind in leaves()}
    kind = kinds.get(data["code"], Internal)
    members = {name: data[name] for name in ("reason", "hint", "retryable", "retry_after_s", "context")}
    if kind is SearchProviderUnavailable:
        members["causes"] = {name: _error_of(cause) for name, cause in data.get("causes", {}).items()}
    return kind(data["message"], **members)

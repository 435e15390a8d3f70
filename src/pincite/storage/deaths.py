"""Runs whose owners died: which of them counts against the run, and how long it then waits for the next."""

from dataclasses import dataclass
from typing import Any, Final

from pincite.domain.events import RunStatus
from pincite.storage.database import AcrossScopes, Transaction
from pincite.storage.schema import calls, runs

_ALL: Final = AcrossScopes()
BACKOFF_S: Final = 10.0
BACKOFF_MAX_S: Final = 160.0
"""From the second death in company on a run waits, twice as long each time: longer than a restart of all workers takes,
so that what killed them (another run, a deployment, the machine) is over."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is held against a run: owners lost in a row, those of them that count, and how long it waits for another."""

    losses: int
    deaths: int
    wait_s: float


def after_death(tx: Transaction, row: Any) -> Standing:  # a row of `runs`
    """Where a run stands whose owner died.

    A death counts when nothing else was in work at that owner, or when the run had waited before that try: only then
    is the run itself to be suspected. The other runs of the same owner are noted as its company.
    """
    if _got_on(tx, row):
        held = Standing(1, 1, 0.0)
        return held if not _company(tx, row) else Standing(1, 0, 0.0)
    in_company = _company(tx, row)
    losses = row.losses + 1
    deaths = row.deaths + (not in_company or row.not_before_s > 0)
    waits = in_company and losses > 1
    return Standing(losses, deaths, min(BACKOFF_S * 2.0 ** (losses - 2), BACKOFF_MAX_S) if waits else 0.0)


def _company(tx: Transaction, row: Any) -> bool:  # a row of `runs`
    """Whether the owner had other runs in work; they are told, since each is looked at by itself."""
    others = (runs.c.worker == row.worker, runs.c.status == RunStatus.RUNNING.value, runs.c.run_id != row.run_id)
    told = tx.change(_ALL.update(runs).where(*others).values(in_company=True)) if row.worker else 0
    return bool(told or row.in_company)


def _got_on(tx: Transaction, row: Any) -> bool:  # a row of `runs`
    """Whether the owner that died had finished a call: then the run is not what kills its owners."""
    finished = (calls.c.run_id == row.run_id, calls.c.epoch == row.epoch, calls.c.status != "reserved")
    return tx.first(tx.select(calls, calls.c.call_key).where(*finished).limit(1)) is not None

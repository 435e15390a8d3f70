"""Connections that a quiet process does not need are closed, and none is left to the garbage collector."""

from datetime import UTC, datetime

from sqlalchemy import create_engine, event
from sqlalchemy.pool import QueuePool

from pincite.storage.transactions import CALM_S, KEPT_IDLE, IdleConnections
from pincite.testing.clock import FrozenClock


def test_a_connection_in_use_is_waited_for_and_then_all_are_closed() -> None:
    clock = FrozenClock(datetime(2026, 11, 21, tzinfo=UTC))
    engine = create_engine("sqlite://", poolclass=QueuePool, connect_args={"check_same_thread": False})
    is_open = set[int]()
    event.listen(engine, "connect", lambda raw, _: is_open.add(id(raw)))
    event.listen(engine, "close", lambda raw, _: is_open.discard(id(raw)))
    idle = IdleConnections(engine, clock)

    for used in [engine.connect() for _ in range(KEPT_IDLE + 2)]:
        used.close()
    clock.advance(CALM_S + 1)
    with idle.counted():
        busy = idle.counted()
        busy.__enter__()
        beside = engine.connect()
    assert len(is_open) == KEPT_IDLE + 2, "one is still in use"
    beside.close()
    busy.__exit__(None, None, None)
    assert not is_open

    with idle.counted(), engine.connect():
        assert len(is_open) == 1, "what is needed again is opened again"
    engine.dispose()

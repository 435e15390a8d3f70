"""Stores of every kind for the contract suites."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest
from tests.fakes.storage import MemoryStorage

from pincite.domain.records import RunRecord
from pincite.ports import CallStore, DocumentStore, EventSink, RunStore, SnapshotStore
from pincite.storage.service import open_storage
from pincite.testing.clock import FrozenClock


class Sink(EventSink, Protocol):
    """An event sink that can be followed."""

    def follow(self, after: int = 0) -> AsyncIterator[object]: ...

    def close(self) -> None: ...


class Stores(Protocol):
    """What one scope has stored."""

    @property
    def runs(self) -> RunStore: ...

    @property
    def snapshots(self) -> SnapshotStore: ...

    @property
    def documents(self) -> DocumentStore: ...

    def calls(self, record: RunRecord) -> CallStore: ...

    async def events(self, record: RunRecord) -> Sink: ...


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Stores]:
    if request.param == "memory":
        yield MemoryStorage(clock)
        return
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(place, clock) as storage:
        yield storage.scope(f"alice-{uuid4()}")  # a scope of its own keeps tests on one server apart

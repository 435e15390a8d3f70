"""Storage over a frozen clock: in a home, or in both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pincite.storage.service import ScopedStorage, Storage, open_storage
from pincite.testing.clock import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["sqlite", "postgresql"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> AsyncIterator[Storage]:
    place = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgresql_url")
    async with open_storage(place, clock) as opened:
        yield opened


@pytest.fixture
async def alice(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[ScopedStorage]:
    async with open_storage(tmp_path, clock) as opened:
        yield opened.scope("alice")

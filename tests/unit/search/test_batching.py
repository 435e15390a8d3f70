from collections.abc import Sequence

import anyio
import pytest

from pincite.domain.errors import NetworkError, PinciteError
from pincite.domain.search import Query, SearchResponse, Topic
from pincite.search.provider import Batched
from pincite.testing.clock import FrozenClock


class Batch:
    name = "serper"
    batch_size = 3

    def __init__(self, error: PinciteError | None = None) -> None:
        self.calls: list[int] = []
        self._error = error

    async def search(self, query: Query) -> SearchResponse:
        return (await self.search_many([query]))[0]

    async def search_many(self, queries: Sequence[Query]) -> Sequence[SearchResponse]:
        assert len({query.topic for query in queries}) == 1
        self.calls.append(len(queries))
        await anyio.lowlevel.checkpoint()
        if self._error:
            raise self._error
        return [SearchResponse(query.text) for query in queries]


async def test_queries_of_one_moment_share_calls() -> None:
    batch = Batch()
    batched = Batched(batch, FrozenClock())
    got: dict[str, str] = {}

    async def ask(text: str, topic: Topic) -> None:
        got[text] = (await batched.search(Query(text, topic=topic))).query

    async with anyio.create_task_group() as tasks:
        for n in range(7):
            tasks.start_soon(ask, f"q{n}", Topic.NEWS if n == 6 else Topic.GENERAL)
    assert got == {f"q{n}": f"q{n}" for n in range(7)}
    assert sorted(batch.calls) == [1, 3, 3]


async def test_an_error_of_the_call_reaches_all() -> None:
    batched = Batched(Batch(NetworkError("down")), FrozenClock())
    seen = 0

    async def ask(text: str) -> None:
        nonlocal seen
        with pytest.raises(NetworkError):
            await batched.search(Query(text))
        seen += 1

    async with anyio.create_task_group() as tasks:
        for n in range(3):
            tasks.start_soon(ask, f"q{n}")
    assert seen == 3


async def test_a_cancelled_leader_leaves_the_others_their_answer() -> None:
    batched = Batched(Batch(), FrozenClock())
    got = []

    async def cancelled() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await batched.search(Query("gone"))

    async def ask() -> None:
        got.append((await batched.search(Query("stays"))).query)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancelled)
        tasks.start_soon(ask)
    assert got == ["stays"]

"""A cache in memory, bounded in entries and bytes. Caches that outlive the process live in `storage`."""

from collections import OrderedDict

from pincite.domain.records import Entry
from pincite.ports import Clock


class MemoryCache:
    """Implements `ports.Cache`; the least recently used entries go first."""

    def __init__(self, clock: Clock, *, max_entries: int = 50_000, max_bytes: int = 256 * 2**20) -> None:
        self._clock = clock
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        self._leases: dict[tuple[str, str], float] = {}
        self.size_bytes = 0
        self.evicted = 0

    async def get(self, namespace: str, key: str) -> Entry | None:
        """The entry, fresh or stale; one past its stale time is gone."""
        entry = self._entries.get((namespace, key))
        if entry is None:
            return None
        if entry.stale_until < self._clock.now():
            self._remove((namespace, key))
            return None
        self._entries.move_to_end((namespace, key))
        return entry

    async def put(self, namespace: str, key: str, entry: Entry) -> None:
        """Store or replace it, and make room."""
        self._remove((namespace, key))
        self._entries[(namespace, key)] = entry
        self.size_bytes += len(entry.value)
        self._leases.pop((namespace, key), None)
        while self._entries and (len(self._entries) > self._max_entries or self.size_bytes > self._max_bytes):
            self._remove(next(iter(self._entries)))
            self.evicted += 1

    async def delete(self, namespace: str, key: str | None = None) -> int:
        """Remove one entry, or all of the namespace; the number removed."""
        doomed = [name for name in self._entries if name[0] == namespace and key in {None, name[1]}]
        for name in doomed:
            self._remove(name)
        return len(doomed)

    async def lease(self, namespace: str, key: str, ttl_s: float) -> bool:
        """Whether the caller may compute this key now; storing the entry ends the lease."""
        now = self._clock.monotonic_s()
        if self._leases.get((namespace, key), now) > now:
            return False
        if len(self._leases) > self._max_entries:
            self._leases = {name: until for name, until in self._leases.items() if until > now}
        self._leases[(namespace, key)] = now + ttl_s
        return True

    def _remove(self, name: tuple[str, str]) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self.size_bytes -= len(entry.value)

"""A number of places that users take in turn: one who asks for many does not hold up the others."""

from collections import Counter, deque

import anyio


class FairSlots:
    """Places for work. A free one goes to the user who has fewest, and among those to who was served longest ago.

    Args:
        places: how many there are.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[anyio.Event]] = {}
        self._served: dict[str, int] = {}  # when users who are here got their last place
        self._turns = 0

    async def acquire(self, user: str) -> None:
        """Return when the user has one more place."""
        turn = anyio.Event()
        self._waiting.setdefault(user, deque()).append(turn)
        self._hand_out()
        try:
            await turn.wait()
        except anyio.get_cancelled_exc_class():
            if turn.is_set():  # it came at the same moment
                self.release(user)
            else:
                self._leave(user, turn)
            raise

    def release(self, user: str) -> None:
        """Give back a place of the user."""
        self._held[user] -= 1
        self._free += 1
        self._hand_out()
        self._forget(user)

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            user = min(self._waiting, key=lambda name: (self._held[name], self._served.get(name, 0)))
            self._waiting[user].popleft().set()
            if not self._waiting[user]:
                del self._waiting[user]
            self._turns += 1
            self._served[user] = self._turns
            self._held[user] += 1
            self._free -= 1

    def _leave(self, user: str, turn: anyio.Event) -> None:
        turns = self._waiting[user]
        turns.remove(turn)
        if not turns:
            del self._waiting[user]
        self._forget(user)

    def _forget(self, user: str) -> None:
        """Keep nothing of a user who neither has nor wants a place."""
        if not self._held[user]:
            del self._held[user]
            if user not in self._waiting:
                self._served.pop(user, None)

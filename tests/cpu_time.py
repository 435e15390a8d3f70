"""Limits of CPU time that hold on any machine: a slow or crowded one gets as much more as a fixed loop needs there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

# What `_loop` took on an idle core of 2024 under CPython 3.11.
_LOOP_S = 0.02


def _loop() -> float:
    begun_s = time.thread_time()
    counted: dict[str, int] = {}
    for number in range(100_000):
        word = str(number % 1_000)
        counted[word] = counted.get(word, 0) + len(word)
    return time.thread_time() - begun_s


@contextmanager
def cpu_at_most(seconds: float) -> Iterator[None]:
    """Fail when the block takes this thread longer. Other threads of the process do not count."""
    before_s = _loop()
    begun_s = time.thread_time()
    yield
    took_s = time.thread_time() - begun_s
    slowness = max(1.0, (before_s + _loop()) / (2 * _LOOP_S))
    assert took_s < seconds * slowness, f"{took_s:.1f} s of CPU on a machine {slowness:.1f} times slower than expected"

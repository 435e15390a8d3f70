"""Rules for every test: no socket leaves this machine; property tests try the same examples each time.

New examples: HYPOTHESIS_PROFILE=explore make test
"""

import ipaddress
import os
import socket
from typing import Any

import pytest
from hypothesis import settings

# No deadline: a loaded machine is no defect.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


class OutsideConnection(AssertionError):
    """A test tried to reach another machine."""


def _refuse_outside(address: Any) -> None:
    if not isinstance(address, tuple):
        return
    host = str(address[0])
    try:
        inside = host in {"localhost", ""} or ipaddress.ip_address(host.split("%", 1)[0]).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise OutsideConnection(f"a test may only use loopback addresses, not {address!r}")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, _real: Any = real) -> Any:
            _refuse_outside(address)
            return _real(self, address)

        monkeypatch.setattr(socket.socket, name, guarded)
    return

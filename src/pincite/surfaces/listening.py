"""The sockets that a server of this program listens on, whichever surface it serves."""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from pincite.domain.errors import Conflict

# Any free number; when it is taken the system chooses.
_USUAL_PORT: Final = 8787
# Connections that wait while the application is made; as many as uvicorn lets wait.
_BACKLOG: Final = 2048
# Written out, and not looked up: a name that resolves elsewhere must not open a server without keys to others.
_LOOPBACKS: Final = ("127.0.0.1", "::1")


@contextmanager
def bound(port: int | None, host: str = "127.0.0.1") -> Iterator[Sequence[socket.socket]]:
    """Sockets that listen: on this port, or without one on the usual port or, where it is taken, any.

    "localhost" is both loopback addresses, where there are both; any other name is the first of its addresses.

    Errors: Conflict (the port is taken, or the interface is none of this machine).
    """
    with ExitStack() as held:
        for wanted in (port,) if port else (_USUAL_PORT, 0):
            try:
                listening = _listening(host, wanted)
                break
            except OSError as error:
                is_taken = error.errno == errno.EADDRINUSE
                if wanted in (port, 0) or not is_taken:
                    # Python adds in brackets what it was about to do.
                    why = f"can't listen on {host}: {str(error.strerror).partition(' (')[0]}"
                    hint = (
                        "Name another one with --port."
                        if is_taken
                        else "Name an interface of this machine with --host."
                    )
                    why = f"port {wanted} of {host} is taken" if is_taken else why
                    raise Conflict(why, reason="port_taken" if is_taken else "no_interface", hint=hint) from None
        for one in listening:
            held.enter_context(one)
        yield listening


def _listening(host: str, port: int) -> Sequence[socket.socket]:
    """Errors: OSError (the port is taken at one of the addresses, or none is this machine's)."""
    with ExitStack() as held:
        made: list[socket.socket] = []
        for address in _LOOPBACKS if host == "localhost" else (host,):
            try:
                family, *_, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
                # The number that the system chose for the first is that of all.
                at = (place[0], made[0].getsockname()[1] if made else port)
                made.append(held.enter_context(socket.create_server(at, family=family, backlog=_BACKLOG)))
            except OSError as error:
                if not made or error.errno == errno.EADDRINUSE:
                    raise
        held.pop_all()
    return made

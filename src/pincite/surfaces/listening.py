"""The socket that a server of this program listens on, whichever surface it serves."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pincite.domain.errors import Conflict

# Any free number; when it is taken the system chooses.
_USUAL_PORT: Final = 8787
# Connections that wait while the application is made; as many as uvicorn lets wait.
_BACKLOG: Final = 2048


@contextmanager
def bound(port: int | None, host: str = "127.0.0.1") -> Iterator[socket.socket]:
    """A socket that listens: on this port, or without one on the usual port or, where it is taken, any.

    Errors:
        Conflict: the port is taken, or the interface is none of this machine.
    """
    for wanted in (port,) if port else (_USUAL_PORT, 0):
        try:
            family, *_, address = socket.getaddrinfo(host, wanted, type=socket.SOCK_STREAM)[0]
            listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
            break
        except OSError as error:
            is_taken = error.errno == errno.EADDRINUSE
            if wanted == port or not is_taken:
                # Python adds in brackets what it was about to do.
                why = f"can't listen on {host}: {str(error.strerror).partition(' (')[0]}"
                hint = "Name another one with --port." if is_taken else "Name an interface of this machine with --host."
                why = f"port {wanted} of {host} is taken" if is_taken else why
                raise Conflict(why, reason="port_taken" if is_taken else "no_interface", hint=hint) from None
    with listening:
        yield listening

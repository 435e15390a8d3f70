"""Where a server of this program listens."""

import errno
import socket
from typing import Any

import pytest

from pincite.domain.errors import Conflict
from pincite.surfaces.listening import bound


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are listened on, on a machine of which any name but a number is somewhere else."""
    real, places = socket.create_server, []

    def resolved(host: str, port: int, **_: Any) -> list[Any]:
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        return [(kind, socket.SOCK_STREAM, 6, "", (host if host[0].isdigit() or ":" in host else "203.0.113.7", port))]

    def create(address: tuple[str, int], **_: Any) -> socket.socket:
        places.append(address[0])
        return real(("127.0.0.1", address[1] if len(places) == 1 else 0))

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(socket, "create_server", create)
    return places


def test_localhost_is_the_loopback_of_both_families_whatever_the_name_resolves_to(made: list[str]) -> None:
    with bound(0, "localhost") as listening:
        assert len(listening) == 2
    assert made == ["127.0.0.1", "::1"]
    assert [one.fileno() for one in listening] == [-1, -1], "closed"


def test_a_machine_without_ipv6_listens_on_the_one_it_has(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    create = socket.create_server

    def without_ipv6(address: tuple[str, int], **more: Any) -> socket.socket:
        if ":" in address[0]:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return create(address, **more)

    monkeypatch.setattr(socket, "create_server", without_ipv6)
    with bound(0, "localhost") as listening:
        assert len(listening) == 1
    assert made == ["127.0.0.1"]


def test_what_another_has_of_localhost_is_taken(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a browser that tries ::1 first would talk to somebody else."""
    create = socket.create_server

    def taken(address: tuple[str, int], **more: Any) -> socket.socket:
        if ":" in address[0]:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        return create(address, **more)

    monkeypatch.setattr(socket, "create_server", taken)
    with pytest.raises(Conflict, match="is taken") as refused, bound(None, "localhost"):
        pass
    assert refused.value.reason == "port_taken"
    assert made == ["127.0.0.1", "127.0.0.1"], "the usual port, then a free one"

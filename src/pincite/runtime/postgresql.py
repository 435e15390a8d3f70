"""How connections to PostgreSQL are made everywhere, so that none waits for ever for a machine that is gone."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

# Options of a connection. One that the URL names counts instead.
#
# Source: PostgreSQL, "Parameter Key Words" of libpq; psycopg 3, `Connection.connect`.
CONNECTION: Final[Mapping[str, int | None]] = MappingProxyType(
    {
        "prepare_threshold": None,  # no server-side prepared statements: they break behind a transaction pooler
        "connect_timeout": 10,
        # A server that vanished without a word is noticed within about a minute, over TCP.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }
)


def options_beside(url: str) -> dict[str, Any]:  # for `psycopg.connect`, whose arguments are of many types
    """What to pass beside a `postgresql://` URL: each option that it does not name itself."""
    named = {part.partition("=")[0] for part in url.partition("?")[2].split("&")}
    return {name: value for name, value in CONNECTION.items() if name not in named}

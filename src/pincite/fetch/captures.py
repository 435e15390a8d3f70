"""Answers to snapshots."""

from collections.abc import Iterable
from datetime import datetime

from pincite.domain.ids import sha256_hex, snapshot_id
from pincite.domain.page import Snapshot

# Not about the page, and possibly personal.
_DROPPED = frozenset({"set-cookie", "set-cookie2", "www-authenticate", "proxy-authenticate", "authorization"})


def capture(  # noqa: PLR0913  # one argument per field that a capture has
    *,
    url: str,
    final_url: str,
    status: int,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    fetched_at: datetime,
    via: str,
    content_type: str = "",
    robots: str = "allowed",
    usage_signals: tuple[str, ...] = (),
    redirects: tuple[str, ...] = (),
    note: str = "",
) -> Snapshot:
    """The snapshot of an answer, with its content-made id."""
    kept = tuple((name.lower(), value) for name, value in headers if name.lower() not in _DROPPED)
    digest = sha256_hex(body)
    declared = content_type or next((value for name, value in kept if name == "content-type"), "")
    return Snapshot(
        snapshot_id=snapshot_id(final_url, fetched_at, digest),
        url=url,
        final_url=final_url,
        canonical_url=final_url,
        status=status,
        content_type=declared,
        headers=kept,
        body=body,
        body_sha256=digest,
        fetched_at=fetched_at,
        via=via,
        robots=robots,
        usage_signals=usage_signals,
        redirects=redirects,
        note=note,
    )

"""Shared items: a statement, its signature, a body. Whoever receives one checks every line of it.

An item is one line of JSON (the statement), one line of base64 (Ed25519 over that line) and the body as bytes. What
the statement says of the body (size, SHA-256) holds or the item is refused; what it says of the world (this page, at
that time) is as good as the key it is signed with.

Source: RFC 8032 for Ed25519, as `cryptography` has it.
"""

import base64
import binascii
import json
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import InvalidSetting, ParseError, ShareRefused
from pincite.domain.events import Json
from pincite.domain.frozen import dataclass
from pincite.domain.ids import sha256_hex
from pincite.runtime.system import needing

_EXTRA: Final = ("share", "sharing needs the cryptography package")
FORMAT: Final = "pincite-share/1"
# Signed in front of the statement, so that no signature made for another purpose counts here.
_CONTEXT: Final = b"pincite-share/1\x00"
# As many as all headers of an answer may have (`fetch.limits.HEADER_BYTES_MAX`).
STATEMENT_BYTES_MAX: Final = 65_536
# 64 bytes of Ed25519 (RFC 8032) in base64.
SIGNATURE_CHARS: Final = 88
# Half of what a PDF may have: a larger one is rare, and its site gives it as fast as a peer.
BODY_BYTES_MAX: Final = 16_777_216
ITEM_BYTES_MAX: Final = STATEMENT_BYTES_MAX + SIGNATURE_CHARS + 2 + BODY_BYTES_MAX
# Clocks kept by NTP differ by less; what claims to be of later than that is refused, the rest counts as of now.
CLOCK_SKEW: Final = timedelta(seconds=60)
_KEY_PREFIX: Final = "ed25519:"


class Kind(StrEnum):
    """What an item is."""

    CAPTURE = "capture"
    ANSWER = "answer"
    BUNDLE = "bundle"  # the list of what is in a file


@dataclass(frozen=True, slots=True)
class Statement:
    """What is said of the body, and signed. `key` names what is asked for, `at` is when the body was come by."""

    kind: Kind
    key: str
    at: datetime
    body_sha256: str
    body_bytes: int
    format: str = FORMAT
    url: str = ""
    final_url: str = ""
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A body with what is said of it."""

    statement: Statement
    body: bytes = field(repr=False)


class Signer:
    """Signs items. `public` is what others put into their settings to know them by.

    Args:
        seed: the secret, 32 bytes.

    Errors: ExtraNotInstalled.
    """

    def __init__(self, seed: bytes) -> None:
        with needing(*_EXTRA):
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = _KEY_PREFIX + base64.urlsafe_b64encode(self._key.public_key().public_bytes_raw()).decode()

    def sealed(self, item: Item) -> bytes:
        """The item as it travels."""
        line = json.dumps(to_json(item.statement), ensure_ascii=True, separators=(",", ":")).encode()
        signature = base64.b64encode(self._key.sign(_CONTEXT + line))
        return b"\n".join((line, signature, item.body))


def item_of(kind: Kind, key: str, at: datetime, body: bytes, **said: object) -> Item:
    """An item of ours; `said` are further members of its statement."""
    return Item(Statement(kind, key, at, sha256_hex(body), len(body), **said), body)  # type: ignore[arg-type]  # by name


def vet_key(text: str) -> str:
    """The public key as it is compared. Errors: InvalidSetting (not `ed25519:` and 32 bytes in base64)."""
    try:
        raw = base64.urlsafe_b64decode(text.removeprefix(_KEY_PREFIX).encode("ascii"))
    except (ValueError, UnicodeEncodeError):
        raw = b""
    if not text.startswith(_KEY_PREFIX) or len(raw) != 32:
        raise InvalidSetting(
            "a peer's key is written ed25519:..., 44 characters after the colon",
            reason="share_key",
            hint="The other side prints its own with: pincite share key",
        )
    return _KEY_PREFIX + base64.urlsafe_b64encode(raw).decode()


def opened(data: bytes, key: str, now: datetime) -> Item:
    """The item in `data`, when all of it holds; a time that is ahead by no more than clocks differ counts as now.

    Errors: ShareRefused (`malformed`, `too_large`, `bad_signature`, `wrong_hash`, `future_date`), ExtraNotInstalled.
    """
    if len(data) > ITEM_BYTES_MAX:
        raise ShareRefused("a shared item is larger than an item may be", reason="too_large")
    # Searched within the bound: a body without a line end would be copied whole.
    line, _, rest = data[: STATEMENT_BYTES_MAX + SIGNATURE_CHARS + 2].partition(b"\n")
    signature = rest[:SIGNATURE_CHARS]
    head = len(line) + SIGNATURE_CHARS + 2
    if len(line) > STATEMENT_BYTES_MAX or len(signature) != SIGNATURE_CHARS or data[head - 1 : head] != b"\n":
        raise ShareRefused("a shared item is not a statement, a signature and a body", reason="malformed")
    # Before the JSON is parsed: nothing that an unknown key wrote reaches the parser.
    _check_signature(line, signature, key)
    body = data[head:]
    statement = _statement(line)
    if len(body) != statement.body_bytes or sha256_hex(body) != statement.body_sha256:
        raise ShareRefused("a shared body is not the one that was signed", reason="wrong_hash")
    if statement.at > now + CLOCK_SKEW:
        raise ShareRefused("a shared item says that it is of a later time than now", reason="future_date")
    if statement.at > now:
        statement = from_json(Statement, {**_object(line), "at": now.isoformat()})
    return Item(statement, body)


def _check_signature(line: bytes, signature: bytes, key: str) -> None:
    with needing(*_EXTRA):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key.removeprefix(_KEY_PREFIX)))
    try:
        public.verify(base64.b64decode(signature, validate=True), _CONTEXT + line)
    except (InvalidSignature, binascii.Error):
        raise ShareRefused(
            "a shared item is not signed with the key that was expected", reason="bad_signature"
        ) from None


def _statement(line: bytes) -> Statement:
    try:
        found = from_json(Statement, _object(line))
    except (ParseError, TypeError, ValueError, RecursionError):
        raise ShareRefused("the statement of a shared item can't be read", reason="malformed") from None
    if found.format != FORMAT:
        raise ShareRefused(f"a shared item is in the format {found.format[:40]!r}", reason="malformed")
    return found


def _object(line: bytes) -> dict[str, Json]:
    data: Json = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError("a statement is an object")
    return data

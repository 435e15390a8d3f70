"""Shared items: a statement, its signature, a body. Whoever receives one checks every line of it.

An item is one line of JSON (the statement), one line of base64 (Ed25519 over that line) and the body as bytes. What
the statement says of the body (size, SHA-256) holds or the item is refused; what it says of the world (this page, at
that time) is as good as the key it is signed with.

Source: RFC 8032 for Ed25519, as `cryptography` has it.
"""

import base64
import binascii
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import InvalidInput, InvalidSetting, ParseError, ShareRefused
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


# Shared items in one file: a ZIP whose members are named by their SHA-256, and a signed list of them.
#
# Nothing in the file is believed before it is counted: the directory is bounded before it is read, each member before
# it is unpacked, and no name in it ever becomes a path.

# The pages of some hundred runs; their list is held in memory. Chosen, not measured, as the size of the file.
ITEMS_MAX: Final = 20_000
FILE_BYTES_MAX: Final = 1_073_741_824
# Pages shrink to a fifth or so; a file that grows beyond this is no bundle of pages.
UNPACKED_BYTES_MAX: Final = 8 * FILE_BYTES_MAX
_LIST: Final = "bundle.item"
# 64 characters of a hash, two quotation marks and a comma for each item.
_LIST_BYTES_MAX: Final = 67 * ITEMS_MAX + 100_000
_NAME: Final = re.compile(r"items/([0-9a-f]{64})")
_END: Final = b"PK\x05\x06"
# Source: PKWARE APPNOTE 4.3.16, the end of central directory record without its comment.
_END_BYTES: Final = 22
_LOCATOR64: Final = b"PK\x06\x07"
# An entry of ours takes 46 bytes and a name of 70.
_DIRECTORY_BYTES_MAX: Final = 128 * (ITEMS_MAX + 1)


class BundleWriter:
    """Writes a bundle beside its place and puts it there at the end. Blocking.

    Errors: InvalidInput (the place can't be written), from every method.
    """

    def __init__(self, path: Path, signer: Signer) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._signer = signer
        self._names: dict[str, None] = {}
        self._bytes = 0
        with self._typed_errors():
            # Without ZIP64: its directory is a second place that could say something else.
            self._out = zipfile.ZipFile(self._partial, "w", zipfile.ZIP_DEFLATED, allowZip64=False)

    def add(self, item: Item) -> bool:
        """Add an item; False when the bundle is full."""
        data = self._signer.sealed(item)
        name = sha256_hex(data)
        if len(self._names) >= ITEMS_MAX or self._bytes + len(data) > FILE_BYTES_MAX:
            return False
        if name not in self._names:
            self._names[name] = None
            self._bytes += len(data)
            with self._typed_errors():
                self._out.writestr(f"items/{name}", data)
        return True

    def finish(self, now: datetime) -> int:
        """Sign the list and put the file in its place; its size in bytes."""
        body = json.dumps(list(self._names)).encode()
        with self._typed_errors():
            self._out.writestr(_LIST, self._signer.sealed(item_of(Kind.BUNDLE, sha256_hex(body), now, body)))
            self._out.close()
            self._partial.replace(self._path)
            return self._path.stat().st_size

    def give_up(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError, ValueError):
            self._out.close()
        self._partial.unlink(missing_ok=True)

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InvalidInput(f"{self._path} can't be written: {error.strerror}") from None


def read_bundle(
    path: Path, keys: Sequence[str], now: Callable[[], datetime]
) -> Iterator[tuple[str, Item | ShareRefused | None]]:
    """The key of the file, one of `keys`, once alone and then with each item, or why that is refused. Blocking.

    Errors:
        InvalidInput: no such file. ShareRefused: the file as a whole (`malformed`, `too_large`, `bad_signature`, ...).
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}") from None
    with file:
        _vet_directory(file)
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError):
            raise _malformed("is damaged") from None
        with archive:
            yield from _items(archive, keys, now)


def _items(
    archive: zipfile.ZipFile, keys: Sequence[str], now: Callable[[], datetime]
) -> Iterator[tuple[str, Item | ShareRefused | None]]:
    members = {info.filename: info for info in archive.infolist()}
    # Two members of one name: readers differ on which of them counts.
    if len(members) != len(archive.infolist()):
        raise _malformed("names a member twice")
    if strangers := [name for name in members if name != _LIST and not _NAME.fullmatch(name)]:
        raise _malformed(f"holds {strangers[0][:80]!r}, which is no name of an item")
    if sum(info.file_size for info in members.values()) > UNPACKED_BYTES_MAX:
        raise ShareRefused("the bundle is larger unpacked than a bundle may be", reason="too_large")
    if _LIST not in members:
        raise _malformed("has no list")
    key, names = _listed(_unpacked(archive, members.pop(_LIST), _LIST_BYTES_MAX), keys, now())
    # The list is what is signed: a member beside it was put there by somebody else.
    if set(names) != {name.removeprefix("items/") for name in members}:
        raise _malformed("does not hold what its list says")
    yield key, None
    for name in names:
        try:
            data = _unpacked(archive, members[f"items/{name}"], ITEM_BYTES_MAX)
            if sha256_hex(data) != name:
                raise ShareRefused("an item is not what its name says", reason="wrong_hash")
            item = opened(data, key, now())
        except ShareRefused as refused:
            yield key, refused
        else:
            yield key, item


def _listed(data: bytes, keys: Sequence[str], now: datetime) -> tuple[str, list[str]]:
    """Which key signed the list, and the names in it. Errors: ShareRefused."""
    for key in keys:
        try:
            return key, _names(opened(data, key, now))
        except ShareRefused as refused:
            if refused.reason != "bad_signature":
                raise
    raise ShareRefused(
        "the bundle is not signed with a key that is trusted here",
        reason="bad_signature",
        hint="Name the key with --key ed25519:..., or its owner in share_peers.",
    )


def _names(listed: Item) -> list[str]:
    try:
        names = json.loads(listed.body)
    except (ValueError, RecursionError):
        names = None
    if (
        listed.statement.kind is not Kind.BUNDLE
        or not isinstance(names, list)
        or len(set(map(str, names))) != len(names)
    ):
        raise _malformed("has no readable list")
    return [str(name) for name in names]


def _vet_directory(file: IO[bytes]) -> None:
    """Return when the directory of the ZIP is one that may be read into memory."""
    size = file.seek(0, io.SEEK_END)
    if size > FILE_BYTES_MAX:
        raise ShareRefused("the bundle is larger than a bundle may be", reason="too_large")
    # 20 bytes before the end record would stand the locator of a ZIP64 directory (APPNOTE 4.3.15).
    file.seek(max(size - _END_BYTES - 20, 0))
    tail = file.read()
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or end[:4] != _END or tail[:4] == _LOCATOR64:
        raise _malformed("is no bundle")
    entries, directory = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if entries > ITEMS_MAX + 1 or directory > _DIRECTORY_BYTES_MAX:
        raise ShareRefused("the bundle names more items than a bundle may hold", reason="too_large")
    file.seek(0)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most_bytes: int) -> bytes:
    if info.file_size > most_bytes or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise ShareRefused("an item is larger unpacked than an item may be", reason="too_large")
    try:
        with archive.open(info) as member:
            # One more than may be: the size in the directory is only what the file says of itself.
            data = member.read(most_bytes + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise _malformed("has a damaged item") from None
    if len(data) > most_bytes:
        raise ShareRefused("an item is larger unpacked than an item may be", reason="too_large")
    return data


def _malformed(what: str) -> ShareRefused:
    return ShareRefused(f"the file {what}", reason="malformed")

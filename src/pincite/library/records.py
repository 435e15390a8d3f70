"""What a library is made of: its pages, what is none and why, the bounds of reading, and the manifest of a folder."""

import gzip
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from pincite.domain.errors import InvalidInput
from pincite.domain.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Bounds of reading a library. A page or record above `page_bytes` is skipped with a reason, never cut."""

    page_bytes: int = 20_000_000
    manifest_bytes: int = 1_000_000
    files: int = 500_000
    skipped_kept: int = 1_000


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page before it is read. `offset` and `length` find it again inside an archive; a file has neither."""

    url: str
    body: bytes = field(repr=False)
    content_type: str
    captured_at: datetime
    note: str = ""
    member: str = ""
    offset: int = 0
    length: int = 0


# File names that hold text; files without a suffix do when their first bytes are text, all others are ignored.
READABLE_SUFFIXES = {
    ".htm": "text/html",
    ".html": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".rst": "text/plain",
    ".adoc": "text/plain",
    ".asciidoc": "text/plain",
    ".org": "text/plain",
    ".text": "text/plain",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".rtf": "application/rtf",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

ARCHIVE_SUFFIXES = (".warc", ".warc.gz", ".wacz")

_READABLE_TYPES = frozenset(READABLE_SUFFIXES.values())


def readable_type(content_type: str) -> bool:
    """Whether pages of this MIME type are read; parameters and case do not matter."""
    return content_type.split(";", 1)[0].strip().lower() in _READABLE_TYPES


def is_archive(name: str) -> bool:
    """Whether a file name is that of a WARC or WACZ."""
    return name.lower().endswith(ARCHIVE_SUFFIXES)


def is_packed(name: str) -> bool:
    """Whether a file name is that of one file that gzip packed, as most systems keep long documents."""
    return name.lower().endswith(".gz") and not is_archive(name)


def head_of(path: Path, most: int) -> bytes:
    """The first bytes of what a file holds. Errors: OSError."""
    try:
        with gzip.open(path) if is_packed(path.name) else path.open("rb") as stream:
            return stream.read(most)
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path.name} can't be unpacked: {error}") from error


def unpacked_name(name: str) -> str:
    """The name of the file that a packed one holds; the name itself of any other."""
    return name[: -len(".gz")] if is_packed(name) else name


@dataclass(frozen=True, slots=True)
class Ignored:
    """What holds no page: a file is named with the reason, a record (a request, an image) and a hidden file counted."""

    place: str
    reason: str = ""


# The manifest of a library folder: which part of it is published where, and what to leave out.

MANIFEST_NAME = "pincite-library.toml"


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """A folder below the library's root and the address its files are published under."""

    path: PurePosixPath
    base_url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a manifest says; without one, every page is `local:NAME/path`."""

    name: str
    folders: tuple[PublishedFolder, ...] = ()
    exclude: tuple[str, ...] = ()

    def url_of(self, path: PurePosixPath) -> str:
        """The published address of the file, else its `local:` identity. The deepest folder wins."""
        folder = self._folder_of(path)
        if folder is None:
            # Percent-encoded: the identity of a page that no manifest gives a published address.
            return f"local:{quote(self.name, safe='')}/{quote(path.as_posix(), safe='/')}"
        inside = path.relative_to(folder.path).as_posix()
        return folder.base_url.rstrip("/") + "/" + quote(inside, safe="/")

    def note_of(self, path: PurePosixPath) -> str:
        """What the manifest says about where the file comes from, with the file named."""
        folder = self._folder_of(path)
        if folder is None or not folder.note:
            return f"from file {path.as_posix()} of library {self.name}"
        return f"{folder.note}; file {path.as_posix()}"

    def excludes(self, path: str) -> bool:
        """Whether a pattern of `exclude` matches the path or its name."""
        return any(fnmatchcase(path, p) or fnmatchcase(path.rpartition("/")[2], p) for p in self.exclude)

    def _folder_of(self, path: PurePosixPath) -> PublishedFolder | None:
        inside = [f for f in self.folders if path.is_relative_to(f.path)]
        return max(inside, key=lambda f: len(f.path.parts), default=None)


def read_manifest(root: Path, limits: SourceLimits) -> Manifest:
    """The manifest at the top of `root`, or an empty one named after the folder.

    Errors:
        InvalidInput: it is no TOML, a field is unknown or has the wrong type, or an address is not http(s).
    """
    file = root / MANIFEST_NAME
    if not file.is_file():
        return Manifest(name=root.name or "library")
    try:
        if file.stat().st_size > limits.manifest_bytes:
            raise InvalidInput(f"{MANIFEST_NAME} is larger than {limits.manifest_bytes} bytes", reason="manifest")
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{MANIFEST_NAME} can't be read: {error}", reason="manifest") from error
    _known(data, {"name", "exclude", "folders"})
    folders = data.get("folders", [])
    if not isinstance(folders, list):
        raise InvalidInput(f"{MANIFEST_NAME}: folders is a list of tables: [[folders]]", reason="manifest")
    exclude = data.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(item, str) for item in exclude):
        raise InvalidInput(f"{MANIFEST_NAME}: exclude is a list of patterns", reason="manifest")
    return Manifest(
        name=_text(data, "name", root.name or "library"),
        folders=tuple(_folder(entry) for entry in folders),
        exclude=tuple(exclude),
    )


def _known(table: Mapping[str, object], keys: set[str]) -> None:
    for key in table:
        if key not in keys:
            hint = f"Known there: {', '.join(sorted(keys))}."
            raise InvalidInput(f"{MANIFEST_NAME}: there is no {key}", reason="manifest", hint=hint)


def _text(table: Mapping[str, object], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or not (value or not default):
        raise InvalidInput(f"{MANIFEST_NAME}: {key} is a text", reason="manifest")
    return value


def _folder(entry: object) -> PublishedFolder:
    if not isinstance(entry, dict):
        raise InvalidInput(f"{MANIFEST_NAME}: folders is a list of tables: [[folders]]", reason="manifest")
    _known(entry, {"path", "base_url", "note"})
    base_url = _text(entry, "base_url", "")
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise InvalidInput(f"{MANIFEST_NAME}: base_url {base_url!r} is not an http(s) address", reason="manifest")
    path = PurePosixPath(_text(entry, "path", "."))
    if path.is_absolute() or ".." in path.parts:
        raise InvalidInput(f"{MANIFEST_NAME}: path {str(path)!r} leaves the library", reason="manifest")
    return PublishedFolder(path=path, base_url=base_url, note=_text(entry, "note", ""))

"""The files of a library folder: which are there, and the page or pages each one holds. Nothing outside is read."""

import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from pincite.domain.errors import ArchiveCorrupt, LibraryNotFound, NotFound
from pincite.domain.frozen import dataclass
from pincite.domain.search import Skipped
from pincite.library.records import (
    MANIFEST_NAME,
    READABLE_SUFFIXES,
    Ignored,
    Manifest,
    RawPage,
    SourceLimits,
    head_of,
    is_archive,
    is_packed,
    read_manifest,
    unpacked_name,
)
from pincite.library.warc import open_archive, wacz_page_at, wacz_pages, warc_page_at, warc_pages
from pincite.runtime.system import too_many_open_files

# Sources of pages: the text file that an HTML page was made from and that is shipped beside it.

# Least share of a source's words that its page has. Measured on the packaged documentation of Git, Python, Debian
# Policy and Requests: 772 of 774 pairs are above it, with a median of .96 to .99.
SAME_WORDS = 0.6

_TEXT_SUFFIXES = {".txt", ".text", ".rst", ".md", ".markdown"}
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_SPHINX_SOURCES = "_sources"
_WORD = re.compile(r"[^\W\d_]{4,}")


def _suffix_of(name: str) -> str:
    """The suffix of a file's name, unpacked, as pathlib says it: none where the dot is its first or last character."""
    name = unpacked_name(name)
    at = name.rfind(".")
    return name[at:] if 0 < at < len(name) - 1 else ""


def _is_source(text: bytes, page: bytes) -> bool:
    """Whether the words of `text` are those of the HTML `page`."""
    wanted, shown = _words(text.decode("utf-8", "replace")), _words(page.decode("utf-8", "replace"))
    return bool(wanted) and len(wanted & shown) >= SAME_WORDS * len(wanted)


def _stems(folder: str, name: str) -> Iterator[tuple[str, str]]:
    """The name without its text suffixes: beside the file, and where Sphinx puts the page of a source.

    None for a file that is no text. Folders are relative to the library; "" is the library itself.
    """
    parts, name = folder.split("/"), unpacked_name(name)
    while (suffix := _suffix_of(name)).lower() in _TEXT_SUFFIXES:
        name = name.removesuffix(suffix)
        yield folder, name
        if _SPHINX_SOURCES in parts:
            at = parts.index(_SPHINX_SOURCES)
            yield "/".join(parts[:at] + parts[at + 1 :]), name


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


# Where a NUL or an odd mix of bytes shows that a file is no text.
_HEAD_BYTES = 1_024
# "GPL-1.2" has no suffix: a version is none, and neither is the section of a manual or the number of a copy.
_NUMBER = re.compile(r"\.\d+\Z")
# What a program reads and no person: scripts, and the sources of man pages.
#
# Source: execve(2), "Interpreter scripts"; groff(7) and mdoc(7), a control line is a dot or a quote and a request.
_FOR_PROGRAMS = re.compile(rb"#![ \t]*/|[.'](?:\\\"|[A-Z][A-Za-z]\b|so )")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the library as the file system describes it; `path` is relative to the root, "" for the root itself.

    `beside` is the HTML page that a text file may be the source of; size and time are then those of both, so that a
    change of either is seen.
    """

    path: str
    size_bytes: int
    mtime_ns: int
    is_archive: bool
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder, WARC or WACZ as given by the user, resolved; for a file, `root` is its folder and `only` its name."""

    root: Path
    only: str
    manifest: Manifest
    limits: SourceLimits

    @property
    def location(self) -> Path:
        """The path that was opened."""
        return self.root / self.only if self.only else self.root


def open_source(path: Path, limits: SourceLimits) -> Source:
    """The library at `path`.

    Errors:
        LibraryNotFound: nothing is there, it can't be read, or it is a file of another kind.
        InvalidInput: its manifest is broken.
    """
    try:
        resolved = path.expanduser().resolve(strict=True)
        mode = resolved.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise LibraryNotFound(
            f"there is no library at {path}",
            hint="Check the path: a folder, a WARC, a WACZ or a file that is read.",
            context={"path": str(path)},
        ) from error
    if stat.S_ISDIR(mode):
        if not os.access(resolved, os.R_OK | os.X_OK):
            hint = "Give yourself leave to read it."
            raise LibraryNotFound(f"the folder {path} can't be read", reason="unreadable", hint=hint)
        return Source(resolved, "", read_manifest(resolved, limits), limits)
    readable = is_archive(resolved.name) or _suffix_of(resolved.name).lower() in READABLE_SUFFIXES
    if not stat.S_ISREG(mode) or not readable:
        hint = (
            f"Name its folder, or a file that ends in {', '.join(sorted(READABLE_SUFFIXES))}, .warc, .warc.gz or .wacz."
        )
        raise LibraryNotFound(f"{path} is no folder, WARC, WACZ or readable page", reason="not_a_library", hint=hint)
    return Source(resolved.parent, resolved.name, Manifest(name=resolved.name.split(".", 1)[0]), limits)


def list_files(source: Source) -> Iterator[FileEntry | Skipped | Ignored]:
    """The library's files in a stable order; links that lead outside and unreadable folders are skipped and named."""
    if source.only:
        yield _entry(source, PurePosixPath(source.only))
        return
    problems: list[Skipped] = []
    beside = _Beside(source)
    count = 0
    for here, entries in _walk(source, problems):
        for entry in entries:
            # Named, not followed: a link to a folder above would never end, and one outside is not what the user
            # opened.
            if _is_folder(entry) and entry.is_symlink() and not entry.name.startswith("."):
                yield Skipped(here + entry.name, "linked_folder", "links to folders are not followed")
        for entry in entries:
            if _is_folder(entry):
                continue
            name, path = entry.name, here + entry.name
            if name == MANIFEST_NAME or name.startswith(".") or source.manifest.excludes(path):
                yield Ignored(path)
                continue
            if (reason := _unreadable(entry)) is not None:
                yield Ignored(path, reason)
                continue
            count += 1
            if count > source.limits.files:
                yield Skipped(path, "too_many_files", f"more than {source.limits.files} files")
                return
            yield beside.added_to(_regular_file(source, path, entry.path) or _entry(source, PurePosixPath(path)))
    yield from problems


def _walk(source: Source, problems: list[Skipped]) -> Iterator[tuple[str, Sequence[os.DirEntry[str]]]]:
    """Each folder, as the beginning of its files' paths, with what it holds by name; those in it after itself.

    Paths stay texts: before every question all files are looked at, and objects for them took most of that time.
    """
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(source.root / here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if (full := too_many_open_files(error)) is not None:
                raise full from error
            # A folder without leave costs its own files and not the library.
            problems.append(Skipped(here.removesuffix("/") or ".", "unreadable", error.strerror or ""))
            continue
        yield here, entries
        folders = [e.name for e in entries if _is_folder(e) and not e.is_symlink() and not e.name.startswith(".")]
        # Backwards onto the stack, so that they come off by name: the order is stable from run to run.
        waiting.extend(f"{here}{name}/" for name in reversed(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def pages_of(source: Source, entry: FileEntry) -> Iterator[RawPage | Skipped | Ignored]:
    """The pages a file holds: one, or those of the archive. A file that can't be read is given as Skipped."""
    path = source.root / entry.path
    try:
        if entry.path.lower().endswith(".wacz"):
            yield from wacz_pages(path, entry.path, source.limits)
        elif entry.is_archive:
            with open_archive(path) as stream:
                yield from warc_pages(stream, entry.path, source.limits)
        elif entry.beside and _is_source(
            _unpacked(path.read_bytes(), entry.path, source.limits), (source.root / entry.beside).read_bytes()
        ):
            yield Ignored(entry.path, "source_of_page")
        else:
            yield _file_page(source, entry)
    except ArchiveCorrupt as error:
        if source.only:
            raise
        yield Skipped(entry.path, error.reason, error.message)
    except OSError as error:
        if (full := too_many_open_files(error)) is not None:
            raise full from error  # the file is as readable as before
        yield Skipped(entry.path, "unreadable", error.strerror or str(error))


def read_again(source: Source, file: str, page: RawPage) -> RawPage:
    """The page with its bytes, from the place it was indexed at.

    Errors:
        NotFound: the file is gone.
        ArchiveCorrupt: the archive changed or is damaged.
    """
    path = source.root / file
    if file.lower().endswith(".wacz"):
        return wacz_page_at(path, page, file, source.limits)
    if is_archive(file):
        with open_archive(path) as stream:
            return warc_page_at(stream, page, file, source.limits)
    found = _entry(source, PurePosixPath(file))
    if isinstance(found, Skipped):
        raise NotFound(f"{file} is no longer in the library: {found.reason}", reason=found.reason)
    try:
        return _file_page(source, found)
    except OSError as error:
        if (full := too_many_open_files(error)) is not None:
            raise full from error
        raise NotFound(f"{file} is no longer in the library", reason="unreadable") from error


def _unreadable(entry: os.DirEntry[str]) -> str | None:
    """Why a file holds no page, as far as its name and its first bytes say."""
    suffix = _suffix_of(entry.name)
    if suffix.lower() in READABLE_SUFFIXES or is_archive(entry.name):
        return None
    if suffix and not _NUMBER.match(suffix):
        return "other_kind"
    return _unreadable_head(Path(entry.path))


def _unreadable_head(path: Path) -> str | None:
    """Why a file without a suffix (README, a saved message) doesn't begin as a page does; links are seen to later."""
    try:
        if not path.is_file():
            return None if path.is_symlink() else "no_text"
        head = head_of(path, _HEAD_BYTES)
    except OSError:
        return None  # it is opened again, and named when it can't be
    if not head.strip() or b"\0" in head:
        return "no_text"
    return "other_kind" if _FOR_PROGRAMS.match(head) else None


def _entry(source: Source, path: PurePosixPath) -> FileEntry | Skipped:
    file = source.root / path
    try:
        real = file.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:
        return Skipped(path.as_posix(), "unreadable", str(getattr(error, "strerror", error)))
    if not real.is_relative_to(source.root):
        return Skipped(path.as_posix(), "outside_library", "a link leads outside the library")
    if not stat.S_ISREG(status.st_mode):
        return Skipped(path.as_posix(), "not_a_file", "no regular file")
    archive = is_archive(path.name)
    if not archive and status.st_size > source.limits.page_bytes:
        return Skipped(path.as_posix(), "too_large", f"more than {source.limits.page_bytes} bytes")
    return FileEntry(path.as_posix(), status.st_size, status.st_mtime_ns, archive)


def _regular_file(source: Source, path: str, file: str) -> FileEntry | None:
    """The entry of a file in a folder that no link leads to, unless it needs a closer look.

    To find out where each file really is costs ten times as much, before every question. Who reads it finds out.
    """
    try:
        status = os.lstat(file)
    except OSError:
        return None
    archive = is_archive(path)
    if not stat.S_ISREG(status.st_mode) or not (archive or status.st_size <= source.limits.page_bytes):
        return None
    return FileEntry(path, status.st_size, status.st_mtime_ns, archive)


class _Beside:
    """Finds the page that a text file may be the source of, and looks into each folder once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names: dict[str, frozenset[str]] = {}
        self._linked: set[str] = set()

    def added_to(self, entry: FileEntry | Skipped) -> FileEntry | Skipped:
        """The entry, with the indexed page that it may be the source of."""
        if isinstance(entry, Skipped):
            return entry
        folder, _, name = entry.path.rpartition("/")
        pages = ((beside, stem + suffix) for beside, stem in _stems(folder, name) for suffix in _PAGE_SUFFIXES)
        found = next((place for place in pages if self._has(*place)), None)
        page = "/".join(filter(None, found or ()))
        if found is None or self._source.manifest.excludes(page):
            return entry
        known = found[0] not in self._linked and _regular_file(self._source, page, f"{self._source.root}/{page}")
        other = known or _entry(self._source, PurePosixPath(page))
        if isinstance(other, Skipped):
            return entry
        # Both together: a change of the page alone may make the text beside it count again.
        size_bytes, mtime_ns = entry.size_bytes + other.size_bytes, max(entry.mtime_ns, other.mtime_ns)
        return replace(entry, size_bytes=size_bytes, mtime_ns=mtime_ns, beside=other.path)

    def _has(self, folder: str, name: str) -> bool:
        place = f"{self._source.root}/{folder}".rstrip("/")
        if folder not in self._names:
            try:
                with os.scandir(place) as found:
                    self._names[folder] = frozenset(entry.name for entry in found if entry.is_file())
            except OSError:
                self._names[folder] = frozenset()
            if os.path.realpath(place) != str(self._source.root / folder):
                self._linked.add(folder)
        return name in self._names[folder]


def _file_page(source: Source, entry: FileEntry) -> RawPage:
    path = PurePosixPath(entry.path)
    real = (source.root / path).resolve(strict=True)
    if not real.is_relative_to(source.root):
        raise OSError(f"{entry.path} leads outside the library")
    # A link put there since it was resolved is an error, where the system can tell. Path.open has no opener.
    with open(real, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))) as stream:
        status = os.fstat(stream.fileno())
        # Size and time of what is open, not of what the path meant a moment ago.
        body = stream.read(source.limits.page_bytes + 1)
    return RawPage(
        url=source.manifest.url_of(path),
        body=_unpacked(body[: source.limits.page_bytes], entry.path, source.limits),
        content_type=READABLE_SUFFIXES.get(_suffix_of(path.name).lower(), "text/plain"),
        captured_at=datetime.fromtimestamp(status.st_mtime_ns // 1_000_000_000, UTC),
        note=source.manifest.note_of(path),
    )


def _unpacked(body: bytes, path: str, limits: SourceLimits) -> bytes:
    """What a packed file holds; the bytes of any other. Errors: ArchiveCorrupt, also for more than a page may have."""
    if not is_packed(path):
        return body
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as stream:
            found = stream.read(limits.page_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveCorrupt(f"{path} can't be unpacked: {error}", reason="bad_gzip") from error
    if len(found) > limits.page_bytes:
        raise ArchiveCorrupt(f"{path} holds more than {limits.page_bytes} bytes", reason="too_large")
    return found

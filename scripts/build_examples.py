#!/usr/bin/env python3
"""Rebuilds examples/postgresql-python-docs.warc.gz from Debian's packaged documentation.

    scripts/build_examples.py                    downloads the packages with `apt-get download` and unpacks them
    scripts/build_examples.py --packages DIR     takes DIR/PACKAGE, where each package was unpacked with `dpkg -x`
    scripts/build_examples.py --vectors          only the vectors of its passages, whenever these were cut otherwise

The same package versions give the same bytes: record ids are made of the content, dates are the file dates inside
the packages, and gzip members carry no time. Each page is a `resource` record whose target is the published URL,
followed by a `metadata` record that says which package, version and file it is from, and that it was not fetched.
"""

import argparse
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from pincite.embeddings.local import WEIGHTS_SHA256, MiniLm
from pincite.fetch.extractors import BytesExtractor
from pincite.library.folder import FileEntry, Source, pages_of
from pincite.library.reading import PreparedPage, read_all
from pincite.library.records import Manifest, RawPage, SourceLimits
from pincite.library.vectors import packed
from pincite.ranking.passages import passage_text, vector_key
from pincite.wiring.sources import NAME, VECTORS

MAX_ARCHIVE_BYTES = 3_000_000
NAMESPACE = uuid.UUID("6f6e8a2c-6a0e-5a0c-9f52-6e1d8a7c4b10")


@dataclass(frozen=True, slots=True)
class Site:
    """One packaged documentation tree: where it lies inside the package, where it is published, which pages to take."""

    package: str
    root: str
    base_url: str
    pages: str


SITES = (
    Site(
        package="postgresql-doc-15",
        root="usr/share/doc/postgresql-doc-15/html",
        base_url="https://www.postgresql.org/docs/15/",
        pages="""
            applevel-consistency brin-intro btree-implementation btree-intro continuous-archiving datatype-datetime
            datatype-numeric ddl-constraints ddl-system-columns explicit-locking gin-intro glossary hot-standby
            indexes-index-only-scans indexes-intro indexes-multicolumn indexes-partial indexes-types indexes-unique
            limits mvcc mvcc-caveats mvcc-intro mvcc-serialization-failure-handling planner-stats routine-reindex
            routine-vacuuming rules-materializedviews runtime-config-autovacuum runtime-config-client
            runtime-config-connection runtime-config-locks runtime-config-query runtime-config-resource
            runtime-config-wal sql-analyze sql-begin sql-cluster sql-createindex sql-set-transaction sql-vacuum
            storage-file-layout storage-fsm storage-hot storage-page-layout storage-toast storage-vm transaction-iso
            tutorial-transactions using-explain wal wal-async-commit wal-configuration wal-internals wal-intro
            wal-reliability
        """,
    ),
    Site(
        package="python3.11-doc",
        root="usr/share/doc/python3.11/html",
        base_url="https://docs.python.org/3.11/",
        pages="""
            faq/design library/asyncio library/asyncio-dev library/asyncio-exceptions library/asyncio-queue
            library/asyncio-runner library/asyncio-sync library/asyncio-task library/concurrent.futures
            library/contextlib library/datetime library/gc library/heapq library/json library/pathlib library/queue
            library/secrets library/sqlite3 library/threading library/time library/tomllib
            library/urllib.robotparser library/zoneinfo tutorial/floatingpoint
        """,
    ),
)


def download(package: str, target: Path) -> Path:
    """The folder that `package` was downloaded from the Debian mirror and unpacked into."""
    with tempfile.TemporaryDirectory() as work:
        command = ["apt-get", "download", "-qq", package]
        subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
        (deb,) = Path(work).glob("*.deb")
        subprocess.run(["dpkg", "-x", str(deb), str(target)], check=True)
    return target


def version_of(unpacked: Path, package: str) -> str:
    """The package version, from the first line of its Debian changelog."""
    changelog = unpacked / "usr/share/doc" / package / "changelog.Debian.gz"
    with gzip.open(changelog, "rt", encoding="utf-8") as lines:
        found = re.match(r"\S+ \((\S+)\)", lines.readline())
    if found is None:
        raise SystemExit(f"{changelog}: no version in the first line")
    return found.group(1)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _record_id(*parts: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(NAMESPACE, chr(31).join(parts))}>"


def add_record(writer: WARCWriter, kind: str, body: bytes, content_type: str, fields: dict[str, str]) -> None:
    """One record of the archive, with its payload and block digests computed by warcio."""
    record = writer.create_warc_record(
        fields.get("WARC-Target-URI", ""),
        kind,
        payload=io.BytesIO(body),
        length=len(body),
        warc_content_type=content_type,
        warc_headers_dict={name: value for name, value in fields.items() if name != "WARC-Target-URI"},
    )
    if not fields.get("WARC-Target-URI"):
        record.rec_headers = StatusAndHeaders(
            "", [h for h in record.rec_headers.headers if h[0] != "WARC-Target-URI"], "WARC/1.1"
        )
    writer.write_record(record)


def add_site(writer: WARCWriter, site: Site, unpacked: Path) -> int:
    """The number of pages of `site` that were added."""
    version = version_of(unpacked, site.package)
    names = site.pages.split()
    for name in names:
        inside = f"{site.root}/{name}.html"
        file = unpacked / inside
        body = file.read_bytes()
        url = f"{site.base_url}{name}.html"
        page_id = _record_id(url, hashlib.sha256(body).hexdigest())
        date = _stamp(file.stat().st_mtime)
        note = f"from Debian package {site.package} version {version}, file {inside}, not fetched"
        add_record(
            writer,
            "resource",
            body,
            "text/html; charset=utf-8",
            {"WARC-Target-URI": url, "WARC-Record-ID": page_id, "WARC-Date": date},
        )
        metadata = (
            f"provenance: {note}\r\npackage: {site.package}\r\nversion: {version}\r\nfile: {inside}\r\nfetched: no\r\n"
        )
        add_record(
            writer,
            "metadata",
            metadata.encode(),
            "application/warc-fields",
            {
                "WARC-Target-URI": url,
                "WARC-Record-ID": _record_id("metadata", page_id, metadata),
                "WARC-Date": date,
                "WARC-Refers-To": page_id,
            },
        )
    return len(names)


def build(folders: dict[str, Path]) -> tuple[bytes, int]:
    """The gzipped WARC over the unpacked packages, and how many pages it holds."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="WARC/1.1")
    newest = max(
        (folders[site.package] / site.root / f"{name}.html").stat().st_mtime
        for site in SITES
        for name in site.pages.split()
    )
    about = (
        b"software: pincite scripts/build_examples.py\r\nformat: WARC File Format 1.1\r\n"
        b"description: documentation pages from Debian packages, not fetched; see the metadata record of each page\r\n"
    )
    fields = {"WARC-Record-ID": _record_id("warcinfo", about.decode()), "WARC-Date": _stamp(newest)}
    add_record(writer, "warcinfo", about, "application/warc-fields", fields)
    pages = sum(add_site(writer, site, folders[site.package]) for site in SITES)
    return out.getvalue(), pages


def vectors_of(archive: Path) -> dict[bytes, Sequence[float]]:
    """The vectors of all passages, by the keys that the index looks them up by."""
    texts = []
    found = pages_of(Source(archive.parent, archive.name, Manifest(""), SourceLimits()), entry_of(archive))
    pages = ((page.url, page) for page in found if isinstance(page, RawPage))
    for _, _, prepared in read_all(pages, BytesExtractor(), workers=0, deadline_s=0.0):
        if isinstance(prepared, PreparedPage):
            drafts = [passage.draft for passage in prepared.passages]
            texts += [passage_text(prepared.title, d.section, prepared.text[d.start : d.end]) for d in drafts]
    return dict(zip(map(vector_key, texts), MiniLm().embed(texts), strict=True))


def entry_of(archive: Path) -> FileEntry:
    return FileEntry(archive.name, archive.stat().st_size, 0, is_archive=True)


def build_vectors(folder: Path) -> int:
    """Write the vectors of the archive in `folder` beside it."""
    vectors = vectors_of(folder / NAME)
    data = packed(vectors, WEIGHTS_SHA256)
    (folder / VECTORS).write_bytes(data)
    print(f"{len(vectors)} vectors, {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="folder with the unpacked packages; default: download them")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent.parent / "examples")
    parser.add_argument("--vectors", action="store_true", help="only the vectors of the archive that is there")
    options = parser.parse_args()
    if options.vectors:
        return build_vectors(options.output)
    with tempfile.TemporaryDirectory() as work:
        folders = {
            site.package: options.packages / site.package
            if options.packages
            else download(site.package, Path(work) / site.package)
            for site in SITES
        }
        archive, pages = build(folders)
        for site in SITES:
            licence = folders[site.package] / "usr/share/doc" / site.package / "copyright"
            (options.output / f"LICENSE.{site.package}.txt").write_bytes(licence.read_bytes())
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise SystemExit(f"the archive has {len(archive)} bytes, more than {MAX_ARCHIVE_BYTES}")
    (options.output / NAME).write_bytes(archive)
    print(f"{pages} pages, {len(archive)} bytes, sha256 {hashlib.sha256(archive).hexdigest()}")
    return build_vectors(options.output)


if __name__ == "__main__":
    sys.exit(main())

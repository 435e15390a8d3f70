"""Small pages and archives for tests of libraries."""

import io
from pathlib import Path


def html(title: str, *paragraphs: str) -> bytes:
    """A page with a title, one heading and paragraphs."""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>".encode()


def write_warc(
    path: Path, pages: dict[str, bytes], *, compressed: bool = True, date: str = "2026-01-02T03:04:05Z"
) -> None:
    """A WARC with one HTTP response for each address."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=compressed)
        for url, body in pages.items():
            http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                length=len(body),
                http_headers=http,
                warc_headers_dict={"WARC-Date": date},
            )
            writer.write_record(record)

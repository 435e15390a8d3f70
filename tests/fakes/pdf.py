"""PDF files made by hand: the frame around the objects that a test writes."""

from collections.abc import Sequence


def pdf_file(objects: Sequence[bytes], *, info: int | None = None) -> bytes:
    """The file of these objects, numbered from 1: the first is the catalogue, `info` the one that describes it."""
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    described = b"" if info is None else b" /Info %d 0 R" % info
    trailer = b"trailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF"
    return bytes(out + trailer % (len(objects) + 1, described, start))

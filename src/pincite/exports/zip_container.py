"""A zip written byte for byte by rule: stored entries, one fixed time, no extras. The same files give the same bytes.

Python's own writer is not used because its headers changed between versions; a reader can so compare a whole bundle.
"""

import struct
import zlib
from collections.abc import Mapping

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION = 20
_UTF8_NAMES = 0x800
_DATE_1980 = 0x21
_REGULAR_FILE = 0o100644 << 16
_UNIX = 3 << 8
MAX_BYTES = 0xFFFFFFFF


def zip_bytes(files: Mapping[str, bytes]) -> bytes:
    """The zip with these files in the order given.

    Source: PKWARE APPNOTE 6.3.9 §4.3, without Zip64: `ValueError` above 4 GB or 65,535 files.
    """
    out, central = bytearray(), bytearray()
    for name, data in files.items():
        encoded, size, crc = name.encode(), len(data), zlib.crc32(data)
        central += _CENTRAL.pack(
            b"PK\x01\x02", _UNIX | _VERSION, _VERSION, _UTF8_NAMES, 0, 0, _DATE_1980, crc, size, size,
            len(encoded), 0, 0, 0, 0, _REGULAR_FILE, len(out),
        ) + encoded  # fmt: skip
        out += _LOCAL.pack(b"PK\x03\x04", _VERSION, _UTF8_NAMES, 0, 0, _DATE_1980, crc, size, size, len(encoded), 0)
        out += encoded + data
    if len(files) > 0xFFFF or len(out) + len(central) > MAX_BYTES:
        raise ValueError("too much for one zip without Zip64")
    end = _END.pack(b"PK\x05\x06", 0, 0, len(files), len(files), len(central), len(out), 0)
    return bytes(out + central + end)

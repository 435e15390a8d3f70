"""The inside of a reading process: it takes bodies from its input and answers with what a reader makes of them.

It never opens a socket or a file of its own, keeps to its memory limit, and leaves when its parent is gone.
"""

import contextlib
import gc
import json
import os
import re
import resource
import struct
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import IO, Any, TypeVar

from pincite.domain import errors
from pincite.domain.codec import from_json, to_json
from pincite.domain.errors import ParseError, PinciteError, TooLarge

# How an answer crosses from a reading process: compact JSON, never pickle, since the sender read hostile input.
T = TypeVar("T")
# A closed list: a process that a page has taken over may answer what it likes.
PAGE_ERRORS = (errors.EmptyContent, errors.UnsupportedContentType, TooLarge, errors.ExtraNotInstalled, ParseError)


def pack(made: object) -> bytes:
    """What a reader made as bytes for `unpack`."""
    return _bytes({"made": to_json(made, sparse=True)})


def pack_error(error: PinciteError) -> bytes:
    """The error as bytes for `unpack`."""
    return _bytes({"error": [error.code, error.message, error.reason, error.hint, error.context]})


def unpack(kind: type[T], reply: bytes) -> T:
    """The value in a reply. Errors: ParseError (the reply makes no sense), and whatever error the process sent."""
    try:
        # Halves of characters, which `pack` makes none of, are in no text and stop what stores or prints one.
        if (b"\\ud" in reply or b"\\uD" in reply) and _HALF_CHARACTER.search(reply):
            raise ValueError("half a character")
        value = json.loads(reply)
        result = _error(*value["error"]) if "error" in value else from_json(kind, value["made"])
    except (ValueError, TypeError, KeyError, RecursionError, ParseError) as error:
        raise ParseError("the reader gave no sensible answer", reason="parser_failed") from error
    if isinstance(result, PinciteError):
        raise result
    return result


_HALF_CHARACTER = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")


def _bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _error(code: str, message: str, reason: str, hint: str, context: dict[str, Any]) -> PinciteError:
    if not all(isinstance(said, str) for said in (code, message, reason, hint)) or not isinstance(context, dict):
        raise TypeError("no error of ours")
    kind = next((kind for kind in PAGE_ERRORS if kind.code == code), ParseError)
    return kind(message, reason=reason, hint=hint, context=context)


HEADER = struct.Struct(">II")
REPLY = struct.Struct(">I")
# A document is some times its body with offsets and links.
MAX_REPLY_BYTES = 256_000_000
# A page makes tens of thousands of objects and next to no cycles; looking for those after every 700 objects, as is
# Python's default, took 13 % of the time of 100 labelled pages.
OBJECTS_BETWEEN_COLLECTIONS = 200_000
Read = Callable[[bytes, str, str | None], object]


def serve(read: Read, memory_bytes: int, cpu_s: int) -> None:
    """Answer requests with what `read` makes of them until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # what native libraries print must not reach the pipe
        os.dup2(nowhere.fileno(), 1)
    for kind, value in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # not every system knows every limit
            resource.setrlimit(kind, (value, value))
    # What was loaded until here is never garbage: no collection has to look at it.
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    requests = sys.stdin.buffer
    while (head := exactly(requests, HEADER.size)) is not None:
        meta_size, body_size = HEADER.unpack(head)
        meta, body = exactly(requests, meta_size), exactly(requests, body_size)
        if meta is None or body is None:
            return
        # So many more seconds: the kernel ends the process after that, parent or no parent.
        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime) + cpu_s + 1
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
        reply = _answer(read, body, json.loads(meta))
        replies.write(REPLY.pack(len(reply)) + reply)
        replies.flush()


def _answer(read: Read, body: bytes, meta: dict[str, str | None]) -> bytes:
    try:
        reply = pack(read(body, meta["url"] or "", meta["content_type"]))
    except PinciteError as error:
        return pack_error(error)
    except MemoryError:
        return pack_error(TooLarge("the page needs more memory than a reader may use", reason="parser_memory"))
    except RecursionError:
        return pack_error(ParseError("the page is nested too deeply", reason="too_deep"))
    except Exception as error:
        return pack_error(ParseError(f"the page can't be read ({type(error).__name__})", reason="parser_failed"))
    if len(reply) > MAX_REPLY_BYTES:
        return pack_error(TooLarge("the page holds more text than is read", reason="too_much_text"))
    return reply


def exactly(stream: IO[bytes], size: int) -> bytes | None:
    """`size` bytes, or None at the end of the stream."""
    data = stream.read(size)
    return data if len(data) == size else None


if __name__ == "__main__":
    module, _, attribute = sys.argv[1].partition(":")
    reader = getattr(import_module(module), attribute)
    serve(partial(reader, **json.loads(sys.argv[4])), int(sys.argv[2]), int(sys.argv[3]))

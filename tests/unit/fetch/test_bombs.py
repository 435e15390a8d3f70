"""Bodies that grow: stopped at the cap, in time and in memory. Run in a fresh process, where memory can be measured."""

import asyncio
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest

from pincite.domain.errors import PinciteError
from pincite.fetch.decoding import decoder_for
from pincite.fetch.limits import FetchLimits
from pincite.testing.web import StubRequest, StubWeb

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1 << 20


def gzip_bomb(mib: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(stream.compress(bytes(MIB)) for _ in range(mib)) + stream.flush()


def brotli_bomb(mib: int) -> bytes:
    stream = brotli.Compressor(quality=5)
    return bytes(b"".join(stream.process(bytes(MIB)) for _ in range(mib)) + stream.finish())


def zstd_bomb(mib: int) -> bytes:
    stream = zstd.ZstdCompressor(level=3)
    return b"".join(stream.compress(bytes(MIB)) for _ in range(mib)) + stream.flush()


def deflate_bomb(mib: int) -> bytes:
    return zlib.compress(bytes(mib * MIB))


BOMBS = {
    "gzip": gzip_bomb,
    "br": brotli_bomb,
    "zstd": zstd_bomb,
    "deflate": deflate_bomb,
}


@pytest.mark.parametrize("coding", sorted(BOMBS))
def test_decoders_give_back_what_was_encoded_in_small_steps(coding: str) -> None:
    wire = BOMBS[coding](3)
    for step in (1 << 20, 7):
        decoder = decoder_for(coding)
        total = 0
        for start in range(0, len(wire), step):
            for piece in decoder.feed(wire[start : start + step]):
                assert len(piece) <= MIB
                total += len(piece)
        decoder.check_complete()
        assert total == 3 * MIB


@pytest.mark.parametrize("coding", sorted(BOMBS))
def test_a_cut_or_broken_stream_is_told_apart(coding: str) -> None:
    wire = BOMBS[coding](1)

    def reason(data: bytes) -> str:
        decoder = decoder_for(coding)
        try:
            list(decoder.feed(data))
            decoder.check_complete()
        except PinciteError as error:
            return error.reason
        return "ok"

    assert reason(wire) == "ok"
    assert reason(wire[:-3]) == "body_incomplete"
    assert reason(b"this is plain text, honestly") == "body_corrupt"


def test_a_large_zstd_window_is_refused() -> None:
    options = {int(zstd.CompressionParameter.window_log): 27, int(zstd.CompressionParameter.compression_level): 1}
    stream = zstd.ZstdCompressor(options=options)
    wire = stream.compress(bytes(MIB)) + stream.flush()
    with pytest.raises(PinciteError) as caught:
        list(decoder_for("zstd").feed(wire))
    assert caught.value.reason == "encoding_window_too_large"


def test_raw_deflate_and_several_zstd_frames_are_read() -> None:
    raw = zlib.compressobj(wbits=-15)
    wire = raw.compress(b"hello") + raw.flush()
    assert b"".join(decoder_for("deflate").feed(wire)) == b"hello"
    frames = zstd.compress(b"one ") + zstd.compress(b"two")
    assert b"".join(decoder_for("zstd").feed(frames)) == b"one two"


@pytest.mark.parametrize("coding", sorted(BOMBS))
async def test_a_bomb_over_the_wire_is_refused(coding: str, make_fetcher: Callable[..., Any], web: StubWeb) -> None:
    fetcher = make_fetcher(limits=FetchLimits(html_max_bytes=2_000_000))
    wire = BOMBS[coding](50)

    async def answer(request: StubRequest, writer: asyncio.StreamWriter) -> None:
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\nContent-Length: {len(wire)}"
        )
        writer.write(head.encode() + b"\r\n\r\n" + wire)

    web.raw("/bomb", answer)
    with pytest.raises(PinciteError) as caught:
        await fetcher.get("/bomb")
    assert caught.value.reason == "decoded_too_large"


MEASURE = """
import asyncio, json, resource, sys, time
sys.path.insert(0, {here!r})
from test_bombs import BOMBS
from pincite.domain.errors import PinciteError
from pincite.domain.fetch import (FetchRequest)
from pincite.fetch.client import GuardedClient
from pincite.fetch.limits import FetchLimits
from pincite.fetch.resolver import VettedResolver
from pincite.runtime.system import SystemClock
from pincite.testing.web import StubResolver, StubWeb
from pincite.urls import parse_url

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

def reset():
    open("/proc/self/clear_refs", "w").write("5")

async def main():
    out = {{}}
    async with StubWeb() as web:
        web.page("/warm", "x" * 1000)
        clock = SystemClock()
        vetted = VettedResolver(StubResolver(), web.policy, clock)
        client = GuardedClient(web.policy, vetted, clock, limits=FetchLimits())
        async with client:
            await client.get(parse_url(web.url("site.example", "/warm")))
            for coding in BOMBS:
                wire = BOMBS[coding](300)
                async def answer(request, writer, wire=wire, coding=coding):
                    head = "HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Encoding: " + coding
                    writer.write(head.encode() + b"\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(wire) + wire)
                web.raw("/" + coding, answer)
                reset()
                before, started = peak(), time.monotonic()
                try:
                    await client.get(parse_url(web.url("site.example", "/" + coding)))
                    reason = "ok"
                except PinciteError as error:
                    reason = error.reason
                out[coding] = [reason, peak() - before, time.monotonic() - started]
    print(json.dumps(out))

asyncio.run(main())
"""


@pytest.fixture
def measured() -> dict[str, Any]:
    from pathlib import Path

    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("peak memory is measured through /proc")
    script = MEASURE.format(here=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    measurements: dict[str, Any] = json.loads(done.stdout)
    return measurements


def test_peak_memory_stays_below_the_cap_and_sixteen_mebibytes(measured: dict[str, Any]) -> None:
    cap = FetchLimits().html_max_bytes
    for coding, (reason, growth, seconds) in measured.items():
        assert reason == "decoded_too_large", coding
        assert growth < cap + 16 * MIB, (coding, growth)
        assert seconds < 1.0, (coding, seconds)

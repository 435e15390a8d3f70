"""Deadlines that the documents call configurable are settings, and reach what they limit."""

import socket
import time
from pathlib import Path

import pytest

from pincite.domain.errors import PinciteError
from pincite.engine import Engine
from pincite.settings import load_settings


async def test_the_deadline_of_a_search_call_is_the_settings(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        given = {"home": tmp_path, "source": "searxng", "searxng_base_url": base, "search_call_deadline_s": 0.2,
                 "search_deadline_s": 1.0}  # fmt: skip
        start_s = time.monotonic()
        async with Engine(load_settings(given, environ={}, files=())) as engine:
            with pytest.raises(PinciteError) as caught:
                await engine.search("anything")
        assert time.monotonic() - start_s < 8  # the default would be 60 s
        assert caught.value.code in {"TIMEOUT", "SEARCH_PROVIDER_UNAVAILABLE"}

"""The file of keys under several writers: no key is lost, none is half written, a dead writer leaves no lock."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pincite.domain.errors import Locked
from pincite.domain.records import ApiKey
from pincite.storage.home_files import FileKeys, one_at_a_time

EACH = 60
WRITER = """
import sys
from pathlib import Path
from pincite.domain.records import ApiKey
from pincite.storage.home_files import FileKeys

keys, who, number = FileKeys(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for n in range(number):
    assert keys.add(ApiKey(f"{who} {n}", "scope", f"hash {who} {n}", "2026-11-22T06:00:00+00:00", None, None, None))
    if n % 2:
        assert keys.revoke(f"{who} {n}", "2026-11-22T07:00:00+00:00")
"""
HOLDER = """
import sys, time
from pathlib import Path
from pincite.storage.home_files import one_at_a_time

with one_at_a_time(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.readline()
"""


def begun(code: str, *arguments: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_that_make_keys_lose_none(tmp_path: Path) -> None:
    writers = [begun(WRITER, str(tmp_path), who, str(EACH)) for who in ("one", "two")]
    for writer in writers:  # both are up before either begins
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=120)
        assert writer.returncode == 0
    found = FileKeys(tmp_path).read()
    assert {key.name for key in found} == {f"{who} {n}" for who in ("one", "two") for n in range(EACH)}
    assert sum(key.revoked_at is not None for key in found) == EACH
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_a_writer_that_is_killed_leaves_the_file_whole_and_no_lock(tmp_path: Path) -> None:
    keys = FileKeys(tmp_path)
    assert keys.add(ApiKey("before", "scope", "hash", "2026-11-22T06:00:00+00:00", None, None, None))
    holder = begun(HOLDER, str(keys.path))
    with pytest.raises(Locked) as caught, one_at_a_time(keys.path, wait_s=0.05):
        pass
    assert caught.value.reason == "file_locked"
    assert [key.name for key in keys.read()] == ["before"], "readers don't wait"
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate(timeout=30)
    assert keys.add(ApiKey("after", "scope", "other", "2026-11-22T06:00:00+00:00", None, None, None))
    assert [item["name"] for item in json.loads(keys.path.read_text(encoding="utf-8"))] == ["before", "after"]

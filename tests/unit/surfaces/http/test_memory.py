"""What a server keeps of requests that have ended: nothing that grows with their number."""

import json
import subprocess
import sys
from pathlib import Path


def test_cached_searches_leave_nothing_behind(tmp_path: Path) -> None:
    script = Path(__file__).with_name("cached_searches.py")
    ended = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["most"][-1] < told["searches"] // 3, told

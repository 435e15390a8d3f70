"""Research over loopback HTTP: a small web of virtual hosts with a SearXNG-shaped search, asked as the real one is.

The server is given by path (`--miniweb SERVE.py`), runs in a process of its own and is ended by its id. The rate per
host is off here, as the file says when it runs: with it a question would measure politeness and not the product.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pincite.settings import Settings, load_settings

START_S = 180
POLITE_OFF = 1_000.0


@contextmanager
def served(serve: Path, sites: Path, config: Path, work: Path, port: int) -> Iterator[dict[str, Any]]:
    """The web's configuration while its server runs; its index is built on the first run."""
    made = json.loads(config.read_text()) | {
        "port": port,
        "cache_db": str(work / "miniweb.db"),
        "log": str(work / "miniweb.jsonl"),
    }
    place = work / "miniweb.json"
    place.write_text(json.dumps(made, indent=1))
    environment = {**os.environ, "SITES": str(sites)}
    with (work / "miniweb.out").open("w") as out:
        command = [sys.executable, str(serve.resolve()), "run", str(place), "--port", str(port)]
        server = subprocess.Popen(command, cwd=work, env=environment, stdout=out, stderr=out)
        try:
            wait_for(f"http://127.0.0.1:{port}/_ctl/health", server)
            yield made
        finally:
            server.terminate()
            server.wait(10)


def wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("the mini web did not start; see miniweb.out in the work folder")


def settings_for(web: dict[str, Any], home: Path, overrides: dict[str, object]) -> Settings:
    """Settings as an operator would write them for this web: its search is trusted, its hosts resolve to loopback."""
    port = web["port"]
    print(f"over HTTP on 127.0.0.1:{port}; per-host rate off ({POLITE_OFF:.0f} requests/s)", file=sys.stderr)
    given = {
        "home": home,
        "source": ("searxng",),
        "searxng_base_url": f"http://127.0.0.1:{port}",
        "resolve": tuple(f"{host}:{port}:127.0.0.1" for host in web["hosts"]),
        "allow_networks": ("127.0.0.0/8",),
        "allow_ports": (port,),
        "requests_per_s_per_host": POLITE_OFF,
    }
    return load_settings(given | overrides, environ={}, files=())


def without_port(url: str, port: int) -> str:
    """The address as question files write it."""
    return url.replace(f":{port}/", "/", 1)

"""CPU time of whole processes: commands as a person types them, the quickest of several, beside a known program.

    python benchmarks/start_up.py [--tries 5] [--library FILE]

Other programs on the machine make every figure larger; the ratio to the known program (`python -c "import ..."` of
modules that Python brings) moves less. Modules are compiled beforehand, as an installation has them.
"""

import argparse
import compileall
import os
import resource
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import beside_tests  # noqa: F401  # its import is its effect
from tests.e2e.test_start_up import YARDSTICK

import pincite

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "examples" / "postgresql-python-docs.warc.gz"
QUESTION = "What is the default isolation level in PostgreSQL?"
PAGE = "<title>Rows</title><h1>Rows</h1>" + "<p>Each row names the table and the process that holds its lock.</p>" * 9


class Site(SimpleHTTPRequestHandler):
    """Pages that may be cached for an hour."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed between the figures."""


def cpu_s(home: Path, arguments: tuple[str, ...], opened: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")}
    environment = kept | {"PINCITE_HOME": str(home)} | opened
    done = subprocess.run([sys.executable, *arguments], capture_output=True, env=environment, cwd=home)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stderr.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--library", type=Path, default=LIBRARY)
    arguments = parser.parse_args()
    compileall.compile_dir(Path(pincite.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "rows.html").write_text(PAGE)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        opened = {"PINCITE_ALLOW_NETWORKS": "127.0.0.0/8", "PINCITE_ALLOW_PORTS": str(server.server_port)}
        page = f"http://127.0.0.1:{server.server_port}/rows.html"
        asked = ("-m", "pincite", "research", QUESTION, "--source", f"local:{arguments.library}")
        commands = {
            "the known program": ("-I", "-c", f"import {YARDSTICK}"),
            "import pincite": ("-c", "import pincite"),
            "pincite --help": ("-m", "pincite", "--help"),
            "pincite fetch, a small page": ("-m", "pincite", "fetch", page, "--force-refresh"),
            "pincite fetch, cached": ("-m", "pincite", "fetch", page),
            "a question by words": (*asked, "--words-only"),
            "a question by words and meaning": asked,
        }
        for command in commands.values():  # indexes are built, and what is loaded is compiled and in memory
            cpu_s(home, command, opened)
        took = {
            name: [cpu_s(home, command, opened) for _ in range(arguments.tries)] for name, command in commands.items()
        }
        server.shutdown()
    known = min(took["the known program"])
    print(f"CPU seconds of a process, the quickest of {arguments.tries}; load {os.getloadavg()[0]:.1f}")
    for name, seconds in took.items():
        print(f"  {name:<32} {min(seconds):6.2f}   {min(seconds) / known:5.1f} x the known program")


if __name__ == "__main__":
    main()

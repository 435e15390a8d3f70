"""Commands in processes of their own that start warm: forked from one process that has imported the program.

An import of everything a command needs costs about a second of CPU, and the tests start several hundred commands.
Home, environment, folder, pipes, signals and exit code are each process's own, as with `subprocess`; what a cold
start costs and loads is the affair of `e2e/test_start_up.py`. Without `fork` (Windows) each one starts cold.
"""

import atexit
import gc
import json
import os
import pkgutil
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

_LENGTH = 8
_PRELOADED = ("aiohttp", "fastapi", "httpx2", "lxml.html", "psycopg", "sqlalchemy.dialects.sqlite", "uvicorn")
_ON_DEMAND = ("pincite.embeddings.", "pincite.testing", "pincite.__main__", "pincite.fetch.backends.chromium")
"""Not imported beforehand: what starts threads of its own, and what is no part of the program."""


class Process(Protocol):
    """What the tests use of `subprocess.Popen` with text pipes."""

    pid: int
    stdin: IO[str] | None
    stdout: IO[str] | None
    stderr: IO[str] | None

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]: ...  # noqa: A002  # as subprocess.Popen calls it
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def start(*arguments: str, env: Mapping[str, str], cwd: Path | str | None = None, script: str = "") -> Process:
    """A running `pincite` (or another Python file, `script`) with pipes to all three of its streams."""
    folder = str(cwd or Path.cwd())
    if not hasattr(os, "fork") or "PYTHONHASHSEED" in env:  # the seed is taken once, when an interpreter starts
        what = [script] if script else ["-m", "pincite"]
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([sys.executable, *what, *arguments], env=env, cwd=folder, text=True, **pipes)
    request = {"arguments": arguments, "env": dict(env), "cwd": folder, "script": script}
    return _Forked(_zygote(), request)


def run(*arguments: str, env: Mapping[str, str], cwd: Path | str | None = None, stdin: str = "") -> Any:
    """The ended command, as `subprocess.run` gives it. A command that hangs is ended by the timeout of its test."""
    process = start(*arguments, env=env, cwd=cwd)
    try:
        out, err = process.communicate(stdin)
    except BaseException:
        process.kill()
        raise
    return subprocess.CompletedProcess(arguments, process.wait(), out, err)


class _Forked:
    """A process that the zygote forked."""

    def __init__(self, place: str, request: Mapping[str, object]) -> None:
        (in_, own_in), (own_out, out), (own_err, err) = os.pipe(), os.pipe(), os.pipe()
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(place)
        body = json.dumps(request).encode()
        socket.send_fds(self._link, [len(body).to_bytes(_LENGTH, "big")], [in_, out, err])
        self._link.sendall(body)
        for theirs in (in_, out, err):
            os.close(theirs)
        self.stdin: IO[str] | None = os.fdopen(own_in, "w", encoding="utf-8")
        self.stdout: IO[str] | None = os.fdopen(own_out, encoding="utf-8")
        self.stderr: IO[str] | None = os.fdopen(own_err, encoding="utf-8")
        self.pid = int.from_bytes(_exactly(self._link, _LENGTH), "big")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._link], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._link], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:  # noqa: A002  # as subprocess.Popen calls it
        ends = None if timeout is None else time.monotonic() + timeout
        said: dict[str, str] = {}
        readers = []
        for name, stream in (("out", self.stdout), ("err", self.stderr)):
            if stream is not None and not stream.closed:
                readers.append(threading.Thread(target=_read, args=(said, name, stream), daemon=True))
                readers[-1].start()
        if self.stdin is not None and not self.stdin.closed:
            with suppress(BrokenPipeError):
                self.stdin.write(input or "")
            with suppress(BrokenPipeError):
                self.stdin.close()
        for reader in readers:
            reader.join(None if ends is None else max(ends - time.monotonic(), 0.0))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        self.wait(None if ends is None else max(ends - time.monotonic(), 1.0))
        return said.get("out", ""), said.get("err", "")

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _end(self) -> None:
        self.returncode = int.from_bytes(_exactly(self._link, _LENGTH), "big", signed=True)
        self._link.close()


def _read(said: dict[str, str], name: str, stream: IO[str]) -> None:
    said[name] = stream.read()
    stream.close()


def _exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            raise ConnectionError("the process that forks commands has gone")
        data += part
    return data


_lock = threading.Lock()
_known: list[str] = []


def _zygote() -> str:
    """Where the process that forks listens; it is started when first needed and ends with this one."""
    with _lock:
        if not _known:
            place = str(Path(tempfile.mkdtemp(prefix="pincite-warm-")) / "s")
            code = "import sys; from tests.warm import serve; serve(sys.argv[1])"
            held = subprocess.Popen(
                [sys.executable, "-c", code, place],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[1],
            )
            assert held.stdout is not None
            assert held.stdout.readline() == b"ready\n", "the process that forks commands did not start"
            atexit.register(_end_zygote, held, Path(place))
            _known.append(place)
        return _known[0]


def _end_zygote(held: "subprocess.Popen[bytes]", place: Path) -> None:
    held.kill()
    held.communicate()
    place.unlink(missing_ok=True)
    place.parent.rmdir()


def serve(place: str) -> None:
    """Import the program; then fork a process for each connection, until the standard input ends."""
    _preload()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [], 0.5)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        if sys.stdin in ready:
            return
        if listener in ready:
            link, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _attend(link)
                return
            link.close()


def _attend(link: socket.socket) -> None:
    """In a process between: fork the command, tell its id and how it ended. The command itself returns from here."""
    size, streams, _, _ = socket.recv_fds(link, _LENGTH, 3)
    asked = json.loads(_exactly(link, int.from_bytes(size, "big")))
    child = os.fork()
    if child == 0:
        link.close()
        _become(asked, streams)
        return
    for stream in streams:
        os.close(stream)
    link.sendall(child.to_bytes(_LENGTH, "big"))
    _, status = os.waitpid(child, 0)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        link.sendall(os.waitstatus_to_exitcode(status).to_bytes(_LENGTH, "big", signed=True))
    os._exit(0)


def _become(asked: dict[str, Any], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
    script = asked["script"]
    sys.argv = [script or "pincite", *asked["arguments"]]
    try:
        if script:
            sys.path[0] = str(Path(script).parent)
            runpy.run_path(script, run_name="__main__")
        else:
            sys.path[0] = asked["cwd"]
            runpy.run_module("pincite", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    else:
        code = 0
    if code is None or isinstance(code, int):  # all that an interpreter does at its end but taking itself apart
        threading._shutdown()  # type: ignore[attr-defined]  # private to Python: what its own end calls
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    sys.exit(code)


def _preload() -> None:
    import pincite
    from pincite.urls.parse import registrable_domain

    found = [module.name for module in pkgutil.walk_packages(pincite.__path__, "pincite.")]
    for name in [*_PRELOADED, *(name for name in found if not name.startswith(_ON_DEMAND))]:
        with suppress(ImportError):
            import_module(name)
    registrable_domain("example.org")  # reads the list of public suffixes
    gc.collect()
    gc.freeze()  # what is here stays shared with the forked processes
    assert threading.active_count() == 1, "a process with threads can't be forked"

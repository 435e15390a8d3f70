"""`pincite` and `python -m pincite`."""

import gc
import os
import signal
import sys
from pathlib import Path

# Loading modules makes many objects and hardly a cycle: looking for those after every 700, as is Python's default, took
# 15 % of the time that a command needs to load.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in ("stdout", "stderr"):
        # Closed by the caller: nothing is wanted there, and a database that took its number would get what is printed.
        if getattr(sys, stream) is None:
            setattr(sys, stream, Path(os.devnull).open("w"))  # noqa: SIM115
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # Pydantic reads the metadata of all installed packages for plugins of its own; none of them is meant for a command.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)  # until the command has its own: its imports take a while
    from pincite.surfaces.cli.app import run

    code = run(sys.argv[1:])
    gc.freeze()  # or the interpreter looks for cycles in all that was loaded before it ends: .03 s of CPU
    sys.exit(code)


def _leave(*_: object) -> None:
    os.write(2, b"Stopped.\n")
    os._exit(130)


if __name__ == "__main__":
    main()

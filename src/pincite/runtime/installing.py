"""How an extra is added to this installation: from where the package came, since it may be in no index."""

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


def install_extra(*names: str) -> str:
    """The command that adds the extras, as it can be typed. Paths of this machine are not in it: errors travel."""
    return command(_origin(), ",".join(names))


def command(origin: str, extras: str) -> str:
    """The command for a package that came from `origin`, the address pip was given; empty means an index."""
    name = PurePosixPath(unquote(urlsplit(origin).path)).name
    if origin.startswith("file:"):
        if name.endswith((".whl", ".tar.gz")):
            return f'pip install "./{name}[{extras}]" in the folder of that file'
        return f'pip install ".[{extras}]" in the folder of Pincite\'s source'
    if origin:
        return f'pip install "pincite[{extras}] @ {origin}"'
    return f'pip install "pincite[{extras}]"'


@cache
def _origin() -> str:
    """The address pip was given for this package (PEP 610)."""
    try:
        found = json.loads(distribution("pincite").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError, OSError):
        return ""
    vcs = found.get("vcs_info", {}).get("vcs", "")
    url = str(found.get("url", ""))
    return f"{vcs}+{url}" if vcs else url

"""Style, scripts and icon of the pages: read once, named by what is in them, kept by browsers for a year."""

import hashlib
import json
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Response

from pincite.domain.errors import NotFound
from pincite.domain.reasons import FAMILIES, REASONS, STATUSES

router = APIRouter()

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


def static_path(name: str) -> str:
    """The address of a file, which changes with the content of any of them: modules import each other by name."""
    return f"/static/{_digest()}/{name}"


@router.get("/static/{digest}/{name:path}")
async def static(digest: str, name: str) -> Response:
    """One file."""
    content = _files().get(name)
    if content is None or digest != _digest():
        raise NotFound("there is no such file")
    return Response(content, media_type=_type_of(name), headers=_HEADERS)


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The icon, for browsers that don't ask where it is."""
    return Response(_files()["icon.svg"], media_type=TYPES[".svg"], headers=_HEADERS)


@cache
def _files() -> dict[str, bytes]:
    written = {"reasons.js": _reasons()}
    return dict(sorted([*_walk(resources.files("pincite.surfaces.http.ui") / "static"), *written.items()]))


def _reasons() -> bytes:
    """The words of `domain.reasons` as a module, so that the live page says what the others say."""
    tables = {"REASONS": REASONS, "STATUSES": STATUSES, "FAMILIES": FAMILIES}
    return "".join(f"export const {name} = {json.dumps(table)};\n" for name, table in tables.items()).encode()


def _walk(folder: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        elif _type_of(entry.name):
            found.append((f"{prefix}{entry.name}", entry.read_bytes()))
    return found


def _type_of(name: str) -> str:
    return next((media_type for suffix, media_type in TYPES.items() if name.endswith(suffix)), "")


@cache
def _digest() -> str:
    whole = hashlib.sha256()
    for name, content in _files().items():
        whole.update(name.encode() + b"\0" + content)
    return whole.hexdigest()[:12]

"""Model files from a hub (the protocol of huggingface.co): one revision, every file hashed before it is kept.

The hub's own client does not check what it downloads; this one compares each file with the hash that the hub
tells beside it, and notes it in `judge.json`, which is compared again before a model is loaded.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin, urlsplit

import anyio

from pincite.domain.errors import (
    InvalidInput,
    InvalidSetting,
    NetworkError,
    NotFound,
    PinciteError,
    ProviderAuth,
    ProviderBadReply,
    Timeout,
    TooLarge,
)
from pincite.domain.frozen import dataclass
from pincite.domain.version import VERSION
from pincite.judges.catalogue import KNOWN, LOCK, REFUSED, KnownModel
from pincite.judges.onnx import labels_of

if TYPE_CHECKING:
    import httpx2

HUB: Final = "https://huggingface.co"
# Between two pieces of a download; a hub that is silent for longer is not coming back.
_READ_S: Final = 30.0
# 1.8 GB over half a megabyte a second; the largest known model has 643 MB.
_TOTAL_S: Final = 3_600.0
# Several times the largest known model, for those that an operator names by revision; below what fills a small disk.
_MOST_BYTES: Final = 3_000_000_000
# The hub sends on to its storage, which may send on again; more is a circle.
_REDIRECTS: Final = 5
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
OnProgress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Announced:
    """What the hub tells of a file before it sends it."""

    commit: str
    etag: str
    size: int | None
    location: str


class ModelHub:
    """A hub of models."""

    def __init__(self, base_url: str = HUB) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidSetting("this is no address of a model hub", context={"setting": "model_hub"})
        self._base = base_url.rstrip("/")

    async def add(
        self, name: str, folder: Path, *, revision: str = "", on_progress: OnProgress = lambda _: None
    ) -> Path:
        """The folder `folder/name` of a model, fetched; one already there is replaced only when all files are good.

        Args:
            name: one of `KNOWN`.
            folder: where models are kept.
            revision: a commit (40 characters) instead of the known one.
            on_progress: called with what is done.

        Errors:
            InvalidInput: unknown, or refused. NotFound, ProviderAuth, ProviderBadReply (`hash_mismatch`, ...),
            TooLarge, NetworkError, Timeout.
        """
        if name in REFUSED:
            raise InvalidInput(f"{name} can't be added: {REFUSED[name]}", reason="model_refused")
        known = KNOWN.get(name)
        if known is None:
            hint = f"Known: {', '.join(KNOWN)}."
            raise InvalidInput(f"no model {name[:80]!r} is known", hint=hint, reason="model_unknown")
        if revision and not _COMMIT.fullmatch(revision):
            raise InvalidInput("a revision is the 40 characters of a commit", reason="revision")
        # Beside the target, on the same disk: the last step is a rename.
        target, new = folder / name, folder / f".{name}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        try:
            with anyio.fail_after(_TOTAL_S):
                commit, hashes = await self._files(known, revision or known.revision, new, on_progress)
            if not known.reranks:
                labels_of(new / "config.json")
            lock = {
                "repository": known.repository,
                "revision": commit,
                "licence": known.licence,
                "languages": list(known.languages),
                "sha256": hashes,
            }
            (new / LOCK).write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            new.rename(target)
        except TimeoutError:
            raise Timeout(f"{name} did not come within an hour", reason="model_hub") from None
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return target

    async def _files(
        self, known: KnownModel, revision: str, new: Path, on_progress: OnProgress
    ) -> tuple[str, dict[str, str]]:
        import httpx2

        headers = {"User-Agent": f"Pincite/{VERSION}", "Accept-Encoding": "identity"}
        commit, hashes = revision if _COMMIT.fullmatch(revision) else "", {}
        async with httpx2.AsyncClient(
            headers=headers, follow_redirects=False, trust_env=True, timeout=_READ_S
        ) as client:
            for name, path in known.files.items():
                # The first file names the commit, and all others are fetched of that one: files of two commits are no
                # model.
                place = f"{self._base}/{known.repository}/resolve/{quote(commit or 'main', safe='')}/{quote(path)}"
                try:
                    announced = await self._announced(client, place)
                    if not commit and not announced.commit.startswith(revision):
                        raise ProviderBadReply(
                            f"the newest commit of {known.repository} is {announced.commit}, the known one begins with "
                            f"{revision}",
                            reason="revision_moved",
                            retryable=False,
                            hint=f"Look at what changed, then give it: --revision {announced.commit}",
                        )
                    if commit and announced.commit != commit:
                        raise _bad(f"the hub answered with commit {announced.commit or 'none'}", "wrong_revision")
                    commit = announced.commit
                    on_progress(f"{known.repository}@{commit[:12]} {path}")
                    hashes[name] = await _download(client, announced, new / name)
                except httpx2.TimeoutException:
                    raise Timeout("the model hub did not answer in time", reason="model_hub") from None
                except httpx2.HTTPError:
                    raise NetworkError(
                        "the model hub can't be reached",
                        hint="Check whether this machine is online, then do it again.",
                        reason="connect",
                    ) from None
        return commit, hashes

    async def _announced(self, client: "httpx2.AsyncClient", place: str) -> _Announced:
        """What the hub says of a file; redirects on its own host are followed until it says it."""
        for _ in range(_REDIRECTS):
            reply = await client.head(place)
            if reply.status_code >= 400:
                raise _refusal(reply.status_code, reply.headers.get("x-error-code", ""), place)
            commit = reply.headers.get("x-repo-commit", "")
            location = urljoin(place, reply.headers.get("location", "")) if reply.is_redirect else place
            if commit:
                size = reply.headers.get("x-linked-size") or (
                    None if reply.is_redirect else reply.headers.get("content-length")
                )
                etag = reply.headers.get("x-linked-etag") or reply.headers.get("etag") or ""
                if not _COMMIT.fullmatch(commit):
                    raise _bad("the hub names no commit", "wrong_revision")
                return _Announced(
                    commit,
                    etag.removeprefix("W/").strip('"').lower(),
                    int(size) if size and size.isdigit() else None,
                    location,
                )
            if not reply.is_redirect or urlsplit(location).netloc != urlsplit(place).netloc:
                break
            place = location
        raise _bad("the hub names no commit", "wrong_revision")


async def _download(client: "httpx2.AsyncClient", announced: _Announced, path: Path) -> str:
    """The SHA-256 of the file, written and compared."""
    if announced.size is not None and announced.size > _MOST_BYTES:
        raise TooLarge(f"the file has {announced.size} bytes", reason="model_file")
    place = announced.location
    for _ in range(_REDIRECTS):
        async with client.stream("GET", place) as reply:
            if reply.is_redirect:
                onward = urljoin(place, reply.headers.get("location", ""))
                if urlsplit(onward).scheme not in {"https", urlsplit(place).scheme}:
                    raise _bad("the hub leads to an unsafe address", "unsafe_redirect")
                place = onward
                continue
            if reply.status_code != 200:
                raise _refusal(reply.status_code, reply.headers.get("x-error-code", ""), place)
            return await _written(reply, announced, path)
    raise _bad("the hub leads in circles", "redirects")


async def _written(reply: "httpx2.Response", announced: _Announced, path: Path) -> str:
    whole, size = hashlib.sha256(), 0
    async with await anyio.open_file(path, "wb") as file:
        async for piece in reply.aiter_bytes():
            size += len(piece)
            # While it is written, not after: what was announced as small could fill the disk.
            if size > _MOST_BYTES or (announced.size is not None and size > announced.size):
                raise _bad(f"{path.name} is longer than announced", "wrong_size")
            whole.update(piece)
            await file.write(piece)
    if announced.size is not None and size != announced.size:
        raise _bad(f"{path.name} has {size} bytes instead of {announced.size}", "wrong_size")
    found = whole.hexdigest()
    if _SHA256.fullmatch(announced.etag):
        right = found == announced.etag
    elif _COMMIT.fullmatch(announced.etag):  # a small file is named by the hash of its git object
        content = await anyio.Path(path).read_bytes()
        right = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == announced.etag
    else:
        raise _bad(f"the hub names no hash of {path.name}", "no_hash")
    if not right:
        raise _bad(f"{path.name} is not what was announced: its hash is {found}", "hash_mismatch")
    return found


def _refusal(status: int, code: str, place: str) -> PinciteError:
    where = urlsplit(place).path
    if status in {401, 403} or code == "GatedRepo":
        return ProviderAuth(
            f"the hub gives {where} to nobody without a key, or has no such model", reason=code or "gated"
        )
    if status == 404:
        return NotFound(f"the hub has no {where} ({code or status})", reason="model_file")
    return ProviderBadReply(f"the hub answered {status}", reason="bad_status", retryable=status >= 500 or status == 429)


def _bad(message: str, reason: str) -> ProviderBadReply:
    return ProviderBadReply(message, reason=reason, retryable=False)

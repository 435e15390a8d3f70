"""`pincite fetch` and `pincite summarize`: one page as clean Markdown, and its main points."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

import typer

from pincite.domain.citation import cut_on_word
from pincite.domain.errors import InvalidInput, InvalidUrl, TooLarge
from pincite.domain.fetch import FetchRequest
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import read_bytes
from pincite.surfaces.cli.run import print_json, print_note, print_text, with_engine

if TYPE_CHECKING:
    from pincite.domain.fetch import FetchResult
    from pincite.engine import Engine
    from pincite.research.summary import Summarised


# What a document may have (`document_max_bytes`); the limit of its kind is looked at when it is read.
FILE_BYTES_MAX: Final = 50_000_000
# What begins like the name of a host, as people type addresses: "example.org/page".
_HOST: Final = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}(?:/|$)", re.IGNORECASE)


@options.asking(FetchRequest, user_triggered=True)
@options.configured("llm", "source", "resolve", "allow_network", "home")
def fetch(asked: FetchRequest, settings: dict[str, object], as_json: options.Json = False) -> None:
    """Read one page safely and politely, or a file of yours."""

    async def read(engine: "Engine") -> "FetchResult":
        if (file := _file_named(asked.url)) is None:
            return await engine.fetch(asked)
        given = read_bytes(file, "Give a file that you may read.")
        return await engine.parse(given, name=file.name, request=asked)

    result = with_engine(read, settings)
    if as_json:
        from pincite.domain.codec import to_json

        plain = to_json(result, outside=True)
        if isinstance(plain, dict):
            # The whole page again, with its bytes in base64; what was asked for is a window of it.
            for inner in ("snapshot", "document"):
                plain.pop(inner, None)
        print_json(plain)
        return
    print_text(_header(result) + "\n" + result.content)
    for link in result.links:
        print_text(f"- [{link.text}]({link.url})")
    if result.next_offset is not None:
        print_note(f"More: --offset {result.next_offset}")


def _file_named(text: str) -> Path | None:
    """The file that was named in place of an address.

    Errors:
        InvalidUrl: neither is there such a file nor is it an address. InvalidInput: a folder. TooLarge: told before it
        is read.
    """
    path = Path(text)
    # An address may be the name of a file, too: it is meant as an address.
    if "://" in text:
        return None
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError:  # a name that is too long for one
        is_folder = is_file = False
    hint = "Give a file of yours or a full http:// or https:// URL."
    if not text.strip():  # as a path it would be the folder that this runs in
        raise InvalidUrl("neither a file nor a URL was named", hint=hint)
    if is_folder:
        raise InvalidInput(
            f"{path} is a folder", hint=f"Name a file in it, or make it searchable: pincite index {path}"
        )
    if not is_file:
        if ":" in text:  # of a library, or of a kind that is refused with the reason
            return None
        if _HOST.match(text):
            hint = f"{hint.rstrip('.')}, as in https://{cut_on_word(text)}"
        raise InvalidUrl(f"{cut_on_word(text)} is neither a file nor a URL", hint=hint)
    if path.stat().st_size > FILE_BYTES_MAX:
        raise TooLarge(f"{path} has more than {FILE_BYTES_MAX} bytes", reason="body_too_large")
    return path


def _header(result: "FetchResult") -> str:
    info = result.info
    older = " (an older copy)" if info.stale else ""
    used = f", {info.tokens_in} tokens in, {info.tokens_out} out" if info.tokens_in else ""
    # Who wrote the content, where a model was asked for it.
    by = "" if info.markdown_by == "rules" else info.markdown_by + used
    if info.markdown_note:
        by = f"{info.markdown_by} ({info.markdown_note.replace('_', ' ')})"
    lines = [
        ("title", result.title),
        ("site", result.site_name or (urlsplit(result.final_url).hostname or "")),
        ("by", result.byline),
        ("published", result.published_at.date().isoformat() if result.published_at else ""),
        ("modified", result.modified_at.date().isoformat() if result.modified_at else ""),
        ("url", result.final_url),
        ("leads to", result.location),
        ("fetched", f"{info.fetched_at:%Y-%m-%d %H:%M:%S} UTC via {info.via}{older}"),
        ("snapshot", result.snapshot_id),
        ("markdown by", by),
    ]
    return "---\n" + "".join(f"{name}: {' '.join(value.split())}\n" for name, value in lines if value) + "---\n"


@options.configured("llm", "judge", "source", "resolve", "allow_network", "home")
def summarize(
    target: Annotated[str, typer.Argument(help="A page's URL, a file of yours, or a finished run: its id, or `last`.")],
    sentences: Annotated[int, typer.Option(min=1, max=20, help="Sentences at most.")] = 8,
    *,
    settings: dict[str, object],
    as_json: options.Json = False,
) -> None:
    """Print the main points of a page or a run, each with its passage."""

    async def job(engine: "Engine") -> "Summarised":
        if target == "last" or target.startswith("run_") or (file := _file_named(target)) is None:
            return await engine.summarize(target, sentences=sentences)
        given = await engine.parse(read_bytes(file, "Give a file that you may read."), name=file.name)
        return await engine.summarize(given.final_url, sentences=sentences)

    found = with_engine(job, settings)
    if as_json:
        from pincite.surfaces.summaries import summary_json

        print_json(summary_json(found))
        return
    print_text(f"{found.title}\n")
    for one in found.sentences:
        print_text(f"- {one.text}\n  {one.url}")

"""`pincite audit`: check anyone's report against the pages it cites."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.domain.errors import PinciteError
from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import format_of, vet_output, write_file
from pincite.surfaces.cli.run import print_json, print_text, run_async, tell
from pincite.surfaces.outcomes import EXIT_CHECK_FAILED, EXIT_CODES, EXIT_OK, exit_code

FORMATS = ("md", "markdown", "html", "htm", "json", "txt")
"""How an audit can be written; without a suffix, as text."""

if TYPE_CHECKING:
    from pincite.audit.findings import Audit
    from pincite.engine import Engine


def audit(
    report: Annotated[str, typer.Argument(help="A file (Markdown, text, HTML, DOCX, answer JSON), - or a URL.")],
    sources: Annotated[
        list[Path] | None,
        typer.Option("--sources", help="Folder of files, WARC or WACZ with the cited pages; no site is then asked."),
    ] = None,
    output: options.Output = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Fail only if less than this percentage of claims is supported by what it cites."
        ),
    ] = None,
    llm: options.Llm = None,
    judge: options.Judge = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Sentences that are only partly supported fail too.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="List the supported claims too.")] = False,
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Check every sentence of a report against the pages it cites."""

    async def job() -> "Audit":
        from pincite.engine import Engine

        for path in output or ():
            vet_output(path, FORMATS)
        overrides = {
            "source": tuple(f"local:{path}" for path in sources) if sources else None,
            "profile": "offline" if sources else None,
            "llm": llm,
            "judge": judge,
            "resolve": options.joined(resolve),
            "allow_networks": options.joined(allow_network),
            "home": home,
        }
        async with Engine.from_settings(**overrides) as engine:
            return await engine.audit(await _content(report, engine), strict=strict)

    result = run_async(job, as_json=as_json)
    failed: PinciteError | None = None
    for path in output or ():
        try:
            write_file(path, _rendered(result, path).encode())
        except PinciteError as error:
            tell(error)
            failed = failed or error
    if as_json:
        from pincite.audit.render import as_json as plain

        print_json(plain(result))
    else:
        from pincite.audit.render import table

        print_text(table(result, everything=everything))
    code = exit_code(failed) if failed else _exit_code(result, fail_under)
    if code:
        raise typer.Exit(code)


async def _content(report: str, engine: "Engine") -> bytes:
    """The report's bytes from a file, from stdin or from its page."""
    from pincite.domain.errors import InvalidInput

    if report == "-":
        return sys.stdin.buffer.read()
    if report.startswith(("http://", "https://")):
        result = await engine.fetch(report)
        html = "html" in result.snapshot.content_type
        return result.snapshot.body if html else result.document.text.encode()
    import anyio

    try:
        return await anyio.Path(report).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{report} can't be read: {error.strerror}", hint="Give a file, - or a URL.") from None


def _rendered(result: "Audit", path: Path) -> str:
    from pincite.audit.render import annotated_html, annotated_markdown, json_text, table

    match format_of(path) if path.suffix else "txt":
        case "json":
            return json_text(result)
        case "html" | "htm":
            return annotated_html(result)
        case "md" | "markdown":
            return annotated_markdown(result)
        case _:
            return table(result, everything=True) + "\n"


def _exit_code(result: "Audit", fail_under: float | None) -> int:
    """1: something is wrong, or too few claims are carried. 7: nothing is wrong and not all was judged."""
    not_all = EXIT_CODES["INSUFFICIENT_EVIDENCE"] if result.shortfall else EXIT_OK
    if fail_under is not None and result.recall is not None:
        return EXIT_OK if 100 * result.recall >= fail_under else EXIT_CHECK_FAILED
    return EXIT_CHECK_FAILED if result.wrong or result.never_cited else not_all

"""`pincite check`, `recheck`, `audit`, `bundle`: whether what a report says stands, offline, today and for anyone's."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pincite.domain.errors import InvalidInput, PinciteError
from pincite.domain.reasons import plural
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import BUNDLE, format_of, read_bytes, vet_output, write_file
from pincite.surfaces.cli.run import print_error, print_json, print_result, print_text, with_engine
from pincite.surfaces.errors import EXIT_CHECK_FAILED, EXIT_CODES, EXIT_OK, exit_code

if TYPE_CHECKING:
    from pincite.audit.check import CheckResult, JudgedBy
    from pincite.audit.findings import Audit
    from pincite.engine import Engine

_REPORT = "Give a report.json."
Evidence = Annotated[
    Literal["full", "passages"],
    typer.Option(help="`full` pages, or only the `passages` that are quoted: for publishing."),
]


def bundle(
    run_id: Annotated[str, typer.Argument(help="The run's id, or `last`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, a WACZ.")],
    evidence: Evidence = "full",
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write a run's report and all the pages it cites as one WACZ; `pincite check` verifies it on any machine."""
    vet_output(output, wanted=BUNDLE)
    data = with_engine(lambda engine: engine.bundle(run_id, evidence), {"home": home})
    write_file(output, data)
    said = f"{len(data):,} bytes. Verify it anywhere: pincite check {output}"
    print_result({"bundle": str(output), "size_bytes": len(data)}, said, as_json=as_json)


_PROOFS = {
    "quoted": "in their sources' words, sliced again",
    "entailed": "in other words, their judgements bound to them by hash, their exact facts compared again",
    "derived": "derived, the same, their arithmetic done again",
    "not recorded": "of which the report doesn't say how they were proven, sliced again",
}
_KEPT = {
    "run": "their text is here, of the page as it came only the hash",
    "excerpts": "their quotes were compared with the kept windows; the rest is gone, `recheck` asks the site",
}


def check(
    report: Annotated[Path, typer.Argument(help="A bundle (.wacz), or a report as JSON where its pages are stored.")],
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", help="Put what is not quoted before this judge again: model, PROVIDER:NAME, http://..."
        ),
    ] = None,
    llm: options.Llm = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Verify every quote, hash, number, [n] and the rendering against the stored pages, offline."""
    from pincite.settings import load_settings
    from pincite.wiring.checking import check_stored_report

    data = read_bytes(report, _REPORT)
    if judge is None:
        result = check_stored_report(data, load_settings({"home": home}))
    else:
        settings = {"home": home, "judge": judge, "llm": llm}
        result = with_engine(lambda engine: _judged_again(data, engine), settings)
    print_result(result, _render(result), as_json=as_json)
    if result.status != "passed":
        raise typer.Exit(EXIT_CHECK_FAILED)


async def _judged_again(data: bytes, engine: "Engine") -> "CheckResult":
    """The check, and what a judge of today says."""
    from pincite.domain.errors import InvalidSetting
    from pincite.wiring.checking import check_with_judge

    asked = await engine.judge()
    if asked is None:
        raise InvalidSetting(f"judge = {engine.settings.judge!r} names no judge", reason="no_judge")
    return await check_with_judge(data, engine.settings, asked, datetime.now(UTC))


def _render(result: "CheckResult") -> str:
    counts = result.counts
    lines = [
        (
            f"{result.status}: {plural(counts.quotes, 'quote')} in {plural(counts.documents, 'document')} of "
            f"{plural(counts.snapshots, 'capture')}, {plural(counts.sentences, 'sentence')}, "
            f"{plural(counts.claims, 'claim')}, {plural(counts.references, 'reference')}"
        )
    ]
    if result.proofs:
        lines.append("  " + "; ".join(f"{count} {_PROOFS[name]}" for name, count in result.proofs.items()))
    lines += [f"  {_judged(entry, again=bool(result.judged_again))}" for entry in result.judged]
    if result.judged_again:
        lines.append(f"  {result.again} put before {result.judged_again} again")
    lines += [f"  note: {note}" for note in result.notes]
    cut = {name: count for name, count in result.kept.items() if name != "full"}
    lines += [f"  {count} of the captures kept as `{name}`: {_KEPT[name]}" for name, count in cut.items()]
    lines += [f"  {problem.kind:<9} {problem.where}: {problem.what}" for problem in result.problems]
    if result.status == "unchecked":
        lines.append("What is unchecked is neither clean nor wrong.")
        if any(problem.what.endswith("is not stored here") for problem in result.problems):
            lines.append("A bundle brings its pages. Where the report was made: pincite bundle RUN -o evidence.wacz")
    return "\n".join(lines)


def _judged(entry: "JudgedBy", *, again: bool) -> str:
    """Who judged, when, and whether nobody did so again."""
    first, last = f"{entry.first:%Y-%m-%d}", f"{entry.last:%Y-%m-%d}"
    when = first if first == last else f"{first} to {last}"
    told = "" if again else ", not judged again"
    return f"{plural(entry.sentences, 'sentence')} judged by {entry.judge} on {when}{told}"


@options.configured("source", "profile", "llm", "judge", "resolve", "allow_network", "home")
def recheck(
    report: Annotated[Path, typer.Argument(help="A report as JSON.")],
    settings: dict[str, object],
    as_json: options.Json = False,
) -> None:
    """Fetch the references again: which are gone, moved or changed, and does every quote still stand?"""
    from pincite.audit.recheck import recheck_text
    from pincite.domain.codec import to_json
    from pincite.domain.errors import InvalidInput

    try:
        data = json.loads(read_bytes(report, _REPORT))
    except ValueError as error:
        raise InvalidInput(f"not a report: {error}", reason="not_json") from None
    result = with_engine(lambda engine: engine.recheck(data), settings)
    if as_json:
        print_json(to_json(result))
    else:
        print_text(recheck_text(result))
    if not result.stands:
        # What could not be looked at is no failure of the report: a script tells the two apart by the code.
        raise typer.Exit(EXIT_CHECK_FAILED if result.fell else EXIT_CODES["INSUFFICIENT_EVIDENCE"])


# How an audit can be written; without a suffix, as text.
FORMATS = ("md", "markdown", "html", "htm", "json", "txt")


@options.configured("llm", "judge", "resolve", "allow_network", "home")
def audit(
    report: Annotated[str, typer.Argument(help="A file (Markdown, text, HTML, DOCX, answer JSON), - or a URL.")],
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--sources", help="Folder, WARC or WACZ with the cited pages, or bundled or local; no site is then asked."
        ),
    ] = None,
    output: options.Output = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Fail only if less than this percentage of claims is supported by what it cites."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Sentences that are only partly supported fail too.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="List the supported claims too.")] = False,
    *,
    settings: dict[str, object],
    as_json: options.Json = False,
) -> None:
    """Check every sentence of a report against the pages it cites."""
    from pincite.audit.render import as_json as plain
    from pincite.audit.render import table

    async def audited(engine: "Engine") -> "Audit":
        return await engine.audit(await _content(report, engine), strict=strict)

    for path in output or ():
        vet_output(path, FORMATS)
    if sources:
        # With its pages at hand nothing is asked for on the network, not even what is missing among them.
        settings |= {"source": tuple(map(_source, sources)), "profile": "offline"}
    result = with_engine(audited, settings)
    failed: PinciteError | None = None
    for path in output or ():
        try:
            write_file(path, _rendered(result, path).encode())
        except PinciteError as error:
            print_error(error)
            failed = failed or error
    if as_json:
        print_json(plain(result))
    else:
        print_text(table(result, everything=everything))
    code = exit_code(failed) if failed else _exit_code(result, fail_under)
    if code:
        raise typer.Exit(code)


def _source(given: Path) -> str:
    """As the setting `source` names it. What lies here is meant before a library of Pincite's that is called so."""
    from pincite.wiring.sources import BUNDLED, LOCAL

    name = str(given)
    known = name.startswith(f"{LOCAL}:") or (name in (BUNDLED, LOCAL) and not given.exists())
    return name if known else f"{LOCAL}:{name}"


async def _content(report: str, engine: "Engine") -> bytes:
    """The report's bytes from a file, from stdin or from its page."""
    if report == "-":
        return sys.stdin.buffer.read()
    if not report.strip():  # as a path it would be the folder that this runs in
        raise InvalidInput("no report was named", hint="Give a file, - or a URL.")
    if report.startswith(("http://", "https://")):
        result = await engine.fetch(report)
        html = "html" in result.snapshot.content_type
        return result.snapshot.body if html else result.document.text.encode()
    return read_bytes(Path(report), "Give a file, - or a URL.")


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
    # Whoever names a share has decided what is good enough: the verdicts of single sentences no longer fail the
    # command.
    if fail_under is not None and result.recall is not None:
        return EXIT_OK if 100 * result.recall >= fail_under else EXIT_CHECK_FAILED
    return EXIT_CHECK_FAILED if result.wrong or result.never_cited else not_all

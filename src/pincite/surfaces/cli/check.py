"""`pincite check`: re-verify a stored report, offline and without a model."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import guarded, print_json, print_text, run_async
from pincite.surfaces.outcomes import EXIT_CHECK_FAILED

if TYPE_CHECKING:
    from pincite.audit.check import CheckResult, JudgedBy


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
    if judge is None:
        result = guarded(lambda: _check(report, home), as_json=as_json)
    else:
        result = run_async(lambda: _judged_again(report, home, judge, llm), as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(result, outside=True))
    else:
        print_text(_render(result))
    if result.status != "passed":
        raise typer.Exit(EXIT_CHECK_FAILED)


def _check(report: Path, home: Path | None) -> "CheckResult":
    from pincite.settings import load_settings
    from pincite.wiring import check_stored_report

    return check_stored_report(_read(report), load_settings({"home": home}))


async def _judged_again(report: Path, home: Path | None, judge: str, llm: str | None) -> "CheckResult":
    """The check, and what a judge of today says."""
    from anyio import to_thread

    from pincite.domain.errors import InvalidSetting
    from pincite.engine import Engine
    from pincite.wiring import check_with_judge

    data = await to_thread.run_sync(_read, report)
    async with Engine.from_settings(home=home, judge=judge, llm=llm) as engine:
        asked = await engine.judge()
        if asked is None:
            raise InvalidSetting(f"judge = {judge!r} names nobody who could judge", reason="no_judge")
        return await check_with_judge(data, engine.settings, asked, datetime.now(UTC))


def _read(report: Path) -> bytes:
    from pincite.domain.errors import InvalidInput

    try:
        return report.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{report} can't be read: {error.strerror}", hint="Give a report.json.") from None


def _render(result: "CheckResult") -> str:
    counts = result.counts
    lines = [
        (
            f"{result.status}: {counts.quotes} quotes in {counts.documents} documents of {counts.snapshots} captures, "
            f"{counts.sentences} sentences, {counts.claims} claims, {counts.references} references"
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
    sentences = "1 sentence" if entry.sentences == 1 else f"{entry.sentences} sentences"
    return f"{sentences} judged by {entry.judge} on {when}{'' if again else ', not judged again'}"

"""`pincite eval` and `pincite models`: how well settings and judges do where the answers are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pincite.domain.errors import InvalidInput
from pincite.surfaces.cli import options
from pincite.surfaces.cli.options import read_text
from pincite.surfaces.cli.run import (
    print_json,
    print_note,
    print_result,
    print_text,
    print_value,
    run_async,
    with_engine,
)

if TYPE_CHECKING:
    from pincite.evaluation.judging import JudgeEvaluation
    from pincite.evaluation.questions import Answered, Figures, KnownQuestion
    from pincite.wiring.judging import JudgeModel


def evaluate_judge(settings: dict[str, object], data: Path | None, *, fit: bool, as_json: bool) -> None:
    """Print how many true statements a judge keeps, how many false ones pass, by kind, and what that costs."""
    from pincite.evaluation import judging

    statements = None if data is None else read_text(data, hint="Give a file of JSON Lines.")
    found = with_engine(lambda engine: judging.evaluate_judge(engine, statements, fit=fit), settings)
    print_result(found, evaluation_text(found, fitted=fit), as_json=as_json)


def evaluation_text(found: "JudgeEvaluation", *, fitted: bool) -> str:
    """The figures for a person."""
    rows = found.true_rows + found.false_rows
    lines = [
        f"judge: {found.judge}",
        (
            f"true statements: {found.true_rows}, supported {_share(found.kept, found.true_rows)}, "
            f"partly {_share(found.partly, found.true_rows)}, refused {_share(found.accused, found.true_rows)} "
            f"({found.accused_by_fact} of them by a figure)"
        ),
        f"false statements: {found.false_rows}, passed as supported {_share(found.passed, found.false_rows)}",
        f"unchecked: {_share(found.unchecked, rows)}; asked and not answered: {found.unanswered}",
        (
            f"cost: {found.calls} batches, {found.tokens_in:,} tokens in, {found.tokens_out:,} out, "
            f"{found.cost_usd:.4f} dollars, {found.seconds:.1f} s"
        ),
    ]
    if found.always:
        lines.append(f"NOTE: the judge found {found.always}: it tells nothing apart")
    if found.failure:
        lines.append(f"NOTE: {found.failure}")
    if found.auc is not None:
        lines.append(f"its likelihoods tell a true from a false statement with an AUC of {found.auc:.3f}")
        limits = found.thresholds
        if limits is not None:
            lines.append(
                f"thresholds: supported from {limits.supported_from:.3f}, refused to {limits.refused_to:.3f}; "
                f"{limits.measured}"
            )
        elif fitted:
            lines.append("thresholds: none reach 97 %: this judge can't tell, and may not support anything")
        else:
            lines.append("thresholds: not measured, so that it can only refuse; --fit measures them")
    lines.append("by kind (supported of all):")
    lines += [
        f"  {'true ' if kind.true else 'false'}  {kind.kind:<30} {kind.supported:>3} of {kind.rows}"
        for kind in found.by_kind
    ]
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)" if whole else "0"


models_app = typer.Typer(
    help="Judges that need no language model, and rerankers.", no_args_is_help=True, rich_markup_mode=None
)


@models_app.command("list")
def list_(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print the judges and rerankers that can be fetched, those that are here, and why others can't be had."""
    from pincite.settings import load_settings
    from pincite.wiring.judging import judge_models

    found = judge_models(load_settings({"home": home}))
    if as_json:
        print_value(found)
        return
    lines = [_model_line(model) for model in found if not model.refused]
    lines += ["", "can't be had:", *(f"  {model.name}: {model.refused}" for model in found if model.refused)]
    print_text("\n".join(lines))


@models_app.command()
def add(
    name: Annotated[str, typer.Argument(help="A name that `pincite models list` shows.")],
    revision: Annotated[str, typer.Option(help="The commit to fetch (40 characters) instead of the known one.")] = "",
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Fetch a judge (then: --judge NAME) or a reranker: its files at one commit, each compared with its hash."""
    from pincite.settings import load_settings
    from pincite.wiring.judging import add_judge_model

    settings = load_settings({"home": home})
    model = run_async(lambda: add_judge_model(settings, name, revision=revision, on_progress=print_note))
    if as_json:
        print_value(model)
        return
    if model.reranks:
        print_text(
            f"{model.name} is here ({model.repository}, {model.licence}). It was not measured by us.\n"
            f"Use it: PINCITE_RERANKER={model.name}"
        )
        return
    print_text(
        f"{model.name} is here ({model.repository}, {model.licence}). It was not measured by us: until you measure it, "
        f"it can only refuse.\nMeasure it: pincite eval judge --judge {model.name} --fit"
    )


def _model_line(model: "JudgeModel") -> str:
    here = "here" if model.here else f"{model.megabytes} MB"
    spoken = ", ".join(model.languages)
    about = "; ".join(filter(None, (here, model.repository, model.licence, spoken)))
    return f"{model.name}: {'reranker; ' if model.reranks else ''}{about}; {model.measured or 'not measured'}"


HERE = "these settings"
JUDGE = "judge"


@options.configured("source", "llm", "judge", "profile", "home")
def evaluate(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="[QUESTIONS|judge]",
            help="Questions with known facts as JSON lines (docs/evaluation.md); else those that ship. `judge`: "
            "measure the judge instead, on statements with known labels.",
        ),
    ] = None,
    library: Annotated[
        list[Path] | None, typer.Option("--library", help="Ask over this folder, file or archive (repeatable).")
    ] = None,
    *,
    settings: dict[str, object],
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="NAME=VALUE", help="Ask all again with this setting, too, and compare."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many questions.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="With `judge`: labelled statements as JSON lines instead of those that ship.")
    ] = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="With `judge`: fit the thresholds of its probabilities and keep them.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Ask questions with known answers; print facts told, refusals, proofs, time and cost. Or measure the judge."""
    if questions is not None and str(questions) == JUDGE:
        evaluate_judge({**settings, "source": None}, data, fit=fit, as_json=as_json)
        return
    named = (*cast("tuple[str, ...]", settings["source"] or ()), *(f"local:{path}" for path in library or ()))
    # Without any: what the questions that ship are about.
    settings["source"] = named or (("bundled",) if questions is None else None)

    async def job() -> "dict[str, Figures]":
        from pincite.evaluation.questions import read_questions

        asked = read_questions(questions)[:limit]
        others = _others(against or [])
        # One setting after the other: side by side they would slow each other down, and time is one of the figures.
        found = {HERE: await _figures(asked, settings, HERE)}
        if others:
            name = ", ".join(f"{key}={value}" for key, value in others.items())
            found[name] = await _figures(asked, {**settings, **others}, name)
        return found

    found = run_async(job)
    if as_json:
        from pincite.domain.codec import to_json

        print_json({name: to_json(figures) for name, figures in found.items()})
    else:
        from pincite.evaluation.questions import figures_text

        print_text(figures_text(found))


async def _figures(asked: "tuple[KnownQuestion, ...]", settings: dict[str, object], name: str) -> "Figures":
    from pincite.engine import Engine
    from pincite.evaluation.questions import ask_all, figures_of

    def done(answered: "Answered") -> None:
        facts = len(answered.question.facts)
        what = f"{answered.told} of {facts} facts" if facts else "not answerable"
        ended = answered.error or ("refused" if answered.refused else f"{answered.words} words")
        print_note(f"{name}: {answered.question.name}: {what}, {ended}, {answered.duration_s:.1f} s")

    async with Engine.from_settings(**settings) as engine:
        return figures_of(await ask_all(asked, engine.research, done))


def _others(pairs: list[str]) -> dict[str, object]:
    """The settings of `--against`. Errors: InvalidInput."""
    found: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(f"--against {pair!r} is not NAME=VALUE", hint="For instance --against judge=none.")
        found[name.strip()] = value
    return found

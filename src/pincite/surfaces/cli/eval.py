"""`pincite eval`: how well these settings answer questions whose answers somebody knows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.domain.errors import InvalidInput
from pincite.surfaces.cli import options
from pincite.surfaces.cli.eval_judge import evaluate_judge
from pincite.surfaces.cli.run import note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.evaluation.questions import Answered, Figures, KnownQuestion

HERE = "these settings"
JUDGE = "judge"


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
    source: options.Source = None,
    llm: options.Llm = None,
    judge: options.Judge = None,
    profile: options.Profile = None,
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
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Ask questions with known answers; print facts told, refusals, proofs, time and cost. Or measure the judge."""
    if questions is not None and str(questions) == JUDGE:
        evaluate_judge({"llm": llm, "judge": judge, "profile": profile, "home": home}, data, fit=fit, as_json=as_json)
        return
    named = [*(options.joined(source) or ()), *(f"local:{path}" for path in library or ())]
    settings: dict[str, object] = {
        "source": tuple(named) or None, "llm": llm, "judge": judge, "profile": profile, "home": home,
    }  # fmt: skip

    async def job() -> "dict[str, Figures]":
        from pincite.evaluation.questions import read_questions

        asked = read_questions(questions)[:limit]
        others = _others(against or [])
        found = {HERE: await _figures(asked, settings, HERE)}
        if others:
            name = ", ".join(f"{key}={value}" for key, value in others.items())
            found[name] = await _figures(asked, {**settings, **others}, name)
        return found

    found = run_async(job, as_json=as_json)
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
        note(f"{name}: {answered.question.name}: {what}, {ended}, {answered.duration_s:.1f} s")

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

"""`pincite models`: judges that need no language model, fetched by name."""

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import guarded, note, print_json, print_text, run_async

if TYPE_CHECKING:
    from pincite.wiring.judge_models import JudgeModel

app = typer.Typer(help="Judges that need no language model.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print the judges that can be fetched, those that are here, and why others can't be had."""
    from pincite.domain.codec import to_json
    from pincite.settings import load_settings
    from pincite.wiring.judge_models import judge_models

    found = guarded(lambda: judge_models(load_settings({"home": home})), as_json=as_json)
    if as_json:
        print_json([to_json(model, outside=True) for model in found])
        return
    lines = [_told(model) for model in found if not model.refused]
    lines += ["", "can't be had:", *(f"  {model.name}: {model.refused}" for model in found if model.refused)]
    print_text("\n".join(lines))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="A name that `pincite models list` shows.")],
    revision: Annotated[str, typer.Option(help="The commit to fetch (40 characters) instead of the known one.")] = "",
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Fetch a judge: its files at one commit, each compared with its hash. Then: --judge NAME."""

    async def job() -> "JudgeModel":
        from pincite.settings import load_settings
        from pincite.wiring.judge_models import add_judge_model

        return await add_judge_model(load_settings({"home": home}), name, revision=revision, told=note)

    model = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(model, outside=True))
        return
    print_text(
        f"{model.name} is here ({model.repository}, {model.licence}). It was not measured by us: until you measure it, "
        f"it can only refuse.\nMeasure it: pincite eval judge --judge {model.name} --fit"
    )


def _told(model: "JudgeModel") -> str:
    here = "here" if model.here else f"{model.megabytes} MB"
    spoken = ", ".join(model.languages)
    about = "; ".join(filter(None, (here, model.repository, model.licence, spoken)))
    return f"{model.name}: {about}; {model.measured or 'not measured'}"

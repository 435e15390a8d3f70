"""`pincite recheck`: the pages of a stored report as they are today."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.run import print_json, print_text, run_async
from pincite.surfaces.outcomes import EXIT_CHECK_FAILED, EXIT_CODES

if TYPE_CHECKING:
    from pincite.audit.recheck import Recheck
    from pincite.domain.events import Json


def recheck(
    report: Annotated[Path, typer.Argument(help="A report as JSON.")],
    source: options.Source = None,
    profile: options.Profile = None,
    llm: options.Llm = None,
    judge: options.Judge = None,
    resolve: options.Resolve = None,
    allow_network: options.AllowNetwork = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Fetch the references again: which are gone, moved or changed, and does every quote still stand?"""

    async def job() -> "Recheck":
        from pincite.engine import Engine

        overrides = {
            "source": options.joined(source),
            "profile": profile,
            "llm": llm,
            "judge": judge,
            "resolve": options.joined(resolve),
            "allow_networks": options.joined(allow_network),
            "home": home,
        }
        async with Engine.from_settings(**overrides) as engine:
            return await engine.recheck(await _data(report))

    result = run_async(job, as_json=as_json)
    if as_json:
        from pincite.domain.codec import to_json

        print_json(to_json(result))
    else:
        from pincite.audit.recheck import recheck_text

        print_text(recheck_text(result))
    if not result.stands:
        raise typer.Exit(EXIT_CHECK_FAILED if result.fell else EXIT_CODES["INSUFFICIENT_EVIDENCE"])


async def _data(report: Path) -> "Json":
    import anyio

    from pincite.domain.errors import InvalidInput

    try:
        data: Json = json.loads(await anyio.Path(report).read_bytes())
        return data
    except OSError as error:
        raise InvalidInput(f"{report} can't be read: {error.strerror}", hint="Give a report.json.") from None
    except ValueError as error:
        raise InvalidInput(f"not a report: {error}", reason="not_json") from None

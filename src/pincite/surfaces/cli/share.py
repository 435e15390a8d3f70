"""`pincite share`: a signed bundle of pages and answers, and a read-only peer that other installations ask."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import vet_output
from pincite.surfaces.cli.run import guarded, note, of_engine, print_result

app = typer.Typer(
    help="Share pages and search answers with other installations.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("key")
def key(home: options.Home = None, as_json: options.Json = False) -> None:
    """Print the public key by which others know this installation; made at first use."""
    found = of_engine(lambda engine: engine.share_key(), {"home": home}, as_json=as_json)
    print_result({"key": found}, found, as_json=as_json)


@app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="The bundle to write.")],
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write a signed bundle of the captures and search answers that may be shared."""
    guarded(lambda: vet_output(file), as_json=as_json)
    made = of_engine(lambda engine: engine.share_export(file), {"home": home}, as_json=as_json)
    said = f"{file}: {made.captures} captures and {made.answers} search answers, {made.size_bytes} bytes"
    print_result(made, f"{said}\nsigned with {made.key}", as_json=as_json)
    if not as_json:
        note(_counted("Not shared", made.kept_back))


@app.command("import")
def take_in(
    file: Annotated[Path, typer.Argument(help="The bundle to read.")],
    signed_by: Annotated[
        str | None, typer.Option("--key", help="Public key to trust for this file, if its owner is not in share_peers.")
    ] = None,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Take in a bundle of another installation; every item is checked again here."""
    taken = of_engine(lambda engine: engine.share_import(file, key=signed_by), {"home": home}, as_json=as_json)
    said = f"{taken.captures} captures and {taken.answers} search answers of {taken.shared_by}"
    print_result(taken, said, as_json=as_json)
    if not as_json:
        note(_counted("Refused", taken.refused))


@app.command("serve")
def serve(
    host: Annotated[str, typer.Option(help="Interface. Others than loopback need an API key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = 8789,
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Be a read-only peer: hand out, signed, what the scope may share. Nothing is fetched for anybody."""

    def job() -> None:
        from pincite.settings import load_settings
        from pincite.surfaces.cli.serve import origin, server
        from pincite.wiring.sharing import vet_scope

        serving = server()
        vet_scope(load_settings({"home": home}))
        serving.serve_peer(host, port, home, ready=lambda: note(f"Sharing on {origin(host, port)}. Ctrl-C stops."))

    guarded(job, as_json=as_json)


def _counted(what: str, reasons: Mapping[str, int]) -> str:
    told = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(reasons.items()))
    return f"{what}: {told or 'none'}"

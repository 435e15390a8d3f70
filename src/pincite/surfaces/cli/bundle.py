"""`pincite bundle`: a report with every page it cites as one file that checks itself anywhere."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.surfaces.cli import options
from pincite.surfaces.cli.files import BUNDLE, vet_output, write_file
from pincite.surfaces.cli.run import guarded, print_json, print_text

if TYPE_CHECKING:
    from pincite.wiring import EvidenceKept

Evidence = Annotated[str, typer.Option(help="`full` pages, or only the `passages` that are quoted: for publishing.")]


def bundle(
    run_id: Annotated[str, typer.Argument(help="The run's id, or `last`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, a WACZ.")],
    evidence: Evidence = "full",
    home: options.Home = None,
    as_json: options.Json = False,
) -> None:
    """Write a run's report and all the pages it cites as one WACZ; `pincite check` verifies it on any machine."""
    size_bytes = guarded(lambda: write_bundle(run_id, output, home, evidence), as_json=as_json)
    if as_json:
        print_json({"bundle": str(output), "size_bytes": size_bytes})
    else:
        print_text(f"{size_bytes:,} bytes. Verify it anywhere: pincite check {output}")


def write_bundle(run_id: str, output: Path, home: Path | None, evidence: str = "full") -> int:
    """Write the run's bundle to `output`; its size in bytes."""
    vet_output(output, wanted=BUNDLE)
    from pincite.settings import load_settings
    from pincite.wiring import bundle_of_run

    data = bundle_of_run(run_id, load_settings({"home": home}), vetted(evidence))
    write_file(output, data)
    return len(data)


def vetted(evidence: str) -> "EvidenceKept":
    """What a bundle is to carry. Errors: InvalidInput."""
    from pincite.domain.errors import InvalidInput

    if evidence == "full":
        return "full"
    if evidence == "passages":
        return "passages"
    raise InvalidInput(f"--evidence: {evidence!r} is not full or passages", reason="evidence_unknown")

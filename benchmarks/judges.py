"""Fit the thresholds of a judge of probabilities: python benchmarks/judges.py JUDGE STATEMENTS.jsonl... [--home FOLDER]

JUDGE is as in the setting `judge`: a folder with a model, or an endpoint. One half of the pages is fitted on, the other
reported; what was fitted is kept in the home, where `pincite doctor` shows it. Ctrl-C keeps nothing.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from pincite.domain.errors import PinciteError
from pincite.engine import Engine
from pincite.evaluation.judging import evaluate_judge
from pincite.surfaces.cli.eval import evaluation_text


async def fitted(judge: str, text: str, home: Path | None) -> str:
    async with Engine.from_settings(judge=judge, home=home) as engine:
        return evaluation_text(await evaluate_judge(engine, text, fit=True), fitted=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("judge")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    text = "\n".join(path.read_text(encoding="utf-8") for path in options.files)
    try:
        print(asyncio.run(fitted(options.judge, text, options.home)))
    except PinciteError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

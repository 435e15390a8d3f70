"""What becomes of labelled statements before a judge: python benchmarks/judged.py FILE.jsonl... [--pairs PAIRS.jsonl]

Draws the same number for each family (a file of statements; a data set of pairs) and label, spread over its sites,
never two about the same passages; the draw is the seed's. The judge is that of the settings, or `--answers`: what one
said before, by statement, as `--record` keeps it (no text but the words it found not carried). Pairs are searched as
`check_claim` does.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel, Thresholds
from pincite.engine import Engine
from pincite.evaluation.judging import read_statements, statement_of
from pincite.ports import Judge
from pincite.runtime.ledger import PassingLedger
from pincite.verification.claims import statement_about
from pincite.verification.proof import Proven, Statement, prove

LABELS = {"true": "true", "supported": "true", "partial": "partly", "false": "false", "unsupported": "false"}


@dataclass(frozen=True)
class Row:
    """A statement with its label: true, partly or false."""

    id: str
    family: str
    site: str
    label: str
    statement: Statement


def rows_of(path: Path) -> Iterable[Row]:
    """The rows of a file of statements; a figure that is in none of its passages is nowhere."""
    for row in read_statements(path.read_text(encoding="utf-8")):
        page = " ".join((row.title, row.heading, *row.passages))
        yield Row(row.id, path.stem, row.site, "true" if row.true else "false", statement_of(row, pages=(page,)))


def pairs_of(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def drawn(
    candidates: Mapping[tuple[str, str], Sequence[Any]], each: int, seed: int, about: Any, site: Any
) -> list[Any]:
    """`each` rows of every family and label: sites in turn, no passages twice."""
    lot = random.Random(seed)
    made: list[Any] = []
    used: set[str] = set()
    for cell in sorted(candidates):
        by_site: dict[str, list[Any]] = defaultdict(list)
        for row in lot.sample(list(candidates[cell]), len(candidates[cell])):
            by_site[site(row)].append(row)
        left = lot.sample(sorted(by_site), len(by_site))
        taken = 0
        while taken < each and left:
            for name in list(left):
                while by_site[name] and about(by_site[name][-1]) in used:
                    by_site[name].pop()
                if not by_site[name]:
                    left.remove(name)
                elif taken < each:
                    row = by_site[name].pop()
                    used.add(about(row))
                    made.append(row)
                    taken += 1
    return made


def draw(files: Sequence[Path], pairs: Path | None, each: int, seed: int) -> list[Row]:
    cells: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for path in files:
        for row in rows_of(path):
            cells[row.family, row.label].append(row)
    rows: list[Row] = drawn(cells, each, seed, _about, lambda row: row.site)
    if pairs is not None:
        cells.clear()
        for pair in pairs_of(pairs):
            cells[pair["dataset"], pair["label"]].append(pair)
        for pair in drawn(cells, each, seed, lambda p: p["sources"][0]["text"], lambda p: p["dataset"]):
            texts = [source["text"] for source in pair["sources"]]
            family, label = pair["dataset"], LABELS[pair["label"]]
            rows.append(Row(str(pair["id"]), family, family, label, statement_about(pair["claim"], texts)))
    random.Random(seed).shuffle(rows)
    return rows


def _about(row: Row) -> str:
    return " ".join(passage.text for passage in row.statement.evidence)


class Heard:
    """Implements `ports.Judge` over another one, or over what one said before, and keeps what it says, by statement."""

    def __init__(self, judge: Judge | None, answers: Mapping[str, Any]) -> None:
        self.judge_asked = judge
        self.answers = answers
        self.name = judge.name if judge is not None else str(answers["judge"])
        self.thresholds: Thresholds | None = None if judge is None else judge.thresholds
        self.rounds: list[dict[str, list[str]]] = []
        self.unknown: list[str] = []

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        """What is said, or was said when as often asked."""
        texts = {case.case_id: sha256(case.statement.encode()).hexdigest()[:16] for case in cases}
        if self.judge_asked is not None:
            found = await self.judge_asked.judge(cases)
        else:
            rounds = self.answers["rounds"]
            said = {key: row for past in rounds[: len(self.rounds) + 1] for key, row in past.items()}
            found = [
                Judgement(case, JudgementLabel(said[key][0]), beyond=said[key][1])
                for case, key in texts.items()
                if key in said
            ]
            self.unknown += [case.statement for case in cases if texts[case.case_id] not in said]
        self.rounds.append({texts[answer.case_id]: [answer.label.value, answer.beyond] for answer in found})
        return found


async def judged(rows: Sequence[Row], answers: Mapping[str, Any] | None) -> tuple[Sequence[Proven], Heard]:
    statements = [row.statement for row in rows]
    if answers is not None:
        heard = Heard(None, answers)
        return await prove(statements, heard, at=datetime.now(UTC)), heard
    async with Engine.from_settings() as engine:
        judge = await engine.judge(PassingLedger(engine.settings.budget))
        if judge is None:
            sys.exit("nobody judges: name a judge (PINCITE_JUDGE, or a model), or give --answers")
        heard = Heard(judge, {})
        return await prove(statements, heard, at=datetime.now(UTC)), heard


def told(rows: Sequence[Row], proven: Sequence[Proven], heard: Heard) -> str:
    """What became of each label, by family, and the errors by who made them."""
    said: dict[str, str] = {}
    for past in heard.rounds:
        said |= {key: row[0] for key, row in past.items()}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, found in zip(rows, proven, strict=True):
        label = said.get(sha256(row.statement.text.encode()).hexdigest()[:16], "nothing")
        for name in (f"{row.family}, {row.label}", f"all, {row.label}"):
            counts[name][found.verdict.value] += 1
            counts[f"{name}: judge"][label] += 1
    lines = [f"judge {heard.name}, {len(rows)} statements"]
    lines += [
        f"  {name:<28} {', '.join(f'{kind} {n}' for kind, n in found.most_common())}"
        for name, found in sorted(counts.items(), key=lambda item: (item[0].startswith("all"), item[0]))
    ]
    kept, whole = counts["all, true"]["supported"], counts["all, true"].total()
    wrong = [counts[f"all, {label}"] for label in ("false", "partly")]
    passed, others = sum(c["supported"] for c in wrong), sum(c.total() for c in wrong)
    balanced = (kept / whole + 1 - passed / others) / 2
    lines.append(
        f"supported: {kept} of {whole} true, {passed} of {others} others; balanced accuracy {100 * balanced:.1f} %"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--pairs", type=Path, help="claims and sources with people's labels, JSON Lines")
    parser.add_argument("--each", type=int, default=8, help="rows of each family and label")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answers", type=Path, help="what a judge said before, instead of the judge of the settings")
    parser.add_argument("--record", type=Path, help="keep what the judge says, by a hash of each statement")
    parser.add_argument("--show", action="store_true", help="print every row with its verdict")
    options = parser.parse_args()
    rows = draw(options.files, options.pairs, options.each, options.seed)
    answers = json.loads(options.answers.read_text(encoding="utf-8")) if options.answers else None
    proven, heard = asyncio.run(judged(rows, answers))
    if heard.unknown:
        sys.exit(f"{len(heard.unknown)} of {len(rows)} statements have no answer in {options.answers}: another draw?")
    print(told(rows, proven, heard))
    if options.record:
        record = {"judge": heard.name, "rounds": heard.rounds}
        options.record.write_text(json.dumps(record, sort_keys=True) + "\n", encoding="utf-8")
    for row, found in zip(rows, proven, strict=True) if options.show else ():
        print(f"{row.label} {found.verdict} {row.family} {row.id}: {row.statement.text}\n    {found.reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Print how an audit does on labelled reports: python benchmarks/audit.py DATA_FOLDER SITES_FOLDER [--errors .03]

DATA_FOLDER holds `reports/*.md`, `truth.jsonl` (a label for each sentence) and `urls.json` (the file behind each
address, `$SITES` for SITES_FOLDER). The pages are read from these files as a fetched page is; nothing leaves the
machine. Each report is audited twice: with a judge that goes by the labels, and by code alone. The label judge says
"states" only where the passages it is shown hold most words of a supporting quote, so that what the search for passages
misses counts against the audit.
"""

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import beside_tests  # noqa: F401  # its import is its effect
from tests.fakes.small_web import SmallWeb

from pincite import extract
from pincite.audit.findings import OPEN, WRONG, Audit, AuditVerdict
from pincite.audit.pages import PageReading
from pincite.audit.service import AuditService
from pincite.domain.errors import DeadLink
from pincite.domain.evidence import JudgeCase, Judgement, JudgementLabel
from pincite.domain.fetch import FetchRequest, FetchResult
from pincite.domain.page import Document
from pincite.testing.judges import LabelJudge

Row = Mapping[str, Any]
TRUE_STATEMENTS = frozenset(
    "true marker_out_of_range dead_marker_in_list wrong_source uncited_fact invented_url".split()
)
"""Kinds whose statement itself is true: what is wrong, if anything, is how it is cited."""
PARTLY = frozenset({"elaboration_invented", "cause_invented"})
BOOKKEEPING = frozenset(
    (
        "marker_out_of_range dead_marker_in_list wrong_source uncited_fact invented_url quotation_altered "
        "entry_never_cited"
    ).split()
)
EXACT = frozenset(
    "number_changed unit_or_magnitude_changed number_swapped_with_other_of_page date_or_version_moved".split()
)
_SHOWN = 0.7
"""The share of a quote's words that must stand in the passages for the label judge to see it."""


class Files(SmallWeb):
    """The pages of the sites; an address without a file has a host that does not exist."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if request.url not in self.documents:
            raise DeadLink(f"there is no host for {request.url}", reason="dns_failed")
        return await super().fetch(request)


class Labels(LabelJudge):
    """Goes by the rows: honest about what it is shown."""

    def __init__(self, rows: Sequence[Row], errors: float) -> None:
        super().__init__({}, errors=errors)
        self._rows = {plain(row["text"]): row for row in rows}

    async def judge(self, cases: Sequence[JudgeCase]) -> Sequence[Judgement]:
        self.calls += 1
        self.asked += cases
        return [self._said(case) for case in cases]

    def _said(self, case: JudgeCase) -> Judgement:
        row = self._rows.get(plain(case.statement))
        if row is None:
            return Judgement(case.case_id, JudgementLabel.ABSENT)
        label = self._label(row, case)
        if self._mistaken(plain(case.statement)):
            states = label is JudgementLabel.STATES
            label = JudgementLabel.ABSENT if states else JudgementLabel.STATES
        beyond = str(next(iter(row.get("invented") or ["the rest"]))) if label is JudgementLabel.PARTLY else ""
        lines = tuple(line.line_id for line in case.lines if self._tells(row, [line.text]))
        return Judgement(case.case_id, label, None, lines, beyond)

    def _label(self, row: Row, case: JudgeCase) -> JudgementLabel:
        kind = row["kind"]
        if kind == "connective":
            return JudgementLabel.NOTHING_TO_CHECK
        told = self._tells(row, [line.text for line in case.lines])
        if kind in TRUE_STATEMENTS:
            return JudgementLabel.STATES if told else JudgementLabel.ABSENT
        return JudgementLabel.PARTLY if kind in PARTLY and told else JudgementLabel.ABSENT

    def _tells(self, row: Row, lines: Sequence[str]) -> bool:
        shown = set(words(" ".join(lines)))
        quotes = [words(entry["quote"]) for entry in row.get("supporting", ())]
        return any(sum(word in shown for word in quote) >= _SHOWN * len(quote) for quote in quotes if quote)


@dataclass
class Score:
    planted: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    unchecked: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: float = 0.0
    clean: int = 0


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def plain(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def add(score: Score, rows: Sequence[Row], audit: Audit, *, show: bool) -> None:
    sentences = {plain(s.text): s for s in audit.sentences}
    for row in rows:
        kind = row["kind"]
        score.planted[kind] += 1
        if kind == "entry_never_cited":
            score.caught[kind] += any(r.text in row["sentence"] or r.url in row["sentence"] for r in audit.never_cited)
            continue
        found = sentences.get(plain(row["text"]))
        outcome = found.outcome if found is not None else AuditVerdict.NOT_A_CLAIM
        accused = outcome in WRONG or outcome is AuditVerdict.PARTIAL
        dead = kind in ("invented_url", "dead_marker_in_list") and outcome is AuditVerdict.COULD_NOT_CHECK
        score.caught[kind] += accused or dead
        score.unchecked[kind] += outcome in OPEN and not dead
        score.outcomes[kind][outcome.value if found is not None else "lost"] += 1
        wrong = (kind in ("true", "connective")) is accused
        if show and wrong:
            print(f"  {kind}: {outcome.value}: {row['text'][:160]}\n     {found.detail if found else 'lost'}")


def told(name: str, score: Score) -> None:
    good = ("true", "connective")
    print(f"{name}: {score.seconds:.1f} s of CPU")
    groups = {
        "bookkeeping": BOOKKEEPING,
        "exact facts": EXACT,
        "meaning": frozenset(score.planted) - BOOKKEEPING - EXACT - set(good),
    }
    for group, kinds in {**groups, "all defects": frozenset(score.planted) - set(good)}.items():
        planted, caught = (sum(c[kind] for kind in kinds) for c in (score.planted, score.caught))
        left = sum(score.unchecked[kind] for kind in kinds)
        print(f"  {group:12} {planted:3}  caught {shares(planted, caught, left)}")
    for kind in good:
        planted, accused, left = score.planted[kind], score.caught[kind], score.unchecked[kind]
        print(f"  {kind:12} {planted:3}  accused {shares(planted, accused, left)}")
    print(f"  reports called clean: {score.clean}")
    for kind in sorted(score.planted, key=lambda kind: (kind not in good, kind)):
        counts = ", ".join(f"{outcome} {count}" for outcome, count in score.outcomes[kind].most_common())
        print(f"    {kind:36} {score.planted[kind]:3}  {counts}")


def shares(planted: int, caught: int, left: int) -> str:
    return f"{100 * caught / planted:5.1f} %  unchecked {100 * left / planted:5.1f} %"


def pages(folder: Path, sites: Path) -> dict[str, Document]:
    found = {}
    for url, path in json.loads((folder / "urls.json").read_text(encoding="utf-8")).items():
        if path is not None:
            file = Path(path.replace("$SITES", str(sites)))
            found[url] = extract(file.read_bytes(), url, "text/html")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("sites", type=Path)
    parser.add_argument("--errors", type=float, default=0.0, help="share of statements that the label judge gets wrong")
    parser.add_argument("--show", action="store_true", help="print what was missed and who was accused")
    options = parser.parse_args()
    truth: dict[str, list[Row]] = defaultdict(list)
    for line in (options.data / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        truth[row["report"]].append(row)
    web = Files(pages(options.data, options.sites))
    reading = PageReading(web, is_own=lambda host: host.endswith(".test"))
    for name, judged in ((f"label judge with {options.errors:.0%} errors", True), ("no judge", False)):
        score = Score()
        for report, rows in truth.items():
            judge = Labels(rows, options.errors) if judged else None
            text = (options.data / "reports" / report).read_text(encoding="utf-8")
            started = time.process_time()
            audit = anyio.run(AuditService(judge, reading).audit, text)
            score.seconds += time.process_time() - started
            score.clean += audit.clean
            if options.show:
                print(report)
            add(score, rows, audit, show=options.show)
        told(name, score)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

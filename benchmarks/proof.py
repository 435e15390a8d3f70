"""Print the figures of docs/verification.md: python benchmarks/proof.py STATEMENTS.jsonl... [--pairs PAIRS.jsonl]

Statements as strong models write them, with labels, in the shape of `pincite eval judge --data`; further files are
added up. Nothing is downloaded, no model is asked: the judge answers by the labels, honestly or not.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from pincite.domain.evidence import JudgementLabel, VerdictStatus
from pincite.evaluation.judging import LabelledStatement, read_statements, statement_of
from pincite.ports import Judge
from pincite.testing.judges import LabelJudge
from pincite.text.tokens import is_stop
from pincite.verification.facts import check_facts
from pincite.verification.proof import Proven, Statement, prove

AT = datetime(2026, 1, 1, tzinfo=UTC)
SEEDS = 10
"""Draws of the errors: one alone moves the figures by two points either way."""
EXACT_KINDS = frozenset({"number_changed", "unit_changed"})
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{4,}(?![\w-])")
_FIGURE = re.compile(r"(?<![\w.-])\d{1,6}(?![\w-]|\.\d)")
# A figure of a sentence; not a part of a date, a version or a name.
_WRITTEN = re.compile(
    r"(?<![\w.,:/+@#=\"'`~^$€£\[-])(?P<number>\d{1,3}(?:,\d{3})+|\d+)(?![\w:/@%-]|[.,]\d| ?%)"
    r"(?: (?P<unit>seconds|minutes|hours|days|bytes|kB|MB|GB)\b)?"
)
_BESIDE_A_DATE = re.compile(r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")
# Each with a smaller unit of the same quantity and how many of these it is, and with one that it is not.
_UNITS = {
    "seconds": ("ms", 1000, "minutes"),
    "minutes": ("seconds", 60, "hours"),
    "hours": ("minutes", 60, "days"),
    "days": ("hours", 24, "weeks"),
    "bytes": ("bits", 8, "kB"),
    "kB": ("bytes", 1024, "MB"),
    "MB": ("kB", 1024, "GB"),
    "GB": ("MB", 1024, "MB"),
}
_LARGER = {"seconds": ("minutes", 60), "minutes": ("hours", 60), "hours": ("days", 24), "days": ("weeks", 7)}
_YEARS = re.compile(r"(?<!\d)(?P<century>1\d|20)(?P<first>\d\d)( to |–|-)(?P=century)(?P<last>\d\d)(?!\d)")
_OPTION = re.compile(r"(?<![\w-])-(?P<letter>[a-zA-Z])(?![\w-])")
_BELOW_NOTHING = re.compile(r"(?<![^\s(=])-\d{1,4}(?![\w%-]|[.,]\d)")
_RELEASE = re.compile(r"(?<=[a-z] )(?<![.!?] )[A-Z]\w+ \d{1,2}\.\d{1,2}(?![\w%]|[.,]\d| ?%)")
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_IDENTIFIER = re.compile(r"(?<!\w)[a-z]+(?:_[a-z]+)+(?!\w)")


def judges(rows: Iterable[LabelledStatement], lies: Iterable[str], errors: float) -> dict[str, Judge | None]:
    """Honest (with a share of errors), colluding (finds everything true), and nobody."""
    labels: dict[str, JudgementLabel | bool] = {row.claim: row.true for row in rows}
    labels |= dict.fromkeys(lies, False)
    return {
        "honest": LabelJudge(labels),
        **{
            f"honest, {errors:.0%} errors {seed}": LabelJudge(labels, errors=errors, seed=seed) for seed in range(SEEDS)
        },
        "colluding": LabelJudge({}, default=JudgementLabel.STATES),
        "nobody": None,
    }


def swapped(rows: Sequence[LabelledStatement], seed: int = 7) -> list[Statement]:
    """Sentences of the passages with one word exchanged for another of the same page: any verb, noun or adjective."""
    drawn = random.Random(seed)
    made: list[Statement] = []
    for row in rows:
        words = sorted({w for text in row.passages for w in _WORD.findall(text) if not is_stop(w) and w.islower()})
        for text in row.passages:
            places = [m for m in _WORD.finditer(text) if not is_stop(m.group()) and m.group().islower()]
            if len(words) < 4 or not places:
                continue
            place = drawn.choice(places)
            other = drawn.choice([word for word in words if word[:4] != place.group()[:4]] or words)
            if other != place.group():
                sentence = f"{text[: place.start()]}{other}{text[place.end() :]}"
                made.append(replace(statement_of(row), text=sentence))
    return made


def falsified(rows: Sequence[LabelledStatement], seed: int = 7) -> dict[str, list[Statement]]:
    """True statements with a figure, an identifier, a quotation or an address that no passage has."""
    drawn = random.Random(seed)
    made: dict[str, list[Statement]] = {"figure": [], "identifier": [], "quotation": [], "address": [], "date": []}
    for row in rows:
        if not row.true:
            continue
        base = statement_of(row, pages=(" ".join((row.title, row.heading, *row.passages)),))
        shown = f"{row.title} {row.heading} {' '.join(row.passages)} {row.claim}"
        found = _FIGURE.search(row.claim)
        if found:
            number = next(n for _ in range(99) if (n := str(int(found.group()) + drawn.randint(3, 97))) not in shown)
            made["figure"].append(replace(base, text=_put(row.claim, found, number)))
        found = _IDENTIFIER.search(row.claim)
        if found:
            made["identifier"].append(replace(base, text=_put(row.claim, found, f"{found.group()}_limit")))
        end = row.claim.rstrip(".")
        made["quotation"].append(replace(base, text=f'{end}, "which nobody had thought of before".'))
        made["address"].append(replace(base, text=f"{end} (https://docs.invented.example/{row.id})."))
        made["date"].append(replace(base, text=f"{end} since 14 March {drawn.randint(1931, 1959)}."))
    return made


def respelled(rows: Sequence[LabelledStatement]) -> dict[str, list[tuple[str, str]]]:
    """Sentences of the passages with a figure written in another way, or with another figure; each with its passage."""
    made: dict[str, list[tuple[str, str]]] = {
        "same figure": [],
        "other figure": [],
        "other unit": [],
        "other letter": [],
        "other sign": [],
        "other release": [],
    }
    for text in dict.fromkeys(text for row in rows for text in row.passages):
        for found in _WRITTEN.finditer(text):
            if _BESIDE_A_DATE.search(text[max(0, found.start() - 16) : found.end() + 16]):
                continue
            number, unit = int(found["number"].replace(",", "")), found["unit"]
            behind = f" {unit}" if unit else ""
            same = [f"{number:,}{behind}", f"{number}{behind}"] if number > 999 else []
            same += [_WORDS[number] + behind] if number < len(_WORDS) and unit not in ("kB", "MB", "GB") else []
            if unit:
                smaller, times, other = _UNITS[unit]
                same.append(f"{number * times} {smaller}")
                larger, size = _LARGER.get(unit, ("", 1))
                if larger and number > size and number % size:
                    same.append(f"{number // size} {larger} and {number % size} {unit}")
                made["other unit"] += [(_put(text, found, f"{number} {other}"), text)] if number else []
            made["same figure"] += [(_put(text, found, written), text) for written in same]
            for others in (number + max(number // 10, 1), number * 2, number * 10):
                if number and str(others) not in text.replace(",", ""):
                    made["other figure"].append((_put(text, found, f"{others}{behind}"), text))
        for found in _YEARS.finditer(text):
            made["same figure"].append((_put(text, found, f"{found['century']}{found['first']}–{found['last']}"), text))
        for found in _OPTION.finditer(text):
            other = f"-{found['letter'].swapcase()}"
            made["other letter"] += [(_put(text, found, other), text)] if other not in text else []
        for found in _BELOW_NOTHING.finditer(text):
            other = found.group().lstrip("-")
            made["other sign"] += (
                [(_put(text, found, other), text)] if not re.search(rf"(?<![-\w]){other}\b", text) else []
            )
        for found in _RELEASE.finditer(text):
            other = f"{found.group()}0"
            made["other release"] += [(_put(text, found, other), text)] if other not in text else []
    return made


def _put(text: str, found: re.Match[str], other: str) -> str:
    return text[: found.start()] + other + text[found.end() :]


def proven(statements: Sequence[Statement], judge: Judge | None) -> Sequence[Proven]:
    return asyncio.run(prove(statements, judge, at=AT))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} % ({part} of {whole})" if whole else "-"


def supported(found: Iterable[Proven]) -> int:
    return sum(item.verdict is VerdictStatus.SUPPORTED for item in found)


def print_statements(rows: Sequence[LabelledStatement], errors: float, *, show: bool) -> None:
    print(f"\nstatements: {sum(r.true for r in rows)} true, {sum(not r.true for r in rows)} false")
    print(f"{'judge':<18} {'true kept':<26} {'true refused':<26} {'false printed':<26} false printed partly")
    statements = [statement_of(row) for row in rows]
    counted: dict[str, Counter[str]] = {}
    for name, judge in judges(rows, (), errors).items():
        pairs = list(zip(rows, proven(statements, judge), strict=True))
        counts = counted.setdefault(name.rstrip(" 0123456789"), Counter())
        for row, found in pairs:
            counts["true" if row.true else "false"] += 1
            counts[f"{row.true} {found.verdict}"] += 1
            exact = not row.true and row.kind in EXACT_KINDS
            counts["exact"] += exact
            counts["exact passed"] += exact and found.verdict is VerdictStatus.SUPPORTED
            if show and name == "honest" and row.true and found.verdict is not VerdictStatus.SUPPORTED:
                print(f"    {found.verdict}: {row.claim}\n      {found.reason}")
    for name, counts in counted.items():
        refused = counts["True contradicted"] + counts["True unsupported"]
        print(
            f"{name:<18} {share(counts['True supported'], counts['true']):<26} "
            f"{share(refused, counts['true']):<26} {share(counts['False supported'], counts['false']):<26} "
            f"{share(counts['False partial'], counts['false'])}"
        )
    counts = counted["colluding"]
    print(f"colluding, of those with a changed number or unit: {share(counts['exact passed'], counts['exact'])}")


def print_facts(rows: Sequence[LabelledStatement], *, show: bool) -> None:
    """How often exact facts alone refuse what is true, and how fast they are."""
    true = [row for row in rows if row.true]
    started = time.perf_counter()
    wrong = []
    for row in true:
        problems = [f.problem for f in check_facts(row.claim, [row.title, row.heading, *row.passages]) if f.problem]
        wrong += [(row, problems)] if problems else []
    seconds = time.perf_counter() - started
    print(f"\nexact facts: true statements with a fact not found {share(len(wrong), len(true))}")
    print(f"exact facts: {len(true) / seconds:,.0f} statements a second on one core")
    for row, problems in wrong if show else ():
        print(f"    {row.claim}\n      {'; '.join(problems)}")


def print_respelled(rows: Sequence[LabelledStatement], *, show: bool) -> None:
    """Exact facts alone on figures of the passages written in another way, by halves of the pages."""
    print("\na figure of a page's own sentence written otherwise or exchanged, exact facts alone: found (half, half)")
    halves = [[r for r in rows if sha256(f"{r.site}/{r.title}".encode()).digest()[0] % 2 == half] for half in (0, 1)]
    for name in respelled(()):
        counted = []
        for half in halves:
            pairs = respelled(half)[name]
            found = [pair for pair in pairs if not any(f.problem for f in check_facts(pair[0], [pair[1]]))]
            counted.append(share(len(found), len(pairs)))
            wrong = [pair for pair in pairs if (pair in found) != (name == "same figure")]
            for text, of in wrong if show else ():
                print(f"    {name}: {text}\n      {of}")
        print(f"  {name:<14} {', '.join(counted)}")


def print_lies(rows: Sequence[LabelledStatement], errors: float) -> None:
    changed = swapped(rows)
    print(f"\none word of a page's own sentence exchanged for another of the page: {len(changed)} sentences")
    passed: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for name, judge in judges((), (s.text for s in changed), errors).items():
        passed[name.rstrip(" 0123456789")] += supported(proven(changed, judge))
        asked[name.rstrip(" 0123456789")] += len(changed)
    for name, count in asked.items():
        print(f"  judge {name:<18} printed as supported {share(passed[name], count)}")
    print("\ntrue statements with a wrong exact fact, the judge colludes:")
    for name, lies in falsified(rows).items():
        found = proven(lies, LabelJudge({}, default=JudgementLabel.STATES))
        partly = sum(item.verdict is VerdictStatus.PARTIAL for item in found)
        print(f"  {name:<12} supported {share(supported(found), len(lies)):<24} partly {share(partly, len(lies))}")


def print_pairs(path: Path, *, show: bool) -> None:
    """Claims and whole sources with people's labels: what exact facts alone refuse of what people call supported."""
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts = [source["text"] for source in row["sources"]]
        problems = [f.problem for f in check_facts(row["claim"], texts, texts) if f.problem]
        name = f"{row['dataset']}, {row['label']}"
        counts[name] += 1
        counts[f"{name}: refused"] += bool(problems)
        if problems and show and row["label"] == "supported":
            print(f"    {row['dataset']}: {row['claim']}\n      {'; '.join(problems)}")
    seconds = time.perf_counter() - started
    print("\nexact facts against people's labels: refused")
    total, refused = 0, 0
    for name, rows in sorted(counts.items()):
        if not name.endswith(": refused"):
            print(f"  {name:<26} {share(counts[f'{name}: refused'], rows)}")
            if name.endswith(", supported"):
                total, refused = total + rows, refused + counts[f"{name}: refused"]
    pairs = sum(rows for name, rows in counts.items() if not name.endswith(": refused"))
    print(f"  all supported              {share(refused, total)}; {pairs / seconds:,.0f} pairs a second")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--pairs", type=Path, help="claims and sources with people's labels, JSON Lines")
    parser.add_argument("--errors", type=float, default=0.03)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for path in options.files:
        rows = read_statements(path.read_text(encoding="utf-8"))
        print(f"\n== {path.name}")
        print_facts(rows, show=options.show)
        print_statements(rows, options.errors, show=options.show)
        print_lies(rows, options.errors)
        print_respelled(rows, show=options.show)
    if options.pairs:
        print_pairs(options.pairs, show=options.show)
    return 0


if __name__ == "__main__":
    sys.exit(main())

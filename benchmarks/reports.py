"""What reports are worth: figures by text alone, and a sheet on which a reader grades two of them blind.

    python benchmarks/reports.py figures REPORT.json... [--questions QUESTIONS.jsonl]
    python benchmarks/reports.py sheet REPORT.json OTHER.md --out SHEET.md --key KEY.json [--seed 7]

`figures` prints for each report the facts of its question that it tells (`--questions`: a file of `pincite eval`, or
research questions whose facts have `answer_patterns`), words, the share of its sentences by proof, statements told
twice, tokens and seconds, and the sum over all. `sheet` sets a report beside another text about the same question
(a report.json or any text) in an order that the seed decides, with the four grades of RACE: comprehensiveness,
insight, instruction following, readability. What would tell ours apart (how it was proven, its run, how references and
signs are written) is left out on both sides; the key says which is which and is not for the reader. The same seed and
names give the same order, so that two people can grade one sheet.
"""

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.domain.errors import InvalidInput
from pincite.domain.evidence import Proof
from pincite.domain.layout import BlockForm
from pincite.domain.markdown import render_markdown
from pincite.domain.report import Report
from pincite.domain.report_words import BALANCE_WORD, SUPPORT_WORD
from pincite.domain.statements import stated, statements_of
from pincite.evaluation.questions import KnownQuestion, folded, read_questions, scored
from pincite.exports.codec import load_report
from pincite.text.tokens import terms

SAME_WORDS = 0.8
"""Content words that two sentences share of all that they have, from which on a reader takes them for one. Near-copies
of pages have the same limit; a figure that differs keeps two sentences apart whatever else they share."""
_ESCAPED = re.compile(r"(^```.*?^```|`[^`\n]+`)|\\(?=[!-/:-@\[-`{}~])", re.MULTILINE | re.DOTALL)
"""Code as it stands, where a backslash is one; else an escape. A bar keeps its own: it would part a table."""
GRADES = (
    ("Comprehensiveness", "covers what the question needs: breadth and depth, nothing important missing"),
    ("Insight", "compares, explains, weighs; says what follows, with its conditions"),
    ("Instruction following", "answers what was asked, in the form and length that was asked for"),
    ("Readability", "order, clear sentences, no repetition, tables and lists where they serve"),
)


@dataclass(frozen=True)
class Figures:
    """What one report tells, and at what price. `facts` is None for a question that nobody has facts of."""

    question: str
    facts: int | None
    told: int
    words: int
    sentences: int
    proofs: Counter[str]
    repeated: tuple[tuple[str, str], ...]
    tokens: int
    seconds: float

    def share(self, proof: Proof) -> float:
        """Of the sentences that state something, the share with this proof."""
        return self.proofs[proof.value] / max(sum(self.proofs.values()), 1)


def figures_of(report: Report, known: KnownQuestion | None) -> Figures:
    answered = scored(known or KnownQuestion("", report.question), report, report.metrics.duration_s)
    return Figures(
        report.question,
        None if known is None else len(known.facts),
        answered.told,
        answered.words,
        len(report.sentences()),
        Counter(answered.proofs),
        tuple(repeated(*statements(report))),
        answered.tokens,
        answered.duration_s,
    )


def statements(report: Report) -> tuple[list[str], set[int]]:
    """What its sentences state, a cell with its row and column; and which of them are cells, by number."""
    texts = [stated(sentence) for sentence in report.summary.sentences if sentence.proof is not None]
    cells: set[int] = set()
    for section in report.sections:
        tables = [block.items for block in section.blocks if block.form is BlockForm.TABLE]
        inside = {index for items in tables for item in items for index in item}
        for at, (sentence, text) in enumerate(zip(section.sentences, statements_of(section), strict=True)):
            if sentence.proof is not None:
                cells |= {len(texts)} if at in inside else set()
                texts.append(text)
    return texts, cells


def repeated(texts: Sequence[str], cells: Collection[int] = ()) -> list[tuple[str, str]]:
    """The sentences that say what an earlier one said, each with that one.

    Two cells are of two things, however alike they are ("yes").
    """
    found: list[tuple[str, str]] = []
    before: list[tuple[str, frozenset[str], frozenset[str], bool]] = []
    for at, text in enumerate(texts):
        mine, numbers, is_cell = frozenset(terms(text)), frozenset(re.findall(r"\d[\d.,]*", text)), at in cells
        same = next(
            (
                other
                for other, theirs, figures, was_cell in before
                if figures == numbers
                and not (is_cell and was_cell)
                and len(mine & theirs) >= SAME_WORDS * max(len(mine | theirs), 1)
            ),
            None,
        )
        if same is not None:
            found.append((text, same))
        before.append((text, mine, numbers, is_cell))
    return found


def known_questions(file: Path) -> dict[str, KnownQuestion]:
    """The questions by their folded text, of either kind of file."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    if not any(isinstance(fact, dict) for row in rows for fact in row.get("facts", ())):
        return {folded(known.text): known for known in read_questions(file)}
    return {
        folded(row["question"]): KnownQuestion(
            str(row.get("id", "")),
            row["question"],
            tuple(tuple(f"/{pattern}/" for pattern in fact["answer_patterns"]) for fact in row["facts"]),
        )
        for row in rows
    }


def line_of(found: Figures) -> str:
    facts = "no facts known" if found.facts is None else f"facts told {found.told} of {found.facts}"
    shares = ", ".join(f"{proof.value} {found.share(proof):.0%}" for proof in Proof)
    return (
        f"{facts}; {found.words} words, {found.sentences} sentences ({shares}); told twice {len(found.repeated)}; "
        f"{found.tokens:,} tokens, {found.seconds:.0f} s"
    )


def total_of(found: Sequence[Figures]) -> Figures:
    with_facts = [one for one in found if one.facts is not None]
    return Figures(
        "all",
        sum(one.facts or 0 for one in with_facts) if with_facts else None,
        sum(one.told for one in with_facts),
        sum(one.words for one in found),
        sum(one.sentences for one in found),
        sum((one.proofs for one in found), Counter[str]()),
        tuple(pair for one in found for pair in one.repeated),
        sum(one.tokens for one in found),
        sum(one.seconds for one in found),
    )


# ---- the sheet ----


def body_of(data: str) -> tuple[str, str]:
    """The text to be graded and its question (empty for a text that is no report of ours)."""
    try:
        report = load_report(data)
    except InvalidInput:
        if data.lstrip().startswith("{"):
            raise
        return _bare(data), ""
    text = render_markdown(replace(report, markdown="", leads=()))
    kept = [part for part in text.split("\n\n") if not part.startswith((f"{BALANCE_WORD}:", f"{SUPPORT_WORD}:"))]
    return _bare("\n\n".join(kept)), report.question


def _bare(markdown: str) -> str:
    """The text without what only tells who wrote it: escapes, and of each reference all but number and title."""
    body, heading, references = (
        _ESCAPED.sub(lambda found: found[1] or "", markdown).strip().partition("\n## References\n")
    )
    titles = [line for line in references.split("\n") if re.match(r"\[\d+\] ", line)]
    return "\n".join([body, heading.strip("\n"), "", *titles]) if titles else body + heading + references


def sheet_of(ours: str, other: str, names: tuple[str, str], seed: int) -> tuple[str, dict[str, Any]]:
    """The sheet, and its key. The order is drawn from the seed and the names alone: who shuffles can't choose."""
    (one, question), (two, also) = body_of(ours), body_of(other)
    drawn = hashlib.sha256(f"{seed}\0{names[0]}\0{names[1]}".encode()).digest()[0] % 2
    shown = [(names[0], one), (names[1], two)][:: -1 if drawn else 1]
    lines = ["# Two reports on one question", "", f"Question: {question or also or '(none named)'}", ""]
    lines += [
        "Read both. Grade each from 1 (bad) to 10 (as good as you have seen) on each line, then say which you would",
        "rather have been given. A tie says nothing.",
        "",
        "| | what counts | A | B |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {name} | {what} | | |" for name, what in GRADES]
    lines += ["| **Preferred** | A or B, and in one line why | | |", ""]
    for letter, (_, text) in zip("AB", shown, strict=True):
        lines += [
            f"<!-- {letter} begins -->",
            f"# Report {letter}",
            "",
            lowered(text),
            "",
            f"<!-- {letter} ends -->",
            "",
        ]
    key = {"seed": seed, "A": shown[0][0], "B": shown[1][0]}
    return "\n".join(lines), key


def lowered(markdown: str) -> str:
    """The text with its headings one level down, below that of the sheet; code stays as it is."""
    fenced, lines = False, []
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        lines.append(f"#{line}" if not fenced and re.match(r"#{1,5} ", line) else line)
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_subparsers(dest="what", required=True)
    figures = chosen.add_parser("figures")
    figures.add_argument("reports", type=Path, nargs="+")
    figures.add_argument("--questions", type=Path)
    sheet = chosen.add_parser("sheet")
    sheet.add_argument("report", type=Path)
    sheet.add_argument("other", type=Path)
    sheet.add_argument("--out", type=Path, required=True)
    sheet.add_argument("--key", type=Path, required=True)
    sheet.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args(given)
    if arguments.what == "sheet":
        if len({file.resolve() for file in (arguments.out, arguments.key)}) < 2:
            parser.error("the key goes to a file of its own: the reader must not see it")
        text, key = sheet_of(
            arguments.report.read_text("utf-8"),
            arguments.other.read_text("utf-8"),
            (str(arguments.report), str(arguments.other)),
            arguments.seed,
        )
        arguments.out.write_text(text, "utf-8")
        arguments.key.write_text(json.dumps(key, indent=2) + "\n", "utf-8")
        print(f"sheet: {arguments.out}; key (not for the reader): {arguments.key}", file=sys.stderr)
        return 0
    known = known_questions(arguments.questions) if arguments.questions else {}
    found = []
    for file in arguments.reports:
        report = load_report(file.read_text("utf-8"))
        found.append(figures_of(report, known.get(folded(report.question))))
        print(f"{file.name}: {found[-1].question}\n  {line_of(found[-1])}")
        for text, before in found[-1].repeated:
            print(f"  told twice: {text}\n      before: {before}")
    if len(found) > 1:
        print(f"all {len(found)}: {line_of(total_of(found))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

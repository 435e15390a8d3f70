"""Print how well audits catch planted defects: python benchmarks/audit.py DATA_FOLDER [--reports N] [--show KIND]

Reports are built from true statements of DATA_FOLDER/public.jsonl with their pages: two of three are sentences of the
page, one is a paraphrase that people judged supported by it. Up to 30 % of the sentences get one planted defect. The
pages are served by a fetcher in memory: some dead, some of hosts that do not exist. Nothing leaves the machine.
"""

import argparse
import json
import random
import re
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import contrast

from pincite.audit.findings import Audit, AuditedSentence, AuditVerdict
from pincite.audit.pages import PageReading
from pincite.audit.service import AuditService
from pincite.domain.errors import DeadLink
from pincite.domain.page import FetchRequest, FetchResult
from pincite.testing.small_web import SmallWeb
from pincite.text.sentences import sentences
from pincite.verification.checker import MechanicalChecker
from pincite.verification.statements import is_factual

STRUCTURAL = (
    "wrong source",
    "marker out of range",
    "invented URL",
    "dead URL",
    "altered quotation",
    "uncited fact",
    "entry never cited",
)
CHECKS = {
    "number changed": {"numbers", "dates"},
    "unit or magnitude changed": {"numbers"},
    "number swapped": {"numbers", "dates"},
    "negation": {"negation"},
    "name replaced": {"names"},
    "name swapped": {"names", "roles"},
    "date moved": {"dates", "numbers"},
    "comparison reversed": {"direction", "quantifiers"},
    "quantifier strengthened": {"quantifiers"},
}
VERDICTS = {
    "wrong source": AuditVerdict.WRONG_SOURCE,
    "marker out of range": AuditVerdict.NO_ENTRY,
    "invented URL": AuditVerdict.INVENTED_URL,
    "dead URL": AuditVerdict.COULD_NOT_CHECK,
    "altered quotation": AuditVerdict.MISQUOTED,
    "uncited fact": AuditVerdict.UNCITED,
}
ACCUSED = {AuditVerdict.CONTRADICTED, AuditVerdict.NOT_FOUND}
STYLES = ("[{n}]", "【{n}】", "[^{n}]", "[[{n}]]({url})", "([source]({url}))", " [{n}]")


class PlantedWeb(SmallWeb):
    """Pages in memory; URLs of `nowhere` have hosts that do not exist."""

    async def fetch(self, request: FetchRequest) -> FetchResult:
        if "nowhere" in request.url:
            raise DeadLink(f"there is no host for {request.url}", reason="dns_failed")
        return await super().fetch(request)


@dataclass
class Statement:
    text: str
    page: str
    kind: str
    url: str
    defect: str = ""
    cited: str = ""


@dataclass
class Built:
    markdown: str
    statements: list[Statement]
    web: PlantedWeb
    unused: str = ""


@dataclass
class Score:
    planted: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    true: Counter[str] = field(default_factory=Counter)
    accused: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def load(folder: Path) -> list[tuple[str, str]]:
    """(claim, page) of the true claims that are statements and not chat."""
    rows = []
    for line in (folder / "public.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["dataset"] in ("wice", "begin-wow") and item["label"] == "supported":
            page = unicodedata.normalize("NFC", item["sources"][0]["text"]).replace("\r", "\n")
            rows.append((item["claim"], page))
    return [(claim, page) for claim, page in rows if len(page) > 400 and claim[0].isupper() and is_factual(claim)]


def copies(page: str) -> list[str]:
    """Whole declarative sentences of the page."""
    found = [" ".join(page[span.start : span.end].split()) for span in sentences(page)]
    return [
        text for text in found
        if 8 <= len(text.split()) <= 32 and text[0].isupper() and text.endswith(".") and is_factual(text)
        and not re.search(r"[#|\[\]{}<>*\"“”»«]|https?:|\.{2,}|…", text)
    ]  # fmt: skip


def build(rows: list[tuple[str, str]], rng: random.Random, number: int, planted: Counter[str]) -> Built:
    chosen = rng.sample(rows, 6)
    pages = {f"https://www.paper-{number}-{index}.com/story": page for index, (_, page) in enumerate(chosen)}
    statements: list[Statement] = []
    for (claim, page), url in zip(chosen, pages, strict=True):
        statements.append(Statement(claim, page, "paraphrase", url))
        found = copies(page)
        statements += [Statement(text, page, "copy", url) for text in rng.sample(found, min(2, len(found)))]
    statements = list({statement.text: statement for statement in statements}.values())
    rng.shuffle(statements)
    urls = list(pages)
    web = PlantedWeb(pages)
    entries = list(urls)
    for statement in statements:
        statement.cited = statement.url
        if rng.random() < 0.3:
            plant(statement, rng, urls, entries, planted)
    unused = ""
    if rng.random() < 0.5:
        unused = f"https://www.unused-{number}.com/page"
        entries.append(unused)
        web.documents[unused] = next(iter(web.documents.values()))
    rng.shuffle(entries)
    return Built(render(statements, entries, rng), statements, web, unused)


def plant(statement: Statement, rng: random.Random, urls: list[str], entries: list[str], planted: Counter[str]) -> None:
    """One defect into the statement, or into what it cites: the rarest kind so far that can be made of it."""
    kinds = [*contrast.KINDS, *STRUCTURAL[:-1]]
    for kind in sorted(kinds, key=lambda kind: (planted[kind], rng.random())):
        if made(kind, statement, rng, urls, entries):
            statement.defect = kind
            planted[kind] += 1
            return


def made(kind: str, statement: Statement, rng: random.Random, urls: list[str], entries: list[str]) -> bool:
    """Whether the defect could be made."""
    if kind in contrast.KINDS:
        edit = contrast.edited(kind, statement.text, statement.page, rng)
        statement.text = edit or statement.text
        return edit is not None
    if kind == "wrong source":
        statement.cited = rng.choice([url for url in urls if url != statement.url])
    elif kind == "marker out of range":
        statement.cited = "missing"
    elif kind in ("invented URL", "dead URL"):
        name = "nowhere" if kind == "invented URL" else "gone"
        statement.cited = f"https://www.{name}-{rng.randrange(10**6)}.com/page"
        entries.append(statement.cited)
    elif kind == "altered quotation":
        if statement.kind != "copy":
            return False
        words = statement.text.rstrip(".").split()
        place = rng.randrange(2, len(words) - 1)
        words[place] = rng.choice(
            [w for w in ("remarkable", "several", "reported", "late", "former") if w != words[place]]
        )
        statement.text = f'The page says: "{" ".join(words)}".'
    else:
        statement.cited = ""
    return True


def render(statements: list[Statement], entries: list[str], rng: random.Random) -> str:
    style = rng.choice(STYLES)
    inline = "source" in style
    lines = ["# Report", "", "This report describes several findings.", ""]
    for start in range(0, len(statements), 4):
        paragraph = []
        for statement in statements[start : start + 4]:
            text = statement.text.rstrip()
            if not text.endswith((".", "!", "?", '"')):
                text += "."
            mark = ""
            if statement.cited == "missing":
                mark = "[97]" if inline else style.format(n=97, url="").replace("[[97]]()", "[97]")
            elif statement.cited:
                mark = style.format(n=entries.index(statement.cited) + 1, url=statement.cited)
            before = rng.random() < 0.5 and not inline
            paragraph.append(f"{text[:-1]} {mark.strip()}{text[-1]}" if before and mark else f"{text}{mark}")
        lines += [" ".join(paragraph), ""]
    lines += ["## References", ""]
    for number, url in enumerate(entries, 1):
        if "^" in style:
            lines.append(f"[^{number}]: Page {number}. {url}")
        else:
            lines.append(rng.choice([f"[{number}] Page {number}. {url}", f"{number}. [Page {number}]({url})"]))
    return "\n".join(lines) + "\n"


def normal(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())


def find(audit: Audit, statement: Statement) -> AuditedSentence | None:
    """The audited sentence that is this statement; the worst one when the statement was cut in two."""
    wanted = normal(statement.text)
    whole = [s for s in audit.sentences if normal(s.text) == wanted]
    parts = [s for s in audit.sentences if len(normal(s.text)) > 12 and normal(s.text) in wanted]
    return (whole or sorted(parts, key=lambda s: -len(s.text)) or [None])[0]


def judge(built: Built, audit: Audit, score: Score, shown: str | None) -> None:
    for statement in built.statements:
        sentence = find(audit, statement)
        outcome = sentence.outcome if sentence else AuditVerdict.NOT_A_CLAIM
        if not statement.defect:
            score.true[statement.kind] += 1
            score.accused[statement.kind] += outcome in ACCUSED
            score.outcomes[f"true {statement.kind}"][outcome.value] += 1
            if shown == "true" and outcome in ACCUSED and sentence:
                print(f"  ACCUSED {outcome.value}: {statement.text}\n     {sentence.detail}")
            continue
        kind = statement.defect
        failed = (
            {c.name for c in sentence.verdict.checks if c.outcome.value == "failed"}
            if sentence and sentence.verdict
            else set()
        )
        caught = outcome not in (AuditVerdict.SUPPORTED, AuditVerdict.NOT_A_CLAIM)
        named = outcome is VERDICTS.get(kind) or (caught and bool(failed & CHECKS.get(kind, set())))
        score.planted[kind] += 1
        score.caught[kind] += caught
        score.named[kind] += caught and named
        score.outcomes[kind][outcome.value] += 1
        if shown == kind and not (caught and named):
            print(f"  {outcome.value} ({failed}): {statement.text}\n     {sentence.detail if sentence else 'lost'}")
    if built.unused:
        kind = "entry never cited"
        score.planted[kind] += 1
        found = any(reference.url == built.unused for reference in audit.never_cited)
        score.caught[kind] += found
        score.named[kind] += found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reports", type=int, default=120)
    parser.add_argument("--show")
    options = parser.parse_args()
    rows = load(options.folder)
    rng = random.Random(23)
    score = Score()
    planted: Counter[str] = Counter()
    spent = claims = 0.0
    for number in range(options.reports):
        built = build(rows, rng, number, planted)
        service = AuditService(MechanicalChecker(), PageReading(built.web))
        started = time.process_time()
        audit = anyio.run(service.audit, built.markdown)
        spent += time.process_time() - started
        claims += len(audit.claims)
        judge(built, audit, score, options.show)
    print(f"{options.reports} reports, {int(claims)} claims, {claims / spent:.0f} claims a second of CPU")
    for kind in (*contrast.KINDS, *STRUCTURAL):
        planted = score.planted[kind]
        print(
            f"  {kind:26} planted {planted:4}  caught {100 * score.caught[kind] / max(planted, 1):5.1f} %"
            f"  named {100 * score.named[kind] / max(planted, 1):5.1f} %  {dict(score.outcomes[kind])}"
        )
    total = sum(score.planted.values())
    caught, named = sum(score.caught.values()), sum(score.named.values())
    print(f"  all defects: {total}, caught {100 * caught / total:.1f} %, named {100 * named / total:.1f} %")
    for kind in ("copy", "paraphrase"):
        share = 100 * score.accused[kind] / max(score.true[kind], 1)
        print(f"  true ({kind}): {score.true[kind]}, accused {share:.1f} %  {dict(score.outcomes[f'true {kind}'])}")
    print(f"  true sentences wrongly accused: {100 * sum(score.accused.values()) / sum(score.true.values()):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How well and how fast pages are read: `python benchmarks/extraction.py DATA_FOLDER [--json FILE]`.

With `--times`, DATA_FOLDER holds ordinary pages (`*.html`, at any depth, say packaged documentation), and only the CPU
time that each takes is measured: of 60 of each folder in it, drawn by a fixed seed. Each is read twice and the second
time counts: what a process loads at the first use of something it loads once.

With `--browser N`, Chromium renders N of the pages (ordinary ones of each folder, or labelled ones of `public/`),
without scripts and outside files, and each number that shows outside of what surrounds a text is looked for in ours.

DATA_FOLDER holds labelled pages in `public/` and `run.py`, which scores an extractor in the metrics of the three
sets: 4-word shingles (scrapinghub), words (WCXB), segments (trafilatura's tests). All rows come from the same run.
"""

import argparse
import gzip
import importlib
import json
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import beside_tests  # noqa: F401  # its import is its effect

METRICS = (("scrapinghub", "sh", "shingle"), ("wcxb", "wd", "word"), ("trafilatura", "sn", "segments"))


def ours(html: bytes, url: str) -> str:
    """What Pincite reads, as text."""
    import pincite
    from pincite import errors

    try:
        return pincite.extract(html, url or "https://unknown.example/", "text/html").text
    except errors.PinciteError:
        return ""


def trafilatura_standard(html: bytes, url: str) -> str:
    """The baseline: trafilatura with its defaults."""
    import trafilatura

    return trafilatura.extract(html, url=url or None) or ""


def trafilatura_without_comments(html: bytes, url: str) -> str:
    """The second baseline: the text of the page alone, as the sets of articles count it."""
    import trafilatura

    return trafilatura.extract(html, url=url or None, include_comments=False) or ""


# What one page may take: content processing in docs/specification.md, D28.
LIMIT_MS = 200


def times(folder: Path) -> None:
    """Print how long pages take, and which take longer than `LIMIT_MS`."""
    drawing = random.Random(20)
    sites = [sorted(page for page in site.rglob("*.html") if page.is_file()) for site in sorted(folder.iterdir())]
    drawn = [page for pages in sites for page in drawing.sample(pages, min(60, len(pages)))]
    took = []
    for page in drawn:
        body = page.read_bytes()
        ours(body, f"https://docs.example/{page.name}")
        start = time.process_time()
        ours(body, f"https://docs.example/{page.name}")
        took.append((1000 * (time.process_time() - start), len(body), page.name))
    took.sort()
    over = [one for one in took if one[0] > LIMIT_MS]
    median, p95 = took[len(took) // 2][0], took[int(len(took) * 0.95)][0]
    print(f"{len(took)} pages, CPU ms a page: median {median:.0f}  p95 {p95:.0f}")
    print(f"above {LIMIT_MS} ms: {len(over)}; the slowest:")
    print(*(f"  {ms:4.0f} ms  {size:7} bytes  {name}" for ms, size, name in took[-5:]), sep="\n")


_AROUND = (
    "nav,footer,aside,header,form,button,select,[role=navigation],[role=search],[role=contentinfo],[role=banner],"
    ".toc,.contents,.headertabs,"
    + ",".join(
        f"[class*={name}],[id*={name}]" for name in "nav menu sidebar related comment share footer header".split()
    )
)


def judged(folder: Path, count: int) -> None:
    """Print which numbers of pages, drawn by a fixed seed, a browser shows and we do not read, and the other way."""
    from playwright.sync_api import sync_playwright
    from tests.unit.fetch.extractors import test_browser_as_judge as judge

    import pincite
    from pincite.fetch.backends.chromium import find_chromium

    drawing = random.Random(31)
    labelled = sorted((folder / "public").glob("*.json"))
    sites = [labelled] if labelled else [sorted(site.rglob("*.html")) for site in sorted(folder.iterdir())]
    drawn = [page for pages in sites for page in drawing.sample(pages, min(count, len(pages)))]
    script = judge._SHOWN.replace("apart: !!", f"around: !!parent.closest('{_AROUND}'), apart: !!")
    sums: Counter[str] = Counter()
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = chromium.new_context(offline=True, java_script_enabled=False).new_page()
        for path in drawn:
            body = gzip.decompress(path.with_suffix(".html.gz").read_bytes()) if labelled else path.read_bytes()
            label = json.loads(path.read_text(encoding="utf-8")) if labelled else {}
            page.set_content(body.decode("utf-8", "replace"), wait_until="domcontentloaded")
            found = json.loads(page.evaluate(script))["found"]
            document = pincite.extract(body, label.get("url") or "https://docs.example/", "text/html")
            shown = judge.shown_numbers(found)
            main = judge.shown_numbers([piece for piece in found if not piece["around"]])
            read = judge.read_numbers(document)
            numbered = Counter(str(block.number) for block in document.blocks if block.number is not None)
            lost, added = main - read - numbered, read - shown
            of_label = Counter(judge._NUMBER.findall(label.get("text") or label.get("articleBody") or ""))
            sums.update(shown=shown.total(), main=main.total(), lost=lost.total(), added=added.total())
            sums["lost, read elsewhere on the page"] += sum(lost[number] for number in lost if read[number])
            sums["lost, in the label"] += (lost & (of_label - read)).total()
            if lost or added:
                print(f"{path.stem}: lost {dict(lost)}, added {dict(added)}")
        chromium.close()
    print(f"{len(drawn)} pages, numbers: {dict(sums)}")


READERS = ("trafilatura_standard", "trafilatura_without_comments", "ours")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="at most this many pages per set")
    parser.add_argument("--only", choices=READERS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", action="store_true", help="how long ordinary pages take, nothing else")
    parser.add_argument("--browser", type=int, metavar="N", help="what a browser shows of N pages, nothing else")
    arguments = parser.parse_args()
    if arguments.browser:
        judged(arguments.folder, arguments.browser)
        return
    if arguments.times:
        times(arguments.folder)
        return
    sys.path[:0] = [str(Path(__file__).parent), str(arguments.folder)]
    run = importlib.import_module("run")
    results: dict[str, object] = {}
    for name in READERS:
        if arguments.only in {None, name}:
            options = argparse.Namespace(source=None, sample=arguments.sample, timeout=30.0, md=False)
            rows, runner = run.evaluate(str(arguments.folder / "public"), f"extraction:{name}", options)
            results[name] = report(name, rows, run.summary(rows, runner, name))
    if arguments.json:
        arguments.json.write_text(json.dumps(results))


def report(name: str, rows: list[dict[str, Any]], summary: dict[str, Any]) -> dict[str, Any]:
    """Print one extractor's figures and give them back."""
    print(f"\n{name}: {len(rows)} pages, errors {summary['errors'] or 0}, empty {summary['empty']}")
    for source, key, label in METRICS:
        precision, recall, f1, error = summary[source][key]
        print(f"  {source:<12} {label:<9} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f} ±{error:.3f}")
    kinds = summary["wcxb"].get("word_f1_by_type", {})
    print("  word F1 by page type: " + "  ".join(f"{kind} {f1:.3f} ({pages})" for kind, (f1, pages) in kinds.items()))
    times = sorted(1000 * row["cpu"] for row in rows)
    coverage = sum(row["n"] > 0 for row in rows) / len(rows)
    print(
        f"  CPU ms a page: median {statistics.median(times):.0f}  p95 {times[int(len(times) * 0.95)]:.0f}  "
        f"max {times[-1]:.0f};  {1000 / statistics.mean(times):.1f} pages/s a core;  "
        f"text for {coverage:.1%} of pages;  peak {summary['time']['peak_mb']} MB"
    )
    return {"summary": summary, "rows": rows}


if __name__ == "__main__":
    main()

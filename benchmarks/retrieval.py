#!/usr/bin/env python3
"""Prints how well a local library finds pages and passages, over two sets of questions.

    benchmarks/retrieval.py --qa DIR                        passages with gold passages (docs.jsonl, questions.jsonl)
    benchmarks/retrieval.py --questions FILE --web FILE --sites DIR    research questions over documentation sites

The plain baseline in the same run is SQLite's BM25 over whole pages (title weight 4), the ranking of the mini web.
"""

import argparse
import json
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path

from pincite.domain.search import Query
from pincite.fetch.extractors import BytesExtractor
from pincite.library import LocalLibrary
from pincite.library.lookup import Lookup

DEPTH = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the addresses that must be found and the passage that answers."""

    group: str
    text: str
    gold: tuple[str, ...]
    quotes: tuple[str, ...] = ()


def write_archive(pages: Iterable[tuple[str, bytes]], path: Path) -> int:
    count = 0
    with path.open("wb") as out:
        for url, body in pages:
            head = (
                f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
                f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            out.write(head.encode() + body + b"\r\n\r\n")
            count += 1
    return count


def site_pages(config: Path, sites: Path) -> Iterator[tuple[str, bytes]]:
    for host, entry in json.loads(config.read_text(encoding="utf-8"))["hosts"].items():
        root = Path(entry["root"].replace("$SITES", str(sites)))
        for file in sorted(root.rglob("*.html")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and not any(fnmatchcase(name, pattern) for pattern in entry.get("noindex", ())):
                yield f"http://{host}/{name}", file.read_bytes()


def qa_pages(folder: Path) -> Iterator[tuple[str, bytes]]:
    for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        title = escape(doc["title"])
        text = "".join(f"<p>{escape(part)}</p>" for part in doc["text"].split("\n") if part.strip())
        page = f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{text}</main></body></html>"
        yield doc["url"], page.encode()


def qa_questions(folder: Path) -> list[Asked]:
    urls = {}
    for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines():
        doc = json.loads(line)
        urls[doc["id"]] = doc["url"]
    asked = []
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        asked.append(Asked(row["source"], row["question"], tuple(urls[d] for d in row["gold_doc_ids"])))
    return asked


def site_questions(file: Path) -> list[Asked]:
    asked = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        group = f"{row['kind']}/{row['sites'][0]}"
        asked.extend(Asked(group, row["question"], (fact["url"],), (fact["quote"],)) for fact in row["facts"])
    return asked


def squeezed(text: str) -> str:
    return re.sub(r"[\s|*_`]+", "", text).lower()


def baseline_ranks(library: LocalLibrary, asked: list[Asked]) -> list[list[str]]:
    """Whole-page BM25 as in the mini web: porter stems, title weight 4, any word."""
    with closing(sqlite3.connect(library.index_file)) as index, closing(sqlite3.connect(":memory:")) as memory:
        memory.execute("CREATE VIRTUAL TABLE t USING fts5(url UNINDEXED, title, body, tokenize='porter unicode61')")
        rows = index.execute(
            "SELECT url, p.title, group_concat(s.body, ' ') FROM pages p JOIN passages s USING (page_id) GROUP BY url"
        )
        memory.executemany("INSERT INTO t VALUES (?,?,?)", rows)
        from pincite.ranking.terms import query_terms

        ranks = []
        for question in asked:
            words = " OR ".join(f'"{w}"' for w in query_terms(question.text))
            found = memory.execute(
                "SELECT url FROM t WHERE t MATCH ? AND rank MATCH 'bm25(0, 4, 1)' ORDER BY rank LIMIT ?", (words, DEPTH)
            )
            ranks.append([url for (url,) in found])
    return ranks


def report(name: str, asked: list[Asked], ranks: list[list[str]], times: list[float]) -> None:
    groups: dict[str, list[tuple[Asked, list[str]]]] = defaultdict(list)
    for question, urls in zip(asked, ranks, strict=True):
        groups[question.group].append((question, urls))
        groups["all"].append((question, urls))
    print(f"## {name}")
    for group, rows in sorted(groups.items()):
        line = []
        for depth in (1, 5, 10, 20):
            recall = statistics.mean(len(set(q.gold) & set(urls[:depth])) / len(set(q.gold)) for q, urls in rows)
            line.append(f"recall@{depth} {recall:.3f}")
        every = statistics.mean(set(q.gold) <= set(urls[:10]) for q, urls in rows)
        print(f"{group:34} n={len(rows):4}  {'  '.join(line)}  all-gold@10 {every:.3f}")
    if times:
        times = sorted(times)
        print(f"CPU ms a query: median {times[len(times) // 2]:.1f}  p95 {times[int(len(times) * 0.95)]:.1f}")


def passage_report(library: LocalLibrary, asked: list[Asked]) -> None:
    hits = dict.fromkeys((1, 5, 10, 20, 50), 0)
    for question in asked:
        wanted = squeezed(question.quotes[0])
        for rank, passage in enumerate(library.passages(question.text, 50), 1):
            if passage.url in question.gold and wanted[:60] in squeezed(passage.text):
                for depth in hits:
                    hits[depth] += rank <= depth
                break
    print("passage that holds the quote: " + "  ".join(f"top {d} {n / len(asked):.3f}" for d, n in hits.items()))


def measure(library: LocalLibrary, asked: list[Asked]) -> None:
    ranks, times = [], []
    for question in asked:
        started = time.thread_time()
        hits = library.search(Query(question.text, max_results=DEPTH))
        times.append((time.thread_time() - started) * 1000)
        ranks.append([hit.url for hit in hits])
    report("whole-page BM25 (baseline)", asked, baseline_ranks(library, asked), [])
    report("local library", asked, ranks, times)
    if asked[0].quotes:
        passage_report(library, asked)


def copied(index: Path, times: int) -> Path:
    """The index with every page that many times, each copy on a host of its own: a large library to measure time on."""
    large = index.with_suffix(f".times{times}.sqlite")
    shutil.copy(index, large)
    with closing(sqlite3.connect(large, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        (pages,), (passages,) = (db.execute(f"SELECT max({t}_id) FROM {t}s").fetchone() for t in ("page", "passage"))
        rest = ", ".join(row[1] for row in db.execute("PRAGMA table_info(pages)") if row[1] not in ("page_id", "url"))
        for copy in range(1, times):
            page, passage = copy * pages, copy * passages
            db.execute(
                f"INSERT INTO pages (page_id, url, {rest}) SELECT page_id + {page}, replace(url, '://', '://copy{copy}.'),"
                f" {rest} FROM pages WHERE page_id <= {pages}"
            )
            db.execute(
                f'INSERT INTO passages SELECT passage_id + {passage}, page_id + {page}, start, "end", kind, section,'
                f" title, headings, body FROM passages WHERE passage_id <= {passages}"
            )
            db.execute(
                "INSERT INTO passage_terms (rowid, title, headings, body) SELECT passage_id, title, headings, body"
                f" FROM passages WHERE passage_id > {passage}"
            )
            db.execute(
                "INSERT INTO page_terms (rowid, title, address, body) SELECT page_id, max(title), '',"
                f" group_concat(body, ' ') FROM passages WHERE page_id > {page} GROUP BY page_id"
            )
        count, lengths = json.loads(db.execute("SELECT value FROM meta WHERE key = 'totals'").fetchone()[0])
        db.execute("UPDATE meta SET value = ? WHERE key = 'totals'", (json.dumps([count * times, lengths]),))
        db.execute("DELETE FROM frequencies")
        db.execute("INSERT INTO frequencies SELECT term, doc FROM passage_vocabulary")
        db.execute("COMMIT")
    return large


def time_copies(index: Path, times: int, asked: list[Asked]) -> None:
    with closing(sqlite3.connect(copied(index, times))) as db:
        lookup = Lookup(db)
        spent = []
        for question in asked:
            started = time.thread_time()
            lookup.pages(Query(question.text, max_results=DEPTH))
            spent.append((time.thread_time() - started) * 1000)
        (pages,) = db.execute("SELECT count(*) FROM pages").fetchone()
    spent.sort()
    print(f"{pages} pages ({times} copies): CPU ms a query: median {spent[len(spent) // 2]:.1f}  "
          f"p95 {spent[int(len(spent) * 0.95)]:.1f}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qa", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--web", type=Path, help="the mini web's configuration: hosts and their roots")
    parser.add_argument("--sites", type=Path)
    parser.add_argument("--index", type=Path, help="keeps archive and index here; default: a temporary folder")
    parser.add_argument("--copies", type=int, default=1, help="time a library with every page that many times, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.index or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        sets = []
        if options.qa:
            sets.append(("qa", qa_pages(options.qa), qa_questions(options.qa)))
        if options.questions:
            sets.append(("sites", site_pages(options.web, options.sites), site_questions(options.questions)))
        for name, pages, asked in sets:
            archive = work / f"{name}.warc"
            if not archive.exists():
                write_archive(pages, archive)
            extractor = BytesExtractor()
            with LocalLibrary.open(archive, index_dir=work, extractor=extractor, revision=extractor.revision) as lib:
                done = lib.refresh()
                print(f"# {name}: {done.pages} pages, {done.passages} passages, indexed in {done.seconds:.1f} s, "
                      f"{done.skipped_total} skipped {[(s.place, s.reason) for s in done.skipped[:5]]}")  # fmt: skip
                measure(lib, asked)
                if options.copies > 1:
                    time_copies(lib.index_file, options.copies, asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())

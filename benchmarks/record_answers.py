"""What a model answered in a run, as a recording that replays (`tests.fakes.models.recorded.RecordedModel`).

    python benchmarks/record_answers.py CALLS.jsonl RUN.wacz OUT

CALLS.jsonl has a line for each call in the order answered, `{"request": ..., "answer": ...}`: the body of a request as
OpenAI's chat completions have it, and the text of its answer, as any proxy before a model can write them. RUN.wacz is
what `pincite research --bundle` wrote. OUT.json gets the answers by what they are about, OUT.warc.gz the pages.
"""

import argparse
import json
import zipfile
from pathlib import Path

import beside_tests  # noqa: F401  # its import is its effect
from tests.fakes.models.recorded import calls_of, record

from pincite.testing.models import seen_messages

PAGES = "archive/data.warc.gz"


def main() -> None:
    """Write the two files and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calls", type=Path)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.calls.read_text(encoding="utf-8").splitlines()]
    texts = calls_of([row["request"] for row in rows])
    seen = [seen_messages(system, user) for system, user in texts]
    with zipfile.ZipFile(args.bundle) as bundle:
        report = json.loads(bundle.read("pincite/answer.json"))
        pages = bundle.read(PAGES)
    made = record(zip(seen, (json.loads(row["answer"]) for row in rows), strict=True))
    book = {"question": report["question"], **made}
    for suffix, content in ((".json", json.dumps(book, ensure_ascii=False, indent=1).encode()), (".warc.gz", pages)):
        target = args.out.with_name(args.out.name + suffix)
        target.write_bytes(content)
        print(f"{target}: {len(content):,} bytes")


if __name__ == "__main__":
    main()

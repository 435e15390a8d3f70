"""Print what is believed and accused of the claims written by hand: python benchmarks/claims.py [--write-known]

The claims are tests/conformance/data/claims.json: passages of many kinds, each with true paraphrases and with lies.
`--write-known` writes the list of cases that go wrong, which the conformance test holds to.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from pincite.domain.evidence import CheckOutcome, Verdict, VerdictStatus
from pincite.verification.checker import MechanicalChecker

DATA = Path(__file__).parent.parent / "tests" / "conformance" / "data"


def accused(verdict: Verdict) -> bool:
    nowhere = any(check.name == "coverage" and check.outcome is CheckOutcome.FAILED for check in verdict.checks)
    return verdict.status is VerdictStatus.CONTRADICTED or nowhere


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write-known", action="store_true")
    options = parser.parse_args()
    cases = json.loads((DATA / "claims.json").read_text(encoding="utf-8"))
    checker = MechanicalChecker()
    known: dict[str, dict[str, list[str]]] = {}
    truths: Counter[str] = Counter()
    lies: Counter[str] = Counter()
    for case in cases:
        found: dict[str, list[str]] = {}
        for text in case["true"]:
            verdict = checker.check(text, [case["passage"]])
            truths["accused" if accused(verdict) else verdict.status.value] += 1
            if accused(verdict):
                found.setdefault("accused", []).append(text)
        for _, text in case["false"]:
            verdict = checker.check(text, [case["passage"]])
            lies[verdict.status.value] += 1
            if verdict.status is VerdictStatus.SUPPORTED:
                found.setdefault("believed", []).append(text)
        if found:
            known[case["id"]] = found
    for name, counts in (("true", truths), ("false", lies)):
        total = counts.total()
        shares = ", ".join(f"{kind} {100 * count / total:.1f} %" for kind, count in counts.most_common())
        print(f"{name}: {total} claims on {len(cases)} passages: {shares}")
    if options.write_known:
        text = json.dumps(known, ensure_ascii=False, indent=1) + "\n"
        (DATA / "claims_known.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fits `src/pincite/ranking/weights.json` on public questions and prints what every feature is worth.

    python scripts/fit_ranking.py QUESTIONS.jsonl... --sites DIR --config public.json --work DIR [--share 0.5] [--write]

Takes the question files and the library of `benchmarks/natural.py` (index it with `PINCITE_HOME=DIR/home pincite index
DIR/library` first, so that heads have vectors). Every third answerable question is asked three times: as it is, without
the pages that state it, and of another site alone; the last two have no answer. What the ranker makes of each is in
DIR/features.jsonl, so that fitting again takes seconds; delete the file when a feature changes. Weights and thresholds
are chosen on the fitted sites, figures are of the others; from where on a part is answered is chosen on all. The models
are `close` (an embedder that compares words one by one, as the packaged one does), `meaning` (another embedder) and
`words`. Logistic regression by Newton's method with an L2 penalty on standardised features; no randomness. Needs numpy
(extra `embeddings`).
"""

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from natural import FITTED, gold_pages, rows_of, says, urls_of
from questions import library_of, load, settings_of

from pincite.domain.page import Document
from pincite.domain.plan import ReportLength
from pincite.domain.search import Constraints, Query
from pincite.fetch.extractors import BytesExtractor
from pincite.library.local import LocalLibrary
from pincite.ports import Embedder
from pincite.ranking.answerable import evidence
from pincite.ranking.ranker import PassageRanker, RankedPassage, Source
from pincite.ranking.scores import Features, logit, weights
from pincite.research.extractive.analyst import EXCERPTS
from pincite.wiring.libraries import vectors_of

PASSAGES_KEPT = 30
HITS = (1, 3, 10)
CLOSE = ("score", "near_score", "similarity", "best_sentence", "length")
MEANING = ("score", "similarity", "best_sentence", "length")
UNREAD = ("score", "similarity", "length")
WORDS = ("score", "coverage")
PARTS_CLOSE = ("top", "near", "sentence", "known")
PARTS = ("top", "sentence", "known")
PARTS_WORDS = ("strength", "known")
_PENALTY = 3.0
"""Of the squared weights: with a few hundred questions, features that say the same share their weight."""
SETTINGS = ("asked", "gold removed", "other site")
GENERAL = {"xquad": 20, "hotpot": 10, "musique": 10}
"""Questions of general knowledge, which these sites do not answer: so many of each source."""
_REFUSED = 0.16
"""Of the answerable questions of the fitted sites so many may be refused: between the aims for the two kinds."""
_SURE = 0.85
"""A part is called answered when of such questions so many have all that was asked in what is printed: who is told that
nothing is missing looks no further. At a half of them, the former value, three to four of ten lacked a fact."""


def fitted(features: Any, labels: Any) -> tuple[float, Any]:
    """Bias and weights of a logistic regression."""
    x, y = np.asarray(features, dtype=float), np.asarray(labels, dtype=float)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    z = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    penalty = _PENALTY * np.eye(z.shape[1])
    penalty[0, 0] = 1e-9
    beta = np.zeros(z.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ beta))
        step = np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + penalty, z.T @ (y - p) - penalty @ beta)
        beta += step
        if np.max(np.abs(step)) < 1e-8:
            break
    found = beta[1:] / spread
    return float(beta[0] - found @ mean), found


def area(values: Sequence[float], labels: Sequence[bool]) -> float:
    """The area under the curve: how often a case with the label has the higher value."""
    yes = np.array([v for v, label in zip(values, labels, strict=True) if label])
    no = np.array([v for v, label in zip(values, labels, strict=True) if not label])
    if not len(yes) or not len(no):
        return float("nan")
    return float(((yes[:, None] > no).sum() + 0.5 * (yes[:, None] == no).sum()) / (len(yes) * len(no)))


class Case(dict[str, Any]):
    """One question in one setting and what the ranker made of it, as kept on disk."""

    @property
    def answerable(self) -> bool:
        """Whether the pages searched answer it."""
        return self["setting"] == "asked" and bool(self["answerable"])

    @property
    def features(self) -> list[Features]:
        """Of its passages."""
        return [Features(**passage["features"]) for passage in self["passages"]]


def cases(args: argparse.Namespace) -> list[Case]:
    """All questions in all settings, those not yet on disk asked now."""
    file: Path = args.work / "features.jsonl"
    kept = {case["key"]: Case(case) for case in load(file)} if file.is_file() else {}
    urls = urls_of(args.sites, args.config)
    hosts = {row.split("/")[0]: urlsplit(url).netloc for row, url in urls.items()}
    rows = chosen(list(rows_of(args.questions)), args.share)
    wanted = []
    with file.open("a") as out:
        for embeddings in args.models:
            asked = None
            for number, row in enumerate(rows):
                for setting in settings_for(row, number):
                    key = f"{row['id']}|{setting}|{embeddings}"
                    if key not in kept:
                        hidden = gold_pages(row, urls) if setting == "gold removed" else frozenset()
                        site = other_site(row["site"], args.fitted, sorted(hosts), number)
                        host = hosts[site] if setting == "other site" else ""
                        asked = asked or Asked(args, embeddings)
                        kept[key] = Case(key=key, setting=setting, **asked(row, hidden, host))
                        out.write(json.dumps(kept[key]) + "\n")
                        out.flush()
                    wanted.append(kept[key])
    return wanted


def settings_for(row: dict[str, Any], number: int) -> tuple[str, ...]:
    """In which settings a question is asked: those without an answer of every third alone, which are enough."""
    return SETTINGS if row["answerable"] and number % 3 == 0 else SETTINGS[:1]


def chosen(rows: Sequence[dict[str, Any]], share: float) -> list[dict[str, Any]]:
    """A share of the questions about the sites, and the first so many of each source of general knowledge."""
    found = [row for row in rows if row["set"] != "general" and place_of(row["id"]) < share]
    for source, most in GENERAL.items():
        own = sorted((row for row in rows if row["site"] == source), key=lambda row: place_of(row["id"]))
        found += own[:most]
    return found


def place_of(name: str) -> float:
    """A number from 0 to 1 by which a share of the questions is chosen, the same each time."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) / 2**64


def other_site(site: str, fitted_sites: str, sites: Sequence[str], number: int) -> str:
    """A site that this question is not about, of the same half of the sites."""
    half = [other for other in sites if (other in fitted_sites) == (site in fitted_sites) and other != site]
    return half[number % len(half)]


class OnlyVectors:
    """An embedder that does not read word by word, as those of an address do not."""

    def __init__(self, embedder: Embedder) -> None:
        self.embed = embedder.embed


class Asked:
    """Asks one question of the library and keeps what the ranker makes of its pages."""

    def __init__(self, args: argparse.Namespace, model: str) -> None:
        settings, limits = settings_of(
            library_of(args.sites, args.config, args.work),
            args.work,
            "standard",
            "none" if model == "words" else "minilm",
        )
        vectors = vectors_of(settings)
        self._pages_wanted = 2 * limits.results_per_query  # as the planner asks a library
        self._extractor = BytesExtractor()
        self._library = LocalLibrary(
            args.work / "library",
            index_dir=settings.home / "libraries",
            extractor=self._extractor,
            revision=BytesExtractor.revision,
            embedder=vectors,
        )
        self._library.refresh()
        self._ranker = PassageRanker(OnlyVectors(vectors) if vectors and model == "meaning" else vectors, self._library)

    def __call__(self, row: dict[str, Any], hidden: frozenset[str], host: str) -> dict[str, Any]:
        """Features and facts of the best passages."""
        survey = self._library.survey(row["question"])
        question = survey.corrected(row["question"])
        only = Constraints(include_domains=(host,)) if host else Constraints()
        hits = self._library.search(Query(question, self._pages_wanted + len(hidden), only))
        urls = [hit.url for hit in hits if hit.url not in hidden][: self._pages_wanted]
        sources = [Source(url, self._document(url)) for url in urls]
        ranking = self._ranker.rank(question, sources, queries=[question], survey=survey)
        return {
            "set": row["set"],
            "site": row["site"],
            "answerable": row["answerable"],
            "facts": len(row["facts"]),
            "known": round(ranking.known, 4),
            "passages": [
                {
                    "features": {name: round(value, 4) for name, value in asdict(passage.features).items()},
                    "facts": [at for at, fact in enumerate(row["facts"]) if states(passage, fact)],
                }
                for passage in ranking.passages[:PASSAGES_KEPT]
            ],
        }

    @lru_cache(maxsize=256)  # noqa: B019  # one object for the whole run
    def _document(self, url: str) -> Document:
        page = self._library.page(url)
        return self._extractor.extract(page.body, url, page.content_type)


def states(passage: RankedPassage, fact: dict[str, Any]) -> bool:
    """Whether the passage says the fact in the words of the file."""
    return bool(says(passage.text, [fact["quote"], *fact.get("also", ())]))


def passage_rows(found: Sequence[Case], names: Sequence[str]) -> tuple[list[list[float]], list[bool]]:
    """The features and labels of all passages of answerable questions."""
    x, y = [], []
    for case in found:
        for features, passage in zip(case.features, case["passages"], strict=True):
            x.append([getattr(features, name) for name in names])
            y.append(bool(passage["facts"]))
    return x, y


def model_of(names: Sequence[str], x: Any, y: Any) -> dict[str, float]:
    """A fitted model as it stands in the file of weights."""
    bias, found = fitted(x, y)
    return {"bias": round(bias, 3), **{name: round(float(w), 3) for name, w in zip(names, found, strict=True)}}


def read_only(case: Case) -> Case:
    """The case with those passages alone whose sentences were read."""
    return Case(case, passages=[p for p in case["passages"] if p["features"]["best_sentence"] > 0])


def ranked(case: Case, model: Mapping[str, float]) -> list[tuple[float, Features, list[int]]]:
    """Likelihood, features and facts of the passages, best first."""
    found = [
        (1 / (1 + math.exp(-logit(model, asdict(features)))), features, passage["facts"])
        for features, passage in zip(case.features, case["passages"], strict=True)
    ]
    return sorted(found, key=lambda entry: -entry[0])


def hits(found: Sequence[Case], model: Mapping[str, float]) -> list[float]:
    """The share of facts that stand in the best 1, 3 and 10 passages."""
    total = sum(case["facts"] for case in found) or 1
    orders = [ranked(case, model) for case in found]
    return [sum(len({f for _, _, facts in order[:k] for f in facts}) for order in orders) / total for k in HITS]


def part_row(case: Case, model: Mapping[str, float]) -> dict[str, float]:
    """What the likelihood of an answer is made of."""
    order = ranked(case, model)
    return evidence(order[0][0], [features for _, features, _ in order], case["known"])


def part_model(found: Sequence[Case], model: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Fitted to tell answerable questions from the others."""
    told = [
        case for case in found if case["setting"] != "gold removed"
    ]  # nothing here tells those from answerable ones
    rows = [part_row(case, model) for case in told]
    return model_of(names, [[row[name] for name in names] for row in rows], [case.answerable for case in told])


def answered(case: Case, model: Mapping[str, float], part: Mapping[str, float]) -> float:
    """The likelihood that the pages answer the question of a case; 0 without passages."""
    return 1 / (1 + math.exp(-logit(part, part_row(case, model)))) if case["passages"] else 0.0


def complete(case: Case, model: Mapping[str, float]) -> bool:
    """Whether all facts asked for stand in the passages that are printed."""
    shown = {fact for _, _, facts in ranked(case, model)[: EXCERPTS[ReportLength.STANDARD]] for fact in facts}
    return case.answerable and len(shown) == case["facts"]


def thresholds(
    fit: Sequence[Case], every: Sequence[Case], model: Mapping[str, float], part: Mapping[str, float]
) -> dict[str, float]:
    """From where on a part is here, chosen on the fitted sites; and answered, on all, as few questions come so far."""
    answerable = sorted(answered(case, model, part) for case in fit if case.answerable)
    here = answerable[int(_REFUSED * len(answerable))]
    scored = [(answered(case, model, part), case) for case in every]
    sure = here
    for value in sorted({value for value, _ in scored if value >= here}):
        above = [complete(case, model) for other, case in scored if other >= value]
        sure = value
        if sum(above) >= _SURE * len(above):
            break
    return {"here": round(here, 3), "answered": round(sure, 3)}


def show_passages(fit: Sequence[Case], other: Sequence[Case], names: Sequence[str]) -> None:
    """The table of passages: facts in the best 1, 3 and 10 on the other sites, with each feature left out."""
    print(f"| passages, other sites: facts in the best {', '.join(map(str, HITS))} | exam | natural | area |")
    print("| --- | --- | --- | --- |")
    for left_out in ("", *names):
        kept = [name for name in names if name != left_out]
        model = model_of(kept, *passage_rows(fit, kept))
        cells = [
            " / ".join(f"{share:.2f}" for share in hits([c for c in other if c["set"] == kind], model))
            for kind in ("exam", "natural")
        ]
        x, y = passage_rows(other, kept)
        curve = area([logit(model, dict(zip(kept, row, strict=True))) for row in x], y)
        print(f"| {'all' if not left_out else f'without {left_out}'} | {' | '.join(cells)} | {curve:.3f} |")


def show_parts(fit: Sequence[Case], other: Sequence[Case], model: Mapping[str, float], names: Sequence[str]) -> None:
    """The table of parts: how well answerable questions are told from the others, with each feature left out."""
    kinds = ("gold removed", "other site", "asked")
    print(f"| parts, other sites: area against | {' | '.join((*kinds[:2], 'no answer anywhere'))} |")
    print("| --- | --- | --- | --- |")
    for left_out in ("", *names):
        part = part_model(fit, model, [name for name in names if name != left_out])
        cells = []
        for kind in kinds:
            some = [case for case in other if case.answerable or case["setting"] == kind]
            some = [case for case in some if case.answerable or kind != "asked" or not case["answerable"]]
            cells.append(f"{area([answered(c, model, part) for c in some], [c.answerable for c in some]):.2f}")
        print(f"| {'all' if not left_out else f'without {left_out}'} | {' | '.join(cells)} |")


def show_thresholds(
    other: Sequence[Case], model: Mapping[str, float], part: Mapping[str, float], at: Mapping[str, float]
) -> None:
    """What the thresholds do on the other sites."""
    for name in ("exam", "natural"):
        own = [(answered(c, model, part), c) for c in other if c["set"] == name]
        groups = {
            "answerable and refused": [value < at["here"] for value, case in own if case.answerable],
            "no answer anywhere, seen": [
                v < at["here"] for v, c in own if c["setting"] == "asked" and not c["answerable"]
            ],
            "gold removed, seen": [value < at["here"] for value, case in own if case["setting"] == "gold removed"],
            "other site, seen": [value < at["here"] for value, case in own if case["setting"] == "other site"],
            "called answered, all facts there": [complete(c, model) for v, c in own if v >= at["answered"]],
        }
        cells = [f"{label} {sum(group)} of {len(group)}" for label, group in groups.items()]
        print(f"{name}: {'; '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="+", type=Path)
    parser.add_argument("--sites", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0, help="Ask this share of the questions.")
    parser.add_argument("--fitted", default=FITTED)
    parser.add_argument("--models", default="close,meaning,words", help="Ask and fit these alone.")
    parser.add_argument("--write", action="store_true", help="Write them; others stay as they are.")
    args = parser.parse_args()
    args.sites, args.work, args.fitted = args.sites.resolve(), args.work.resolve(), args.fitted.split(",")
    args.models = args.models.split(",")
    found = cases(args)
    models = {}
    for name, names, part_names in (
        ("close", CLOSE, PARTS_CLOSE),
        ("meaning", MEANING, PARTS),
        ("words", WORDS, PARTS_WORDS),
    ):
        if name not in args.models:
            continue
        own = [case for case in found if case["key"].endswith(f"|{name}") and case["passages"]]
        read = [case if name == "words" else read_only(case) for case in own]
        fit, other = ([c for c in read if (c["site"] in args.fitted) is wanted] for wanted in (True, False))
        print(f"\n{name}: {len(fit)} cases of the fitted sites, {len(other)} of the others\n")
        answerable = [case for case in fit if case.answerable]
        show_passages(answerable, [case for case in other if case.answerable], names)
        models[name] = model_of(names, *passage_rows(answerable, names))
        if name == "meaning":
            unread = [c for c in own if c.answerable and c["site"] in args.fitted]
            models["unread"] = model_of(UNREAD, *passage_rows(unread, UNREAD))
        print()
        show_parts(fit, other, models[name], part_names)
        models[f"part_{name}"] = part_model(fit, models[name], part_names)
        models[f"thresholds_{name}"] = thresholds(fit, read, models[name], models[f"part_{name}"])
        print()
        show_thresholds(other, models[name], models[f"part_{name}"], models[f"thresholds_{name}"])
    text = json.dumps({"models": weights() | models if args.write else models}, indent=1) + "\n"
    if args.write:
        Path(str(resources.files("pincite.ranking").joinpath("weights.json"))).write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()

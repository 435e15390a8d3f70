"""Code that a model put together, held to the passages it names: names, options, numbers, what it sets itself."""

import pytest
from tests.cpu_time import cpu_at_most

from pincite.verification.facts import FactOutcome
from pincite.verification.snippets import check_code, examples_in, in_rows, on_one_line

PASSAGES = (
    "depot -DNAME=VALUE sets a variable, such as DEPOT_LIMIT; -vq says less.",
    "import depot\nwith depot.Pool(max_carts=4) as pool:\n    for cart in pool.carts():\n        print(cart.load)",
    "depot tidy --keep-empty removes carts; set cart_limit = 64MB in depot.conf.",
    "Read https://depot.test/carts first; mail https://depot.test/load to nobody.",
    "def fill(depot):\n    return lambda each: each",
)


def missing(code: str) -> list[str]:
    return [finding.text for finding in check_code(code, PASSAGES) if finding.outcome is not FactOutcome.FOUND]


@pytest.mark.parametrize(
    "code",
    [
        "import depot\nwith depot.Pool(max_carts=4) as p:\n    for c in p.carts():\n        print(c.load)",
        "depot tidy --keep-empty",
        "cart_limit = 64MB",
        "depot tidy --keep-empty <the depot>",
        "first, last = pool.carts()\nprint(first, last)",
        "found <- pool.carts()\nprint(found)",  # as R sets names
        "def weigh(cart, pool):\n    print(cart.load, pool)\nwith depot.Pool() as p:\n    weigh(p.carts(), p)",
        "print(lambda one: one.load)",
        "from depot import Pool",
        "def tidy_up(depot):\n    return depot",
        "depot tidy https://depot.test/carts",
        "depot tidy -- carts ; depot tidy",
        "carts = pool.carts()\ncarts = carts[4]",
        "print(carts[4]-4, carts - 4)",
        "print(len(pool.carts()))",
        "depot -DDEPOT_LIMIT=4",
        "first, rest = pool.carts()\nreturn first",  # what comes along, and a word of the language
        "while depot; do depot tidy; done",
        "pool.carts((found) => print(found))",
        "pool.carts(one => one.load)",
        "pool.carts(function (one, other) { print(one.load, other.load) })",
        "depot tidy  # \u2026 work \u2026\n# then once more\ndepot tidy",
    ],
)
def test_what_the_passages_have_and_what_the_code_sets_itself_stands(code: str) -> None:
    assert missing(code) == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import Depot", ["Depot"]),
        ("depot.pool(max_carts=4)", []),  # each word stands there: how it is used is for the judge
        ("depot tidy --keep", ["--keep"]),
        ("depot -DDEPOT_LIMITS=4", ["-DDEPOT_LIMITS"]),
        ("depot -FDEPOT_LIMIT=4", ["-FDEPOT_LIMIT"]),
        ("depot -vtidy", ["-vtidy"]),
        ("depot.format(max)", ["format", "max"]),  # a method, and no call
        ("__import__(depot)", ["__import__"]),
        ("depot tidy -keep-empty", ["-keep-empty"]),
        ("depot.Pool(max_cart=4)", ["max_cart"]),
        ("depot.Pool(max_carts=40)", ["40"]),
        ("cart_limit = 64", ["64"]),
        ("carts_limit = 64MB", ["carts_limit"]),  # set and never used: a setting's name
        ("found = pool.carts()", ["found"]),
        ("pool.carts((found) => 4)", ["found"]),
        ("limits => 4, load => 4", ["limits"]),
        ("found, rest = pool.carts()", ["found", "rest"]),
        ("[depot]\ncarts_limit = 64MB\n[pool]\ncarts_limit = 64MB", ["carts_limit"]),  # set twice is no use
        ("depot.Pool(max_carts=-4)", ["-4"]),
        ("depot tidy -4", ["-4"]),
        ("-- frees 5 GB\ndepot tidy", ["5 GB"]),  # a comment is held to its facts, its meaning is the judge's
        ("; sets `cart_limits`\ndepot tidy", ["cart_limits"]),
        ("depot tidy  # see https://depot.test/help", ["https://depot.test/help"] * 2),
        ('depot tidy "a # frees memory"', ["frees", "memory"]),  # no comment
        ("depot tidy https://depot.test/carts/load", ["https://depot.test/carts/load"]),
        ("depot tidy https://depot.test", ["https://depot.test"]),
        ("depot tidy <script>alert</script>", ["alert", "script"]),
    ],
)
def test_what_no_passage_has_is_named(code: str, names: list[str]) -> None:
    assert missing(code) == names


@pytest.mark.parametrize(
    ("code", "names", "examples"),
    [
        ("depot tidy yard; depot tidy yard", ("yard",), ("yard",)),
        ("depot tidy -- 'half done: carts'", ("half done: carts",), ("half done: carts",)),
        ("with depot.Pool() as pool (\n    cart_no import,\n    load import)", ("cart_no",), ("cart_no",)),
        ("depot tidy yard/north", ("yard/north", "yard"), ("yard/north", "yard")),
        ("depot tidy 10.0.0.2:80 10.0.0.0/8", ("10.0.0.2:80", "10.0.0.0/8"), ("10.0.0.2:80", "10.0.0.0/8")),
        ("depot tidy ../yard ~/yard/*", ("../yard", "~/yard/*"), ("../yard", "~/yard/*")),
        ("depot tidy 30s 40", ("30s", "40"), ()),  # a figure
        ("depot tidy --fast", ("--fast", "fast"), ()),  # an option
        ("sweep depot", ("sweep",), ()),  # a command
        ("$ sweep depot", ("sweep",), ()),
        ("depot sweep(4)", ("sweep",), ()),  # is called
        ("depot.sweep", ("sweep",), ()),  # a part
        ("import depot\n    limit = 4", ("limit",), ()),  # is set
        ("depot.Pool(limit=4)", ("limit",), ()),
        ("depot: \n  limit: 4", ("limit",), ()),
        ("depot.Pool(limit=4); depot.Pool(limit=4)", ("limit",), ()),
        ("depot.Pool(weight=4)\nprint(pool.weight)", ("weight",), ("weight",)),  # and used
        ("found = depot.Pool()\nprint(found)", ("found",), ("found",)),
        ("found = depot.Pool()\nfound(4)", ("found",), ()),
        ("depot tidy yard", ("gate",), ()),  # is not there
        ("depot tidy yard-4", ("yard",), ("yard",)),
        ("depot tidy a; depot tidy b c d e f g", tuple("abcdefg"), tuple("abcdef")),
    ],
)
def test_names_of_an_example_are_those_that_do_nothing(
    code: str, names: tuple[str, ...], examples: tuple[str, ...]
) -> None:
    assert examples_in(code, names) == examples
    refused = {finding.text for finding in check_code(code, PASSAGES, names) if finding.problem}
    assert refused.isdisjoint({*examples, "-4"})


@pytest.mark.parametrize(
    ("address", "stands"),
    [("me@example.com", True), ("me@a.example", True), ("me@example.evil.test", False), ("me@depot.test", False)],
)
def test_an_address_of_nobody_may_be_an_example(address: str, stands: bool) -> None:
    found = check_code(f"depot tidy {address}", PASSAGES, (address,))
    assert [finding.text for finding in found if finding.problem] == ([] if stands else [address])


@pytest.mark.parametrize("code", ["a", "if a:\n    b()\n\n        c()", "x = 1\n\n\ny = 2"])
def test_code_on_one_line_comes_back_as_it_was(code: str) -> None:
    shown = on_one_line(code)
    assert "\n" not in shown
    assert in_rows(shown) == code


def test_fences_and_tabs_are_no_part_of_code() -> None:
    assert in_rows("```python\nif a:\n\tb()\n```\n") == "if a:\n    b()"


@pytest.mark.parametrize(
    "piece", ["a", "lambda ", "def a(", "a, ", "<a", "x = ", "a@", "-", "for a", "1.", " # ", "'# "]
)
def test_a_report_that_somebody_made_up_is_looked_at_in_time(piece: str) -> None:
    code = piece * (40_000 // len(piece))
    with cpu_at_most(2):
        check_code(code, PASSAGES, [piece.strip() or "a"] * 7)

"""Closed classes of general words: of two members of one class in the same place only one is true.

They hold no word of any one subject's texts: directions, colours, parts of the body, roles in law and trade, elements,
kinds of works, parts of programs, degrees and units of time; and the commonest contrasts of German, French and Spanish.
"""

from pincite.text.tokens import stem
from pincite.verification.lexicon import SYNONYMS

_CLASSES = (
    "tenant landlord", "buyer seller", "lender borrower", "employer employee", "plaintiff defendant",
    "prosecutor defence", "doctor nurse patient", "teacher pupil", "parent child", "host guest", "client server",
    "passenger crew", "adult child teenager", "men women boys girls", "male female", "husband wife", "brother sister",
    "son daughter", "mother father", "uncle aunt",
    "north south east west northern southern eastern western northeast northwest southeast southwest",
    "northbound southbound eastbound westbound", "northward southward eastward westward", "left right", "upper lower",
    "inner outer", "front rear", "top bottom", "inside outside", "dayside nightside", "day night",
    "morning afternoon evening", "breakfast lunch dinner", "spring summer autumn winter",
    "hourly daily weekly monthly quarterly yearly annually",
    "red orange yellow green blue purple violet pink brown black white grey gray", "gold silver bronze",
    "kidney liver lung heart brain stomach skin bone",
    "iron copper zinc lead tin nickel cobalt lithium sodium potassium aluminium aluminum gold silver platinum uranium",
    "oxygen nitrogen hydrogen helium xenon argon methane ozone", "coal gas oil solar wind nuclear hydro",
    "import export", "revenue profit loss debt", "sales costs", "gross net", "fixed variable",
    "arrested charged convicted acquitted sentenced", "upheld overturned", "accepted rejected", "passed rejected",
    "planet moon star comet asteroid", "lake river sea ocean", "bridge tunnel", "island peninsula", "mountain valley",
    "poetry fiction drama biography", "novel play film song poem", "director producer actor", "composer singer",
    "president minister mayor governor senator", "chairman treasurer", "king queen prince princess",
    "defender midfielder striker goalkeeper", "windows linux macos android ios",
    "parser compiler linker interpreter debugger", "get post put delete patch", "stdin stdout stderr", "read write",
    "input output", "source target", "minimum maximum", "mean median", "numerator denominator",
    "antibiotic antiviral vaccine", "virus bacterium bacteria fungus", "systolic diastolic",
    "mathematics reading science writing", "physics chemistry biology", "english german french spanish italian",
    "catholic protestant orthodox", "christian muslim jewish hindu buddhist", "africa asia europe america australia",
    "primary secondary tertiary", "horizontal vertical", "domestic foreign", "urban rural",
    # German
    "steigt sinkt stieg sank fiel wuchs", "mehr weniger", "älter jünger", "größer kleiner", "erlaubt verboten",
    "alle keine", "vor nach", "höher niedriger", "höchste niedrigste",
    # French
    "plus moins", "augmenté baissé diminué", "autorise interdit", "avant après", "haut bas", "première dernière",
    # Spanish
    "alto bajo", "subió bajó", "más menos", "antes después", "mayor menor", "primero último",
)  # fmt: skip


def _classes() -> dict[str, frozenset[int]]:
    table: dict[str, set[int]] = {}
    for number, members in enumerate(_CLASSES):
        for word in members.split():
            table.setdefault(SYNONYMS.get(stem(word), stem(word)), set()).add(number)
    return {root: frozenset(numbers) for root, numbers in table.items()}


CLASSES = _classes()
"""Stem → the closed classes it belongs to: of two members of one class in the same place only one is true."""

"""Closed word classes that several checks share: antonyms, synonyms of form, negation, hedges, quantifiers.

The lists are general English. They hold no word of any one subject, and each is used by the check that names it.
"""

from pincite.text.tokens import stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


# One word for the same thing in two spellings or forms; both sides of a check go through this table.
_FORMS = {
    "percent": "% pct percentage",
    "usa": "us united-states",
    "dollar": "$ usd bucks",
    "euro": "€ eur",
    "pound": "£ gbp quid",
    "colour": "color",
    "centre": "center",
    "defence": "defense",
    "theatre": "theater",
    "programme": "program",
    "organise": "organize",
    "begin": "start began begun commence",
    "buy": "bought purchase acquire",
    "sell": "sold",
    "say": "said state told tell",
    "make": "made",
    "give": "gave given",
    "take": "took taken",
    "become": "became",
    "write": "wrote written",
    "know": "knew known",
    "grow": "grew grown",
    "rise": "rose risen",
    "fall": "fell fallen",
    "win": "won",
    "lose": "lost loses losing",
    "lead": "led",
    "hold": "held",
    "find": "found",
    "build": "built",
    "leave": "left",
    "die": "died dies dead death",
    "bear": "born birth",
    "go": "went gone",
    "come": "came",
    "run": "ran",
    "speak": "spoke spoken",
    "sing": "sang sung",
    "beat": "defeat beaten",
    "meet": "met",
    "pay": "paid",
    "send": "sent",
    "spend": "spent",
    "teach": "taught",
    "think": "thought",
    "bring": "brought",
    "choose": "chose chosen",
    "draw": "drew drawn",
    "drive": "drove driven",
    "fly": "flew flown",
    "fight": "fought",
    "get": "got gotten",
    "keep": "kept",
    "see": "saw seen",
    "show": "shown",
    "steal": "stole stolen",
    "throw": "threw thrown",
    "wear": "wore worn",
    "movie": "film",
    "kid": "child children",
    "person": "people",
    "woman": "women",
    "man": "men",
    "wife": "wives",
    "country": "nation",
    "large": "big huge",
    "long": "length",
    "deep": "depth",
    "high": "height",
    "wide": "width",
    "weigh": "weight",
    "first": "1st",
    "second": "2nd",
    "third": "3rd",
}
SYNONYMS: dict[str, str] = {
    stem(form) if form.isascii() and form.isalpha() else form: stem(name)
    for name, forms in _FORMS.items()
    for form in forms.split()
}
"""Stem → the stem used for it in comparisons."""
SYNONYMS.update({stem(name): stem(name) for name in _FORMS})

_OPPOSITES = (
    (
        "increase rise grow climb gain surge jump soar expand up raise growth double triple",
        "decrease fall drop decline shrink reduce down plunge slump lower cut diminish halve loss",
    ),
    ("more greater exceed over above", "less fewer under below"),
    ("higher high highest", "lower low lowest"),
    ("larger bigger largest biggest large", "smaller smallest small little tiny"),
    ("longer longest long", "shorter shortest short brief"),
    ("older oldest old elder", "younger youngest young newer newest new"),
    ("earlier earliest early", "later latest late"),
    ("before prior previous precede", "after following subsequent"),
    ("better best improve good", "worse worst worsen bad deteriorate"),
    ("faster fastest fast quick rapid", "slower slowest slow"),
    ("stronger strongest strong", "weaker weakest weak"),
    ("heavier heaviest heavy", "lighter lightest light"),
    ("richer richest rich wealthy", "poorer poorest poor"),
    ("hotter hottest hot warm warmer", "colder coldest cold cool cooler"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
    ("win victory beat", "lose defeat"),
    ("most maximum", "least minimum"),
    ("first begin open launch opened", "last end close final finish shut closed"),
    ("buy", "sell"),
    ("accept approve allow permit agree", "reject refuse deny ban forbid prohibit decline"),
    ("support back favour favor endorse", "oppose resist criticise criticize"),
    ("import", "export"),
    ("male man boy father son brother husband king", "female woman girl mother daughter sister wife queen"),
    ("enter join arrive", "leave depart exit quit"),
    ("hire appoint recruit", "fire dismiss sack"),
    ("create build establish found", "destroy abolish demolish dissolve"),
    ("include contain cover", "exclude omit"),
    ("alive live survive", "dead die kill destroy"),
    ("add introduce", "remove drop delete"),
    ("uphold upheld confirm", "overturn overturned overrule quash annul"),
    ("accelerate speed", "slow decelerate"),
    ("enable activate", "disable deactivate"),
    ("strengthen tighten", "weaken loosen"),
    ("lengthen prolong extend", "shorten curtail"),
    ("widen", "narrow"),
    ("retain keep preserve", "lose lost"),
    ("expect believe", "doubt"),
    ("likely probable", "unlikely improbable"),
    ("admit acknowledge concede", "deny denied dispute"),
    ("quieter quiet", "louder loud noisy noisier"),
    ("cheaper cheap", "expensive dearer costlier"),
    ("surplus", "deficit shortfall"),
    ("profit gain", "loss deficit"),
    ("eastward eastbound eastern", "westward westbound western"),
    ("northward northbound northern", "southward southbound southern"),
    ("mild", "severe"),
    ("score", "miss"),
    ("temporary", "permanent"),
    ("compulsory mandatory required", "optional voluntary"),
    ("discount", "surcharge"),
    ("encrypt", "decrypt"),
    ("recovery recover", "relapse"),
    ("ratify pass", "repeal"),
    ("withdraw withdrawn withdrew", "reaffirm"),
    ("success succeed", "failure fail"),
    ("public", "private"),
    ("left", "right"),
    ("inside", "outside"),
    ("always", "never"),
    ("possible able", "impossible unable"),
    ("legal", "illegal"),
    ("true correct", "false wrong incorrect"),
    ("major", "minor"),
    ("positive", "negative"),
    ("safe", "dangerous unsafe"),
    ("easy easier", "difficult hard harder"),
    ("common", "rare"),
    ("remain stay", "leave change"),
    ("guilty convict", "innocent acquit"),
)


def _opposites() -> dict[str, tuple[tuple[int, int], ...]]:
    table: dict[str, list[tuple[int, int]]] = {}
    for group, sides in enumerate(_OPPOSITES):
        for side, words in enumerate(sides):
            for word in words.split():
                root = SYNONYMS.get(stem(word), stem(word))
                if (group, side) not in table.setdefault(root, []):
                    table[root].append((group, side))
    return {root: tuple(places) for root, places in table.items()}


OPPOSITES = _opposites()
"""Stem → (group, side): two stems of one group on different sides point in opposite directions."""

OTHER_GRAMMAR = frozenset(
    "der den dem des und ist sind ein eine einer einen nicht mit von für auf sich auch wird wurde bei zu zum zur im um "
    "le les du une est et dans pour par sur qui que pas ne aux avec sont été ont cette ce "
    "el los las del una por con para su es y en lo se fue más al de la".split()
)
"""Grammar words of German, French and Spanish that are none of English."""

NEGATIONS = frozenset(
    "not no never none nobody nothing neither nor cannot without n't dont doesnt didnt isnt wasnt wont cant arent "
    "werent hasnt havent hadnt couldnt wouldnt shouldnt nowhere hardly barely scarcely rarely seldom "
    "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne pas jamais aucun aucune "
    "nunca ningún ninguna ninguno nadie jamás tampoco".split()
)
"""Words that turn a statement round, lower case; every `...n't` counts too."""

NEGATIVE_VERBS = _stems("fail refuse lack deny decline avoid prevent stop cease forbid prohibit ban reject unable miss")
"""Verbs that say something does not happen: as good as a negation on the side that lacks one."""

ENDING_VERBS = frozenset(
    "ended ends ending removed removes removal dropped drops abolished cancelled canceled discontinued withdrawn "
    "withdrew withdrawal lifted terminated scrapped excluded excludes excluding".split()
)
"""Verbs after which a thing is no more: as good as a negation on the side that lacks one."""

HEDGES = frozenset(
    "may might could possibly perhaps probably likely potentially allegedly reportedly supposedly apparently seemingly "
    "presumably purportedly alleged rumored rumoured suspected plan plans planned planning propose proposes proposed "
    "expected expects expect intend intends intended aims aim hope hopes hoped seeks consider considering considered "
    "suggest suggests suggested believed believes thinks claim claims claimed estimated estimates estimate predicted "
    "predicts forecast projected would should if unless whether try tries tried attempt attempts attempted speculated "
    "appears appear seems seem tentatively scheduled ought theoretically hypothetical conceivably unconfirmed "
    "candidate potential unlikely doubt doubtful".split()
)
"""Words that keep a statement from being a plain fact."""


# Strength of a quantifier or frequency: a claim may be weaker than its passage, never stronger.
QUANTIFIERS: dict[str, int] = {
    **dict.fromkeys("all every each always everyone everybody everything entire entirely whole completely".split(), 5),
    **dict.fromkeys(
        "only sole solely exclusively unique uniquely none never invariably universally totally".split(), 5
    ),
    **dict.fromkeys(
        "most mostly majority usually generally mainly primarily largely nearly almost typically".split(), 4
    ),
    **dict.fromkeys("many much often frequently numerous several various countless lots".split(), 3),
    **dict.fromkeys("some sometimes certain occasionally partly partially somewhat few rarely seldom".split(), 2),
    **dict.fromkeys("any".split(), 3),
}

SUPERLATIVE_EXTRA = frozenset("first last best worst most least top main chief leading foremost unprecedented".split())
NOT_SUPERLATIVE = frozenset(
    "west east west guest test rest interest protest contest request forest harvest invest suggest arrest conquest "
    "request manifest honest priest modest northwest southwest northeast southeast midwest nest chest quest vest "
    "digest tempest jest pest zest behest bequest infest ingest attest detest fest crest".split()
)

IRREGULAR_PAST = frozenset(
    "rose fell grew won lost made built began led held found left went came ran wrote became took gave sold bought "
    "met paid said told got kept saw drew drove flew broke chose spoke sank sang shot struck cut put set hit beat "
    "fought sent spent taught thought brought threw wore stole knew swore forgave forgot overtook "
    "withdrew overthrew".split()
)
"""Past forms of verbs without "-ed"."""

PRONOUNS = frozenset(
    "he she it they him her them his hers its their theirs who which this that these those himself herself".split()
)
FIRST_PERSON = frozenset("i me my mine we us our ours i'm i've i'd i'll we're we've we'll im".split())

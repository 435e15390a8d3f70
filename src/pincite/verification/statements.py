"""What kind of sentence this is: a checkable fact, a connective, an opinion or an instruction."""

import re
from enum import StrEnum

from pincite.text.normalise import fold
from pincite.text.tokens import is_stop, words
from pincite.verification.lexicon import FIRST_PERSON


class SentenceKind(StrEnum):
    """Only a fact needs a source; a question counts as a connective."""

    FACT = "fact"
    CONNECTIVE = "connective"
    OPINION = "opinion"
    INSTRUCTION = "instruction"


_CHAT = re.compile(
    r"(?:(?:yes|yeah|yep|no|nope|oh|wow|lol|haha|hi|hey|hello|ok|okay|well|right|true|sure|thanks|thank you|agreed|"
    r"exactly|indeed|absolutely|definitely|of course|good question|great question|actually|thats right|that's right)"
    r"\s*[,.!;:-]+\s*|(?:yes|yeah|yep|lol|haha|wow|oh|ok|okay|well) (?:and |but |so )?)+",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\b(?:i|we) (?:think|believe|feel|guess|suppose|hope|love|like|hate|prefer|agree|doubt|wonder|would argue|expect|"
    r"recommend|suggest|found it|find it|really|never|always|also|am|was|have|'ve|'m)\b|\bi(?:'m|'ve|'d|'ll)\b|"
    r"\b(?:in (?:my|our) (?:opinion|view|experience)|imho|imo|to me|personally|arguably|hopefully|unfortunately|"
    r"fortunately|sadly|luckily|it is (?:clear|obvious|worth|important to|interesting|likely best)|"
    r"should (?:be|have|not|consider|aim)|ought to|must be (?:seen|regarded)|"
    r"the best (?:choice|option|way) (?:is|would)|"
    r"pretty (?:cool|good|amazing|interesting)|(?:is|are|was|were|so|very|really) (?:cool|awesome|amazing|fascinating|"
    r"interesting|wonderful|beautiful|terrible|awful|boring|fun|great|impressive|disappointing|exciting|remarkable))\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"^(?:please |always |never |do not |don't |first,? |then,? |next,? |finally,? |to begin,? )?(?:use|run|install|"
    r"open|click|select|choose|check|see|note|consider|remember|make sure|ensure|try|add|set|avoid|keep|start by|"
    r"visit|refer|contact|download|enter|type|press|read|follow|create|go to|let us|let's|imagine|suppose|assume|"
    r"compare|apply|review|ask|look at|take|be sure|be careful|wait|save|copy|paste|configure|verify|"
    r"consult)\b(?! of | by | against | as )",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"^(?:(?:in (?:summary|conclusion|short|brief|this (?:section|report|article|chapter|paper|guide))|"
    r"to (?:summari[sz]e|"
    r"conclude|sum up|recap)|overall|here(?:'s| is| are)|below|above|the (?:following|next|previous|above|"
    r"below) (?:sections?|chapters?|paragraphs?|parts?|steps?|tables?|figures?|"
    r"examples?|lists?|points?|questions?|reasons?|factors?|articles?|pages?|posts?|guides?)|"
    r"this (?:section|report|article|chapter|overview|summary|page|guide|document|table|list|answer) (?:covers?|"
    r"describes?|"
    r"examines?|looks?|explains?|presents?|summari[sz]es?|discusses|lists?|aims?|will|is (?:organi[sz]ed|"
    r"structured|about)|"
    r"gives?|provides?|offers?|outlines?|explores?|reviews?|contains?|shows?|answers?)|"
    r"(?:several|many|some|a number of|various|two|three|four|five) (?:factors|reasons|sources|things|points|aspects|"
    r"questions|issues|ways|themes|differences)(?: (?:that )?(?:matter|remain|stand out|emerge|apply|"
    r"play a (?:role|part)|"
    r"can help|deserve attention|(?:are|is) (?:relevant|important|at play|worth \w+|"
    r"to be considered))\b.{0,40})?[:.]?$|"
    r"(?:let us|let's) |as (?:noted|mentioned|discussed|shown|described|stated) (?:above|below|earlier|before)|"
    r"(?:first|second|third|finally|next|then|moreover|however|additionally)[,:]?$|"
    r"(?:key|main) (?:points|findings|takeaways)|what does this mean|why does (?:this|it) matter|"
    r"no (?:source|evidence|information|answer) (?:was|were|could be|is)|the sources (?:do not|don't|disagree|agree)))",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|will|would|can|could|may|might|must|shall|'s|'re)\b|"
    r"\b\w{3,}(?:ed|es|s|ing|en)\b|"
    r"\b(?:rose|fell|grew|won|lost|made|built|began|led|held|found|left|died|born|went|came|ran|wrote|became|took|gave|"
    r"sold|bought|met|paid|said|told|got|kept|saw|drew|drove|flew|broke|chose|spoke|sank|sang|shot|struck|cut|"
    r"put|set|hit)\b",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"^\(?\d{1,2}(?:\.\d{1,2})*[.)]\s+(?=[^\W\d])")
_LEAD_IN = re.compile(
    r"^(?:(?:please )?(?:note|remember|consider|keep in mind|bear in mind|recall|it is (?:important|worth|"
    r"interesting|useful)"
    r"(?: to (?:note|remember|mention|know)| noting| mentioning)) that |"
    r"(?:in (?:summary|conclusion|short|brief|other words|fact|general|addition|particular)|overall|"
    r"to (?:sum up|conclude|"
    r"summari[sz]e)|that said|as (?:noted|mentioned|discussed|shown|described|stated) (?:above|below|earlier|before)|"
    r"on the (?:one|other) hand|(?:un)?fortunately|sadly|luckily|interestingly|notably|importantly|moreover|"
    r"furthermore|however|therefore),? )",
    re.IGNORECASE,
)
"""What only leads to the statement behind it."""
_STATEMENT_WORDS = 4
_CAPTION = re.compile(
    r"^(?:table of contents|contents|index|glossary|appendix)$|^(?:part|step|lesson|day|table|figure|fig\.?|"
    r"chart|box|appendix|chapter|section|listing|image|photo|exhibit) \d+[a-z]?"
    r"(?:[.:)]|$)(?!.*\b(?:is|are|was|were|has|had|rose|fell|grew)\b)",
    re.IGNORECASE,
)
_GUIDES = re.compile(
    r"^(?:thank(?:s| you)\b|let me know\b|feel free\b|i hope this\b|hope this\b|share this\b|read more\b|"
    r"last updated\b|"
    r"disclaimer\b|editor's note\b|to be continued|in what follows\b|updated for\b|"
    r"more (?:research|work|data|studies) (?:is|are) (?:still )?(?:needed|required)|"
    r"there are (?:also |some |of course )?(?:drawbacks|downsides|exceptions|caveats|limits|limitations|trade-offs|"
    r"alternatives|pros and cons)\b|.{0,30}\bpart of the (?:story|picture)|subscribe\b|follow us\b|sign up\b|"
    r"contact us\b|all rights reserved|advertisement|more on this\b|with that in mind|"
    r"there (?:are|is) (?:several|many|some|a number of|a few|various|two|three|other|"
    r"no simple)\b.{0,30}\b(?:reasons?|ways?|"
    r"factors?|points?|aspects?|things?|questions?|options?|issues?|approaches|answers?)\b|"
    r"the (?:table|figure|chart|list|section|graph|remainder|rest)\b.*\b(?:below|above|lists|summari[sz]es|"
    r"of this (?:article|"
    r"report|paper|page|guide)))|"
    r"\b(?:is|are|will be) (?:discussed|described|explained|organi[sz]ed|structured|listed|summari[sz]ed|"
    r"covered|examined|"
    r"outlined) (?:in turn|below|above|here|as follows|in (?:the|this|more|detail))|"
    r"\b(?:picture|situation|answer|question|story)s? (?:is|are|remains?|depends?) (?:mixed|complex|complicated|"
    r"unclear|simple|"
    r"nuanced|open|on (?:several|many|various|a number of))",
    re.IGNORECASE,
)
"""Sentences about the text itself or to its reader."""
_READER = re.compile(
    r"^(?:(?:to|if|when|once|before|after|for) [^,]{3,80}, (?:please |then |just |simply )?(?:run|use|try|make|"
    r"click|press|open|"
    r"select|choose|read|see|set|add|check|close|connect|plug|unplug|tap|hold|drag|scroll|log|back|update|"
    r"upgrade|repeat|adjust|replace|insert|attach|push|pull|move|rename|restore|confirm|continue|proceed|keep|"
    r"put|place|restart|start|stop|call|contact|follow|go|install|download|enter|type|remove|"
    r"delete|edit|create|save|copy|wait|turn|switch|visit|consult|ask|do not|don't)\b|"
    r"you (?:can|may|could|will|should|must|need to|have to) (?:also )?(?:find|see|read|learn|click|use|try|"
    r"check|contact|"
    r"download|skip|ignore)\b|(?:preheat|whisk|bake|stir|mix|pour|chop|serve|drain|peel|slice|simmer|boil|fold|"
    r"season) )",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"\b(?:is|are|was|were|be|feels?|seems?|looks?|remains?) (?:a |an |the |one of the )?(?:(?:truly|really|"
    r"very|so|quite|"
    r"simply|clearly|utterly|rather|too|most) )*(?:remarkable|wise|unwise|acceptable|unacceptable|elegant|"
    r"outdated|lovely|ugly|"
    r"brilliant|excellent|superb|inspiring|shameful|shame|pity|tragic|delightful|charming|tedious|clumsy|overrated|"
    r"underrated|best approach|worst idea|must-read|must-see|masterpiece|joy|disgrace|mess|nightmare|dream|"
    r"easy to love)\b|"
    r"\bby far the \w+est\b|\bmust (?:act|stop|change|wake up|do (?:more|better))\b|\bhard not to \w+|"
    r"\bcould (?:not|hardly) be (?:further|better|worse)|\bnothing could be\b|"
    r"\bit would be (?:wise|better|good|nice|best|foolish|wrong|fair)\b|\bit is (?:a )?(?:shame|pity|high time|"
    r"time to)\b|"
    r"\b(?:everyone|everybody|nobody|we|people|governments?|companies|society) (?:should|ought to|must)\b|"
    r"\bthe \w+ should (?!be\b|have\b)\w+|^what an? \w+|\bdeserves? (?:better|more|to be|credit|praise)\b",
    re.IGNORECASE,
)
_AFTER_IMPERATIVE = frozenset(
    "the a an this that these those your you it its them their all any each every for with on in at to from by into of "
    "up down out off and or if how what whether when where which no not only more sure two three four five".split()
)
_TITLE_DOES = re.compile(r"(?<!^)\b[A-Z]\w+ \w{3,}ed\b")
_WENT = re.compile(r"\b(?:went|rose|fell|grew|won|lost|began|became|took|gave|came|said|told|met)\b")
_TOLD_WHEN = re.compile(r", (?:when|which|who|where|whose)\b")
_FINITE = re.compile(
    r"(?:rose|fell|grew|won|lost|made|began|led|held|ran|takes?|took|runs?|reach(?:es|ed)?|makes?|gives?|gave|\w{3,}ed|"
    r"helps?|costs?|shows?|remains?|became|becomes?|jumped|starts?|works?|needs?|does|did|will|can|may|must)[.,]?",
    re.IGNORECASE,
)


def kind_of(sentence: str) -> SentenceKind:
    """The kind of the sentence. A sentence with a number, a date or a name leans to fact."""
    text = _LIST_NUMBER.sub("", fold(sentence).text.strip().strip("*_#> "))
    content = [word for word in words(text) if not is_stop(word)]
    if not content or text.endswith("?"):
        return SentenceKind.CONNECTIVE
    stated = _LEAD_IN.sub("", text)
    if stated != text and len(list(words(stated))) >= _STATEMENT_WORDS and _VERB.search(stated):
        return kind_of(stated[0].upper() + stated[1:])
    if _CONNECTIVE.match(text) and not _specific(text):
        return SentenceKind.CONNECTIVE
    if _CAPTION.match(text) or (_GUIDES.search(text) and not _specific(text)):
        return SentenceKind.CONNECTIVE
    if text.endswith(":") and not re.search(r"\d", text):
        return SentenceKind.CONNECTIVE
    if _instructs(text):
        return SentenceKind.INSTRUCTION
    if (subjective(text) > 0 or _JUDGES.search(text)) and not re.search(r"\d", text):
        return SentenceKind.OPINION
    if len(content) < 2 or not _VERB.search(text):
        return SentenceKind.CONNECTIVE if len(content) < 4 and not re.search(r"\d", text) else SentenceKind.FACT
    return SentenceKind.FACT


def _instructs(text: str) -> bool:
    """Whether the sentence tells the reader what to do; "Ask prices rose" does not."""
    if _READER.match(text):
        return True
    match = _INSTRUCTION.match(text)
    if match is None:
        return False
    if re.search(r"\b(?:was|were|is|are|has|had)\b", text[:24]):
        return False
    rest = text[match.end() :]
    if _TOLD_WHEN.search(rest) and re.search(r"\d", rest):
        return False  # "Compare this with 1990, when only 3 % had access."
    if _TITLE_DOES.search(text) or (_WENT.search(rest) and "," not in rest):
        return False  # "Enter the Dragon premiered", "Copy editors went on strike"
    following = rest.split()[:4]
    object_first = bool(following) and following[0].lower() in _AFTER_IMPERATIVE
    return object_first or not any(_FINITE.fullmatch(word) for word in following[1:3])


def is_factual(sentence: str) -> bool:
    """Whether the sentence states something that a source could carry or contradict."""
    return kind_of(sentence) is SentenceKind.FACT


def subjective(text: str) -> int:
    """How many marks of opinion the text has: first person, judgement, wish."""
    return len(_OPINION.findall(text))


def chat_opening(text: str) -> str:
    """The words with which an answer in a chat begins ("Yes, ", "wow! "), or nothing."""
    match = _CHAT.match(text)
    return match.group() if match else ""


def first_person(text: str) -> int:
    """Number of first-person words."""
    return sum(1 for word in words(text) if word.lower() in FIRST_PERSON)


def _specific(text: str) -> bool:
    """Whether the sentence has a digit or a capitalised word after its first: something to check."""
    rest = text.split(" ", 1)[1] if " " in text else ""
    return bool(re.search(r"\d|(?<![.!?:] )\b[A-Z][a-z]+", rest))

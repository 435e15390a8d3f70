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
    r"consult)\b(?! of | by )",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    r"^(?:(?:in (?:summary|conclusion|short|brief|this (?:section|report|article|chapter|paper|guide))|"
    r"to (?:summari[sz]e|"
    r"conclude|sum up|recap)|overall|here(?:'s| is| are)|below|above|the (?:following|next|previous|above|below)|"
    r"this (?:section|report|article|chapter|overview|summary|page|guide|document|table|list|answer)|"
    r"(?:several|many|some|a number of|various|two|three|four|five) (?:factors|reasons|sources|things|points|aspects|"
    r"questions|issues|ways|themes|differences)\b.{0,60}:?$|"
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
    r"sold|bought|met|paid|said|told|got|kept|saw|drew|drove|flew|broke|chose|spoke|sank|sang|shot|struck|cut|put|set|hit)\b",
    re.IGNORECASE,
)


def kind_of(sentence: str) -> SentenceKind:
    """The kind of the sentence. A sentence with a number, a date or a name leans to fact."""
    text = fold(sentence).text.strip().strip("*_#> ")
    content = [word for word in words(text) if not is_stop(word)]
    if not content or text.endswith("?"):
        return SentenceKind.CONNECTIVE
    if _CONNECTIVE.match(text) and not _specific(text):
        return SentenceKind.CONNECTIVE
    if text.endswith(":") and not re.search(r"\d", text):
        return SentenceKind.CONNECTIVE
    if _INSTRUCTION.match(text) and not re.search(r"\b(?:was|were|is|are|has|had)\b", text[:24]):
        return SentenceKind.INSTRUCTION
    if subjective(text) > 0 and not re.search(r"\d", text):
        return SentenceKind.OPINION
    if len(content) < 2 or not _VERB.search(text):
        return SentenceKind.CONNECTIVE if len(content) < 4 and not re.search(r"\d", text) else SentenceKind.FACT
    return SentenceKind.FACT


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

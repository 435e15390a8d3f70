"""Passages that speak to machines instead of readers: orders to assistants, forged roles and tool calls, hidden codes.

A help, not a boundary: what is found is flagged and shown, never removed. A flagged passage can't be the only support
of a claim. Words in quotation marks are told, not said: an article about such orders is no order.
"""

import re
import unicodedata
from typing import Final

# One sure pattern, or several that are weak alone (their weights are below).
FLAGGED_FROM: Final = 1.0
_MACHINE = (
    r"(?:automated\s+readers?|readers?\s+that\s+are\s+programs?|(?:ai|artificial)[\s-]+(?:assistants?|agents?|models?|"
    r"readers?|systems?)|assistants?|language\s+models?|llms?|chat\s?bots?|bots|agents?|planners?|verifiers?|"
    r"(?:checking|reading|language)\s+models?|(?:search\s+)?engines|machines|crawlers?|summari[sz]ers?)"
)
# Who reads a page for others. Of other programs manuals say what they must do: "Crawlers must obey robots.txt".
_READER = (
    r"(?:automated\s+readers?|readers?\s+that\s+are\s+programs?|(?:ai|artificial)[\s-]+(?:assistants?|agents?|models?|"
    r"readers?|systems?)|assistants?|language\s+models?|llms?|chat\s?bots?|(?:checking|reading|language)\s+models?|"
    r"summari[sz]ers?)"
)
_MACHINES: Final = tuple(
    "reader assistant agent model system llm bot planner verifier engine machine crawler summari".split()
)
# A pattern, its weight, and parts of words of which every match has one, in lower case: a text without them is not
# searched. Most sentences of a page have few of them, and the patterns took a third of a run's own time. None: always.
_RULES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), weight, frozenset[str](keys))
    for pattern, weight, keys in (
        # Spoken to by name, with an order.
        (rf"(?:^|[.!?:;]\s+|\bto\s+|\bfor\s+|calling\s+){_MACHINE}\s*[:,]\s*\S", 1.0, _MACHINES),
        (
            rf"\b{_READER}\s+(?:must|should|shall|have\s+to|are\s+(?:required|asked|told)\s+to|need\s+to)\b",
            1.0,
            _MACHINES,
        ),
        (
            rf"\b(?:note|notice|message|instructions?|directive)\s+(?:to|for)\s+(?:all\s+|the\s+|any\s+)?{_MACHINE}",
            1.0,
            ("note", "notice", "message", "instruction", "directive"),
        ),
        (
            r"\b(?:note|notice|message|instructions?)\s+(?:to|for)\s+(?:the\s+|any\s+)?AI\b",
            1.0,
            ("note", "notice", "message", "instruction"),
        ),
        (
            (
                rf"\b{_MACHINE}\s+(?:that\s+)?(?:read|summari[sz]|process|pars|quot)(?:e|es|s|ing)\s+(?:[\w'’-]+\s+){{1,6}}"
                r"(?:must|should|shall|have\s+to)\b"
            ),
            1.0,
            _MACHINES,
        ),
        (
            r"\byour\s+new\s+(?:task|job|goal|role|instructions?)\b|\byou\s+are\s+now\s+(?:an?\s+)?[A-Z]\w+",
            0.7,
            ("your", "now"),
        ),
        # The reader's task is to be changed.
        (
            # A manual, too, has rules, messages and users to ignore, yet none that its reader was given before.
            (
                r"\b(?:ignore|disregard|forget|drop|override)\s+(?:(?:all|any|the|every|of)\s+){0,3}"
                r"(?:(?:your|previous|prior|above|earlier|preceding)\b.{0,30}?"
                r"\b(?:instructions?|prompts?|rules|questions?|messages?|orders|guidelines)"
                r"|(?:[\w'’-]+\s+){0,2}?(?:instructions|guidelines|questions?\s+(?:that\s+)?you\s+(?:were|are|have)))\b"
            ),
            1.0,
            ("ignore", "disregard", "forget", "drop", "override"),
        ),
        (
            (
                r"\b(?:ignore|disregard|forget)\s+(?:what\s+)?(?:the|this|your)\s+user(?:['’]s)?"
                r"(?:\s*(?:[.,;:!]|$)|\s+(?:and|asks?|asked|says?|said|wants?|wanted|questions?|requests?)\b)"
            ),
            1.0,
            ("ignore", "disregard", "forget"),
        ),
        (
            r"\b(?:new|updated)\s+(?:directive|instructions?|orders?|system\s+prompt)\b",
            0.7,
            ("directive", "instruction", "order", "system"),
        ),
        (r"\bfrom\s+now\s+on\b.{0,30}\byou\b", 0.7, ("from",)),
        (
            r"\b(?:answer|reply|respond|say)\s+(?:only\s+)?(?:with\s+)?(?:only\b|the\s+word\b|nothing\s+but\b)",
            0.7,
            ("answer", "reply", "respond", "say"),
        ),
        (
            r"\b(?:[Aa]nswer|[Rr]eply|[Rr]espond|[Ss]ay)\s+(?:with\s+)?[\"“]?(?-i:[A-Z]{3,})[\"”]?(?:\s+only|\s+and\s+stop)?[.!]?$",
            1.0,
            ("answer", "reply", "respond", "say"),
        ),
        (
            r"\bwhen\s+you\s+(?:write|report|answer|speak)\b.{0,60}\b(?:recommend|mention|praise|name|add|say)\b",
            1.0,
            ("when",),
        ),
        (r"\byour\s+(?:whole|entire|only|final)\s+(?:answer|reply|response|output)\b", 1.0, ("your",)),
        (r"\b(?:as|in|for)\s+your\s+(?:answer|reply|report|summary|output)\b", 0.6, ("your",)),
        (r"\b(?:system|hidden)\s+(?:message|prompt|configuration|instructions?)\b", 0.6, ("system", "hidden")),
        (r"\bprint\b.{0,40}\b(?:precedes|system|configuration|instructions)\b", 0.6, ("print",)),
        (r"\b(?:decode|rot13|base64)\b.{0,20}\bobey\b|\bobey\b.{0,20}\b(?:rot13|base64|decod)", 1.0, ("obey",)),
        (
            r"\badd\s+to\s+every\s+(?:report|answer)\b|\bbefore\s+answering\b|\bwhen\s+you\s+(?:write|report)\s+about\b",
            0.7,
            ("every", "before", "when"),
        ),
        (
            r"\b(?:mark|rate|score)\s+(?:it|this|them)\s+as\s+(?:supported|true|verified)\b|\breturn\s+score\b",
            1.0,
            ("mark", "rate", "score"),
        ),
        (
            r"(?:^|[.!?:;,]\s+|\b(?:to|and|must|should|please)\s+)stop\s+searching\b|\bcite\s+only\s+this\b|\bnever\s+quote\s+it\b",
            1.0,
            ("searching", "cite", "never"),
        ),
        (r"\b(?:illustrate|end|begin)\s+(?:the|your)\s+answer\s+with\b", 1.0, ("answer",)),
        # Forged roles, tool calls, templates.
        (r"<\|[^|>]{1,40}\|>|\[/?INST\]|<</?SYS>>", 1.0, ("<", "inst]")),
        (r"</?(?:system|document|assistant|user)>", 0.7, ("<",)),
        (r"^\s*(?:system|assistant|user|developer)\s*:", 0.5, (":",)),
        (r"<(?:tool_use|tool_call|function_call)\b|\"(?:tool|function|arguments|tool_calls)\"\s*:", 1.0, ("<", ":")),
        # Places to send things to.
        (
            r"https?://\S*[?=/](?:\[|\{|%7b)|\bfollowed\s+by\s+everything\s+you\b|\?(?:d|q|data)=\s*\[",
            1.0,
            ("http", "followed", "?"),
        ),
        # From the last "![" before a "]": to look on from each of many would take time with their square.
        (r"!\[(?:[^\]!]|!(?!\[))*\]\s*[(\[]", 0.7, ("![",)),
        (r"\bfile:///", 0.7, ("file:",)),
        # Codes that nobody reads by eye.
        (
            r"(?<![\w/+-])(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{28,}={0,2}(?![\w/+-])",
            0.6,
            (),
        ),
        # The same orders in other languages.
        (
            (
                r"(?:忽略|放弃).{0,12}(?:指令|问题|指示)|(?:自动|机器|程序).{0,6}(?:通知|指令)|只输出|ignorez\s+(?:les|toutes)|"
                r"ignora\s+(?:las|todas|le)|ignoriere?\s+(?:alle|die|bisherige)|игнорируй|無視して"
            ),
            1.0,
            ("忽略", "放弃", "自动", "机器", "程序", "只输出", "ignor", "игнорируй", "無視"),
        ),
        *(
            (rf"\b(?:{verb})\s+(?:[\w'’-]+\s+){{0,3}}?(?:l['’])?(?:{thing})", 1.0, keys)
            for verb, thing, keys in (
                (
                    r"vergiss|vergesst|ignorier\w+|missachtet?",
                    r"Frage|Anweisung|Auftrag|Aufgabe|Vorgaben|Regeln",
                    ("verg", "ignorier", "missachte"),
                ),
                (
                    r"oublie[sz]?|ignore[sz]|négligez",
                    r"question|instruction|consigne|règle",
                    ("oublie", "ignore", "négligez"),
                ),
                (r"olvid(?:a|ad|e|en)|ignor(?:a|ad|e|en)", r"pregunta|instruccion|órdenes|reglas", ("olvid", "ignor")),
                (r"забудь\w*|игнорируй\w*", r"вопрос|инструкц|указани|правил", ("забудь", "игнорируй")),
                (r"تجاهل\w*|انس\w*", r"التعليمات|السؤال|الأوامر|القواعد", ("تجاهل", "انس")),
            )
        ),
        (r"(?:指示|命令|質問).{0,4}(?:無視|忘れ)", 1.0, ("指示", "命令", "質問")),
    )
)


_KEYS: Final = frozenset[str]().union(*(keys for _, _, keys in _RULES))
_QUOTED: Final = re.compile(r"“[^“”]{1,300}”|„[^„“”]{1,300}[“”]|«[^«»]{1,300}»|\"[^\"\n]{1,300}\"|`[^`\n]{1,300}`")
# Cyrillic and Greek letters that pass for Latin ones. Source: the confusables of Unicode Technical Standard 39.
_LOOK_ALIKES: Final = str.maketrans(
    "асԁеһіјӏорԛѕԝхуАВЕНІЈКМОРЅТХУαικνορτυχΑΒΕΗΙΚΜΝΟΡΤΥΖ",
    "acdehijlopqswxyABEHIJKMOPSTXYaikvoptuxABEHIKMNOPTYZ",
)
_DATA_STARTS: Final = ("{", "[", "<")


def is_flagged(text: str) -> bool:
    """Whether the passage speaks to machines."""
    said = unicodedata.normalize("NFKC", text)
    if not said.lstrip().startswith(_DATA_STARTS):  # the quotation marks of an object or a tag quote nobody
        said = _QUOTED.sub(" ", said)
    # Both readings: a text in Cyrillic is read as it is, and as what it passes for.
    seen = said.translate(_LOOK_ALIKES)  # as an eye reads it
    readings = (said,) if seen == said else (said, seen)
    folded = "\n".join(map(_folded, readings))
    found = 0.0
    keys_here = [key for key in _KEYS if key in folded]
    for pattern, weight, keys in _RULES:
        if not (keys and keys.isdisjoint(keys_here)) and any(pattern.search(one) for one in readings):
            found += weight
            if found >= FLAGGED_FROM:
                return True
    return False


def _folded(text: str) -> str:
    """In lower case, letters that patterns without case take for one another alike (the dotless i for i)."""
    return text.lower() if text.isascii() else text.replace("İ", "i").upper().lower()

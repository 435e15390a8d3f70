"""Code that a model put together: every name, option and number of it stands in its lines or is set by itself.

No language is parsed. What is compared is the words of the code, by case, with those of the passages: a setting or a
function that no passage has can't be printed, whoever finds it right. Whether the code does what is said of it is
meaning, which a judge decides.
"""

import builtins
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from keyword import kwlist
from typing import Final

from pincite.domain.evidence import EvidencePassage
from pincite.text.normalise import fold
from pincite.text.tokens import is_stop
from pincite.verification.facts import ADDRESS, FactFinding, FactKind, FactOutcome, check_facts

# An option with its dashes is one name: `--no-ff` is not `--ff`. Numbers keep their unit (64MB, 0.01) and the minus
# at them, where nothing stands before it that they are taken from.
_TOKEN: Final = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*|(?:(?<![\w)\]}-])-)?(?:\d[\w.]*\w|\d)|[^\W\d]\w*")
_NUMBER: Final = re.compile(r"-?\d")
# Words that a language keeps for itself name nothing: those of Python, and of shells (POSIX XCU 2.4, Bash).
_RESERVED: Final = frozenset(kwlist) | {
    "case",
    "do",
    "done",
    "elif",
    "esac",
    "fi",
    "function",
    "then",
    "until",
    "while",
}
# An option of one letter and what is written right behind it: where one stands so ("-DNAME=..."), all may.
_GLUED: Final = re.compile(r"-[A-Z][A-Za-z]\w+")
# What each program of that language has, where it is called: a row that shows what came out names nothing new.
_BUILT_IN: Final = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(name for name in dir(builtins) if name.isalpha() and name.islower())})\("
)
# What is to be filled in by who types it.
_PLACEHOLDER: Final = re.compile(r"<[A-Za-z][\w -]*>")
# States something in words, beside the code. `#include`, `--option`, `git checkout -- FILE` and `cd x ; ls` are none.
_COMMENT: Final = re.compile(r"(?:(?:^|(?<=\s))(?:#|//|/\*)|^[ \t]*(?:--|;))(?=[ \t]|$)")
# A branch, a role, a table, a message, an IP address: what an example has to call by some name. No other number is one:
# a limit or a time that no page has would read like advice.
_EXAMPLE: Final = re.compile(
    r"(?:\.{0,2}/|~/)?[^\W\d][\w./@:*-]{0,39}(?: [\w./@:-]{1,20}){0,5}|\d{1,3}(?:\.\d{1,3}){3}(?:[/:]\d{1,5})?"
)
EXAMPLE_HOST: Final = r"(?:[\w-]+\.)*example(?:\.(?:com|net|org))?"
"""A name that is kept for examples, as a pattern: what is sent there reaches nobody. Source: RFC 2606, RFC 6761."""
_NOBODYS_MAIL: Final = re.compile(rf"[\w.+-]+@{EXAMPLE_HOST}")
# More of them are a story.
MAX_EXAMPLES: Final = 6
_NAME: Final = re.compile(r"[^\W\d]\w*")
# "$ ", ">>> ", "postgres=# ", "user@host:~$ ". A lone "# " or "% " may as well set a row aside as a comment, and
# "vector<int> " belong to it.
_PROMPT: Final = re.compile(r"[ \t]*(?:[$>]|>>>|\.\.\.|(?=[^\s]*[A-Za-z])[^\s<>(){}\"'`,;=]{1,40}=?[$#%>]) (?= *\S)")
# The number of a note below a listing ("(1)", "<1>"), and a remark, which stands apart: `17 # 5` and `a // b` are sums,
# and `--` and `;` parts of commands.
_BESIDE: Final = re.compile(
    r"(?<=\S)(?:[ \t]{2,}(?:\(\d{1,2}\)|<\d{1,2}>)|(?:[ \t]{2,}|(?<=[;{}])[ \t])(?:#|//)[ \t][^\"'`]*)$"
)
# What follows a name that is called or set, and what stands before one that is an option, a part, or a command.
_DOES: Final = re.compile(r"\(|:(?!:)")
_OPENS: Final = re.compile(r"(?:.*[-.]|(?:[$>] )?)")
# A function or class that is there for others need not be used.
_DEFINED: Final = re.compile(r"\b(?:def|class|function|func|fn) +([^\W\d]\w*)")
# What a piece of code names itself, in languages that people quote: it counts where it is used again.
_NAMED: Final = re.compile(
    r"^[ \t]*([^\W\d]\w*(?:, *[^\W\d]\w*)*) *(?::?=(?!=)|<-)"  # rows, found = ...; rows <- ...
    r"|\b([^\W\d]\w*) *:="
    r"|\b(?:def|function|func|fn) +([^\W\d]\w*) *\(([^()]{0,200})\)"  # and what it takes
    r"|\blambda +([^:()]{0,200}):"
    r"|(?:\(([^()]{0,200})\)|\b([^\W\d]\w*)) *=>"  # of JavaScript and others, as is the next
    r"|\b(?:function *|catch +)\(([^()]{0,200})\)"
    r"|\b(?:class|let|const|var|as|for) +([^\W\d]\w*(?:, *[^\W\d]\w*)*)",
    re.MULTILINE,
)


def check_code(code: str, evidence: Sequence[str], examples: Sequence[str] = ()) -> tuple[FactFinding, ...]:
    """What became of each name, option and number of the code, each once; then of its addresses and comments.

    Args:
        code: as it is to be printed.
        evidence: the texts of the passages and their context.
        examples: names in it that are said to be examples (`examples_in`): nobody looks for them.

    A name that the code sets itself and uses again is not looked for, nor what stands in angle brackets, nor reserved
    words and small words of English (`return`, `from`), of which languages are made: they name nothing. An address
    must stand whole; a comment is held to its own exact facts, as a sentence is.
    """
    bare, comments = _apart(code)
    bare = _PLACEHOLDER.sub(" ", _BUILT_IN.sub("(", bare))
    named = examples_in(code, examples)
    for name in named:
        bare = _whole(name).sub(")", bare)  # behind which a hyphen is no minus: `sauce-2.7.zip`
    own = _set_by_itself(bare)
    stand = {token for text in evidence for token in _tokens(text)}
    letters = {token[:2] for token in stand if _GLUED.fullmatch(token)}
    stand |= {f"{letter}{token}" for letter in letters for token in stand if token[0].isalpha()}
    found = [
        _finding(FactKind.NUMBER if _NUMBER.match(token) else FactKind.IDENTIFIER, token, there=token in stand)
        for token in dict.fromkeys(_tokens(bare))
        if token not in own and token not in _RESERVED and not (token.islower() and is_stop(token))
    ]
    shown = {link for text in evidence for link in _addresses(text)}
    shown |= {name for name in named if _NOBODYS_MAIL.fullmatch(name)}
    found += [_finding(FactKind.ADDRESS, link, there=link in shown) for link in dict.fromkeys(_addresses(code))]
    said = (_PLACEHOLDER.sub(" ", comment) for comment in comments)
    return (*found, *(finding for comment in said for finding in check_facts(comment, evidence)))


def examples_in(code: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that the code may have as examples of its own, for who types it to replace.

    Never an option, what is called, what is set, a part of another name, or what a row begins with: these do
    something, and a passage must have them.
    """
    rows = _apart(code)[0].split("\n")
    can_be = (name for name in dict.fromkeys(names) if _EXAMPLE.fullmatch(name))
    return tuple(islice((name for name in can_be if _is_example(name, rows)), MAX_EXAMPLES))


def _is_example(name: str, rows: Sequence[str]) -> bool:
    found = [(row, match.start(), match.end()) for row in rows for match in _whole(name).finditer(row)]
    is_set = [_is_set(*place) for place in found]
    # Set for somebody else ("f(limit=4)") it is a parameter, which a passage must have; used again it is a name.
    is_own = any(is_set) and not all(is_set)
    return bool(found) and not any(
        not is_own if sets else _is_at_work(*place, is_own) for place, sets in zip(found, is_set, strict=True)
    )


def _is_set(row: str, start: int, end: int) -> bool:
    behind = row[end:]
    begins = not row[:start].strip()
    return behind.startswith(("=", ":=")) or (begins and behind.lstrip().startswith(("=", ":", "<-")))


def _is_at_work(row: str, start: int, end: int, is_own: bool) -> bool:
    """Whether what stands there is called, a command, an option, or a part of another name, unless of its own."""
    before = row[:start]
    is_called = bool(_DOES.match(row, end)) or (not before.strip() and row[end:].lstrip().startswith("("))
    return is_called or (bool(_OPENS.fullmatch(before)) and not (is_own and before.endswith(".")))


def _apart(code: str) -> tuple[str, list[str]]:
    """The code without its comments, and these. What stands in quotation marks is none."""
    rows, comments = code.split("\n"), []
    for at, row in enumerate(rows):
        match = next((m for m in _COMMENT.finditer(row) if not any(row[: m.start()].count(q) % 2 for q in "\"'")), None)
        if match is not None:
            rows[at] = row[: match.start()]
            comments.append(row[match.end() :].strip())
    return "\n".join(rows), comments


def _whole(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def stands_in(code: str, passages: Iterable[EvidencePassage]) -> bool:
    """Whether the rows of the code stand in a passage as they are: of code, indentation is not typography.

    What a page shows beside a row without its being typed may be left out: the prompt before it, a number or a remark
    behind it. So may spaces that all rows begin with.
    """
    wanted = [row.rstrip() for row in code.split("\n")]
    for passage in passages:
        rows = [as_typed(row) for row in passage.text.split("\n")]
        for at in range(len(rows) - len(wanted) + 1):
            there = rows[at : at + len(wanted)]
            for more in {_indent(form) - _indent(wanted[0]) for form in there[0]}:
                deeper = (" " * more + row if row else row for row in wanted)
                if more >= 0 and all(row in forms for row, forms in zip(deeper, there, strict=True)):
                    return True
    return False


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def as_typed(row: str) -> frozenset[str]:
    """The row of a listing as it stands, and without what is not typed: a prompt, a number for a note, a remark."""
    whole = row.rstrip()
    prompt = _PROMPT.match(whole)
    typed = [whole, whole[prompt.end() :]] if prompt is not None else [whole]
    return frozenset({*typed, *(_BESIDE.sub("", form) for form in typed)})


def on_one_line(code: str) -> str:
    """The code as a prompt shows it: rows parted by ⏎, their indentation as dots."""
    return " ⏎ ".join("·" * (len(row) - len(row.lstrip())) + row.strip() for row in code.split("\n"))


def in_rows(text: str) -> str:
    """Code as it is printed: what `on_one_line` made of it turned back, without fences and empty rows around it."""
    rows = [row.strip("\n").rstrip().expandtabs(4) for row in text.replace(" ⏎ ", "\n").strip("\n").split("\n")]
    rows = [" " * (len(row) - len(row.lstrip("·"))) + row.lstrip("·") for row in rows]
    return "\n".join(row for row in rows if not row.startswith("```"))


def _finding(kind: FactKind, text: str, *, there: bool) -> FactFinding:
    return FactFinding(kind, text, FactOutcome.FOUND if there else FactOutcome.ABSENT)


def _tokens(text: str) -> Sequence[str]:
    return [token.rstrip(".") for token in _TOKEN.findall(text)]


def _addresses(text: str) -> list[str]:
    return [link.rstrip(".,;") for link in ADDRESS.findall(fold(text).text)]


def _set_by_itself(code: str) -> frozenset[str]:
    # To set it twice is no use: a setting that stands in two sections is one that a passage must have. What is set with
    # one that is used ("out, err = ...") takes what comes with that.
    groups = [_NAME.findall(" ".join(found)) for found in _NAMED.findall(code)]
    named, used = Counter(name for group in groups for name in group), Counter(_tokens(code))
    own = {name for group in groups if any(used[name] > named[name] for name in group) for name in group}
    return frozenset(own | set(_DEFINED.findall(code)))

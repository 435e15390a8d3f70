"""Pasted error messages and stack traces, made fit to search: what names the error stays, what is of one machine goes.

Engines match words. Paths, addresses, ids, moments and frames are of one machine and one run; no page has them.
"""

import re
from typing import Final

_TRACE: Final = re.compile(r"^Traceback \(most recent call last\):|^\s*at [\w.$<>/]+\(|^goroutine \d+ ", re.MULTILINE)
_FRAME: Final = re.compile(
    r"""(?x) ^\s*(?:
        File\ "[^"]*",\ line\ \d+.*          # Python
      | at\ .*[:(].*                         # Java, JavaScript, .NET
      | \.\.\.\ \d+\ (?:more|common\ frames).*
      | from\ \S+:\d+:in\ .*                 # Ruby
      | \#\d+\s.*                            # gdb, PHP
      | \d+:\s+0x[0-9a-f]+.*                 # Rust
      | goroutine\ \d+.* | \S+\.go:\d+.*     # Go
      | Traceback\ \(most\ recent\ call\ last\):.*
      | (?:During\ handling|The\ above\ exception).*
      | [~^\s]+
    )$"""
)
_EXCEPTION: Final = re.compile(
    r"^\s*(?:Caused by: |Uncaught |Unhandled |panic: |fatal: |thread '.*' panicked at )?"
    r"(?:[A-Za-z_][\w.$]*(?:Error|Exception|Warning|Fault|Interrupt|Exit)\b|panic:|fatal:|error(?:\[\w+\])?:|ERROR:|FATAL:)"
)
_NAMED: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\b(?:ERROR|FATAL|SEVERE)\b")
_OF_ONE_MACHINE: Final = (
    re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*[\"']?", re.IGNORECASE),
    re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE),
    re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    re.compile(r"\b0x[0-9a-f]+\b|@[0-9a-f]{6,}\b", re.IGNORECASE),
    re.compile(r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}\b", re.IGNORECASE),
    re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"),
    re.compile(r"\b(?:pid|tid|thread|process)[ =:#]?\s*\d+\b|\[\d{2,}\]", re.IGNORECASE),
    re.compile(r",?\s*\(?\b(?:on |at )?line:? \d+(?:[,:]? col(?:umn)?:? \d+)?\)?", re.IGNORECASE),
)
# The last part of a path may name the thing ("libssl.so.3", "settings.py"); the way to it is of one machine.
_PATH: Final = re.compile(r"(?<![\w/.])(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+)*[/\\](?P<name>[\w.@+-]+)(?::\d+){0,2}")
_PLACE: Final = re.compile(r"\b(?P<name>[\w-]+\.[a-z]{1,4}):\d+(?::\d+)?\b")
# A line of the question that is longer is material, not what is asked.
_LONG_CHARS: Final = 300


def searchable(text: str) -> str:
    """The text without what is of one machine only, if it holds an error; any other text as it is."""
    lines = text.splitlines()
    traced = _TRACE.search(text) is not None
    if not traced and not any(_EXCEPTION.search(line) or _NAMED.search(line) for line in lines):
        return text
    if traced:
        lines = _without_frames(lines)
    found = _plain("\n".join(lines))
    return found if any(character.isalnum() for character in found) else text


def _without_frames(lines: list[str]) -> list[str]:
    """What was asked around the trace, and the lines that name exceptions: the last ones are the cause."""
    kept: list[str] = []
    below_frame = False
    for line in lines:
        is_frame = _FRAME.match(line) is not None
        source = below_frame and not is_frame and line.startswith("    ")  # the line of code that Python prints
        if not is_frame and not source and line.strip():
            kept.append(line)
        below_frame = is_frame or source
    said = list(dict.fromkeys(line.strip() for line in kept))
    named = [line for line in said if _EXCEPTION.match(line)]
    asked = [line for line in said if line not in named]
    return [*(line for line in asked if len(line) <= _LONG_CHARS), *named[-2:]]


def _plain(text: str) -> str:
    for pattern in _OF_ONE_MACHINE:
        text = pattern.sub(" ", text)
    text = _PLACE.sub(lambda match: match["name"], _PATH.sub(lambda match: match["name"], text))
    text = re.sub(r"\(\s*\)|\[\s*\]|\"\s*\"|'\s*'|<\s*>", " ", text)
    return " ".join(text.split()).strip(" ,;")

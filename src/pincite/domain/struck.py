"""Words that a page crosses out: printed with signs around them, left out of what it says."""

from collections.abc import Iterable

# Before and after words that a page crosses out, wherever they are printed (Markdown, GFM 6.5).
STRUCK_SIGN = "~~"


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def with_struck(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the sign before and after each of these spans, less the spaces at their edges."""
    for low, high in reversed(united(spans)):
        gone = text[low:high]
        if bare := gone.strip():
            text = f"{text[:low]}{gone.replace(bare, f'{STRUCK_SIGN}{bare}{STRUCK_SIGN}', 1)}{text[high:]}"
    return text


def without_struck(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with spaces in place of these spans, so that offsets stay."""
    for low, high in spans:
        text = text[:low] + " " * (high - low) + text[high:]
    return text

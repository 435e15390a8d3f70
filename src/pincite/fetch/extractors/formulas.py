r"""Formulas as one line of text: presentation MathML by structure, TeX as it is written.

"¾" in MathML is "3/4", never "34"; an exponent has a caret, a root its sign. What can't be said in a line keeps its
parts apart by spaces or brackets. Annotations are no text: nobody sees them.

Source: MathML Core §3 (presentation elements); UnicodeMath for the one-line forms.
"""

import re

from lxml.html import HtmlElement

_LETTER_LIKE = frozenset({"mi", "mn", "mtext", "ms"})
_ROWS = frozenset({"math", "mrow", "mstyle", "mpadded", "merror", "semantics", "maction", "menclose", "mtd"})
_UNSEEN = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts", "maligngroup", "malignmark"})
_SPACED = frozenset("- = ≠ ≈ ≡ ≤ ≥ < > + − ± × ⋅ · ÷ → ⇒ ⇔ ↔ ∈ ∉ ⊂ ⊆ ∪ ∩ ∧ ∨ ∼ ∝ ≪ ≫ : := ← ≅ ⟶ ↦ | ∣".split())
_NOTHING = str.maketrans("", "", "\u2061\u2062\u2063\u2064\u200b")
_SIMPLE = re.compile(r"[+\-−]?\w+(?:[.,]\w+)*|[^\W\d]|\([^()]*\)")
# An exponent or subscript without brackets: what follows it at once would be read as its part ("v^2C").
_SCRIPT_END = re.compile(r"[\^_][+\-−]?\w+(?:[.,]\w+)*\Z")
_NAME, _NAME_END = re.compile(r"[^\W\d_]{2}"), re.compile(r"[^\W\d_]{2}\Z")
# Below the limit for whole pages (`dom.MAX_NESTING`); what is deeper is read as its bare words.
_MAX_LEVELS = 400


def math_text(math: HtmlElement) -> str:
    """A `<math>` element in one line; parts deeper than can be read stand with spaces between them."""
    return " ".join(_text(math, 0).split())


def _text(element: HtmlElement, level: int) -> str:
    tag = element.tag.rpartition(":")[2] if isinstance(element.tag, str) else ""
    if not tag or tag in _UNSEEN:
        return ""
    if level > _MAX_LEVELS:
        return " ".join(element.itertext())
    if tag in _LETTER_LIKE:
        text = "".join(element.itertext()).translate(_NOTHING)
        return text.strip() or text[:1]  # a space of its own is how renderers set one
    if tag == "mo":
        sign = "".join(element.itertext()).strip().translate(_NOTHING)
        return f" {sign} " if sign in _SPACED else f"{sign} " if sign in {",", ";"} else sign
    if tag == "mspace":
        return " "
    if tag == "mmultiscripts":
        return _multiscripts(element, level)
    parts: list[str] = []
    upright = False
    for child in element:
        if not isinstance(child.tag, str) or child.tag.rpartition(":")[2] in _UNSEEN:
            continue
        part = _text(child, level + 1)
        # Renderers set "mol" as three upright letters; a product is set in italics.
        goes_on = upright
        upright = child.get("mathvariant") == "normal" and len(part) == 1 and part.isalpha()
        if goes_on and upright and tag in _ROWS:
            parts[-1] += part
        else:
            parts.append(part)
    return _form(tag, element, parts)


def _joined(parts: list[str]) -> str:
    """The parts of a row side by side; two figures, a figure and a fraction, an exponent and a factor never touch."""
    row = ""
    for part in parts:
        if not part:
            continue
        sign = part.strip()
        if sign in {"-", "−", "+", "±"} and (not row.strip() or row.rstrip()[-1] in "(=<>≤≥+−-×·,;[|/^"):
            row += sign  # in front of one operand it is a sign
        elif row and row[-1].isalnum() and (part[0].isdigit() or (part[0].isalpha() and _SCRIPT_END.search(row))):
            row += " " + part
        elif (_NAME_END.search(row) and part[0].isalpha()) or (row[-1:].isalpha() and _NAME.match(part)):
            row += " " + part  # "sin x", not "sinx"; letters alone are a product
        else:
            row += part
    return row


def _bracketed(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _form(tag: str, element: HtmlElement, parts: list[str]) -> str:
    """An element with parts in one line; one of no known form is a row."""
    first, rest = (parts[0], " ".join(parts[1:])) if parts else ("", "")
    match tag:
        case "mfrac":
            if (element.get("linethickness") or "").strip() in {"0", "0px", "0pt", "0em"}:
                return f"({first.strip()} over {rest.strip()})"  # a binomial coefficient
            return f"{_bracketed(first)}/{_bracketed(rest)}"
        case "mover" if len(rest.strip()) == 1 and not rest.strip().isalnum():
            return first + rest.strip()
        case "msup" | "mover":
            return _script("^", first, rest)
        case "msub" | "munder":
            return _script("_", first, rest)
        case "msubsup" | "munderover":
            base, below, above = (*parts, "", "", "")[:3]
            low = _script("_", base, below)
            return f"{low}^{_bracketed(above)}" if above.strip() else low
        case "mroot":
            return f"root({rest.strip()}; {first.strip()})"
        case "mfenced":
            separator = (element.get("separators") or ",").strip()[:1] or ","
            return f"{element.get('open') or '('}{f'{separator} '.join(parts)}{element.get('close') or ')'}"
        case "mtable":
            return f"[{'; '.join(filter(None, map(str.strip, parts)))}]"
        case "mtr" | "mlabeledtr":
            return ", ".join(filter(None, map(str.strip, parts)))
    body = _joined(parts)
    if tag == "msqrt":
        return f"√{body.strip()}" if body.strip().isalnum() else f"√({body.strip()})"
    return f"[{body}]" if tag == "menclose" and "strike" not in element.get("notation", "") else body


def _script(sign: str, base: str, raised: str) -> str:
    raised = raised.strip()
    if not raised:
        return base
    if raised in {"′", "″", "*", "†", "∗", "°", "'"}:
        return base + raised
    return f"{base if len(base.strip()) < 2 else _bracketed(base)}{sign}{_bracketed(raised)}"


def _multiscripts(element: HtmlElement, level: int) -> str:
    """What is raised and lowered on both sides of a base: pairs of them, behind it first."""
    behind, before = "", ""
    base, *others = [child for child in element if isinstance(child.tag, str)] or [element]
    pair: list[str] = []
    is_before = False
    for child in others:
        tag = child.tag.rpartition(":")[2]
        if tag == "mprescripts":
            is_before, pair = True, []
            continue
        pair.append("" if tag in _UNSEEN else _text(child, level + 1))
        if len(pair) == 2:
            written = "".join(
                f"{sign}{_bracketed(part)}" for sign, part in zip("_^", pair, strict=True) if part.strip()
            )
            behind, before, pair = (behind, before + written, []) if is_before else (behind + written, before, [])
    core = _text(base, level + 1) if base is not element else ""
    return f"{before} {core}{behind}" if before else core + behind

"""Small plots as inline SVG, drawn here: no script, no style of their own, every figure also as text.

Text in them is drawn by the templates beside the SVG or by `<text>`; nothing from outside goes in unescaped.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup, escape

WIDTH = 640
_LABEL = 170
_VALUE = 130
_ROW = 26
_DOT = 5.0
_MARGIN = 18.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar chart; `shown` is the amount in words."""

    label: str
    amount: float
    shown: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its title, what it says in a sentence, and its figures as rows of a table."""

    svg: Markup
    title: str
    says: str
    head: tuple[str, str]
    rows: tuple[tuple[str, str], ...]


def bars(title: str, says: str, rows: Sequence[Bar], head: tuple[str, str]) -> Chart:
    """Horizontal bars, one for each row, as long as the amount is large."""
    largest = max((row.amount for row in rows), default=0.0) or 1.0
    room = WIDTH - _LABEL - _VALUE
    drawn = [_open(len(rows) * _ROW + 4, title, says)]
    for index, row in enumerate(rows):
        y = index * _ROW + 4
        width = max(row.amount / largest * room, 2.0 if row.amount else 0.0)
        drawn.append(f'<text class="label" x="{_LABEL - 12}" y="{y + 15}" text-anchor="end">{escape(row.label)}</text>')
        drawn.append(f'<rect class="track" x="{_LABEL}" y="{y + 3}" width="{room}" height="16" rx="3"/>')
        drawn.append(f'<rect class="bar" x="{_LABEL}" y="{y + 3}" width="{width:.1f}" height="16" rx="3"/>')
        drawn.append(f'<text class="value" x="{WIDTH - _VALUE + 12}" y="{y + 15}">{escape(row.shown)}</text>')
    return _chart(drawn, title, says, head, tuple((row.label, row.shown) for row in rows))


def timeline(title: str, says: str, dates: Sequence[tuple[datetime, str]], head: tuple[str, str]) -> Chart:
    """A dot for each date on a line from the first to the last, piled up where they are close together."""
    ordered = sorted(dates)
    first, last = ordered[0][0], ordered[-1][0]
    span = max((last - first).total_seconds(), 1.0)
    room = WIDTH - 2 * _MARGIN
    piles: Counter[int] = Counter()
    dots = []
    for at, name in ordered:
        slot = round((at - first).total_seconds() / span * room / (2 * _DOT + 1)) if last > first else 0
        x = _MARGIN + min(slot * (2 * _DOT + 1), room) if last > first else WIDTH / 2
        dots.append((x, piles[slot], f"{name}, {at:%Y-%m-%d}"))
        piles[slot] += 1
    height = max(piles.values()) * (2 * _DOT + 1) + 34
    base = height - 24
    drawn = [_open(height, title, says)]
    drawn.append(f'<line class="axis" x1="{_MARGIN}" y1="{base}" x2="{WIDTH - _MARGIN}" y2="{base}"/>')
    for x, pile, name in dots:
        y = base - _DOT - 1 - pile * (2 * _DOT + 1)
        drawn.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}"><title>{escape(name)}</title></circle>')
    for x, anchor, text in _ticks(first, last):
        drawn.append(f'<text class="label" x="{x:.0f}" y="{height - 6:.0f}" text-anchor="{anchor}">{text}</text>')
    return _chart(drawn, title, says, head, tuple((f"{at:%Y-%m-%d}", name) for at, name in ordered))


def figure(chart: Chart) -> Markup:
    """A chart with its caption and, folded away, its figures as a table."""
    rows = "".join(f"<tr><th scope=row>{escape(one)}</th><td>{escape(other)}</td></tr>" for one, other in chart.rows)
    head = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in chart.head)
    return Markup(  # noqa: S704  # every piece from outside is escaped above
        f"<figure class=plot><figcaption><strong>{escape(chart.title)}</strong> {escape(chart.says)}</figcaption>"
        f"{chart.svg}<details><summary>As a table</summary><div class=scroll tabindex=0 role=region aria-label="
        f'"{escape(chart.title)}"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        "</details></figure>"
    )


def _ticks(first: datetime, last: datetime) -> list[tuple[float, str, str]]:
    if first.date() == last.date():
        return [(WIDTH / 2, "middle", f"{first:%Y-%m-%d}")]
    form = "%Y" if first.year != last.year else "%Y-%m-%d"
    return [(_MARGIN, "start", first.strftime(form)), (WIDTH - _MARGIN, "end", last.strftime(form))]


def _open(height: float, title: str, says: str) -> str:
    name = escape(f"{title}. {says}")
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{name}" preserveAspectRatio="xMinYMin">'


def _chart(
    drawn: Sequence[str], title: str, says: str, head: tuple[str, str], rows: tuple[tuple[str, str], ...]
) -> Chart:
    return Chart(Markup("".join(drawn) + "</svg>"), title, says, head, rows)  # noqa: S704  # escaped piece by piece

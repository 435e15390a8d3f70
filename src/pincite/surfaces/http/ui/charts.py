"""Small plots as inline SVG, drawn here: no script, no style of their own, every figure also as text.

Text in them is drawn by the templates beside the SVG or by `<text>`; nothing from outside goes in unescaped.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup, escape

from pincite.domain.frozen import dataclass

# In units of the drawing: the page scales it.
WIDTH = 420
# Left of the bars, for about eighteen letters.
_LABEL = 122
# Right of the bars, for a sum with its unit.
_VALUE = 128
# Pixels of a line of text at the size of the page, with air.
_ROW = 27
# Radii from the largest down: the first with which the highest pile fits is taken.
_DOTS = (5.0, 4.0, 3.0, 2.0, 1.5)
# Height for the highest pile of dots, as of the charts beside it.
_PILE = 150.0
_MARGIN = 18.0
# More years would touch each other.
_TICKS = 4


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
        drawn.append(f'<text class="label" x="0" y="{y + 15}">{escape(row.label)}</text>')
        drawn.append(f'<rect class="track" x="{_LABEL}" y="{y + 3}" width="{room}" height="16" rx="3"/>')
        drawn.append(f'<rect class="bar" x="{_LABEL}" y="{y + 3}" width="{width:.1f}" height="16" rx="3"/>')
        drawn.append(f'<text class="value" x="{WIDTH - _VALUE + 12}" y="{y + 15}">{escape(row.shown)}</text>')
    return _chart(drawn, title, says, head, tuple((row.label, row.shown) for row in rows))


def timeline(title: str, says: str, dates: Sequence[tuple[datetime, str]], head: tuple[str, str]) -> Chart:
    """A dot for each date on a line from the first to the last, piled up where they are close together."""
    ordered = sorted(dates)
    first, last = ordered[0][0], ordered[-1][0]
    radius, places = _piled(ordered)
    step = 2 * radius + 1
    height = (max(pile for _, pile in places) + 1) * step + 34
    base = height - 24
    drawn = [_open(height, title, says)]
    drawn.append(f'<line class="axis" x1="{_MARGIN}" y1="{base}" x2="{WIDTH - _MARGIN}" y2="{base}"/>')
    for (x, pile), (at, name) in zip(places, ordered, strict=True):
        y, says_dot = base - radius - 1 - pile * step, escape(f"{name}, {at:%Y-%m-%d}")
        drawn.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{says_dot}</title></circle>')
    for x, anchor, text in _ticks(first, last):
        drawn.append(f'<line class="axis" x1="{x:.1f}" y1="{base}" x2="{x:.1f}" y2="{base + 4}"/>')
        drawn.append(f'<text class="label" x="{x:.0f}" y="{height - 5:.0f}" text-anchor="{anchor}">{text}</text>')
    return _chart(drawn, title, says, head, tuple((f"{at:%Y-%m-%d}", name) for at, name in ordered))


def _piled(ordered: Sequence[tuple[datetime, str]]) -> tuple[float, list[tuple[float, int]]]:
    """How large the dots are and where each stands: its x, and how many are below it. High piles get small dots."""
    first, room = ordered[0][0], WIDTH - 2 * _MARGIN
    span = (ordered[-1][0] - first).total_seconds()
    for radius in _DOTS:
        step = 2 * radius + 1
        piles: Counter[int] = Counter()
        places = []
        for at, _ in ordered:
            slot = round((at - first).total_seconds() / span * room / step) if span else 0
            places.append((_MARGIN + min(slot * step, room) if span else WIDTH / 2, piles[slot]))
            piles[slot] += 1
        if max(piles.values()) * step <= _PILE:
            break
    return radius, places


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
    """Where the line is labelled: its ends, and years between them where there is room."""
    if first.date() == last.date():
        return [(WIDTH / 2, "middle", f"{first:%Y-%m-%d}")]
    ends = [(_MARGIN, "start", f"{first:%Y-%m-%d}"), (WIDTH - _MARGIN, "end", f"{last:%Y-%m-%d}")]
    span, room = (last - first).total_seconds(), WIDTH - 2 * _MARGIN
    years = range(first.year + 1, last.year + 1)
    step = max(-(-len(years) // _TICKS), 1)
    between = []
    for year in years[step // 2 :: step]:
        x = _MARGIN + (datetime(year, 1, 1, tzinfo=first.tzinfo) - first).total_seconds() / span * room
        if _MARGIN + 100 < x < WIDTH - _MARGIN - 100:  # clear of the labels at the ends
            between.append((x, "middle", str(year)))
    # A year of four digits takes some 30 units of the drawing; closer ones would run into each other.
    clear = [tick for n, tick in enumerate(between) if n == 0 or tick[0] - between[n - 1][0] > 40]
    return [ends[0], *clear, ends[1]]


def _open(height: float, title: str, says: str) -> str:
    name = escape(f"{title} {says}")
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{name}" preserveAspectRatio="xMinYMin">'


def _chart(
    drawn: Sequence[str], title: str, says: str, head: tuple[str, str], rows: tuple[tuple[str, str], ...]
) -> Chart:
    return Chart(Markup("".join(drawn) + "</svg>"), title, says, head, rows)  # noqa: S704  # escaped piece by piece

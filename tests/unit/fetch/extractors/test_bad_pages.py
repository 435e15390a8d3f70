"""Pages built to break a reader: each is read in bounded time, or refused with a reason."""

import pytest
from tests.cpu_time import cpu_at_most

from pincite.domain.errors import PinciteError
from pincite.fetch.extractors import extract

_WIDE = "".join(f"<td rowspan=1000 colspan=1000>{n}</td>" for n in range(1_000))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>It is <math>" + "<mrow>" * 5_000 + "<mn>5</mn>" + "</mrow>" * 5_000 + "</math> and 7.</p>", "too_deep"),
        (f"<table><tr>{_WIDE}</tr>{'<tr><td>last</td></tr>' * 1_000}</table><p>The tower.</p>", "The tower."),
        ("".join(f"<h{n % 6 + 1}>Heading {n}</h{n % 6 + 1}>" for n in range(10_000)), "Heading 9999"),
        (f"<pre>{'x = 1; ' * 700_000}</pre>", "x = 1;"),
        ("<div hidden>" * 300 + "lie" + "</div>" * 300 + "<p>The tower.</p>", "The tower."),
        ("<p>The tower.</p>" + "<template id='B:0'></template><div hidden id='S:0'></div>" * 5_000
         + "<script>$RC=function(){getElementById};" + '$RC("B:0","S:0");' * 5_000 + "</script>", "The tower."),
    ],
)  # fmt: skip
def test_a_page_built_to_break_readers(page: str, expected: str) -> None:
    with cpu_at_most(10):
        try:
            outcome = extract(page.encode(), "https://bad.example/", "text/html").text
        except PinciteError as error:
            outcome = error.reason
        assert expected in outcome

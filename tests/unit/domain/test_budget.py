"""Money is shown with the digits that say something, and never less than it is."""

from decimal import Decimal

import pytest

from pincite.domain.budget import usd_text


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0"),
        ("0.000000000", "$0"),
        ("0.00003", "under $0.0001"),
        ("0.0001", "$0.0001"),
        ("0.0125", "$0.0125"),
        ("0.01250000", "$0.0125"),
        ("0.012", "$0.012"),
        ("0.5", "$0.50"),
        ("1", "$1.00"),
        ("12.345", "$12.34"),
        ("100", "$100.00"),
    ],
)
def test_dollars(amount: str, shown: str) -> None:
    assert usd_text(Decimal(amount)) == shown
    assert usd_text(float(amount)) == shown

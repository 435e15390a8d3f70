"""A sentence says what it says of the heading or term it stands under."""

import pytest

from pincite.domain.evidence import VerdictStatus
from pincite.verification import check_claim

PAGE = """Burrow settings

The burrow reads these settings when it starts.

tunnel_depth (integer)

Sets how far down a tunnel may go. If this value is given without units, it is taken as centimetres. It can be changed
while the burrow runs. The default value is 40 centimetres.

cold_tunnel_depth (integer)

Sets how far down a tunnel may go in winter. Since few animals dig then, it is safe to make this larger than
tunnel_depth. It defaults to 90 centimetres. The measuring stick has a resolution of 5 centimetres.

guard (boolean)

Posts a guard at the entrance. Guards stay off when it rains.
"""


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("The default value of tunnel_depth is 40 centimetres.", VerdictStatus.SUPPORTED),
        ("cold_tunnel_depth defaults to 90 centimetres.", VerdictStatus.SUPPORTED),
        ("cold_tunnel_depth is 90 centimetres by default.", VerdictStatus.SUPPORTED),
        ("The default value of tunnel_depth is 90 centimetres.", VerdictStatus.PARTIAL),
        ("tunnel_depth defaults to 90 centimetres.", VerdictStatus.PARTIAL),
        ("warm_tunnel_depth defaults to 90 centimetres.", VerdictStatus.PARTIAL),
    ],
)
def test_a_value_belongs_to_the_entry_it_stands_in(claim: str, status: VerdictStatus) -> None:
    verdict = check_claim(claim, [PAGE])
    assert verdict.status is status, verdict.reasons


def test_the_reason_names_the_value_of_the_right_entry() -> None:
    verdict = check_claim("cold_tunnel_depth defaults to 70 centimetres.", [PAGE])
    assert verdict.status is not VerdictStatus.SUPPORTED
    assert "70 centimetres in the claim, 90 centimetres in the passage" in verdict.reasons


def test_the_reason_names_the_entry_that_it_is_said_of() -> None:
    verdict = check_claim("tunnel_depth defaults to 90 centimetres.", [PAGE])
    assert "the passage says it of cold_tunnel_depth" in verdict.reasons


def test_an_option_is_not_another_that_ends_alike() -> None:
    page = "The option --no-guard leaves the entrance open. It is meant for feeding time."
    assert check_claim("The option --no-guard leaves the entrance open.", [page]).status is VerdictStatus.SUPPORTED
    verdict = check_claim("The option --guard leaves the entrance open.", [page])
    assert verdict.status is not VerdictStatus.SUPPORTED
    assert "--guard is not in the passage" in verdict.reasons


def test_switched_off_is_part_of_what_is_said() -> None:
    page = "Enable default logging of guards. The guard is posted by default at dusk."
    assert check_claim("The guard is turned off by default.", [page]).status is not VerdictStatus.SUPPORTED


def test_names_of_two_sentences_do_not_change_places() -> None:
    page = (
        "In PostgreSQL, an UPDATE or DELETE of a row does not immediately remove the old version of the row. This"
        " approach is necessary to gain the benefits of concurrency control (MVCC, see Chapter 13): the version must"
        " not be deleted while it is still visible to others."
    )
    assert check_claim(page, [page]).status is VerdictStatus.SUPPORTED
    assert check_claim(page, [f"Vacuuming\n\n{page} It is removed later."]).status is VerdictStatus.SUPPORTED

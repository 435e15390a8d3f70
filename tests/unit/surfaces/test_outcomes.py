from pincite.domain.errors import leaves
from pincite.surfaces.errors import EXIT_CODES


def test_every_error_code_has_an_exit_code_and_none_is_unknown() -> None:
    codes = [leaf.code for leaf in leaves()]
    assert sorted(codes) == sorted(set(codes)), "two errors share a code"
    assert set(codes) == set(EXIT_CODES)

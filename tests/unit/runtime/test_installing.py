"""The command that adds an extra fits where the package came from."""

import pytest

from pincite.runtime.system import command


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("", 'pip install "pincite[llm,google]"'),
        ("file:///home/me/my%20pincite", 'pip install ".[llm,google]" in the folder of Pincite\'s source'),
        (
            "file:///home/me/dist/pincite-0.1.0-py3-none-any.whl",
            'pip install "./pincite-0.1.0-py3-none-any.whl[llm,google]" in the folder of that file',
        ),
        ("git+https://code.example/pincite", 'pip install "pincite[llm,google] @ git+https://code.example/pincite"'),
    ],
)
def test_the_command_names_the_origin_without_a_path_of_this_machine(origin: str, expected: str) -> None:
    assert command(origin, "llm,google") == expected
    assert "/home/me" not in command(origin, "llm,google")

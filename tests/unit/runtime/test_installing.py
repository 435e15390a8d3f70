"""What the machine is asked for: the command that adds an extra, files that are replaced whole."""

import errno
from pathlib import Path
from typing import Any

import pytest

from pincite.runtime.system import command, replace_file


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


def test_a_file_that_can_not_be_replaced_stays_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys.json"
    replace_file(file, "old", private=True)

    def full(path: Path, text: str, **_: Any) -> None:
        path.write_bytes(text[:2].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(file, "a new key", private=True)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("keys.json", "old")]

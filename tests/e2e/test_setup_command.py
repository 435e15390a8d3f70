"""`pincite setup` and `doctor --online`: each thing tried with one call, nothing written that does not answer."""

import io
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm
from tests.e2e.commands import clean_environment
from tests.fakes.engines import EngineServer, FakeEngines
from tests.fakes.models.server import ModelServer, Trouble

from pincite.domain.errors import InvalidSetting
from pincite.settings import load_settings
from pincite.surfaces.cli.setup import interview, write
from pincite.testing.models import FaithfulModel

KEY = "sk-setup-0123456789abcdef"


@pytest.fixture
def online(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with a search engine and a model on loopback."""
    engines = FakeEngines()
    with EngineServer(engines) as server, ModelServer(FaithfulModel(), api_key=KEY) as model:
        yield {
            **clean_environment(tmp_path / "home"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "TAVILY_API_KEY": "k",
            "PINCITE_TAVILY_BASE_URL": engines.base_url("tavily", server.origin),
            "OPENAI_BASE_URL": model.base_url,
            "MY_KEY": KEY,
        }


def run(online: dict[str, str], tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done: subprocess.CompletedProcess[str] = warm.run(*arguments, env=online, cwd=tmp_path)
    return done


def test_it_tries_writes_and_says_what_is_next(online: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    asked = ("--model", "openai-chat:fake-1", "--key-env", "MY_KEY", "--search", "tavily", "--library", "docs")
    done = run(online, tmp_path, "setup", *asked)
    assert done.returncode == 0, done.stderr
    assert "model openai-chat:fake-1: answers in" in done.stderr
    assert "search tavily: answers in" in done.stderr
    assert "pincite research" in done.stdout
    file = tmp_path / "config" / "pincite" / "pincite.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in file.read_text(encoding="utf-8")
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "llm": "openai-chat:fake-1",
        "openai_api_key": "env:MY_KEY",
        "source": [f"local:{tmp_path / 'docs'}", "tavily"],
    }
    looked = run(online, tmp_path, "doctor", "--online")
    assert looked.returncode == 0, looked.stderr
    assert "tavily" in looked.stdout.split("research looks in")[1].splitlines()[0]
    assert looked.stdout.count("answers in") == 2


def test_a_wrong_key_is_told_and_nothing_is_written(online: dict[str, str], tmp_path: Path) -> None:
    done = run({**online, "MY_KEY": "wrong"}, tmp_path, "setup", "--model", "openai-chat:fake-1", "--key-env", "MY_KEY")
    assert done.returncode == 5
    assert "PROVIDER_AUTH" in done.stderr
    assert "nothing was written" in done.stderr
    assert not list((tmp_path / "config").rglob("pincite.toml"))


def test_a_key_without_credit_is_told(online: dict[str, str], tmp_path: Path) -> None:
    with ModelServer(FaithfulModel(), always=Trouble.QUOTA) as empty:
        environ = {**online, "OPENAI_BASE_URL": empty.base_url, "OPENAI_API_KEY": KEY, "PINCITE_LLM": "openai-chat:m"}
        done = run({**environ, "PINCITE_SOURCE": "tavily"}, tmp_path, "doctor", "--online")
    assert done.returncode == 5
    assert "PROVIDER_QUOTA" in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_without_a_terminal_it_asks_nothing(online: dict[str, str], tmp_path: Path) -> None:
    done = run(online, tmp_path, "setup")
    assert done.returncode == 2
    assert "--model" in done.stderr


def test_somebody_at_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"openai:gpt-5-mini\ntavily, exa\n{tmp_path}\n"))
    assert interview() == {"llm": "openai:gpt-5-mini", "source": [f"local:{tmp_path}", "tavily", "exa"]}
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\n"))
    assert interview() == {}


def test_what_stands_in_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text('# mine\nllm = "old:one"\nmax_pages = 9\n[search_weights]\nexa = 2.0\n', encoding="utf-8")
    write(file, {"llm": "ollama:qwen3"})
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "llm": "ollama:qwen3",
        "max_pages": 9,
        "search_weights": {"exa": 2.0},
    }
    assert "# mine" in file.read_text(encoding="utf-8")


def test_files_refer_to_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        @staticmethod
        def get_password(service: str, name: str) -> str | None:
            return KEY if (service, name) == ("pincite", "exa_api_key") else None

    monkeypatch.setitem(sys.modules, "keyring", Ring)
    monkeypatch.setenv("MY_KEY", "from-the-environment")
    monkeypatch.delenv("NOT_SET", raising=False)
    file = tmp_path / "pincite.toml"
    file.write_text(
        'exa_api_key = "keyring:pincite/exa_api_key"\ntavily_api_key = "env:MY_KEY"\nbrave_api_key = "env:NOT_SET"\n',
        encoding="utf-8",
    )
    settings = load_settings(environ={}, files=[file])
    assert settings.exa_api_key is not None
    assert settings.exa_api_key.get_secret_value() == KEY
    assert settings.tavily_api_key is not None
    assert settings.tavily_api_key.get_secret_value() == os.environ["MY_KEY"]
    assert settings.brave_api_key is None
    file.write_text('exa_api_key = "keyring:pincite/other"', encoding="utf-8")
    with pytest.raises(InvalidSetting, match="no other of pincite"):
        load_settings(environ={}, files=[file])

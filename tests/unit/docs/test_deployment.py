"""The files for containers, systemd and the forge: linted by the tools of their field, and true to the program."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from pincite.surfaces.cli.app import app

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=60)


def commands_of_the_deployment() -> list[list[str]]:
    """What the image, the compose file and the units start, without the name of the program."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    started = [service["command"] for service in compose["services"].values() if "command" in service]
    for unit in UNITS:
        line = next(line for line in unit.read_text(encoding="utf-8").splitlines() if line.startswith("ExecStart="))
        started.append(line.split()[1:])
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    started.append(yaml.safe_load(dockerfile.split("\nCMD ")[-1]))
    return started


def test_the_dockerfile_passes_its_linter() -> None:
    hadolint = BIN / "hadolint"
    if not hadolint.exists():
        pytest.skip("NOT TESTED: hadolint is not installed on this platform")
    done = run(hadolint, DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("vendor.compose-spec", ["deploy/compose.yaml"]),
        ("vendor.github-workflows", [".github/workflows/ci.yml"]),
        ("vendor.github-issue-config", [".github/ISSUE_TEMPLATE/config.yml"]),
        (
            "vendor.github-issue-forms",
            [f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "feature", "wrong_report")],
        ),
    ],
)
def test_files_keep_to_their_published_schema(schema: str, names: list[str]) -> None:
    done = run(BIN / "check-jsonschema", "--builtin-schema", schema, *(ROOT / name for name in names))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_workflow_passes_the_security_linter() -> None:
    done = run(BIN / "zizmor", "--offline", "--no-progress", ROOT / ".github" / "workflows")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_and_the_containers_have_no_privileges() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert "\nUSER 10001\n" in dockerfile
    assert "\nHEALTHCHECK " in dockerfile
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("server", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("arguments", commands_of_the_deployment(), ids=" ".join)
def test_what_is_started_is_a_command_with_those_flags(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, [*arguments, "--help"])
    assert done.exit_code == 0, done.output
    flags = [word for word in arguments[1:] if word.startswith("--")]
    assert all(flag in done.output for flag in flags)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_are_understood_by_systemd(unit: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("NOT TESTED: systemd-analyze is not installed")
    text = unit.read_text(encoding="utf-8").replace("/opt/pincite/bin/pincite", shutil.which("true") or "/bin/true")
    copy = tmp_path / unit.name
    copy.write_text(text, encoding="utf-8")
    done = run("systemd-analyze", "verify", "--man=no", copy)
    assert done.returncode == 0, done.stderr
    assert "Unknown" not in done.stderr, done.stderr

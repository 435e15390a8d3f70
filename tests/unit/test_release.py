"""`scripts/release.py` cuts a release, and builds one whose parts pass the checks of their field."""

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pincite.surfaces.cli import doctor

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
EXAMPLES = (
    "README.md",
    "LICENSE.postgresql-doc-15.txt",
    "LICENSE.python3.11-doc.txt",
    "postgresql-python-docs.vectors",
    "postgresql-python-docs.warc.gz",
)
MODEL_TESTS = ("test_model_client", "test_other_protocols")
OF_THE_SYSTEM = {"pdf", "browser"}
"""Extras that are of no use without packages of the system: Pango, a Chromium."""


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, working on a changelog and a version of its own."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 - 2026-01-01\n\n- Old.\n"
    )
    (tmp_path / "version.py").write_text('"""One place."""\n\nVERSION = "0.1.0"\n')
    monkeypatch.setattr(module, "CHANGELOG", tmp_path / "CHANGELOG.md")
    monkeypatch.setattr(module, "VERSION_FILE", tmp_path / "version.py")
    return module


def test_cutting_gives_the_code_its_version_and_the_changes_their_heading(release: ModuleType) -> None:
    release.cut("0.2.0", "2026-11-22")
    assert release.version() == "0.2.0"
    text = release.CHANGELOG.read_text()
    assert "## Unreleased\n\n## 0.2.0 - 2026-11-22\n\n- New.\n\n## 0.1.0 - 2026-01-01" in text


@pytest.mark.parametrize("number", ["0.1.0", "two", "1.0", "v1.0.0"])
def test_what_is_no_new_version_is_refused(release: ModuleType, number: str) -> None:
    with pytest.raises(SystemExit):
        release.cut(number, "2026-11-22")
    assert release.version() == "0.1.0"


def test_nothing_unreleased_is_nothing_to_release(release: ModuleType) -> None:
    release.cut("0.2.0", "2026-11-22")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        release.cut("0.3.0", "2026-11-23")


def test_publishing_needs_what_was_built(release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "DIST", tmp_path / "dist")
    with pytest.raises(SystemExit, match="build it first"):
        release.publish()


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """The committed tree as its own repository, with a release cut in it."""
    tree = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", tree], check=True)
    script = [sys.executable, "scripts/release.py", "cut", "9.9.9"]
    subprocess.run(script, check=True, cwd=tree)
    me = ["-c", "user.name=Test", "-c", "user.email=test@test.test"]
    subprocess.run(["git", *me, "commit", "--quiet", "--all", "--message", "Cut 9.9.9"], check=True, cwd=tree)
    yield tree
    shutil.rmtree(tree)


@pytest.mark.long
def test_a_release_builds_and_passes_its_checks(clone: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tools], check=True)
    uv = Path(sys.executable).parent / "uv"
    install = f"{uv} pip install --quiet --python {tools}/bin/python --group {clone}/pyproject.toml:release".split()
    done = subprocess.run(install, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"NOT TESTED: the tools of a release can't be installed here: {done.stderr[-200:]}")
    subprocess.run([tools / "bin" / "python", "scripts/release.py", "build"], check=True, cwd=clone)
    wheel = clone / "dist" / "pincite-9.9.9-py3-none-any.whl"
    assert wheel.stat().st_size < 10_000_000
    names = zipfile.ZipFile(wheel).namelist()
    assert "pincite/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"pincite", "pincite-9.9.9.dist-info"}
    kept = subprocess.run(["git", "ls-files", "src/pincite"], check=True, cwd=clone, capture_output=True, text=True)
    modules = {name.removeprefix("src/") for name in kept.stdout.split()}
    with_package = {f"pincite/examples/{name}" for name in EXAMPLES}
    assert {name for name in names if name.startswith("pincite/")} == modules | with_package
    assert "pincite-9.9.9.dist-info/licenses/LICENSE" in names
    bill = json.loads((clone / "dist" / "pincite-9.9.9.sbom.json").read_text())
    assert {"pincite", "aiohttp", "pydantic"} <= {part["name"] for part in bill["components"]}


def test_one_extra_has_all_that_needs_nothing_of_the_system() -> None:
    named = set(EXTRAS["all"][0].removeprefix("pincite[").removesuffix("]").split(","))
    assert named == set(EXTRAS) - {"all"} - OF_THE_SYSTEM
    assert set(doctor.EXTRAS) == set(EXTRAS) - {"all"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    out = tmp_path_factory.mktemp("dist")
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", out, ROOT], check=True)
    return next(out.glob("*.whl"))


@pytest.mark.long
@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_extra_installs_from_the_built_wheel(wheel: Path, tmp_path: Path, extra: str) -> None:
    uv, python = Path(sys.executable).parent / "uv", tmp_path / "venv.1" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, python.parents[1]], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[{extra}]"], check=True)
    environ = {"PINCITE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    looked = subprocess.run(
        [python.parent / "pincite", "doctor", "--json"], check=True, capture_output=True, text=True, env=environ
    )
    found = json.loads(looked.stdout)["Extras"]
    wanted = set(EXTRAS) - {"all"} - OF_THE_SYSTEM if extra == "all" else {extra}
    assert {name for name in wanted if not found[name].startswith("installed")} == set()
    missing = [text for text in found.values() if text.startswith("missing")]
    assert all(f"./{wheel.name}[" in text for text in missing), missing
    shutil.rmtree(python.parents[1])


@pytest.mark.long
def test_the_lowest_versions_that_are_named_judge_urls_and_errors_alike(wheel: Path, tmp_path: Path) -> None:
    uv, python, lowest = Path(sys.executable).parent / "uv", tmp_path / "venv.1" / "bin" / "python", tmp_path / "lowest"
    resolve = f"{uv} pip compile --quiet --resolution lowest-direct --extra all --python {sys.executable}".split()
    subprocess.run([*resolve, "--output-file", lowest, ROOT / "pyproject.toml"], check=True)
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, python.parents[1]], check=True)
    install = f"{uv} pip install --quiet --python {python}".split()
    subprocess.run([*install, "-r", lowest, "pytest", "pytest-asyncio", "pytest-timeout", "hypothesis"], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    troubles = [f"tests/unit/llm/{name}.py::test_every_trouble_is_a_typed_error" for name in MODEL_TESTS]
    tests = f"{python} -m pytest -q -p no:cacheprovider tests/conformance -m".split()
    done = subprocess.run([*tests, "not long", *troubles], check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    shutil.rmtree(python.parents[1])

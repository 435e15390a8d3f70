#!/usr/bin/env python3
"""Makes the pictures of the README from a real run: a sentence with its passage (PNG), a terminal at work (SVG).

    scripts/pictures.py          writes docs/img/proof.png and docs/img/terminal.svg; needs Chromium

Nothing in them is drawn by hand: the one is a screenshot of the report file of `pincite demo`, the other shows the
lines of that run at the times at which they came.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "img"
COLUMNS = 88
LINE_PX, CHAR_PX, PAD_PX = 19, 8.43, 16
REPORT_LINES = 14
"""How much of the report the terminal shows; the picture should fit on one screen."""
FASTEST_S = 0.12
"""Between two lines at least: what comes at once can't be read."""

Timed = tuple[float, str]


def recorded(folder: Path) -> list[Timed]:
    """The lines of `pincite demo` with the seconds at which they came, stderr as it goes and then the report."""
    env = {**os.environ, "PINCITE_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder)}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pincite", "demo"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told: list[Timed] = []
    printed: list[str] = []
    assert process.stdout is not None
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: printed.extend(process.stdout or ()))
    reader.start()
    told.extend((time.monotonic() - started, line.rstrip("\n")) for line in process.stderr)
    reader.join()
    if process.wait():
        raise SystemExit("pincite demo failed")
    done = next(at for at, line in told if line.startswith("Done in"))
    report = [part for line in printed for part in textwrap.wrap(line.rstrip("\n"), COLUMNS - 2) or [""]]
    shown = [*report[:REPORT_LINES], "…"]
    before = [one for one in told if one[0] <= done]
    after = [(at, line) for at, line in told if at > done]
    return [(0.0, "$ pincite demo"), *before, *((done, line) for line in shown), *after]


def terminal_svg(lines: Sequence[Timed]) -> str:
    """The lines as an animated picture: each appears at its time, and all stay."""
    height = round(2 * PAD_PX + LINE_PX * (len(lines) + 1))
    width = round(2 * PAD_PX + CHAR_PX * COLUMNS)
    rows = []
    at = 0.0
    for index, (when, line) in enumerate(lines):
        at = max(at + FASTEST_S, 0.8 + when)
        y = PAD_PX + LINE_PX * (index + 1)
        look = "c" if line.startswith("$") else "h" if line.startswith("#") else "n" if line.startswith("  pin") else ""
        text = escape(line[:COLUMNS])
        rows.append(f'<text x="{PAD_PX}" y="{y}" class="l {look}" style="animation-delay:{at:.2f}s">{text}</text>')
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
                'aria-label="A terminal in which pincite demo answers a question">'
            ),
            "<style>",
            (
                ".l{font:14px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8d8d2;white-space:pre;opacity:0;"
                "animation:s .01s linear forwards}"
            ),
            ".c{fill:#9fd0f5}.h{fill:#fff;font-weight:700}.n{fill:#83d3a0}",
            "@keyframes s{to{opacity:1}}",
            "@media (prefers-reduced-motion:reduce){.l{animation:none;opacity:1}}",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#15171a"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def photograph(report: Path, picture: Path) -> None:
    """The report with its first sentence chosen: the passage it rests on stands marked beside it."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise SystemExit("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 620}, color_scheme="light")
        page.goto(report.as_uri())
        page.click("a.sentence >> nth=0")
        page.wait_for_selector(".panel.open mark")
        page.screenshot(path=picture)
        browser.close()
    with Image.open(picture) as shot:  # text on paper needs few colours: a third of the bytes
        shot.convert("RGB").quantize(64).save(picture, optimize=True)


def main() -> None:
    """Make both pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (IMAGES / "terminal.svg").write_text(terminal_svg(recorded(folder)), encoding="utf-8")
        photograph(folder / "report.html", IMAGES / "proof.png")
    for path in sorted(IMAGES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""A browser as judge of what is read: no visible number missing, changed or joined, none added, headings in order.

Pages are made here, a seed each, from the pieces real pages are made of: raised and lowered figures, struck prices,
tables with spans, hidden parts, lists, notes, streamed and styled text. Chromium renders each and says what shows.
"""

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pincite.domain.page import Document
from pincite.fetch.backends.chromium import find_chromium
from pincite.fetch.extractors import extract

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_chromium() is None, reason="NO CHROMIUM FOUND: what is read was NOT judged by a browser."),
]
PAGES = 200
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SHOWN = """
() => {
  const found = [], blocks = [];
  const hidden = element => {
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.display === 'none' || style.visibility !== 'visible') return true;
      if (+style.opacity === 0 || style.fontSize === '0px') return true;
      const box = e.getBoundingClientRect();
      if (style.position === 'absolute' && (box.right < 0 || box.bottom < 0)) return true;
      if (e.tagName === 'DETAILS' && !e.open && !element.closest('summary')) return true;
    }
    return false;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || !parent || parent.closest('script,style,noscript,template') || hidden(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getClientRects()[0];
    let block = parent;
    while (getComputedStyle(block).display === 'inline') block = block.parentElement;
    if (!blocks.includes(block)) blocks.push(block);
    found.push({text: node.data, box: box ? [box.left, box.top, box.right, box.bottom] : null,
                block: blocks.indexOf(block), apart: !!parent.closest('sup,sub,del,s,math,td,th')});
  }
  const headings = [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter(h => !hidden(h)).map(h => h.innerText);
  return JSON.stringify({found, headings});
}
"""


class Maker:
    """One page of a seed. Every number is its own, so that it can be looked for."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.next = 1_000 + seed * 7

    def number(self) -> str:
        self.next += self.random.randint(1, 9)
        return self.random.choice([f"{self.next}", f"{self.next}.5", f"{self.next:,}"])

    def inline(self) -> str:
        n = self.number
        made: list[Callable[[], str]] = [
            lambda: f"It weighs {n()} kg, or 10<sup>{n()}</sup> grams.",
            lambda: f"The price is <del>${n()}</del> ${n()} today.",
            lambda: f"Was <s>{n()}</s><b>{n()}</b> last year.",
            lambda: f"See<sup><a href='#f'>[{n()}]</a></sup> for {n()} m<sup>2</sup> and H<sub>{n()}</sub>O.",
            lambda: f"A ratio of <math><mfrac><mn>{n()}</mn><mn>{n()}</mn></mfrac></math> holds.",
            lambda: f"From {n()}<br>{n()} on, <code>--max={n()}</code> counts.",
            lambda: f"<span>{n()}</span> <span>{n()}</span> were seen, <em>{n()}</em> of them twice.",
            lambda: f"<span>{n()}</span><span> </span><b>{n()}</b> lamps, <q>about {n()}</q>.",
            lambda: f"<abbr title='{n()} lamps'>lamps</abbr> in {n()} towers, <a href='/{n()}'>all {n()}</a>.",
        ]
        return self.random.choice(made)()

    def block(self) -> str:
        n, text = self.number, self.inline
        made: list[Callable[[], str]] = [
            lambda: f"<p>{text()} {text()}</p>",
            lambda: f"<ul><li>{text()}<li><p>{text()}</p><p>{text()}</p><ol start=7><li>{text()}</ol></ul>",
            lambda: f"<dl><dt>Term {n()}<dd>{text()}<dd><p>{text()}</dl>",
            lambda: (
                f"<table><tr><th rowspan=2>Year {n()}<th colspan=2>Lamps<tr><th>{n()}<th>{n()}"
                f"<tr><td>{n()}<td>{text()}<td>{n()}</table>"
            ),
            lambda: f"<table><tr><td>{n()}</td><td>{n()}</td></tr><tr><td>{n()}</td><td>{n()}</td></tr></table>",
            lambda: f"<blockquote><p>{text()}</p></blockquote><pre>x = {n()}\ny = {n()}</pre>",
            lambda: f"<div class=note><p class=title>Note</p><p>{text()}</p></div>",
            lambda: f"<figure><img alt='{n()}'><figcaption>Figure {n()}</figcaption></figure><p>{text()}</p>",
            lambda: f"<div style='display:flex'><div>{n()}</div><div>{n()}</div></div><p>{text()}</p>",
            lambda: f"<p hidden>{n()}</p><p>{text()}</p><p style='display:none'>{n()}</p>",
            lambda: f"<p>{text()}<span style='visibility:hidden'>{n()}</span></p><!-- {n()} -->",
            lambda: f"<p>{text()}<span style='position:absolute;left:-9999px'>{n()}</span></p>",
            lambda: f"<p class=gone>{n()}</p><p>{text()}</p><template>{n()}</template>",
            lambda: f"<details open><summary>More {n()}</summary><p>{text()}</p></details>",
        ]
        return self.random.choice(made)()

    def page(self) -> str:
        parts = [f"<h1>Page of {self.number()}</h1><p>{self.inline()} {self.inline()}</p>"]
        for _ in range(self.random.randint(4, 9)):
            parts.append(f"<h{self.random.randint(2, 4)}>Part <span>{self.number()}</span></h2>")
            parts += [self.block() for _ in range(self.random.randint(1, 4))]
        return (
            "<!DOCTYPE html><html><head><meta charset=utf-8><meta name=generator content='Sphinx 7'><title>Page</title>"
            f"<style>.gone {{ display: none }}</style></head><body><div role=main>{''.join(parts)}</div></body></html>"
        )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = chromium.new_context(offline=True).new_page()
        yield page
        chromium.close()


def shown_numbers(found: list[dict[str, Any]]) -> Counter[str]:
    """The numbers that show: figures of two elements are one only where nothing stands between them."""
    text = ""
    last: dict[str, Any] = {"block": -1, "box": None, "apart": True}
    for piece in found:
        box, before = piece["box"], last["box"]
        touches = box and before and abs(box[0] - before[2]) < 0.5 and abs(box[1] - before[1]) < 2
        is_one = touches and piece["block"] == last["block"] and not piece["apart"] and not last["apart"]
        text += piece["text"] if is_one else f" {piece['text']}"
        last = piece
    return Counter(_NUMBER.findall(text))


def read_numbers(document: Document) -> Counter[str]:
    return Counter(_NUMBER.findall(document.text))


def in_order(wanted: list[str], titles: list[str]) -> bool:
    rest = iter(titles)
    return all(any(" ".join(title.split()) == " ".join(one.split()) for title in rest) for one in wanted)


def test_a_browser_sees_the_numbers_that_are_read_and_no_others(browser: Any) -> None:
    faults: list[str] = []
    for seed in range(PAGES):
        html = Maker(seed).page()
        browser.set_content(html)
        judged = json.loads(browser.evaluate(_SHOWN))
        document = extract(html.encode(), "https://page.example/", "text/html")
        shown, read = shown_numbers(judged["found"]), read_numbers(document)
        missing, added = shown - read, read - shown
        if missing or added:
            faults.append(f"seed {seed}: missing {dict(missing)}, added {dict(added)}")
        if not in_order(judged["headings"], [entry.title for entry in document.outline]):
            faults.append(f"seed {seed}: headings {judged['headings']} read as {[e.title for e in document.outline]}")
    sys.stdout.write("\n".join(faults) or f"{PAGES} pages: nothing missing, nothing added\n")
    assert not faults, f"{len(faults)} faults, the first: {faults[0]}"

// The report: cards on hover, the passage of a mark in a panel beside the text, keys. Without this file every mark is
// a link to a page that shows the same.
import { html, render } from "./html.js";

const run = document.getElementById("run").dataset.run;
const text = document.getElementById("text");
document.documentElement.classList.add("js");

// ---- cards ----

let cards = null;
const card = document.createElement("div");
card.className = "card";
card.hidden = true;
card.id = "card";
card.setAttribute("role", "tooltip");
document.body.append(card);

function loadCards() {
  cards ??= fetch(`/runs/${encodeURIComponent(run)}/cards.json`)
    .then((answer) => (answer.ok ? answer.json() : {}))
    .catch(() => ({}));
  return cards;
}

const Card = ({ of }) => html`
  <p class="title" dir="auto">${of.title || of.site}</p>
  <p class="meta">${[of.site, of.dated].filter(Boolean).join(" · ")}</p>
  <q dir="auto">${of.quote}</q>
  <span class=${`badge ${of.verdict}`}><span aria-hidden="true">${of.sign}</span> ${of.word}</span>`;

let hovered = null;
let shownAt = 0;
async function showCard(mark) {
  clearTimeout(left);
  hovered?.removeAttribute("aria-describedby");
  hovered = mark;
  shownAt = scrollY;
  mark.removeAttribute("title");
  const of = (await loadCards())[mark.dataset.key];
  if (hovered !== mark || !of) return;
  render(html`<${Card} of=${of} />`, card);
  card.hidden = false;
  mark.setAttribute("aria-describedby", "card");
  const place = mark.getBoundingClientRect();
  const x = Math.max(8, Math.min(place.left - 20, document.documentElement.clientWidth - card.offsetWidth - 8));
  const above = place.top > card.offsetHeight + 12;
  card.style.left = `${x + scrollX}px`;
  card.style.top = `${(above ? place.top - card.offsetHeight - 8 : place.bottom + 8) + scrollY}px`;
}

// The pointer may go over to the card, to read a long quote or to choose words of it.
let left = 0;
const leaving = () => {
  clearTimeout(left);
  left = setTimeout(hideCard, 150);
};

function hideCard() {
  clearTimeout(left);
  hovered?.removeAttribute("aria-describedby");
  hovered = null;
  card.hidden = true;
}

const markOf = (event) => event.target.closest?.("a.cite");
for (const kind of ["mouseover", "focusin"])
  document.addEventListener(kind, (event) => {
    const mark = markOf(event);
    if (mark && (kind === "mouseover" || mark.matches(":focus-visible"))) showCard(mark);
  });
for (const kind of ["mouseout", "focusout"])
  document.addEventListener(kind, (event) => markOf(event) && leaving());
card.addEventListener("mouseenter", () => clearTimeout(left));
card.addEventListener("mouseleave", hideCard);
addEventListener("scroll", () => Math.abs(scrollY - shownAt) > 30 && hideCard(), { passive: true });

// ---- the panel ----

const panel = document.createElement("aside");
panel.className = "panel";
panel.hidden = true;
panel.setAttribute("aria-label", "Evidence");
document.body.append(panel);
let opener = null;
let wanted = 0;

async function open(href, mark) {
  const turn = ++wanted;
  hideCard();
  if (mark) select(mark);
  let shown;
  try {
    const answer = await fetch(href.split("#")[0], { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    shown = page.getElementById("evidence") ?? trouble(page.querySelector("main h1")?.textContent);
  } catch {
    shown = trouble("The server does not answer.");
  }
  if (turn !== wanted) return;
  const close = document.createElement("button");
  close.className = "close";
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", shut);
  panel.replaceChildren(close, document.adoptNode(shown));
  panel.hidden = false;
  document.body.classList.add("with-panel");
  shown.tabIndex = -1;
  shown.focus({ preventScroll: true });
  shown.querySelector(".passages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const marked = shown.querySelector("mark");
  const page = shown.querySelector(".page-text");
  if (marked && page) {
    const offset = marked.getBoundingClientRect().top - page.getBoundingClientRect().top;
    page.scrollTop += offset - Math.max((page.clientHeight - marked.offsetHeight) / 3, 24);
    marked.scrollIntoView({ block: "nearest" }); // a low window scrolls the panel itself
  }
  performance.mark("panel-open");
}

function trouble(message) {
  const section = document.createElement("section");
  section.className = "evidence";
  const text = document.createElement("p");
  text.className = "notice bad";
  text.setAttribute("role", "alert");
  text.textContent = message || "This passage can't be shown.";
  section.append(text);
  return section;
}

function shut() {
  wanted++;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("with-panel");
  for (const old of document.querySelectorAll(".open")) old.classList.remove("open");
  opener?.focus();
  opener = null;
}

function select(mark) {
  for (const old of document.querySelectorAll(".open")) old.classList.remove("open");
  mark.classList.add("open");
  mark.closest("sup")?.previousElementSibling?.classList.add("open");
  opener = mark;
}

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const mark = markOf(event);
  const passage = event.target.closest(".panel .passages a");
  const sentence = event.target.closest("#text .s");
  if (mark || passage) {
    event.preventDefault();
    open((mark ?? passage).getAttribute("href"), mark);
  } else if (sentence && !getSelection().toString()) {
    const first = sentence.nextElementSibling?.querySelector("a.cite");
    if (first) open(first.getAttribute("href"), first);
  }
});

// ---- keys ----

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
  if (event.key === "Escape") {
    if (!card.hidden) hideCard();
    if (!panel.hidden) shut();
  } else if (event.key === "j" || event.key === "k") {
    const marks = [...document.querySelectorAll("main a.cite")];
    const at = marks.indexOf(opener ?? document.activeElement);
    const next = marks[event.key === "j" ? at + 1 : Math.max(at - 1, 0)];
    if (!next) return;
    event.preventDefault();
    opener = next;
    if (panel.hidden) next.focus();
    else open(next.getAttribute("href"), next);
    next.scrollIntoView({ block: "center" });
  }
});
text?.addEventListener("focusin", (event) => {
  const mark = markOf(event);
  if (mark && panel.hidden) opener = mark;
});

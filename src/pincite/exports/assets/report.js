// Comfort only: without this script every sentence still opens its evidence by its link.
"use strict";
{
  const sentences = [...document.querySelectorAll("a.sentence")];
  const panelOf = (link) => document.getElementById(link.hash.slice(1));
  let opener = null;

  const close = (focus) => {
    for (const panel of document.querySelectorAll(".panel.open")) panel.classList.remove("open");
    for (const link of sentences) link.setAttribute("aria-expanded", "false");
    if (focus && opener) opener.focus();
  };
  const open = (link) => {
    close(false);
    opener = link;
    const panel = panelOf(link);
    link.setAttribute("aria-expanded", "true");
    panel.classList.add("open");
    panel.scrollTop = 0;
    panel.querySelector("mark")?.scrollIntoView({ block: "nearest" });
    panel.focus({ preventScroll: true });
  };
  const step = (by) => {
    const last = opener ?? document.activeElement;
    const next = sentences[Math.min(Math.max(sentences.indexOf(last) + by, 0), sentences.length - 1)];
    if (!next) return;
    next.scrollIntoView({ block: "nearest" });
    if (document.querySelector(".panel.open")) open(next);
    else { opener = next; next.focus(); }
  };

  document.documentElement.classList.add("enhanced");
  for (const link of sentences) {
    link.setAttribute("aria-expanded", "false");
    link.addEventListener("click", (event) => { event.preventDefault(); open(link); });
  }
  for (const button of document.querySelectorAll(".panel .close")) {
    button.addEventListener("click", (event) => { event.preventDefault(); close(true); });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") close(true);
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
  });
  const wanted = sentences.find((link) => link.hash && link.hash === location.hash);
  if (wanted) open(wanted);
}

// A run as it goes: its events, folded as in progress.py, drawn anew at most five times a second. Without this file the
// page is loaded again every two seconds.
import { html, render } from "./html.js";
import { FAMILIES, REASONS, STATUSES } from "./reasons.js";

const STAGES = ["planning", "searching", "reading", "checking", "writing"];
const STAGE_OF = { plan: 0, search: 1, page: 2, chunk: 2, claim: 3, gap: 3, conflict: 3, report: 4 };
const NEXT_STAGE = { "run.started": 0, "round.started": 1 };
const BADGES = {
  supported: ["✓", "supported"],
  partial: ["◐", "partly supported"],
  contradicted: ["≠", "contradicted"],
  unsupported: ["✕", "not supported"],
  unchecked: ["?", "not checked"],
};
const ENDS = new Set(["run.completed", "run.failed", "run.cancelled"]);

const root = document.getElementById("live");
const run = root.dataset.run;
const caps = JSON.parse(root.dataset.caps);
const api = `/v1/research/${encodeURIComponent(run)}`;
const state = { stage: 0, library: "", parts: [], rounds: [], claims: new Map(), sections: new Map(), trouble: [], cost: 0, tokens: 0, started: null, last: null, away: false };

// As reason_text in domain/reasons.py.
function words({ reason = "", code = "" }) {
  if (Object.hasOwn(REASONS, reason)) return REASONS[reason];
  const status = /^http_(\d{3})$/.exec(reason)?.[1];
  if (status)
    return STATUSES[status] ?? `the site ${status >= 500 ? "failed to answer" : "refused to hand it out"}, with status ${status}`;
  const family = FAMILIES.find(([part]) => reason.startsWith(part) || reason.endsWith(part));
  if (family || !/^[a-z0-9_]*$/.test(reason)) return family?.[1] ?? reason;
  return REASONS[code.toLowerCase()] ?? (reason || code.toLowerCase()).replaceAll("_", " ");
}
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const trouble = (line) => state.trouble.includes(line) || state.trouble.push(line);
const round = () => state.rounds.at(-1) ?? (state.rounds.push({ number: 1, queries: [], pages: [] }), state.rounds[0]);

const badge = document.querySelector(".run-head .badge");

function take(event) {
  const { type, data, at } = event;
  if (!ENDS.has(type)) {
    badge.className = "badge run-running";
    badge.textContent = "▸ running";
  }
  state.started ??= Date.parse(at);
  state.last = Date.parse(at);
  state.stage = NEXT_STAGE[type] ?? STAGE_OF[type.split(".")[0]] ?? state.stage;
  state.library = type === "library.read" ? `${data.library}: ${data.pages} page${data.pages === 1 ? "" : "s"} so far` : "";
  if (type === "plan.created") state.parts = (data.sub_questions ?? []).map((part) => part.text);
  else if (type === "round.started") state.rounds.push({ number: data.round, queries: [], pages: [] });
  else if (type === "search.completed") round().queries.push({ text: data.query, results: data.results });
  else if (type === "search.failed") round().queries.push({ text: data.query, failure: words(data) });
  else if (type === "page.fetched" || type === "page.refused" || type === "page.failed") {
    const kind = data.code === "DEAD_LINK" ? "dead" : type.slice(5).replace("fetched", "read");
    round().pages.push({ ...data, state: kind, why: kind === "read" ? "" : words(data) });
  } else if (type === "claim.verified" || type === "claim.rejected")
    state.claims.set(data.claim_id ?? data.text, { ...data, passed: type === "claim.verified" });
  else if (type === "report.section_ready" && data.text) state.sections.set(data.heading ?? "", data.text);
  else if (type === "report.section_ready") state.sections.delete(data.heading ?? "");
  else if (type === "budget.exhausted") trouble(`${sentence(words(data))}; what follows is made of what was found.`);
  else if (type === "model.answered") state.tokens += (data.tokens_in ?? 0) + (data.tokens_out ?? 0);
  else if (type === "role.replaced") trouble(`The ${data.role} went on without a model: ${words(data)}.`);
  else if (type === "run.failed") trouble(`It failed: ${words(data)}.`);
}

const site = (url) => {
  if (url.startsWith("local:")) return url.slice(6).split("/")[0];
  try {
    return new URL(url).hostname.replace(/^www\./, "");
  } catch {
    return url;
  }
};
// No control characters and no overrides of the direction of text, as on the server.
const clean = (text) => String(text ?? "").replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]+/gu, " ");
// As `usd_text` writes it on the server.
const money = (usd) =>
  !usd ? "$0" : usd >= 1 ? `$${usd.toFixed(2)}` : usd < 1e-4 ? "under $0.0001" : `$${usd.toFixed(4).replace(/0{1,2}$/, "")}`;
const time = (s) => (s < 60 ? `${s.toFixed(0)} s` : `${(s / 60).toFixed(1)} min`);

const Number_ = ({ name, value }) => html`<div><dt>${name}</dt>
  <dd>${value}${caps[name] != null && html`${" "}<small>of ${caps[name]}</small>`}</dd></div>`;
const Badge = ({ verdict }) => {
  const [sign, word] = BADGES[verdict] ?? ["", verdict];
  return html`<span class=${`badge ${verdict}`}><span aria-hidden="true">${sign}</span> ${word}</span>`;
};
const Page = ({ page }) => {
  const name = clean(page.title || page.url);
  const shown = page.snapshot_id ? html`<a href=${`/snapshots/${page.snapshot_id}`}>${name}</a>` : name;
  return html`<li class=${`page-${page.state}`} dir="auto"><span class="state">${page.state}</span> ${shown}
    ${" "}<span class="meta">${site(page.url ?? "")}${page.why && ` · ${page.why}`}</span></li>`;
};
const Query = ({ query }) => html`<li dir="auto"><span class="q">${clean(query.text)}</span>${" "}
  <span class="meta">${query.failure ? `no answer: ${query.failure}` : `${query.results} result${query.results === 1 ? "" : "s"}`}</span></li>`;
const Round = ({ of }) => html`<section class="round"><h2>Round ${of.number}</h2>
  ${of.queries.length > 0 && html`<ul class="queries">${of.queries.map((query) => html`<${Query} query=${query} />`)}</ul>`}
  ${of.pages.length > 0 && html`<ul class="pages">${of.pages.map((page) => html`<${Page} page=${page} />`)}</ul>`}
</section>`;
const Section = ({ heading, text }) => html`<h3 dir="auto">${clean(heading)}</h3><p dir="auto">${clean(text)}</p>`;
const Claim = ({ claim }) => html`<li dir="auto"><${Badge} verdict=${claim.verdict} /> ${clean(claim.text)}
  ${!claim.passed && html`${" "}<span class="meta">${clean((claim.reasons ?? []).join("; "))}</span>`}</li>`;

function Live() {
  const claims = [...state.claims.values()];
  const pages = [...new Map(state.rounds.flatMap((one) => one.pages).map((page) => [page.url, page])).values()];
  const read = pages.filter((page) => page.state === "read").length;
  const passed = claims.filter((claim) => claim.passed).length;
  const numbers = [
    ["searches", state.rounds.flatMap((one) => one.queries).filter((query) => query.results !== undefined).length],
    ["pages read", read],
    ["not read", pages.length - read],
    ["claims verified", passed],
    ["rejected", claims.length - passed],
    ...(state.tokens ? [["tokens", state.tokens.toLocaleString("en")]] : []),
    ["cost", money(state.cost)],
    ["time", state.started ? time(Math.max((Math.max(Date.now(), state.last) - state.started) / 1000, 0)) : "0 s"],
  ];
  return html`<ol class="stages" aria-label="Stages">${STAGES.map((name, index) => html`<li
      class=${index < state.stage ? "done" : index === state.stage ? "now" : "next"}
      aria-current=${index === state.stage ? "step" : null}>${name[0].toUpperCase() + name.slice(1)}</li>`)}</ol>
    <p class="hidden" role="status">${STAGES[state.stage]}</p>
    ${state.away && html`<div class="notice bad" role="alert"><p><strong>The server does not answer.</strong> What is
      below is the last that is known. This page goes on by itself when the server is back.</p></div>`}
    <dl class="numbers">${numbers.map(([name, value]) => html`<${Number_} name=${name} value=${value} />`)}</dl>
    ${state.library && html`<p class="library">Reading ${clean(state.library)}. What is read is kept for the next question.</p>`}
    ${state.sections.size > 0 && html`<section class="sofar"><h2>Written so far</h2>
      ${[...state.sections].map(([heading, text]) => html`<${Section} heading=${heading} text=${text} />`)}</section>`}
    ${state.trouble.map((line) => html`<div class="notice fair"><p>${clean(line)}</p></div>`)}
    ${state.parts.length > 0 && html`<section class="plan"><h2>Parts of the question</h2>
      <ul>${state.parts.map((part) => html`<li dir="auto">${clean(part)}</li>`)}</ul></section>`}
    ${state.rounds.filter((one) => one.queries.length + one.pages.length).map((one) => html`<${Round} of=${one} />`)}
    ${claims.length > 0 && html`<section class="checked"><h2>Claims</h2>
      <ul class="claims">${claims.map((claim) => html`<${Claim} claim=${claim} />`)}</ul></section>`}`;
}

let drawing = null;
function draw() {
  drawing ??= setTimeout(() => {
    drawing = null;
    render(html`<${Live} />`, root);
  }, 200);
}

let asking = false;
async function ask() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch(api);
    if (answer.status === 404) return void end();
    if (answer.status >= 500) throw answer; // a proxy's, or the server's without its storage
    const now = await answer.json();
    state.away = false;
    state.cost = Number(now.usage?.cost_usd ?? 0);
    if (!["queued", "running"].includes(now.status)) end();
    draw();
  } catch {
    // Asked again every two seconds: when it is back the page goes on by itself.
    state.away = true;
    draw();
  } finally {
    asking = false;
  }
}

let ended = false;
function end() {
  if (ended) return;
  ended = true;
  stream.close();
  clearInterval(clock);
  location.reload();
}

root.replaceChildren();
draw();
const stream = new EventSource(`${api}/events`);
const hear = (message) => {
  const event = JSON.parse(message.data);
  take(event);
  draw();
  if (ENDS.has(event.type)) setTimeout(ask, 150); // the record follows the event
};
for (const type of [
  "run.started", "run.resumed", "run.completed", "run.failed", "run.cancelled", "plan.created", "plan.changed",
  "library.read", "round.started",
  "search.completed", "search.failed", "page.fetched", "page.refused", "page.failed", "page.duplicate", "chunk.made",
  "claim.proposed", "claim.verified", "claim.rejected", "gap.found", "conflict.found", "budget.exhausted",
  "report.section_ready", "report.completed", "model.answered", "model.failed", "role.replaced",
]) stream.addEventListener(type, hear);
stream.addEventListener("error", () => setTimeout(ask, 300));
const clock = setInterval(() => (ask(), draw()), 2000);

"""The official JavaScript clients, unchanged but for their base URL. npm fetches them when the test runs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = {"@tavily/core": "0.7.13", "@mendable/firecrawl-js": "4.42.0", "openai": "6.49.0"}
SCRIPT = """
import assert from "node:assert/strict";
import { tavily } from "@tavily/core";
import Firecrawl from "@mendable/firecrawl-js";
import OpenAI from "openai";

const server = process.env.SERVER;
const question = process.env.QUESTION;

const t = tavily({ apiKey: "tvly-anything", apiBaseURL: `${server}/tavily` });
const hits = await t.search("Halden lighthouse tall", { maxResults: 2, includeRawContent: "markdown" });
assert.match(hits.results[0].rawContent, /41 metres/);
const read = await t.extract([hits.results[0].url, "http://127.0.0.1/secret"]);
assert.match(read.results[0].rawContent, /41 metres/);
assert.equal(read.failedResults[0].url, "http://127.0.0.1/secret");
for (const method of ["crawl", "map"])
  await assert.rejects(t[method]("https://a.example/"), /not served here/);

const f = new Firecrawl({ apiKey: "fc-anything", apiUrl: server });
const found = await f.search("Halden lighthouse tall", { limit: 2 });
const page = await f.scrape(found.web[0].url, { formats: ["markdown", "links"] });
assert.match(page.markdown, /41 metres/);
assert.equal(page.metadata.sourceURL, found.web[0].url);
await assert.rejects(f.scrape(found.web[0].url, { formats: ["screenshot"] }), /screenshot/);
await assert.rejects(f.startCrawl("https://a.example/"), /not served here/);
await assert.rejects(f.startBatchScrape(["https://a.example/"]), /not served here/);

const o = new OpenAI({ baseURL: `${server}/v1`, apiKey: "anything", maxRetries: 0 });
const names = [];
for await (const model of o.models.list()) names.push(model.id);
assert.ok(names.includes("pincite-quick"));
const messages = [{ role: "user", content: question }];
const answer = await o.chat.completions.create({ model: "pincite-quick", messages });
const message = answer.choices[0].message;
assert.match(message.content, /41 metres/);
const points = [...message.content];
for (const { url_citation: cited } of message.annotations)
  assert.match(points.slice(cited.start_index, cited.end_index).join(""), /^\\[\\d+\\]$/);
let text = "";
for await (const chunk of await o.chat.completions.create({ model: "pincite-quick", messages, stream: true }))
  text += chunk.choices[0]?.delta?.content ?? "";
assert.equal(text, message.content);
const response = await o.responses.create({ model: "pincite-quick", input: question });
assert.equal(response.output_text, message.content);
assert.equal(response.output[0].type, "web_search_call");
assert.equal((await o.responses.retrieve(response.id)).output_text, message.content);
await o.responses.delete(response.id);
await assert.rejects(o.responses.retrieve(response.id), { status: 404 });
const stream = o.responses.stream({ model: "pincite-quick", input: question });
assert.equal((await stream.finalResponse()).output_text, message.content);
await assert.rejects(o.chat.completions.create({ model: "gpt-9", messages }), { status: 404 });
console.log("all passed");
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here: the JavaScript clients were not run")
def test_the_javascript_clients(server: str, question: str, tmp_path: Path) -> None:
    package = {"name": "clients", "private": True, "type": "module", "dependencies": PACKAGES}
    (tmp_path / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (tmp_path / "clients.mjs").write_text(SCRIPT, encoding="utf-8")
    install = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    fetched = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    if fetched.returncode:
        pytest.skip(f"npm can't fetch the clients here: {fetched.stderr[-300:]}")
    done = subprocess.run(
        ["node", "clients.mjs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "SERVER": server, "QUESTION": question},
    )
    assert done.stdout.strip() == "all passed", done.stdout + done.stderr

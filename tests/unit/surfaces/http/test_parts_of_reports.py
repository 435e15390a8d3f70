"""Findings, citations, linked marks and summaries over HTTP, and the answer for a schema that was not given."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pincite.domain.markdown import restyle
from pincite.domain.search import SearchInfo, SearchResponse, SearchResult
from pincite.surfaces.mcp.results import hits_of, section_text


async def test_parts_of_a_report_and_its_summary(tmp_path: Path, opened: Callable[..., Any], question: str) -> None:
    async with opened(tmp_path) as client:
        body = {"question": question, "metadata": {"ticket": "7"}, "words_only": True}
        run_id = (await client.post("/v1/research", json=body)).json()["id"]
        run = (await client.get(f"/v1/research/{run_id}", params={"wait": 50})).json()
        assert (run["status"], run["metadata"]) == ("completed", {"ticket": "7"}), run
        at = f"/v1/research/{run_id}"
        report = (await client.get(f"{at}/report")).json()
        findings = (await client.get(f"{at}/findings")).json()["findings"]
        assert {one["statement"] for one in findings} == {claim["text"] for claim in report["claims"]}
        assert all(one["citations"][0]["snippet"] for one in findings)
        cited = (await client.get(f"{at}/citations")).json()["citations"]
        assert [one["url"] for one in cited] == [one["url"] for one in report["references"]]
        assert {"url", "title", "accessedAt", "excerpt"} <= set(cited[0])
        assert "41 metres" in " ".join(one["excerpt"] for one in cited)
        linked = (await client.get(f"{at}/report", params={"format": "md", "marks": "linked"})).text
        plain = (await client.get(f"{at}/report", params={"format": "md"})).text
        assert "[1](citation:1)" in linked
        assert restyle(linked, "[n]") == plain
        counts = [(await client.post("/v1/audit", json={"report": text})).json()["counts"] for text in (linked, plain)]
        assert counts[0] == counts[1], "marks of either kind lead to their entries"
        assert counts[0]["supported"] > 0
        assert "no_entry" not in counts[0]
        missing = await client.get(f"{at}/answer")
        assert (missing.status_code, missing.json()["reason"]) == (404, "no_schema")
        summary = (await client.post("/v1/summarize", json={"target": run_id, "sentences": 2})).json()
        assert summary["mode"] == "extractive"
        assert 1 <= len(summary["points"]) <= 2
        assert all(point["passages"] and point["url"] for point in summary["points"])


def test_tools_hand_out_the_same_parts() -> None:
    from pincite.testing.reports import sample_report

    report = sample_report().report
    assert report.references[0].url in section_text(report, "citations")
    assert "accessedAt" in section_text(report, "citations")
    assert report.claims[0].text in section_text(report, "findings")


def test_the_search_tool_says_what_a_search_says() -> None:
    result = SearchResult("Tower", "https://a.test/", "It is tall.", "exa", 1, 0.5)
    when = datetime(2026, 11, 23, tzinfo=UTC)
    info = SearchInfo(cache="hit", fetched_at=when, reason="no web needed")
    hits = hits_of(SearchResponse("tower", (result,), "About 41 metres.", ("How old?",), info))
    assert (hits.answer, hits.follow_up_questions, hits.cache) == ("About 41 metres.", ["How old?"], "hit")
    assert (hits.results[0].score, hits.results[0].provider, hits.reason) == (0.5, "exa", "no web needed")
    assert str(hits.fetched_at).startswith("2026-11-23")
    assert hits_of(SearchResponse("tower")).notice.startswith("Nothing was found")

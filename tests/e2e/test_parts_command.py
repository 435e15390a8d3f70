"""`pincite summarize`, `runs show --part` and linked marks."""

from pathlib import Path

from tests.e2e.commands import command

from pincite.testing.web import html, write_warc


def test_parts_of_a_report_and_a_summary(tmp_path: Path) -> None:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    pincite = command(tmp_path / "home", tmp_path)
    asked = ("research", "When was the bridge of Ostrow opened?", "--source", "local:pages.warc.gz")
    ended = pincite(*asked, "--metadata", "ticket=7", "--json")
    assert ended.code == 0, ended.err
    findings = pincite("runs", "show", "last", "--part", "findings").json["findings"]
    assert "1931" in findings[0]["statement"]
    cited = pincite("runs", "show", "last", "--part", "citations").json["citations"]
    assert cited[0]["url"] == "https://bridges.example/ostrow"
    assert "accessedAt" in cited[0]
    assert pincite("runs", "show", "last", "--part", "answer", "--json").json["error"]["reason"] == "no_schema"
    assert "[1](citation:1)" in pincite("runs", "export", "last", "--marks", "linked").out
    summary = pincite("summarize", "last", "--json").json
    assert "1931" in summary["points"][0]["text"]
    told = pincite("summarize", "last")
    assert (told.code, "https://bridges.example/ostrow" in told.out) == (0, True)

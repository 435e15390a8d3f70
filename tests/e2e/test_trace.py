"""`pincite runs show --trace`: the tree of a run with time and money."""

from pathlib import Path

from tests.e2e.commands import command

from pincite.testing.web import html, write_warc


def test_the_tree_has_every_call_with_time_and_money(tmp_path: Path) -> None:
    text = "The bridge of Ostrow was opened in 1931. It carries two railway tracks over the river Warta."
    write_warc(tmp_path / "pages.warc.gz", {"https://bridges.example/ostrow": html("Bridge of Ostrow", text)})
    pincite = command(tmp_path / "home", tmp_path)
    ended = pincite("research", "When was the bridge of Ostrow opened?", "--source", "local:pages.warc.gz", "--json")
    assert ended.code == 0, ended.err
    tree = pincite("runs", "show", "last", "--trace", "--json").json
    calls = [call for part in tree["rounds"] for call in part["calls"]]
    assert {"search", "page"} & {call["kind"] for call in calls} or len(calls) >= 2
    assert all(call["status"] == "ok" and call["duration_ms"] >= 0 for call in calls)
    assert tree["request_id"].startswith("req_")
    shown = pincite("runs", "show", "last", "--trace")
    assert shown.code == 0
    assert "https://bridges.example/ostrow" in shown.out
    assert "$0" in shown.out
    events = pincite("runs", "show", "last", "--json").json["events"]
    assert {event["request_id"] for event in events} == {tree["request_id"]}
    assert len({event["topic_hash"] for event in events}) == 1

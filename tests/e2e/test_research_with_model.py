"""The real command with a model behind a real socket: report, cost, replay without it, and its failures."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.commands import QUESTION, Pincite
from tests.fakes.models import LyingModel, ModelServer, Trouble
from tests.fakes.models.lying import FALSE_NUMBER

from pincite.testing.models import FaithfulModel, ScriptedModel, composed, said

KEY = "sk-test-1234567890"
TOWER = (
    "# Varden lighthouse\n\nThe Varden lighthouse is 41 metres tall. The Varden lighthouse was built by Anna Holm.\n"
)
ASKED = "How tall is the Varden lighthouse?"


def pages(folder: Path) -> str:
    library = folder / "pages"
    library.mkdir(exist_ok=True)
    (library / "tower.md").write_text(TOWER, encoding="utf-8")
    return f"local:{library}"


def with_server(server: ModelServer) -> dict[str, str]:
    return {"PINCITE_LLM_BASE_URL": server.base_url, "PINCITE_LLM_API_KEY": KEY, "PINCITE_LLM_RETRIES": "0"}


def test_a_model_writes_and_the_record_replays_without_it(pincite: Pincite, tmp_path: Path) -> None:
    source = pages(tmp_path)
    with ModelServer(FaithfulModel(), api_key=KEY) as server:
        environ = with_server(server)
        doctor = pincite("doctor", environ={**environ, "PINCITE_LLM": "small:1b"})
        done = pincite("research", ASKED, "--source", source, "--llm", "small:1b", environ=environ)
        told = pincite("runs", "show", "last", "--json")
        asked = len(server.requests)
    replayed = pincite("runs", "replay", "last", "--json")
    assert done.code == 0, done.err
    assert "41 metres" in done.out
    assert "Estimate: up to" in done.err
    assert "Used: " in done.err
    assert replayed.json["same"] is True
    assert told.json["report"]["mode"] == "model"
    assert asked == len(server.requests)
    assert "small:1b" in doctor.out
    assert KEY not in done.out + done.err + told.out + doctor.out + json.dumps(told.json)
    assert {request["model"] for request in server.requests} == {"small:1b"}


def test_a_lying_model_is_not_believed(pincite: Pincite, tmp_path: Path) -> None:
    model = LyingModel("sentence_number")
    with ModelServer(model) as server:
        done = pincite("research", ASKED, "--source", pages(tmp_path), "--llm", "m", environ=with_server(server))
    assert done.code == 0, done.err
    assert model.planted
    assert FALSE_NUMBER not in done.out, "no judge can pass a figure that the page does not have"
    assert "41 metres" in done.out


def test_a_report_says_that_the_writer_judged_itself(pincite: Pincite, tmp_path: Path) -> None:
    other: Any = composed([said("It is 41 metres that the Varden lighthouse is tall.", "a1")])
    with ModelServer(ScriptedModel({"compose": other})) as server:
        done = pincite("research", ASKED, "--source", pages(tmp_path), "--llm", "m", environ=with_server(server))
    assert "judged by server:m (the model that wrote them)" in done.out


def test_a_model_that_is_gone_gives_a_report_by_rules(pincite: Pincite, tmp_path: Path) -> None:
    with ModelServer(FaithfulModel(), always=Trouble.UNKNOWN_MODEL) as server:
        done = pincite(
            "research", ASKED, "--source", pages(tmp_path), "--llm", "nobody", "--json", environ=with_server(server)
        )
    assert done.code == 0, done.err
    assert done.json["status"] == "partial"
    assert "worked by rules, without the model" in json.dumps(done.json["gaps"])
    assert "The writer went on without a model:" in done.err
    assert "41 metres" in done.json["markdown"]


def test_settings_that_can_not_work_are_told_before_a_run(pincite: Pincite, tmp_path: Path) -> None:
    source = pages(tmp_path)
    no_key = pincite("research", QUESTION, "--source", source, "--llm", "openai:gpt-5-mini")
    no_provider = pincite("research", QUESTION, "--source", source, "--llm", "nothing")
    no_price = pincite(
        "research",
        QUESTION,
        "--source",
        source,
        "--llm",
        "openrouter:nobody/nothing-9",
        "--json",
        environ={"OPENROUTER_API_KEY": KEY},
    )
    assert (no_key.code, no_provider.code, no_price.code) == (2, 2, 2)
    assert "OPENAI_API_KEY" in no_key.err
    assert "PINCITE_LLM_BASE_URL" in no_provider.err
    assert no_price.json["error"]["reason"] == "model_price_unknown"
    assert pincite("runs", "list", "--json").json == []


def test_a_page_is_shown_in_markdown_that_a_model_wrote(pincite: Pincite, tmp_path: Path) -> None:
    pages(tmp_path)
    library = tmp_path / "pages"
    (library / "tower.html").write_text(f"<html><body><h1>Varden</h1><p>{TOWER[21:].strip()}</p></body></html>")
    (library / "pincite-library.toml").write_text(
        'name = "sea"\n[[folders]]\npath = "."\nbase_url = "https://sea.test/"\n'
    )
    text = "The Varden lighthouse is 41 metres tall. The Varden lighthouse was built by Anna Holm."
    written: Any = {"markdown": {"markdown": f"# Varden\n\n**{text}**"}}
    with ModelServer(ScriptedModel(written), api_key=KEY) as server:
        shown = pincite(
            *("fetch", "https://sea.test/tower.html", "--source", f"local:{library}", "--markdown", "model"),
            *("--llm", "small:1b"),
            environ=with_server(server),
        )
    assert shown.code == 0, shown.err
    assert f"**{text}**" in shown.out
    assert "markdown by: server:small:1b (prompt 1)" in shown.out


def test_a_plan_is_shown_changed_and_obeyed(pincite: Pincite, tmp_path: Path) -> None:
    source = pages(tmp_path)
    with ModelServer(FaithfulModel(), api_key=KEY) as server:
        environ = with_server(server)
        shown = pincite("research", ASKED, "--source", source, "--llm", "m", "--plan", "show", environ=environ)
        runs = pincite("runs", "list", "--json")
        plan = tmp_path / "my.plan"
        plan.write_text("Who built the Varden lighthouse?\n  search: Varden lighthouse built\n")
        done = pincite(
            *("research", ASKED, "--source", source, "--llm", "m", "--plan", str(plan), "--json"),
            *("--audience", "sailors", "--length", "short", "--report-language", "German", "--depth", "expert"),
            *("--instructions", "No lists."),
            environ=environ,
        )
        prompts = [str(request["messages"]) for request in server.requests]
        bad = pincite("research", ASKED, "--source", source, "--llm", "m", "--plan", "nothing.plan", environ=environ)
    assert (shown.code, done.code, bad.code) == (0, 0, 2)
    assert shown.out.count("\n  search: ") >= 2
    assert runs.json == [], "showing a plan stores no run"
    assert [part["text"] for part in done.json["parts"]] == ["Who built the Varden lighthouse?"]
    assert any("Reader: sailors" in text and "No lists." in text and "German" in text for text in prompts)


def test_a_plan_without_a_model_says_what_it_needs(pincite: Pincite, tmp_path: Path) -> None:
    shown = pincite("research", ASKED, "--source", pages(tmp_path), "--plan", "show")
    assert shown.code == 2
    assert "--llm" in shown.err


def test_wishes_without_a_model_are_said_to_have_no_effect(pincite: Pincite, tmp_path: Path) -> None:
    source = pages(tmp_path)
    wished = pincite(
        *("research", ASKED, "--source", source, "--audience", "sailors", "--length", "short", "--depth", "expert")
    )
    plain = pincite("research", ASKED, "--source", source)
    assert (wished.code, plain.code) == (0, 0)
    assert "No language model wrote this report: audience and depth had no effect." in wished.out
    assert "no effect" not in plain.out

"""The official Python clients, unchanged but for their base URL."""

import json
from typing import Any

import pytest


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tavily_s_client(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # It counts tokens with a table that it loads from the network.
    monkeypatch.setattr("tavily.tavily.get_max_items_from_list", lambda data, _: list(data))
    from tavily import TavilyClient
    from tavily.errors import BadRequestError

    with TavilyClient("tvly-anything", api_base_url=f"{server}/tavily") as client:
        found = client.search("Halden lighthouse tall", max_results=2, include_raw_content=True)
        assert "41 metres" in found["results"][0]["raw_content"]
        url = found["results"][0]["url"]
        read = client.extract([url, "http://127.0.0.1/secret"])
        several = client.extract([item["url"] for item in found["results"]] * 2)
        assert len(several["results"]) == len(found["results"])
        context = json.loads(client.get_search_context("Halden lighthouse tall", max_tokens=2000))
        assert context[0]["url"] == url
        assert client.qna_search("How tall is the Halden lighthouse?") is None  # an engine's answer; this one has none
        not_served: list[Any] = [client.crawl, client.map, client.research]
        for method in not_served:
            with pytest.raises(BadRequestError, match="not served here; there are /search and /extract"):
                method(url)
    assert "41 metres" in read["results"][0]["raw_content"]
    assert [item["url"] for item in read["failed_results"]] == ["http://127.0.0.1/secret"]


async def test_tavily_s_async_client(server: str) -> None:
    from tavily import AsyncTavilyClient
    from tavily.errors import BadRequestError

    async with AsyncTavilyClient("tvly-anything", api_base_url=f"{server}/tavily") as client:
        found = await client.search("Halden lighthouse tall", topic="news", time_range="year", country="norway")
        assert found["results"]
        assert set(found) >= {"query", "answer", "images", "results", "response_time", "request_id"}
        read = await client.extract(found["results"][0]["url"], format="text")
        assert "41 metres" in read["results"][0]["raw_content"]
        with pytest.raises(BadRequestError):
            await client.search("")


def test_firecrawl_s_client(server: str) -> None:
    from firecrawl import Firecrawl
    from firecrawl.v2.utils.error_handler import BadRequestError, WebsiteNotSupportedError

    client = Firecrawl(api_key="fc-anything", api_url=server)
    found = client.search("Halden lighthouse tall", limit=2)
    assert found.web
    page = client.scrape(found.web[0].url, formats=["markdown"])
    assert "41 metres" in page.markdown
    assert page.metadata.source_url == found.web[0].url
    assert "41 metres" in client.scrape(found.web[0].url).markdown
    with pytest.raises(BadRequestError):
        client.scrape(found.web[0].url, formats=["screenshot"])
    with pytest.raises(BadRequestError, match="not served here"):
        client.start_batch_scrape(["https://a.example/"])
    with pytest.raises(BadRequestError, match="not served here"):
        client.start_crawl("https://a.example/")
    with pytest.raises(BadRequestError, match="not served here"):
        client.map("https://a.example/")
    with pytest.raises(WebsiteNotSupportedError):
        client.scrape("http://127.0.0.1/secret")


async def test_firecrawl_s_async_client(server: str) -> None:
    from firecrawl import AsyncFirecrawl

    client = AsyncFirecrawl(api_key="fc-anything", api_url=server)
    found = await client.search("Halden lighthouse tall", limit=2)
    page = await client.scrape(found.web[0].url, formats=["markdown", "links"])
    assert "41 metres" in page.markdown
    await client._v2_client.async_http_client.close()


def check_citations(text: str, found: list[Any]) -> None:
    assert found
    for item in found:
        assert text[item.start_index : item.end_index].strip("[]").isdecimal()
        assert item.url
        assert item.title


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_openai_s_client(server: str, question: str) -> None:
    import openai

    with openai.OpenAI(base_url=f"{server}/v1", api_key="anything", max_retries=0) as client:
        assert "pincite-quick" in [model.id for model in client.models.list()]
        asked: Any = [{"role": "user", "content": question}]
        answer = client.chat.completions.create(model="pincite-quick", messages=asked)
        message = answer.choices[0].message
        assert message.content
        assert "41 metres" in message.content
        check_citations(message.content, [item.url_citation for item in message.annotations or ()])

        streamed = client.chat.completions.create(
            model="pincite-quick", messages=asked, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(streamed)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == message.content
        assert chunks[-1].usage is not None

        response = client.responses.create(model="pincite-quick", input=question)
        assert response.output_text == message.content
        content: Any = response.output[-1]
        check_citations(response.output_text, content.content[0].annotations)
        with client.responses.stream(model="pincite-quick", input=question) as stream:
            kinds = [event.type for event in stream]
            assert stream.get_final_response().output_text == message.content
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"

        plain = client.chat.completions.create(model="pincite-extractive", messages=asked)
        assert "41 metres" in str(plain.choices[0].message.content)

        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="gpt-9", messages=asked)
        with pytest.raises(openai.BadRequestError, match="one answer") as refused:
            client.chat.completions.create(model="pincite-quick", messages=asked, n=2)
    assert json.loads(refused.value.response.text)["error"]["param"] == "n"


async def test_openai_s_async_client(server: str, question: str) -> None:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{server}/v1", api_key="anything", max_retries=0) as client:
        asked: Any = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": question}]},
        ]
        text = ""
        cited: list[Any] = []
        async for chunk in await client.chat.completions.create(model="pincite-quick", messages=asked, stream=True):
            delta: Any = chunk.choices[0].delta
            text += delta.content or ""
            cited += getattr(delta, "annotations", None) or []
        assert "41 metres" in text
        assert cited
        for item in cited:
            place = item["url_citation"]
            assert text[place["start_index"] : place["end_index"]].strip("[]").isdecimal()
        async with client.responses.stream(model="pincite-quick", input=asked) as stream:
            async for _ in stream:
                pass
            final = await stream.get_final_response()
        assert final.output_text == text

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.domain.errors import BlockedAddress, InvalidUrl, PinciteError
from pincite.urls import parse_url, url_key
from pincite.urls.keys import work_of


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://dx.doi.org/10.1000%2Fabc", "doi:10.1000/abc"),
        ("https://doi.org/10.48550/arXiv.2301.00001v2", "arxiv:2301.00001"),
        ("https://arxiv.org/abs/math.AG/0601001", "arxiv:math/0601001"),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC123/", "pmcid:PMC123"),
        ("https://arxiv.org/pdf/2301.00001v3.pdf", "arxiv:2301.00001"),
        ("https://pubmed.ncbi.nlm.nih.gov/123/", "pmid:123"),
        ("https://www.rfc-editor.org/info/rfc9309", "rfc:9309"),
        ("https://www.rfc-editor.org/rfc/rfc0793.txt", "rfc:793"),
        ("https://arxiv.org/list/cs.CL/recent", None),
        ("https://doi.org/", None),
        ("https://site.example/10.1000/abc", None),
    ],
)
def test_work_ids(url: str, expected: str | None) -> None:
    assert work_of(parse_url(url)) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://site-example.cdn.ampproject.org/c/s/site.example/a?x=1", "https://site.example/a?x=1"),
        ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fsite.example%2Fa&rut=1", "https://site.example/a"),
        ("https://www.google.co.uk/url?url=https%3A%2F%2Fsite.example%2Fa", "https://site.example/a"),
        ("https://r.search.yahoo.com/_y=1/RU=https%3a%2f%2fsite.example%2fa/RK=2/RS=x", "https://site.example/a"),
        ("https://www.google.com/search?q=a", "https://google.com/search?q=a"),
        ("https://www.bing.com/ck/a?u=a1L2ltYWdlcw", "https://bing.com/ck/a?u=a1L2ltYWdlcw"),
        ("https://www.bing.com/ck/a?u=zz", "https://bing.com/ck/a?u=zz"),
        ("https://site.example/a?b=1&PHPSESSID=3", "https://site.example/a?b=1"),
        ("https://site.example/index.html/index.html/", "https://site.example/"),
        ("https://site.example/a?q=%%34%31", "https://site.example/a?q=A"),
        ("local:docs/a.html#x", "local:docs/a.html"),
        ("https://[2606:4700::1]:8443/a/", "https://[2606:4700::1]:8443/a"),
    ],
)
def test_keys(url: str, expected: str) -> None:
    assert url_key(url) == expected


def test_a_redirector_cannot_smuggle_an_address() -> None:
    with pytest.raises(BlockedAddress):
        url_key("https://www.google.com/url?q=http://169.254.169.254/")
    with pytest.raises(InvalidUrl):
        url_key("ftp://site.example/a")


SEGMENT = st.text(alphabet="ab.%2Ee4;=&?/#!_~ é", max_size=24)


@given(SEGMENT, st.sampled_from(["site.example", "www.site.example", "youtu.be", "en.m.wikipedia.org", "github.com"]))
@example("a?b=%%34%31", "site.example")
@example("//;sid=1//index.html", "site.example")
@example("v/b?&=&v", "youtu.be")
def test_the_key_of_a_key_is_itself(tail: str, host: str) -> None:
    try:
        key = url_key(f"https://{host}/{tail}")
    except PinciteError:
        return
    assert url_key(key) == key

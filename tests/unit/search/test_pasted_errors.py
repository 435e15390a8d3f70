"""Queries that are errors: what is of one machine goes, the line that names the error stays, and results are shown."""

import pytest
from tests.unit.search.scripted import Scripted, service

from pincite.domain.search import Query
from pincite.search.request import checked
from pincite.text.pasted import searchable

PYTHON = """why does this fail in Django?
Traceback (most recent call last):
  File "/home/ann/shop/manage.py", line 22, in <module>
    main()
  File "/home/ann/shop/venv/lib/python3.11/site-packages/django/db/base.py", line 289, in ensure_connection
    self.connect()
    ^^^^^^^^^^^^^^
django.db.utils.OperationalError: connection to server at "10.1.2.3", port 5432 failed: Connection refused
"""
JAVA = """Exception in thread "main" java.lang.IllegalStateException: Failed to load ApplicationContext
\tat org.springframework.test.context.DefaultCacheAware.loadContext(DefaultCacheAware.java:132)
\tat org.junit.runners.ParentRunner.run(ParentRunner.java:413)
\t... 23 more
Caused by: org.springframework.beans.factory.BeanCreationException: Error creating bean with name 'dataSource'
\tat com.zaxxer.hikari.HikariDataSource.<init>(HikariDataSource.java:81)
"""
JAVASCRIPT = """TypeError: Cannot read properties of undefined (reading 'map')
    at ProductList (webpack-internal:///./src/ProductList.jsx:17:23)
    at renderWithHooks (http://localhost:3000/static/js/bundle.js:4312:18)
"""


@pytest.mark.parametrize(
    ("pasted", "stays", "goes"),
    [
        (PYTHON, ("why does this fail in Django?", "OperationalError", "Connection refused"),
         ("/home/ann", "manage", "line 22", "10.1.2.3", "self.connect", "Traceback")),
        (JAVA, ("IllegalStateException: Failed to load ApplicationContext", "BeanCreationException", "'dataSource'"),
         ("ParentRunner", "413", "23 more", "HikariDataSource.java")),
        (JAVASCRIPT, ("TypeError: Cannot read properties of undefined (reading 'map')",),
         ("webpack", "localhost", "4312")),
        ("2026-11-21T10:03:11.120Z [4711] ERROR: duplicate key for 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
         ("ERROR: duplicate key",), ("2026", "4711", "3f2504e0")),
        ("ImportError: /usr/lib/x86_64-linux-gnu/libssl.so.3: undefined symbol at 0x7f3a2b1c",
         ("ImportError:", "libssl.so.3", "undefined symbol"), ("x86_64-linux-gnu", "0x7f3a2b1c")),
    ],
)  # fmt: skip
def test_what_is_of_one_machine_goes(pasted: str, stays: tuple[str, ...], goes: tuple[str, ...]) -> None:
    text = checked(Query(pasted)).text
    assert [part for part in stays if part not in text] == [], text
    assert [part for part in goes if part in text] == [], text
    assert searchable(text) == text, "and nothing more goes the second time"


@pytest.mark.parametrize(
    "text",
    [
        "How does PostgreSQL 15.4 read /etc/postgresql/15/main/pg_hba.conf at 10:00 on 2026-11-21?",
        "compare https://a.example/x and https://b.example/y",
        "What is a stack trace?",
        "0x7f as a decimal number",
    ],
)
def test_other_questions_stay_as_they_are(text: str) -> None:
    assert searchable(text) == text


async def test_an_error_gets_as_many_results_as_the_engine_has() -> None:
    """Titles share little with an error's own words, so that those that do not are put last and not left out."""
    titles = ("OperationalError Connection refused", *(f"Servers, part {n}" for n in range(8)))
    found = await service(Scripted("exa", titles)).search(Query(PYTHON, max_results=5))
    assert len(found.results) == 5
    assert found.results[0].title == titles[0]
    others = await service(Scripted("exa", titles)).search(Query("refused connection guide of Django", max_results=5))
    assert len(others.results) < 5, "for other questions they are left out as before"

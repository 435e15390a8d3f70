"""A plan as text: shown, changed and read back."""

import pytest

from pincite.domain.errors import InvalidInput
from pincite.domain.plan import AnswerForm, Plan, SubQuestion
from pincite.domain.search import Query
from pincite.research.plan_text import plan_text, read_plan

PARTS = (
    SubQuestion("1", "Who built it?", (Query("builder of it"),), heading="Builder", form=AnswerForm.NAME),
    SubQuestion("2", "Where was the builder born?", (), depends_on="1", heading="Birth"),
)


def test_a_plan_that_was_not_changed_is_read_as_it_was() -> None:
    found = read_plan(plan_text(Plan(PARTS)))
    assert [(p.sub_question_id, p.text, p.heading, p.form, p.depends_on) for p in found] == [
        (p.sub_question_id, p.text, p.heading, p.form, p.depends_on) for p in PARTS
    ]
    assert [query.text for query in found[0].queries] == ["builder of it"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a remark",
        "  search: a query of no part",
        "A question?\n  colour: red",
        "A question?\n  form: poem",
        "A question?\n  after: 1",
        "???",
        "A question?\n" * 9,
        "A" * 600,
        "A question?\n" + "  search: x\n" * 7,
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_plan(text)
    assert caught.value.reason == "plan_invalid"

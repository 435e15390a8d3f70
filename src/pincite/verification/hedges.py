"""Modal verbs that a passage has and a statement drops: "may leak" told as "leaks". A hint for the judge, no verdict.

Whether "is able to" keeps a "can" is a matter of meaning, which the judge decides. Code says where to look.
"""

from collections.abc import Sequence
from typing import Final

from pincite.domain.evidence import ContextRole, EvidenceLine
from pincite.text.tokens import terms, words

# Closed classes of grammar (English, German, French, Spanish): what may be, and what is only advised. Lower case only:
# "May" is a month, and no modal verb opens a statement.
_POSSIBLE: Final = (
    "may might can could kann können konnte konnten könnte könnten darf dürfen dürfte dürften mag mögen "
    "peut peuvent pourrait pourraient puede pueden podría podrían"
)
_ADVISED: Final = "should ought sollte sollten soll sollen devrait devraient debería deberían"
_CLASSES: Final = (frozenset(_POSSIBLE.split()), frozenset(_ADVISED.split()))


def dropped_hedges(statement: str, lines: Sequence[EvidenceLine]) -> tuple[str, ...]:
    """The modal verbs of the line that shares most with the statement, of classes of which the statement has none.

    Only passages and premises count, and of these one line: another sentence's "may" hedges something else.
    """
    wanted = set(terms(statement))
    stating = [line for line in lines if line.role in (None, ContextRole.PREMISE)]
    scores = [len(wanted.intersection(terms(line.text))) for line in stating]
    if not scores or not max(scores):
        return ()
    nearest = list(words(stating[scores.index(max(scores))].text))
    said = set(words(statement))
    lost = [hedges for hedges in _CLASSES if not hedges & said]
    return tuple(dict.fromkeys(word for word in nearest if any(word in hedges for hedges in lost)))

"""Phrases that join sentences and state nothing: what may be printed without evidence and without a judge.

A closed list of whole phrases. Words alone would not do: "This is not so." is made of nothing but small words and
denies the sentence before it.
"""

from typing import Final

from pincite.text.normalise import fold

_END_MARKS: Final = " .:,;!…"
# English, German, French and Spanish, in lower case and without end marks.
CONNECTIVES: Final = frozenset(
    phrase.strip()
    for phrase in """
    in short | in brief | in detail | in more detail | in general | in practice | in other words | in particular |
    in addition | in summary | in contrast | by contrast | for example | for instance | to begin with | to sum up |
    first | second | third | finally | next | also | further | moreover | besides | meanwhile | however | still |
    more on this below | details follow | the details | an example | examples | step by step | the steps are |
    kurz | kurz gesagt | im einzelnen | im allgemeinen | zum beispiel | mit anderen worten | außerdem | zudem |
    dagegen | zunächst | zuerst | dann | schließlich | zusammengefasst | jedoch |
    en bref | en détail | en général | par exemple | en d'autres termes | en outre | par contre | d'abord | ensuite |
    enfin | en résumé | cependant |
    en breve | en detalle | en general | por ejemplo | en otras palabras | además | en cambio | primero | luego |
    finalmente | en resumen | sin embargo
    """.split("|")
)


def states_nothing(text: str) -> bool:
    """Whether the text is one of the phrases that hold no statement."""
    return " ".join(fold(text).text.lower().split()).strip(_END_MARKS) in CONNECTIVES

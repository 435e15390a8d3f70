"""Which marks a sentence must be printed with."""

from dataclasses import replace

import pytest

from pincite.audit.printed import mark_problems
from pincite.domain.evidence import Proof
from pincite.domain.layout import SectionKind
from pincite.domain.report import ClaimMark
from pincite.testing.reports import sample_report


@pytest.mark.parametrize(("proof", "problems"), [(Proof.QUOTED, 0), (Proof.ENTAILED, 1), (None, 1)])
def test_a_source_s_own_words_carry_no_label_of_ours(proof: Proof | None, problems: int) -> None:
    report = sample_report().report
    unsure = replace(report.claims[0], marks=(ClaimMark.LOW_CONFIDENCE,))
    sentence = replace(report.sections[0].sentences[0], proof=proof)
    assert len(list(mark_problems("here", sentence, [unsure], SectionKind.FINDINGS))) == problems

"""True statements about small texts stay supported; the same statements with one thing falsified do not."""

import pytest

from pincite.domain.evidence import VerdictStatus
from pincite.verification.checker import MechanicalChecker

PARK = """The Havel Wind Park opened in March 2019. It makes 398 MW, enough for 200,000 homes, and cost €1.2 billion.
Acme Energy bought the park from Norfolk Power in 2021. The company may build a second park in Denmark. Most of the
turbines are made by Vestas. It is the largest wind park in the region. The park does not receive any subsidies.
Output rose by 12 percent in 2022, more than any other park of the group. Maria Jensen leads the operations team of
45 engineers, and Tomas Lund runs the control room in Aarhus."""

STORE = """Talva is an open-source document database written in Rust. Version 2.4.1, released on 14 June 2023, reduced
memory use by 30 percent. Each node can hold up to 16 TB of data. Replicas never accept writes while the leader is
reachable. Many users run it on three nodes. The project was founded by Ines Okafor at the University of Leeds in 2015,
before the company Talva Labs was created. Backups are compressed after they are encrypted. Queries time out after 30
seconds by default. Talva Labs sued Northgate Systems over the name in 2020 and won."""

RIVER = """The Orla is one of the longest rivers in the province, with a length of 512 kilometres. It rises in the Ketu
Mountains and flows south into Lake Bren. The first dam was finished in 1934; the second dam, completed in 1978, is 141
metres high. Floods killed at least 60 people in 1952. According to local fishermen, salmon may return within
five years. The water is colder in the upper valley than in the lower valley. Few
towns along the river have treatment plants."""

TRUE = [
    (PARK, "The Havel Wind Park makes 398 MW."),
    (PARK, "The Havel Wind Park opened in March 2019."),
    (PARK, "The wind park makes 398 megawatts, enough for 200,000 homes."),
    (PARK, "The park cost 1,200 million euros."),
    (PARK, "Acme Energy bought the park from Norfolk Power in 2021."),
    (PARK, "The park was bought by Acme Energy."),
    (PARK, "Most of the turbines are made by Vestas."),
    (PARK, "It is the largest wind park in the region."),
    (PARK, "The park does not receive subsidies."),
    (PARK, "Output rose by 12% in 2022."),
    (PARK, "Maria Jensen leads the operations team of 45 engineers."),
    (STORE, "Talva is a document database written in Rust."),
    (STORE, "Version 2.4.1 reduced memory use by 30 %."),
    (STORE, "Version 2.4.1 was released on June 14, 2023."),
    (STORE, "Each node can hold up to 16 TB of data."),
    (STORE, "Replicas never accept writes while the leader is reachable."),
    (STORE, "The project was founded by Ines Okafor in 2015."),
    (STORE, "Queries time out after 30 seconds by default."),
    (STORE, "Talva Labs sued Northgate Systems in 2020."),
    (RIVER, "The Orla is one of the longest rivers in the province."),
    (RIVER, "The Orla has a length of 512 km."),
    (RIVER, "The river rises in the Ketu Mountains and flows south into Lake Bren."),
    (RIVER, "The second dam is 141 metres high."),
    (RIVER, "Floods killed at least 60 people in 1952."),
    (RIVER, "Few towns along the river have treatment plants."),
]

FALSE = [
    (PARK, "The Havel Wind Park makes 412 MW."),
    (PARK, "The Havel Wind Park makes 398 kW."),
    (PARK, "The Havel Wind Park makes 398 GW."),
    (PARK, "The Havel Wind Park opened in April 2019."),
    (PARK, "The Havel Wind Park opened in March 2021."),
    (PARK, "The wind park makes 398 megawatts, enough for 45 homes."),
    (PARK, "The park cost 1.2 million euros."),
    (PARK, "The park cost $1.2 billion."),
    (PARK, "Norfolk Power bought the park from Acme Energy in 2021."),
    (PARK, "Siemens bought the park from Norfolk Power in 2021."),
    (PARK, "Acme Energy bought the park from Norfolk Power in 2019."),
    (PARK, "Acme Energy did not buy the park from Norfolk Power."),
    (PARK, "The park was bought by Norfolk Power."),
    (PARK, "The company builds a second park in Denmark."),
    (PARK, "All of the turbines are made by Vestas."),
    (PARK, "Most of the turbines are made by Siemens."),
    (PARK, "It is the smallest wind park in the region."),
    (PARK, "It is the only wind park in the region."),
    (PARK, "The park receives subsidies."),
    (PARK, "Output fell by 12 percent in 2022."),
    (PARK, "Output rose by 45 percent in 2022."),
    (PARK, "Output rose by 12 percent, less than any other park of the group."),
    (PARK, "Tomas Lund leads the operations team of 45 engineers."),
    (PARK, "Maria Jensen leads the operations team of 200,000 engineers."),
    (PARK, "Maria Jensen runs the control room in Aarhus."),
    (STORE, "Talva is a document database written in Go."),
    (STORE, "Talva is not written in Rust."),
    (STORE, "Version 2.4.2 reduced memory use by 30 percent."),
    (STORE, "Version 2.4.1 increased memory use by 30 percent."),
    (STORE, "Version 2.4.1 reduced memory use by 16 percent."),
    (STORE, "Version 2.4.1 was released on July 14, 2023."),
    (STORE, "Version 2.4.1 was released on 15 June 2023."),
    (STORE, "Each node can hold up to 16 GB of data."),
    (STORE, "Each node can hold at least 16 TB of data."),
    (STORE, "Replicas accept writes while the leader is reachable."),
    (STORE, "All users run it on three nodes."),
    (STORE, "Many users run it on five nodes."),
    (STORE, "The project was founded by Ines Okafor at the University of Oxford in 2015."),
    (STORE, "The project was founded by Ines Okafor after the company Talva Labs was created."),
    (STORE, "Backups are compressed before they are encrypted."),
    (STORE, "Queries time out after 30 minutes by default."),
    (STORE, "Northgate Systems sued Talva Labs over the name in 2020."),
    (STORE, "Talva Labs sued Northgate Systems over the name in 2020 and lost."),
    (RIVER, "The Orla is the longest river in the province."),
    (RIVER, "The Orla has a length of 512 miles."),
    (RIVER, "The Orla has a length of 141 kilometres."),
    (RIVER, "The river rises in the Ketu Mountains and flows north into Lake Bren."),
    (RIVER, "The first dam was finished in 1978."),
    (RIVER, "The first dam is 141 metres high."),
    (RIVER, "Floods killed at most 60 people in 1952."),
    (RIVER, "Floods killed at least 600 people in 1952."),
    (RIVER, "Salmon return within five years."),
    (RIVER, "The water is warmer in the upper valley than in the lower valley."),
    (RIVER, "Most towns along the river have treatment plants."),
    (RIVER, "No towns along the river have treatment plants."),
]


@pytest.mark.parametrize(("page", "claim"), TRUE)
def test_a_true_statement_is_supported_by_an_exact_passage(page: str, claim: str) -> None:
    verdict = MechanicalChecker().check(claim, [page])
    assert verdict.status is VerdictStatus.SUPPORTED, verdict.reasons
    for quote in verdict.quotes:
        assert page[quote.start : quote.end] == quote.text


def test_at_least_95_of_100_falsified_statements_are_rejected() -> None:
    checker = MechanicalChecker()
    accepted = [claim for page, claim in FALSE if checker.check(claim, [page]).status is VerdictStatus.SUPPORTED]
    assert len(accepted) <= 0.05 * len(FALSE), accepted


def test_every_rejection_says_why() -> None:
    checker = MechanicalChecker()
    for page, claim in FALSE:
        verdict = checker.check(claim, [page])
        assert verdict.status is VerdictStatus.SUPPORTED or verdict.reasons, claim

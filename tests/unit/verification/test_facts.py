"""Exact facts: what is equal in another form is found, in four languages; what differs is named."""

import pytest
from tests.cpu_time import cpu_at_most

from pincite.verification.facts import FactKind, FactOutcome, check_facts


def outcome(statement: str, *evidence: str, pages: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(fact.text, fact.outcome.value) for fact in check_facts(statement, evidence, pages)]


FOUND = [
    # figures and units
    ("The cache takes 4 gigabytes.", "The cache takes 4GB."),
    ("The cache takes 4 GB.", "It is limited to 4096 MB."),
    ("It is kept for 5 days.", "maximal_queue_lifetime (default: 5d)"),
    ("It waits half a minute.", "The delay is 30 s."),
    ("It waits 30 seconds.", "It waits half a minute."),
    ("It waits one and a half hours.", "It waits 90 minutes."),
    ("The limit is 2^64 rows.", "There may be 18446744073709551616 rows."),
    ("The limit is 32,768.", "The limit is 2**15."),
    ("About 1.5 million people live there.", "1,500,000 people live there."),
    ("More than 2000 people came.", "Over 2,000 people came."),
    ("More than 400 MW are produced.", "The plant produces 412 MW."),
    ("About 400 MW are produced.", "The plant produces 412 MW."),
    ("A page has 8 kibibytes.", "A page has 8192 bytes."),
    ("Two weeks are enough.", "14 days are enough."),
    ("It took one year.", "It took twelve months."),
    ("Twenty-five weeks later", "25 weeks later"),
    ("A quarter of an hour passed.", "15 minutes passed."),
    ("25 percent of them agree.", "25 % of them agree."),
    ("25 percent of them agree.", "A quarter of them agree."),
    ("The share is 50 %.", "Half of them agree."),
    ("It costs $2 million.", "It costs two million dollars."),
    ("It costs US$2m.", "The price is 2 million dollars."),
    ("It is 20 °C warm.", "It is 68 degrees Fahrenheit warm."),
    ("It weighs 10 kg.", "It weighs 22 lb."),
    ("60 requests per minute are allowed.", "1 request per second is allowed."),
    ("The 3rd attempt fails.", "The third attempt fails."),
    ("Between 10 and 24 years old.", "They are 10-24 years old."),
    ("It runs at 5,000 km/h.", "It runs at 5000 kilometres per hour."),
    ("Power: 412.", "Power (MW) | 412"),
    ("It lasts 5 seconds.", "Timeout in seconds | 5"),
    ("HTTP/2's streams share one connection.", "With HTTP/2 streams share one connection."),
    # German, French, Spanish
    ("Das dauert 22 Tage.", "Das dauert zweiundzwanzig Tage."),
    ("There are 1,200,000 inhabitants.", "Es gibt 1.200.000 Einwohner."),
    ("There are 1,200,000 inhabitants.", "Il y a 1 200 000 habitants."),
    ("The share is 3.5 %.", "Der Anteil beträgt 3,5 Prozent."),
    ("Revenue was 2 billion euros.", "Der Umsatz lag bei zwei Milliarden Euro."),
    ("Revenue was 2 million euros.", "Der Umsatz lag bei 2 Mio. Euro."),
    ("It takes 2305 metres.", "Es sind zweitausenddreihundertfünf Meter."),
    ("It takes 97 days.", "Cela prend quatre-vingt-dix-sept jours."),
    ("It takes 32 minutes.", "Tarda treinta y dos minutos."),
    ("It takes 200 metres.", "Son doscientos metros."),
    ("It costs 1 billion euros.", "Cuesta mil millones de euros."),
    ("The disk holds 5 GB.", "Le disque contient 5 Go."),
    ("Mehr als 25 Prozent", "plus de 25 pour cent"),
    ("Una media hora de 30 minutos", "une demi-heure"),
    # dates and times
    ("It began on 3 May 2024.", "It began on 2024-05-03."),
    ("It began on May 3, 2024.", "Am 3. Mai 2024 begann es."),
    ("It began on 3 March 2020.", "Cela a commencé le 3 mars 2020."),
    ("It began on 3 May 2024.", "Empezó el 3 de mayo de 2024."),
    ("It began in 2019.", "It began in June 2019."),
    ("It began in the 1990s.", "It began in 1994."),
    ("It began in the 19th century.", "It began in 1871."),
    ("The train leaves at 3 pm.", "The train leaves at 15:00."),
    ("The train leaves at 15:30.", "Le train part à 15h30."),
    # a number of four digits may be a year or a figure
    ("It runs 2000 transactions.", "It runs 2,000 transactions."),
    ("It runs 2,000 transactions.", "It runs 2000 transactions."),
    ("It runs more than 2000 transactions.", "It runs 2,100 transactions."),
    ("The limit is 2 KiB.", "The limit is 2048 bytes."),
    ("Pages have 8 kB.", "Pages have 8 kilobytes."),
    ("It sends with 1,200 kW.", "It sends with 1.200.000 W."),
    ("Sie sendet mit 1.200 kW.", "It sends with 1,200 kW."),
    ("It takes 1,500 ms.", "It takes 1.500 s."),
    ("The limit is 2048 bytes.", "The limit is 2 KiB."),
    ("It waits 2000 ms.", "It waits 2 s."),
    ("The 2012 second edition", "The second edition came in 2012."),
    ("2,000 are needed (20 × 100 = 2000).", "Each of the 20 needs 100."),
    # one quantity in two units, one year in two digits, a capital for a million
    ("It waits 90 seconds.", "It waits 1 minute and 30 seconds."),
    ("It takes 2 hours 15 minutes.", "It takes 135 minutes."),
    ("It takes 2 hours.", "It takes 2 hours 15 minutes."),
    ("He is 5 feet 10 inches tall.", "He is 178 cm tall."),
    ("It lasted from 1939 to 1945.", "It lasted 1939–45."),
    ("It lasted 1939-45.", "It lasted from 1939 to 1945."),
    ("It closed in 2015 - 20 years after the war.", "In 2015, 20 years after the war, it closed."),
    ("It has 5 million users.", "It has 5M users."),
    ("It takes 64M of memory.", "It takes 64 MB of memory."),
    ("It takes 2G of memory.", "It takes 2 GB of memory."),
    ("It takes a 64K buffer.", "It takes a buffer of 64 kB."),
    # a share and a fraction, "one" as a number
    ("It keeps 20 % of them.", "The factor is 0.2."),
    ("The factor is 0.5.", "It keeps half of them."),
    ("It tries 1 to 3 times.", "It tries between one and three times."),
    # below nothing; what fell is told either way
    ("It returns -1 then.", "It returns −1 then."),
    ("It was minus 5 °C.", "It was -5 °C."),
    ("It was -40 °F.", "It was -40 °C."),
    ("It fell by 5 %.", "The change was -5 %."),
    ("It goes from 5 to 10.", "It goes 5-10."),
    # a unit said once for two figures, differences of shares, squares, halves behind the unit
    ("It grew by 56,000 bytes.", "It grew from 64,000 to 120,000 bytes."),
    ("Chunks have 0.5–8 MiB.", "Chunks have between 512 KiB and 8 MiB."),
    ("It rose by 11 percentage points.", "It was 81% then, and 92% later."),
    # the word behind a figure is the beginning of a name
    ("It peaked at 3592984 bytes.", "peak=3592984\nsecond_size=804"),
    ("It covers 2325 km².", "It covers 2,325 square kilometres."),
    ("It takes 5 m3.", "It takes five cubic meters."),
    ("It lasted 36 hours.", "It lasted a day and a half."),
    ("It grew to 120k bytes.", "It grew to 120,000 bytes."),
    ("Messages of 64 kB are cut.", "Messages of 64k are cut."),
    ("It goes at 96 km/h.", "It goes at 60 mph."),
    # days of one month and year, months in figures
    ("It lasted from Feb 9 to Feb 25, 2018.", "It lasted from 9 to 25 February 2018."),
    ("It began on 23 February 2016.", "It raged on February 23–24, 2016."),
    ("Es begann am 3. Oktober 1990.", "Es war vom 3. bis 5. Oktober 1990."),
    ("It was chosen in 07/2011.", "It was chosen in July 2011."),
    ("It opened on 7 May 2019.", "It opened on 7 May."),
    ("It leaves at 3 pm.", "It leaves at 3:00."),
    ("It takes two hundred and five bytes.", "It takes 205 bytes."),
    ("It has 1.5 × 10^6 rows.", "It has 1,500,000 rows."),
    # versions, identifiers, names of files, addresses, quoted words
    ("Since v2.6.12 it works.", "New in version 2.6.12"),
    ("It costs 14 dollars per kWh.", "It costs $14 for a kilowatt hour."),
    ("Since version 3.11.2 it works.", "New in v3.11.2"),
    ("It works with Python 3.", "New in Python 3.11"),
    ("It works with PostgreSQL 15.", "New in PostgreSQL 15.0"),
    ("It scores 3.10 there.", "It scores 3.1 there."),
    ("Users hear of it after 30 minutes.", "times.begin = 30m"),
    ("It came out in 2015.", "It came out on 04.03.2015."),
    ("Set work_mem higher.", "The work_mem setting"),
    ("Use --force to go on.", "-f, --force overwrites"),
    ("Use --force to go on.", "The force option overwrites."),
    ("Use -a to add all.", "git commit -am adds all."),
    ("Call asyncio.create_task for it.", "create_task(coro) starts it"),
    ("Edit /etc/hosts by hand.", "The file /etc/hosts is read."),
    ("Edit inetd.conf by hand.", "The inetd super-server"),
    ("It hashes with SHA-256.", "It hashes with SHA256."),
    ("See https://example.org/a/.", "More at https://example.org/a"),
    ('He called it "a bad  idea".', "This is “a bad idea”, he said."),
    ('It says "first ... last" there.', "It says: first the middle last."),
]


@pytest.mark.parametrize(("statement", "evidence"), FOUND)
def test_the_same_in_another_form_is_found(statement: str, evidence: str) -> None:
    facts = check_facts(statement, [evidence])
    assert facts, "the statement has an exact fact"
    assert {fact.outcome for fact in facts} <= {FactOutcome.FOUND, FactOutcome.DERIVED}, facts


OTHER = [
    ("The cache takes 4 GB.", "The cache takes 4 MB.", "4 MB"),
    ("The limit is 2048 MB.", "The limit is 2048 bytes.", "2048 bytes"),
    ("It waits 2000 s.", "It waits 2000 ms.", "2000 ms"),
    ("Names have up to 44 bytes.", "Names have up to 40 bytes.", "40 bytes"),
    ("It waits 30 minutes.", "It waits 30 seconds.", "30 seconds"),
    ("It takes about 82 MB.", "It takes 79 MB.", "79 MB"),
    ("An index of 64-bit codes", "a 32-bit hash code", "32-bit"),
    ("It costs $2 million.", "It costs $3 million.", "$3 million"),
    ("It began on 3 May 2024.", "It began on 4 May 2024.", "4 May 2024"),
    ("It began in 2019.", "It began in 2018.", "2018"),
    ("Es dauert zwei Tage.", "Es dauert zwei Wochen.", "zwei Wochen"),
    ("Il faut trois jours.", "Il faut cinq jours.", "cinq jours"),
    ("Tarda dos horas.", "Tarda tres horas.", "tres horas"),
    ("The train leaves at 3 pm.", "The train leaves at 4 pm.", "4 pm"),
    ("The train leaves at 3 pm.", "The train leaves at 3 a.m.", "3 a.m."),
    ("It waits 1 minute 20 seconds.", "It waits 90 seconds.", "90 seconds"),
    ("It takes over 100 MB.", "It takes 98 MB.", "98 MB"),
    ("Since version 3.11.2 it works.", "New in 3.11.1", "3.11.1"),
    ("It opened on 7 May 2019.", "It opened on 7 May 2018.", "7 May 2018"),
    ("It sends with 20,000 kilowatts.", "It sends with 20,000 watts.", "20,000 watts"),
    ("It sends with 20.000 kW.", "It sends with 20.000 W.", "20.000 W"),
    ("It takes 1,500 s.", "It takes 1,500 ms.", "1,500 ms"),
    ("It works with Python 3.10.", "It works with Python 3.1.", "3.1"),
    ("It works with Python 3.1.", "It works with Python 3.10.", "3.10"),
    ("It was -5 °C.", "It was 5 °C.", "5 °C"),
    ("It lasts 3560 days.", "It lasts 10 years.", "10 years"),
    ("It lies at 902 metres.", "It lies at 3,020 ft.", "3,020 ft"),
    ("It takes about 35 MB.", "It takes 32 MB.", "32 MB"),
    ("It began on 26 February 2018.", "It began on 25 February 2018.", "25 February 2018"),
    ("It covers 2325 km².", "It covers 2352 km².", "2352 km²"),
    ("It takes two hundred and five bytes.", "It takes 200 bytes.", "200 bytes"),
]


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [("It waits 30m.", "It waits 20 minutes."), ("It is 30 m long.", "It takes 30 minutes.")],
)
def test_minutes_of_a_configuration_are_no_other_minutes_and_no_length(statement: str, evidence: str) -> None:
    assert [fact.outcome for fact in check_facts(statement, [evidence])] == [FactOutcome.ABSENT]


@pytest.mark.parametrize(("statement", "evidence", "seen"), OTHER)
def test_another_value_for_the_same_thing_is_named(statement: str, evidence: str, seen: str) -> None:
    (fact,) = check_facts(statement, [evidence])
    assert (fact.outcome, fact.seen) == (FactOutcome.OTHER, seen)
    assert seen in fact.problem


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("It has 64M users.", "It has 64 nodes."),
        ("It keeps 20 % of them.", "It came with version 0.2."),
        ("It returns 1 then.", "It returns -1 then."),
        ("It returns -1 then.", "It returns 1 then."),
        ("It has 1 user.", "It takes 1.5 of them."),
        ("It began in 2020.", "It began in 2015—20 people came."),
        ("It goes up by 11 in all.", "Levels go from -1 to 10, up by 10."),
        ("It takes 600 a day.", "It takes 600 an hour."),
        ("It opened on 7 May 2019.", "It opened in May."),
        ("It went up to 128,000 bytes.", "It went up from 64,000 to 120,000 bytes."),
        ("It takes 3 kB.", "It takes three characters."),
        ("It covers 5 km².", "It is 5 km long."),
        ("It rose by 3 percentage points.", "It was 81% then, and 92% later."),
        ("The highest value is: 10.", "The highest value is 20."),
        ("It peaked at 3692984 bytes.", "peak=3592984\nsecond_size=804"),
        ("It took 3592984 bytes.", "It took 3592984 seconds."),
    ],
)
def test_what_only_looks_alike_is_not_found(statement: str, evidence: str) -> None:
    (fact,) = check_facts(statement, [evidence])
    assert fact.problem, fact


def test_a_value_far_from_what_is_told_is_no_other_value_for_the_same_thing() -> None:
    lines = ["The park opened in spring.", "It makes 398 MW.", "The office closes at noon.", "© 2019 Wind News"]
    assert outcome("The park makes 412 MW.", *lines) == [("412 MW", "other")]
    assert outcome("The park opened in 1991.", *lines) == [("1991", "absent")]
    lines[0] = "The park opened in spring (file A2019x)."
    assert outcome("The park opened in 1991.", *lines) == [("1991", "absent")], "2019 is a part of a name there"


@pytest.mark.parametrize(
    ("statement", "page"),
    [
        ("Use -m here.", "-" + "m" * 50_000 + "1"),
        ("It has 7 cats.", " ".join(f"{number} dogs" for number in range(10, 8_000))),
        ("It has 8 kB" + " kB" * 20_000, "It has 8 kB."),
    ],
    ids=["option", "figures", "units"],
)
def test_no_text_makes_facts_take_long(statement: str, page: str) -> None:
    with cpu_at_most(3):
        assert check_facts(statement, [page], [page])


ABSENT = [
    ("The default is 256.", "The default is 128."),
    ("The limit is 1500 rows.", "The limit is 2,500 rows."),
    ("It lasted from 1939 to 1946.", "It lasted 1939–45."),
    ("It fails with 42P01.", "It fails with 42P02."),
    ("Rename it with -M.", "Rename it with -m."),
    ("Up to 2007 it was the largest.", "It was the largest until 1930 and the oldest until 1950."),
    ("It takes 64 bytes.", "It takes 32 bytes (256 bits)."),
    ("It fills 90 %.", "Of 800 places it fills 700."),
    ("It keeps 0.02 of them.", "It keeps 20 % of them."),
    ("Set maintenance_work_mem higher.", "The work_mem setting"),
    ("Use --force-all to go on.", "Use --force to go on."),
    ("Edit /etc/passwd by hand.", "The file /etc/hosts is read."),
    ("Edit postgresql.conf by hand.", "Edit pg_hba.conf by hand."),
    ("Call asyncio.gather for it.", "asyncio.run starts it"),
    ("It hashes with SHA-512.", "It hashes with SHA-256."),
    ("See https://example.org/b.", "More at https://example.org/a"),
    ('He called it "a very bad idea".', "This is “a bad idea”, he said."),
    ("Two pages of 5 % and 7 %", "One says 5 % and 9 %, the other 8 %."),
]


@pytest.mark.parametrize(("statement", "evidence"), ABSENT)
def test_what_is_not_there_is_absent(statement: str, evidence: str) -> None:
    assert FactOutcome.ABSENT in {fact.outcome for fact in check_facts(statement, [evidence])}


@pytest.mark.parametrize(
    ("statement", "evidence", "arithmetic"),
    [
        ("It stayed there for nine years.", "From 1991 until 2000 it stayed there.", "2000 - 1991"),
        ("It stayed there for four months.", "It opened in May 1852 and moved in September.", "September - May 1852"),
        ("21 and 7 days make 4 weeks.", "After 21 days there is a delay of seven days.", "21 days + seven days"),
        ("It grew by 10 % from 200.", "It grew from 200 to 220.", "220 / 200"),
        ("Of 220 it fills 10 %.", "Of 220 places it fills 22.", "220 / 22"),
        ("It grew by 20, from 200.", "It grew from 200 to 220.", "220 - 200"),
        ("Of 7 and 9 it makes 16.", "One has 7, the other 9.", "7 + 9"),
        ("It needs 6 GB more.", "One takes 4 GB of disk, the other 10 GB.", "10 GB - 4 GB"),
        ("The hour is 12 times 300 s.", "It lasts one hour and is looked at each 300 s.", "one hour / 300 s"),
        ("1,500 clients of 20 kB take 30 MB.", "A client takes 20 kB; 1,500 may come.", "20 kB × 1,500"),
        ("In all 17: 7 daily, 4 weekly, 6 monthly.", "7 daily, 4 weekly and 6 monthly ones.", "7 + 4 + 6"),
    ],
)
def test_arithmetic_is_executed(statement: str, evidence: str, arithmetic: str) -> None:
    derived = [fact for fact in check_facts(statement, [evidence]) if fact.outcome is FactOutcome.DERIVED]
    assert [fact.seen for fact in derived] == [arithmetic]


def test_any_two_numbers_of_a_page_do_not_make_a_third() -> None:
    assert outcome("There are 30 of them.", "Some have 10, some have 20, and one has 128.") == [("30", "absent")]
    assert outcome("From 10 to 110.", "Any value from 10 to 100.") == [("10", "found"), ("110", "absent")]
    assert outcome("From 40 to 120 bytes.", "An entry has between 40 and 80 bytes.")[1] == ("120 bytes", "absent")
    assert outcome("It falls to 50 %.", "It falls to 30 %, and stops at 20 %.") == [("50 %", "absent")]
    assert outcome("It costs 5 % more.", "It has 21 parts, 20 of them blue.") == [("5 %", "absent")]


def test_a_number_that_counts_something_has_no_currency() -> None:
    page = "Up to 600 requests a day, paid in euros"
    assert outcome("It costs €600.", page) == [("€600", "absent")]
    assert outcome("It costs EUR 600.", "A limit of 600.") == [("EUR 600", "absent")]
    assert outcome("It costs €600.", f"{page}: Small 400, Large 600.") == [("€600", "found")]


def test_a_number_that_counts_something_has_no_unit() -> None:
    assert outcome("The cache holds 512 MB.", "The cache holds 512 entries.") == [("512 MB", "absent")]
    assert outcome("It takes 3 days.", "It takes 3 tries.") == [("3 days", "absent")]
    assert outcome("It takes 30 seconds.", "Timeout (seconds): 30") == [("30 seconds", "found")]
    assert outcome("3 % of the patients stopped.", "3 patients in 100 stopped.") == [("3 %", "found")]


def test_a_number_that_counts_something_is_no_version() -> None:
    assert outcome("In Debian 6.0.", "At least 6 characters.") == [("6.0", "absent")]
    assert outcome("In Debian 6.0.", "Since Debian 6, all of it.") == [("6.0", "found")]


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("It stops after 180 seconds.", "MINUTES: the runtime in minutes. The default is 3."),
        ("Answers may have 4 KiB.", "The default value is 4096."),
        ("Answers may have 1,232 bytes.", "The default is 1232."),  # as a year it would have no unit
        ("It is 1316 MB.", "Size (MB) | 1316"),
        ("Half a million came.", "500,000 people came."),
        ("Three quarters of a million clients sent it.", "750,000 clients sent it."),
        ("It takes two thirds of an hour.", "It takes 40 minutes."),
    ],
)
def test_a_unit_may_be_told_once_for_all(statement: str, evidence: str) -> None:
    assert {finding for _, finding in outcome(statement, evidence)} == {"found"}


def test_a_unit_that_is_told_nowhere_is_not_converted() -> None:
    assert outcome("It stops after 180 seconds.", "The default is 3.") == [("180 seconds", "absent")]
    assert outcome("It stops after 180 seconds.", "In minutes. It has 3 parts.") == [("180 seconds", "absent")]


@pytest.mark.parametrize(
    "statement",
    [
        "One of them is enough.",
        "It has two modes, three at most.",
        "A hundred people may come once.",
        "Half of them agree in the first place.",
        "Mr. Smith may march to the west in May.",
        'They covered "The Man Who Sold the World" there.',
        "1. First it opens the file",
        "There are two strategies: 1.",
        "TiO2 and 4IR and F1 are names",
        "He is under-aged or a bit to go",
    ],
)
def test_words_and_names_are_no_exact_facts(statement: str) -> None:
    assert check_facts(statement, ["Something else."]) == ()


def test_pages_tell_elsewhere_from_nowhere() -> None:
    page = "The first takes 40 litres. The second takes 90 litres."
    (elsewhere,) = check_facts("It takes 90 litres.", ["The first takes 40 litres."], [page])
    (nowhere,) = check_facts("It takes 70 litres.", ["The first takes 40 litres."], [page])
    (unknown,) = check_facts("It takes 70 litres.", ["The first takes 40 litres."])
    assert [fact.nowhere for fact in (elsewhere, nowhere, unknown)] == [False, True, False]
    assert nowhere.problem == "70 litres in the statement, 40 litres in the passage"


def test_kinds() -> None:
    facts = check_facts('On 3 May 2024 work_mem was "too small" at 4 MB (https://example.org).', ["Nothing of it."])
    assert sorted(fact.kind for fact in facts) == sorted(
        [FactKind.QUOTED, FactKind.ADDRESS, FactKind.IDENTIFIER, FactKind.DATE, FactKind.NUMBER]
    )


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "9" * 400, "1" + ",000" * 200, "2^99999", "10**10**10", "½" * 50, "1e400"]
)
def test_odd_text_breaks_nothing(text: str) -> None:
    assert all(fact.outcome in FactOutcome for fact in check_facts(text, [text, "5"], [text]))

"""Deadlines and dates of posting as pages write them; read at noon of 15 November 2026, a Sunday."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.rules.jobs.dates import deadline_of, posted_of

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

# The last second of 31 December 2026 in UTC.
END_OF_YEAR = """
2026-12-31|2026-12-31T23:59:59Z|2026-12-31T23:59:59+00:00|2026-12-31T23:59:59.000Z|2026-12-31T00:00:00|2026/12/31|
2026.12.31|20261231|31 December 2026|31 Dec 2026|31 Dec. 2026|31-Dec-2026|31/Dec/2026|31-Dec-26|31 Dec '26|
December 31, 2026|Dec 31, 2026|Dec. 31, 2026|December 31st, 2026|31st December 2026|31st of December, 2026|
the 31st of December 2026|Thursday, 31 December 2026|Thursday, December 31, 2026|Thu 31 Dec 2026|DECEMBER 31, 2026|
31 DECEMBER 2026|31/12/2026|12/31/2026|31.12.2026|31-12-2026|31/12/26|31. 12. 2026|31 / 12 / 2026|2026 December 31|
31 décembre 2026|31 DÉCEMBRE 2026|jeudi 31 décembre 2026|le 31 déc. 2026|31 de diciembre de 2026|31 diciembre 2026|
jueves, 31 de diciembre de 2026|31 de diciembre del 2026|31. Dezember 2026|31. Dez. 2026|
Donnerstag, 31. Dezember 2026|31 de dezembro de 2026|31 dez 2026|quinta-feira, 31 de dezembro de 2026|
31 dicembre 2026|giovedì 31 dicembre 2026|31 dic 2026|31 december 2026|donderdag 31 december 2026|31 декабря 2026|
31 декабря 2026 г.|31 грудня 2026|31 ديسمبر 2026|٣١ ديسمبر ٢٠٢٦|۳۱ ديسمبر ۲۰۲۶|٣١/١٢/٢٠٢٦|31 كانون الأول 2026|
31 كانون الأول/ديسمبر 2026|2026年12月31日|2026 年 12 月 31 日|２０２６年１２月３１日|2026년 12월 31일|
31 Aralık 2026|31 grudnia 2026|31. desember 2026|Closing date: 31 December 2026|Deadline: 31/12/2026|
Apply by 31 December 2026|Closes on December 31, 2026|Date limite : 31 décembre 2026|Bewerbungsfrist: 31.12.2026|
Fecha límite: 31 de diciembre de 2026|Prazo: 31/12/2026|Scadenza: 31 dicembre 2026|آخر موعد: 31 ديسمبر 2026|
1 - 31 December 2026|1–31 December 2026|December 1-31, 2026|1 December 2026 to 31 December 2026|
from 1 Dec to 31 Dec 2026|01/12/2026 - 31/12/2026|1 décembre 2026 au 31 décembre 2026|
Posted 1 Nov 2026, closes 31 Dec 2026|31 December|31 December 2026, midnight|December 31|31 Dec|Dec 31|12月31日|
31.12.|COB 31 December 2026|31 December 2026 (end of day)|31 December 2026 24:00|
Rolling basis until 31 December 2026|31 Δεκεμβρίου 2026|31 ธันวาคม 2026|31 दिसंबर 2026|31. prosince 2026|31 Desember 2026|
31 Desemba 2026|31 decembrie 2026|31 tháng 12 2026
""".replace("\n", "").split("|")

# text | moment in UTC
MOMENTS = """
2026-12-31T23:59:00+01:00 | 2026-12-31 22:59:00
2026-12-31T23:59:00+0100 | 2026-12-31 22:59:00
2026-12-31T10:00:00Z | 2026-12-31 10:00:00
2026-12-31T00:00:00Z | 2026-12-31 00:00:00
2026-12-31 17:00 | 2026-12-31 17:00:00
2026-11-30T23:59:59.000-05:00 | 2026-12-01 04:59:59
1798675199 | 2026-12-30 23:59:59
1798675199000 | 2026-12-30 23:59:59
Thu, 31 Dec 2026 23:59:00 +0100 | 2026-12-31 22:59:00
Thu, 31 Dec 2026 23:59:00 GMT | 2026-12-31 23:59:00
Thu, 31 Dec 2026 23:59:00 EST | 2027-01-01 04:59:00
Dec 31, 2026 23:59 CET | 2026-12-31 22:59:00
23:59 CEST, 1 July 2027 | 2027-07-01 21:59:00
23:59 CET, 1 July 2027 | 2027-07-01 21:59:00
31 December 2026, 11:59 PM EST (New York) | 2027-01-01 04:59:00
11:59 PM EST (New York), December 31, 2026 | 2027-01-01 04:59:00
11:59 p.m. Eastern Time, December 31, 2026 | 2027-01-01 04:59:00
December 31, 2026 at 11:59 PM Pacific Time | 2027-01-01 07:59:00
31 December 2026 17:00 EAT | 2026-12-31 14:00:00
31 December 2026 - 5:00 PM (Nairobi time) | 2026-12-31 14:00:00
31 December 2026 5 pm Geneva time | 2026-12-31 16:00:00
31 December 2026 (midnight Geneva time) | 2026-12-31 22:59:59
31 décembre 2026 à 23h59 (heure de Paris) | 2026-12-31 22:59:00
31 décembre 2026 à 17h | 2026-12-31 17:00:00
31 décembre 2026 à 18 heures | 2026-12-31 18:00:00
31.12.2026, 17:00 Uhr | 2026-12-31 17:00:00
31 december 2026 om 12.00 uur | 2026-12-31 12:00:00
31 December 2026 at 5pm | 2026-12-31 17:00:00
31 December 2026 at 5.30 p.m. | 2026-12-31 17:30:00
31 December 2026, 12 noon | 2026-12-31 12:00:00
31 December 2026 23:59 UTC+3 | 2026-12-31 20:59:00
31 December 2026 23:59 GMT-5 | 2027-01-01 04:59:00
31 December 2026 23:59 (UTC+05:30) | 2026-12-31 18:29:00
31 December 2026 23:59 Europe/Zurich | 2026-12-31 22:59:00
31 December 2026 23:59 SAST | 2026-12-31 21:59:00
COB 5 March | 2027-03-05 23:59:59
5th March | 2027-03-05 23:59:59
1er mars 2027 | 2027-03-01 23:59:59
1º de março de 2027 | 2027-03-01 23:59:59
15 November | 2026-11-15 23:59:59
14 November | 2026-11-14 23:59:59
29 February 2028 | 2028-02-29 23:59:59
in 5 days | 2026-11-20 23:59:59
Closes in 5 days | 2026-11-20 23:59:59
5 days left | 2026-11-20 23:59:59
16 September | 2026-09-16 23:59:59
15 September | 2027-09-15 23:59:59
31 January | 2027-01-31 23:59:59
dans 5 jours | 2026-11-20 23:59:59
en 5 días | 2026-11-20 23:59:59
in 5 Tagen | 2026-11-20 23:59:59
tomorrow | 2026-11-16 23:59:59
demain | 2026-11-16 23:59:59
mañana | 2026-11-16 23:59:59
morgen | 2026-11-16 23:59:59
today | 2026-11-15 23:59:59
aujourd’hui | 2026-11-15 23:59:59
""".strip().splitlines()

NO_DAY = """
|Open until filled|Until filled|ongoing|On-going|Rolling|Rolling basis|Continuous|ASAP|N/A|No deadline|
Open until filled; first review 5 March 2027|Open-ended|As soon as possible|dès que possible|hello|24/7 support|P-3|
1 January 1970|1970-01-01|1970-01-01T00:00:00Z|9999-12-31|31 December 9999|31/12/2031|31 December 2030|
30 February 2027|31/02/2027|13/13/2026|2026-13-45|0000-00-00|2026-02-30|November 2026|end of November|March|5|12|-|
TBC|to be announced|January 1, 0001|0001-01-01T00:00:00|99/99/9999|١٢|in 99999 days|3 weeks|in 2 weeks|32 December
""".replace("\n", "").split("|")


def deadline(text: str, zone: str | None = None, country: str | None = None) -> datetime | None:
    return deadline_of(text, now=NOW, zone=ZoneInfo(zone) if zone else None, country=country, order_country=country)


def posted(text: str) -> datetime | None:
    return posted_of(text, now=NOW, zone=None, country=None, order_country=None)


@pytest.mark.parametrize("text", END_OF_YEAR)
def test_the_last_day_of_the_year_is_read_however_it_is_written(text: str) -> None:
    assert deadline(text) == datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("row", MOMENTS)
def test_hours_and_zones_are_read(row: str) -> None:
    text, moment = (cell.strip() for cell in row.split(" | "))
    assert deadline(text) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize("text", NO_DAY)
def test_what_tells_no_certain_day_is_no_deadline(text: str) -> None:
    assert deadline(text) is None


@pytest.mark.parametrize(
    ("text", "zone", "country", "expected"),
    [
        ("31 December 2026", "Africa/Nairobi", "KE", "2026-12-31 20:59:59"),
        ("31 December 2026", "America/New_York", "US", "2027-01-01 04:59:59"),
        ("31 December 2026", "Asia/Kathmandu", "NP", "2026-12-31 18:14:59"),
        ("2026-12-31", "Asia/Tokyo", "JP", "2026-12-31 14:59:59"),
        ("1 July 2027", "Europe/Zurich", "CH", "2027-07-01 21:59:59"),
        ("31 December 2026 23:59 GMT", "Asia/Tokyo", "JP", "2026-12-31 23:59:00"),
        ("11/12/2026", "America/New_York", "US", "2026-11-13 04:59:59"),
        ("11/12/2026", "Europe/Zurich", "CH", "2026-12-11 22:59:59"),
        ("31/12/2026", "America/New_York", "US", "2027-01-01 04:59:59"),
        ("11.12.2026", "America/New_York", "US", "2026-12-12 04:59:59"),
        ("31 December 2026 23:59 IST", "Asia/Kolkata", "IN", "2026-12-31 18:29:00"),
        ("31 December 2026 23:59 IST", "Europe/Dublin", "IE", "2026-12-31 23:59:00"),
        ("31 December 2026 23:59 IST", "Asia/Jerusalem", "IL", "2026-12-31 21:59:00"),
        ("31 December 2026 23:59 BST", "Asia/Dhaka", "BD", "2026-12-31 17:59:00"),
        ("31 December 2026 23:59 CST", "Asia/Shanghai", "CN", "2026-12-31 15:59:00"),
        ("31 December 2026 23:59 CST", "America/Chicago", "US", "2027-01-01 05:59:00"),
    ],
)
def test_a_day_ends_where_the_job_is_unless_the_words_name_a_zone(
    text: str, zone: str, country: str, expected: str
) -> None:
    assert deadline(text, zone, country) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_today_is_the_day_where_the_job_is() -> None:
    late = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)  # already Monday in Tokyo
    found = deadline_of("today", now=late, zone=ZoneInfo("Asia/Tokyo"), country="JP", order_country="JP")
    assert found == datetime(2026, 11, 16, 14, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "days_ago"),
    [
        ("3 days ago", 3),
        ("Posted 3 Days Ago", 3),
        ("Posted Today", 0),
        ("Just posted", 0),
        ("Posted Yesterday", 1),
        ("a day ago", 1),
        ("5 hours ago", 0),
        ("il y a 3 jours", 3),
        ("hace 2 días", 2),
        ("vor 3 Tagen", 3),
        ("há 3 dias", 3),
        ("3 giorni fa", 3),
        ("3 dagen geleden", 3),
        ("3 дня назад", 3),
        ("hier", 1),
        ("gestern", 1),
        ("14 November", 1),
        ("Nov 14", 1),
        ("16 November 2025", 364),
        ("Posted 14 November 2026, closes 31 December 2026", 1),
        ("2026-11-14", 1),
    ],
)
def test_a_posting_is_from_the_beginning_of_its_day(text: str, days_ago: int) -> None:
    assert posted(text) == datetime(2026, 11, 15, tzinfo=UTC) - timedelta(days=days_ago)


@pytest.mark.parametrize(
    "text", ["Posted 30+ Days Ago", "2 weeks ago", "3 months ago", "31 December 2026", "in 5 days", ""]
)
def test_what_is_vague_or_still_to_come_is_no_date_of_posting(text: str) -> None:
    assert posted(text) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Mon, 02 Nov 26 09:00:00 GMT", "2026-11-02 09:00:00"),
        ("02 Nov 26 09:00 +0200", "2026-11-02 07:00:00"),
        ("Sun, 02 Nov 25 09:00:00 EST", "2025-11-02 14:00:00"),
        ("Sunday, 02-Nov-25 09:00:00 GMT", "2025-11-02 09:00:00"),
        ("Nov 2, 25 09:00 UTC", "2025-11-02 09:00:00"),
        ("2 Nov 25", "2025-11-02 00:00:00"),
        ("2 November 25, online", "2025-11-02 00:00:00"),
        ("02.11.25", "2025-11-02 00:00:00"),
        ("Mon, 02 Nov 2026 09:00:00 UT", "2026-11-02 09:00:00"),
        ("Mon, 02 Nov 2026 09:00:00 -0000", "2026-11-02 09:00:00"),
        ("Mon,  2 Nov 2026 9:00:00 +0000 (UTC)", "2026-11-02 09:00:00"),
        ("Mon Nov  2 09:00:00 2026", "2026-11-02 09:00:00"),
        ("2026-11-02t09:00:00z", "2026-11-02 09:00:00"),
        ("2026-11-02T09:00:00.1234567+02:00", "2026-11-02 07:00:00"),
        ("20261102T090000Z", "2026-11-02 09:00:00"),
        ("/Date(1793610000000)/", "2026-11-02 09:00:00"),
    ],
)
def test_dates_of_feeds_and_interfaces_are_read(text: str, moment: str) -> None:
    assert posted(text) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day"),
    [("5 Dec 26", "2026-12-05"), ("15 Jan 27 (midnight)", "2027-01-15"), ("1 Nov 30 Nov", "2026-11-30")],
)
def test_a_deadline_may_have_a_year_of_two_digits(text: str, day: str) -> None:
    assert deadline(text) == datetime.fromisoformat(f"{day} 23:59:59").replace(tzinfo=UTC)
    assert deadline("5 Dec 12") is None  # long gone


@settings(deadline=None)  # the first question loads the tables
@given(st.dates(min_value=NOW.date(), max_value=NOW.date() + timedelta(days=1000)), st.integers(0, 7))
def test_every_day_is_read_in_every_usual_form(day: object, form: int) -> None:
    formats = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%d/%m/%Y", "%a, %d %b %Y", "%Y年%m月%d日", "%d-%b-%Y")
    found = deadline(day.strftime(formats[form]))  # type: ignore[attr-defined]
    assert found is not None
    assert (found.date(), found.hour, found.tzinfo) == (day, 23, UTC)


@settings(deadline=None)  # the first question loads the tables
@given(
    st.one_of(
        st.text(max_size=300), st.from_regex(r"[0-9]{1,4}[-/. ][0-9a-z]{1,4}[-/. ,][0-9]{1,4}.{0,20}", fullmatch=True)
    )
)
def test_whatever_a_page_says_a_date_is_near_and_in_utc(text: str) -> None:
    for found in (deadline(text, "Asia/Kathmandu", "NP"), posted(text)):
        if found is not None:
            assert found.tzinfo is UTC
            assert abs(found - NOW) <= timedelta(days=3 * 366)
            assert found.microsecond == 0


def test_hostile_text_is_read_in_no_time() -> None:
    for text in ("1" * 5000, "31 " * 3000, "(" * 4000, "december " * 2000, "12/" * 4000, "a" * 100_000, "in " * 9000):
        assert deadline(text) is None or text.startswith("31 ")

"""Locations as postings write them, and what they mean: city and country, or nothing where it is unclear."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pycountry
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.rules.jobs.cities import cities_called, only_zone_of
from comity.rules.jobs.countries import countries_called, country_of
from comity.rules.jobs.place import Place, locate
from comity.rules.jobs.words import key

# location | city | country; a dash for none
CLEAR = """
Geneva, Switzerland | Geneva | CH
Genève | Geneva | CH
Genf, Schweiz | Geneva | CH
Ginebra, Suiza | Geneva | CH
Ginevra, Svizzera | Geneva | CH
جنيف، سويسرا | Geneva | CH
20 Avenue Appia, 1211 Geneva 27 | Geneva | CH
Nairobi | Nairobi | KE
KENYA - Nairobi (UNON) | Nairobi | KE
Nairobi, KE | Nairobi | KE
KE-Nairobi-HQ | Nairobi | KE
US-NY-New York | New York | US
DE-Bonn | Bonn | DE
Home-based in Kenya | - | KE
Based in Nairobi with frequent travel to Somalia | Nairobi | KE
Washington, DC, USA | Washington | US
Washington, D.C. | Washington | US
Washington DC | Washington | US
1200 New York Ave, Washington, DC 20005 | Washington | US
New York | New York | US
New York, NY | New York | US
New York, United States | New York | US
NYC | New York | US
San Francisco, CA | San Francisco | US
Austin, TX | Austin | US
Austin, Texas | Austin | US
Boston, MA 02110 | Boston | US
Seattle, WA | Seattle | US
Portland, OR | Portland | US
Texas | - | US
US | - | US
U.S. | - | US
usa | - | US
Remote, US | - | US
Vancouver, CA | Vancouver | CA
Toronto, ON | Toronto | CA
London, Ontario | London | CA
Perth, WA | Perth | AU
Melbourne, VIC | Melbourne | AU
Paris (France) | Paris | FR
Paris, Texas | Paris | US
Kyiv/Ukraine | Kyiv | UA
Kiev, Ukraine | Kyiv | UA
Київ | Kyiv | UA
Lviv / Kyiv, Ukraine | - | UA
Tbilisi, Georgia | Tbilisi | GE
Atlanta, Georgia | Atlanta | US
Atlanta, GA | Atlanta | US
Georgia | - | GE
Kinshasa, Congo | Kinshasa | CD
Brazzaville, Congo | Brazzaville | CG
DRC | - | CD
RDC | - | CD
Goma - DRC | Goma | CD
Bukavu, South Kivu, DRC | Bukavu | CD
République démocratique du Congo | - | CD
Democratic Republic of the Congo | - | CD
Republic of the Congo | - | CG
Guinea | - | GN
Conakry, Guinea | Conakry | GN
Guinea-Bissau | - | GW
Equatorial Guinea | - | GQ
Malabo, Equatorial Guinea | Malabo | GQ
Papua New Guinea | - | PG
Niger | - | NE
Niamey, Niger | Niamey | NE
Nigeria | - | NG
Abuja, Nigeria | Abuja | NG
Jordan | - | JO
Amman, Jordan | Amman | JO
عمان، الأردن | Amman | JO
Chad | - | TD
N'Djamena, Chad | N'Djamena | TD
Turkey | - | TR
Türkiye | - | TR
Ankara, Türkiye | Ankara | TR
Ivory Coast | - | CI
Abidjan, Côte d’Ivoire | Abidjan | CI
Palestine | - | PS
oPt | - | PS
West Bank | - | PS
Gaza Strip | - | PS
Ramallah, Palestine | Ramallah | PS
Kosovo (XK) | - | XK
Pristina, Kosovo | Pristina | XK
Sudan | - | SD
South Sudan | - | SS
Juba, South Sudan | Juba | SS
Dominica | - | DM
Dominican Republic | - | DO
Seoul, Korea | Seoul | KR
South Korea | - | KR
North Korea | - | KP
Lebanon | - | LB
Lebanon, Tripoli | Tripoli | LB
Tripoli | Tripoli | LY
London | London | GB
London, UK | London | GB
Belfast, Northern Ireland | Belfast | GB
Edinburgh, Scotland | Edinburgh | GB
Birmingham, Alabama | Birmingham | US
Cambridge, MA | Cambridge | US
Cambridge, UK | Cambridge | GB
Reading, UK | Reading | GB
Vienna | Vienna | AT
Vienna, VA | Vienna | US
Islamabad | Islamabad | PK
Mexico City, Mexico | Mexico City | MX
Mexico | - | MX
Panama City, Panama | Panama City | PA
Singapore | Singapore | SG
Luxembourg | - | LU
San José, Costa Rica | San José | CR
Valencia, Spain | Valencia | ES
Granada, Nicaragua | Granada | NI
Victoria, Seychelles | Victoria | SC
Bogotá, D.C., Colombia | Bogotá | CO
Port-au-Prince, Haiti | Port-au-Prince | HT
Cox's Bazar, Bangladesh | Cox's Bazar | BD
Sana'a, Yemen | Sanaa | YE
Duty Station: Bangkok, Thailand | Bangkok | TH
Berlin, Germany or Remote | Berlin | DE
Remote - Germany | - | DE
Remote (UK) | - | GB
Kigali Rwanda | Kigali | RW
Kabul, AFG | Kabul | AF
Beirut, LBN | Beirut | LB
Maputo, Moçambique | Maputo | MZ
Lisboa, Portugal | Lisbon | PT
São Paulo, Brasil | São Paulo | BR
Roma | Rome | IT
Den Haag | The Hague | NL
Москва, Россия | Moscow | RU
北京 | Beijing | CN
القاهرة | Cairo | EG
Erbil, Kurdistan Region of Iraq | Erbil | IQ
Kampala, Central Region, Uganda | Kampala | UG
Myanmar (Burma) | - | MM
Macedonia | - | MK
Lao PDR | - | LA
The Gambia | - | GM
Eswatini | - | SZ
Cabo Verde | - | CV
Timor-Leste | - | TL
Iran (Islamic Republic of) | - | IR
Bolivia (Plurinational State of) | - | BO
Venezuela, Bolivarian Republic of | - | VE
Tanzania, United Republic of | - | TZ
Trinidad and Tobago | - | TT
Bosnia and Herzegovina | - | BA
Sarajevo, Bosnia and Herzegovina | Sarajevo | BA
Santa Cruz, Bolivia | - | BO
Eastern DRC | - | CD
Riyadh, KSA | Riyadh | SA
Jerusalem, Israel | Jerusalem | IL
Jerusalem, oPt | - | PS
East Jerusalem | - | PS
Syria - Damascus | Damascus | SY
WFP Headquarters, Rome, Italy | Rome | IT
Northeast Nigeria | - | NG
Podgorica, ME | Podgorica | ME
Kabul and provinces | Kabul | AF
Kinshasa / Goma | - | CD
""".strip().splitlines()

UNCLEAR = """
|Remote|Home-based|Multiple locations|Various|Worldwide|Global|Anywhere|Field based|Congo|Korea|Cambridge|San Jose|
Valencia|Hyderabad|Granada|Birmingham|Jerusalem|Nigeria/Niger|West Africa|
Victoria|Mobile|Reading|CA|IN|DE|GA|Dakar or Nairobi|Kenya, Uganda, Tanzania|Kenya and Uganda|عمان|
Dublin, Ireland; London, UK|Addis Ababa or Nairobi, Kenya|x|12345|???|Samoa and more|To be determined|Regional Office
""".replace("\n", "").split("|")

SPOKEN = """
DE Germany Allemagne Alemania Deutschland Alemanha Germania ألمانيا Германия 德国 ドイツ
CH Switzerland Suisse Suiza Schweiz Suíça Svizzera سويسرا Швейцария 瑞士 スイス
EG Egypt Égypte Egipto Ägypten Egito Egitto مصر Египет 埃及 エジプト
FR France Francia Frankreich França فرنسا Франция 法国 フランス
ET Ethiopia Éthiopie Etiopía Äthiopien Etiópia Etiopia إثيوبيا Эфиопия
JP Japan Japon Japón Japão Giappone اليابان Япония 日本
TD Chad Tchad Tschad Chade Ciad تشاد Чад
KE Kenya Kenia Quênia كينيا Кения
MA Morocco Maroc Marruecos Marokko Marrocos Marocco المغرب Марокко
UA Ukraine Ucrania Ucrânia Ucraina أوكرانيا Украина Україна
BR Brazil Brésil Brasil Brasilien Brasile البرازيل Бразилия
US USA U.S.A.
""".strip().splitlines()


@pytest.mark.parametrize("row", CLEAR)
def test_a_location_that_is_clear_has_its_city_and_country(row: str) -> None:
    location, city, country = (cell.strip() for cell in row.rsplit("|", 2))
    found = locate(location)
    assert (found.city or "-", found.country_iso) == (city, country)


@pytest.mark.parametrize("location", UNCLEAR)
def test_a_location_that_is_not_clear_has_no_country(location: str) -> None:
    assert locate(location) == Place()


@pytest.mark.parametrize("row", SPOKEN)
def test_countries_are_known_in_many_languages(row: str) -> None:
    code, *names = row.split()
    assert {name: country_of(name) for name in names} == dict.fromkeys(names, code)


def test_every_country_of_the_standard_is_found_by_its_codes_and_by_its_name() -> None:
    for country in pycountry.countries:
        assert country_of(country.alpha_2) == country_of(country.alpha_3) == country.alpha_2
        assert country_of(country.name) in (country.alpha_2, None)
    unnamed = {country.alpha_2 for country in pycountry.countries if country_of(country.name) is None}
    assert unnamed <= {"CG", "WS", "KP", "KR", "VG", "VI", "MF", "SX"}, "only names that are shared may be refused"


@pytest.mark.parametrize(
    ("location", "country_text", "source", "expected"),
    [
        ("Georgia", "", "US", None),
        ("Georgia", "Georgia", "US", "GE"),
        ("Cambridge", "", "GB", "GB"),
        ("Cambridge", "", "US", "US"),
        ("Cambridge", "", "KE", None),
        ("CA", "", "CA", "CA"),
        ("IN", "", "IN", "IN"),
        ("London", "", "CA", "GB"),
        ("Springfield", "United States", None, "US"),
        ("", "France", None, "FR"),
        ("", "CD", None, "CD"),
        ("Tripoli", "LBN", None, "LB"),
        ("Head office", "Kosovo", None, "XK"),
        ("Remote", "", "KE", None),
    ],
)
def test_the_page_and_its_source_decide_where_the_words_alone_do_not(
    location: str, country_text: str, source: str | None, expected: str | None
) -> None:
    assert locate(location, country_text, source).country_iso == expected


def test_a_city_in_a_country_that_is_named_apart_lies_there() -> None:
    assert locate("Tripoli", "LB") == Place("Tripoli", "LB", "Asia/Beirut")
    assert locate("Georgetown", "GY").city == "Georgetown"


def test_a_city_brings_its_own_zone_and_a_country_with_one_time_its_one() -> None:
    assert locate("Los Angeles, California").zone == "America/Los_Angeles"
    assert locate("Goma, DRC").zone == "Africa/Lubumbashi"
    assert locate("Kenya").zone == "Africa/Nairobi"
    assert locate("United States").zone is None


def test_every_zone_of_the_gazetteer_is_one_the_machine_knows() -> None:
    zones = {city.zone for name in ("london", "nairobi", "kyiv", "new york", "juba") for city in cities_called(name)}
    zones |= {zone for country in pycountry.countries if (zone := only_zone_of(country.alpha_2))}
    assert len(zones) > 150
    for zone in zones:
        ZoneInfo(zone)


def test_names_at_the_edges_of_the_gazetteer_are_found() -> None:
    assert cities_called("nairobi")[0].country == "KE"
    assert cities_called("zzzz") == cities_called("") == cities_called("\U0010ffff" * 3) == cities_called("0") == ()
    assert all(
        city.thousands >= 0 for name in ("a coruna", "aachen", "zwolle", "zurich") for city in cities_called(name)
    )
    assert cities_called("a coruna")
    assert cities_called("zwolle")


def test_names_that_two_countries_share_are_said_to_be_shared() -> None:
    assert set(countries_called("congo")) == {"CD", "CG"}


@settings(deadline=None)  # the first question loads the tables
@given(st.text(max_size=400), st.text(max_size=60), st.sampled_from([None, "US", "KE", "??"]))
def test_any_text_has_a_place_or_none(location: str, country_text: str, source: str | None) -> None:
    found = locate(location, country_text, source)
    assert found.country_iso is None or (len(found.country_iso) == 2 and found.country_iso.isupper())
    assert found.city is None or found.country_iso is not None


@settings(deadline=None)  # the first question loads the tables
@given(st.sampled_from(CLEAR))
def test_white_space_around_a_location_does_not_matter(row: str) -> None:
    location = row.rsplit("|", 2)[0].strip()
    assert locate(f"  {location}\n") == locate(location)


@settings(deadline=None)  # the first question loads the tables
@given(st.text(max_size=60))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert key(key(text)) == key(text)

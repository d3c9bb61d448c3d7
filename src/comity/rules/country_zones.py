"""The most likely time zone of an organisation, by its country.

Takes an ISO 3166 code of two letters; returns the name of a zone and whether it is the country's only one. The pairs
are those of zone.tab in the IANA time zone database (public domain, release 2025b). Where a country has several zones,
the one here is that of its capital, which is nearly always the one where most people live; for Antarctica and the
outlying islands of the United States, which have no capital, it is that of the largest station.
"""

from __future__ import annotations

from typing import Final

from comity.model.dataclass import dataclass

_ONLY_ZONE: Final = """
AD=Europe/Andorra AE=Asia/Dubai AF=Asia/Kabul AG=America/Antigua AI=America/Anguilla AL=Europe/Tirane
AM=Asia/Yerevan AO=Africa/Luanda AS=Pacific/Pago_Pago AT=Europe/Vienna AW=America/Aruba AX=Europe/Mariehamn
AZ=Asia/Baku BA=Europe/Sarajevo BB=America/Barbados BD=Asia/Dhaka BE=Europe/Brussels BF=Africa/Ouagadougou
BG=Europe/Sofia BH=Asia/Bahrain BI=Africa/Bujumbura BJ=Africa/Porto-Novo BL=America/St_Barthelemy
BM=Atlantic/Bermuda BN=Asia/Brunei BO=America/La_Paz BQ=America/Kralendijk BS=America/Nassau BT=Asia/Thimphu
BW=Africa/Gaborone BY=Europe/Minsk BZ=America/Belize CC=Indian/Cocos CF=Africa/Bangui CG=Africa/Brazzaville
CH=Europe/Zurich CI=Africa/Abidjan CK=Pacific/Rarotonga CM=Africa/Douala CO=America/Bogota CR=America/Costa_Rica
CU=America/Havana CV=Atlantic/Cape_Verde CW=America/Curacao CX=Indian/Christmas CZ=Europe/Prague DJ=Africa/Djibouti
DK=Europe/Copenhagen DM=America/Dominica DO=America/Santo_Domingo DZ=Africa/Algiers EE=Europe/Tallinn
EG=Africa/Cairo EH=Africa/El_Aaiun ER=Africa/Asmara ET=Africa/Addis_Ababa FI=Europe/Helsinki FJ=Pacific/Fiji
FK=Atlantic/Stanley FO=Atlantic/Faroe FR=Europe/Paris GA=Africa/Libreville GB=Europe/London GD=America/Grenada
GE=Asia/Tbilisi GF=America/Cayenne GG=Europe/Guernsey GH=Africa/Accra GI=Europe/Gibraltar GM=Africa/Banjul
GN=Africa/Conakry GP=America/Guadeloupe GQ=Africa/Malabo GR=Europe/Athens GS=Atlantic/South_Georgia
GT=America/Guatemala GU=Pacific/Guam GW=Africa/Bissau GY=America/Guyana HK=Asia/Hong_Kong HN=America/Tegucigalpa
HR=Europe/Zagreb HT=America/Port-au-Prince HU=Europe/Budapest IE=Europe/Dublin IL=Asia/Jerusalem
IM=Europe/Isle_of_Man IN=Asia/Kolkata IO=Indian/Chagos IQ=Asia/Baghdad IR=Asia/Tehran IS=Atlantic/Reykjavik
IT=Europe/Rome JE=Europe/Jersey JM=America/Jamaica JO=Asia/Amman JP=Asia/Tokyo KE=Africa/Nairobi KG=Asia/Bishkek
KH=Asia/Phnom_Penh KM=Indian/Comoro KN=America/St_Kitts KP=Asia/Pyongyang KR=Asia/Seoul KW=Asia/Kuwait
KY=America/Cayman LA=Asia/Vientiane LB=Asia/Beirut LC=America/St_Lucia LI=Europe/Vaduz LK=Asia/Colombo
LR=Africa/Monrovia LS=Africa/Maseru LT=Europe/Vilnius LU=Europe/Luxembourg LV=Europe/Riga LY=Africa/Tripoli
MA=Africa/Casablanca MC=Europe/Monaco MD=Europe/Chisinau ME=Europe/Podgorica MF=America/Marigot
MG=Indian/Antananarivo MK=Europe/Skopje ML=Africa/Bamako MM=Asia/Yangon MO=Asia/Macau MP=Pacific/Saipan
MQ=America/Martinique MR=Africa/Nouakchott MS=America/Montserrat MT=Europe/Malta MU=Indian/Mauritius
MV=Indian/Maldives MW=Africa/Blantyre MZ=Africa/Maputo NA=Africa/Windhoek NC=Pacific/Noumea NE=Africa/Niamey
NF=Pacific/Norfolk NG=Africa/Lagos NI=America/Managua NL=Europe/Amsterdam NO=Europe/Oslo NP=Asia/Kathmandu
NR=Pacific/Nauru NU=Pacific/Niue OM=Asia/Muscat PA=America/Panama PE=America/Lima PH=Asia/Manila PK=Asia/Karachi
PL=Europe/Warsaw PM=America/Miquelon PN=Pacific/Pitcairn PR=America/Puerto_Rico PW=Pacific/Palau
PY=America/Asuncion QA=Asia/Qatar RE=Indian/Reunion RO=Europe/Bucharest RS=Europe/Belgrade RW=Africa/Kigali
SA=Asia/Riyadh SB=Pacific/Guadalcanal SC=Indian/Mahe SD=Africa/Khartoum SE=Europe/Stockholm SG=Asia/Singapore
SH=Atlantic/St_Helena SI=Europe/Ljubljana SJ=Arctic/Longyearbyen SK=Europe/Bratislava SL=Africa/Freetown
SM=Europe/San_Marino SN=Africa/Dakar SO=Africa/Mogadishu SR=America/Paramaribo SS=Africa/Juba ST=Africa/Sao_Tome
SV=America/El_Salvador SX=America/Lower_Princes SY=Asia/Damascus SZ=Africa/Mbabane TC=America/Grand_Turk
TD=Africa/Ndjamena TF=Indian/Kerguelen TG=Africa/Lome TH=Asia/Bangkok TJ=Asia/Dushanbe TK=Pacific/Fakaofo
TL=Asia/Dili TM=Asia/Ashgabat TN=Africa/Tunis TO=Pacific/Tongatapu TR=Europe/Istanbul TT=America/Port_of_Spain
TV=Pacific/Funafuti TW=Asia/Taipei TZ=Africa/Dar_es_Salaam UG=Africa/Kampala UY=America/Montevideo
VA=Europe/Vatican VC=America/St_Vincent VE=America/Caracas VG=America/Tortola VI=America/St_Thomas
VN=Asia/Ho_Chi_Minh VU=Pacific/Efate WF=Pacific/Wallis WS=Pacific/Apia YE=Asia/Aden YT=Indian/Mayotte
ZA=Africa/Johannesburg ZM=Africa/Lusaka ZW=Africa/Harare
"""
_ZONE_OF_THE_CAPITAL: Final = """
AQ=Antarctica/McMurdo AR=America/Argentina/Buenos_Aires AU=Australia/Sydney BR=America/Sao_Paulo CA=America/Toronto
CD=Africa/Kinshasa CL=America/Santiago CN=Asia/Shanghai CY=Asia/Nicosia DE=Europe/Berlin EC=America/Guayaquil
ES=Europe/Madrid FM=Pacific/Pohnpei GL=America/Nuuk ID=Asia/Jakarta KI=Pacific/Tarawa KZ=Asia/Almaty
MH=Pacific/Majuro MN=Asia/Ulaanbaatar MX=America/Mexico_City MY=Asia/Kuala_Lumpur NZ=Pacific/Auckland
PF=Pacific/Tahiti PG=Pacific/Port_Moresby PS=Asia/Hebron PT=Europe/Lisbon RU=Europe/Moscow UA=Europe/Kyiv
UM=Pacific/Wake US=America/New_York UZ=Asia/Tashkent
"""


@dataclass(frozen=True, slots=True)
class CountryZone:
    """The zone of a country; `is_only` is false where the country has others, too."""

    name: str
    is_only: bool


def _read(table: str, is_only: bool) -> dict[str, CountryZone]:
    pairs = (entry.split("=") for entry in table.split())
    return {country: CountryZone(name, is_only) for country, name in pairs}


COUNTRY_ZONES: Final = _read(_ONLY_ZONE, True) | _read(_ZONE_OF_THE_CAPITAL, False)


def zone_of_capital(country: str) -> CountryZone | None:
    """The zone of a country: its only one, or that of its capital. None for a country without one."""
    return COUNTRY_ZONES.get(country.strip().upper())

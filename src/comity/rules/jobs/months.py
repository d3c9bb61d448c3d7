"""Names of months, and words around dates, in the languages of postings; folded as `words.plain` folds."""

from __future__ import annotations

from typing import Final

# One line a language, January first; spellings of one month are parted by a slash.
_MONTHS: Final = (
    (
        "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug "
        "september/sep/sept october/oct november/nov december/dec"
    ),
    "janvier/janv fevrier/fevr/fev mars avril/avr mai juin juillet/juil aout septembre octobre novembre decembre",
    (
        "enero/ene febrero marzo abril/abr mayo junio julio agosto/ago septiembre/setiembre/set octubre "
        "noviembre diciembre/dic"
    ),
    "januar/janner februar/feber marz/maerz/mrz april mai juni juli august september oktober/okt november dezember/dez",
    "janeiro fevereiro marco abril maio/mai junho julho agosto setembro outubro/out novembro dezembro",
    (
        "gennaio/gen febbraio marzo aprile maggio/mag giugno/giu luglio/lug agosto settembre/sett "
        "ottobre/ott novembre dicembre"
    ),
    "januari februari maart/mrt april mei juni juli augustus september oktober november december",
    "января/январь/янв февраля/февраль/фев марта/март/мар апреля/апрель/апр мая/маи июня/июнь/июн "
    "июля/июль/июл августа/август/авг "
    "сентября/сентябрь/сен/сент октября/октябрь/окт ноября/ноябрь/ноя декабря/декабрь/дек",
    "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "يناير فبراير مارس ابريل مايو يونيو يوليو اغسطس سبتمبر اكتوبر نوفمبر ديسمبر",
    "كانون_الثاني شباط اذار نيسان ايار حزيران تموز اب ايلول تشرين_الاول تشرين_الثاني كانون_الاول",
    "جانفي فيفري مارس افريل ماي جوان جويلية اوت سبتمبر اكتوبر نوفمبر ديسمبر",
    "ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november december/desember/des",
    "januari februari maret april mei juni juli agustus september oktober november desember",
    "januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "ledna unora brezna dubna kvetna cervna cervence srpna zari rijna listopadu prosince",
    "sijecnja veljace ozujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca",
)


def _read() -> dict[str, int]:
    """Numbers by name, without names that mean two months: "listopada" is November in Poland, October in Croatia."""
    numbers: dict[str, set[int]] = {}
    for line in _MONTHS:
        for number, spellings in enumerate(line.split(" "), start=1):
            for spelling in spellings.split("/"):
                numbers.setdefault(spelling.replace("_", " "), set()).add(number)
    return {name: meant.pop() for name, meant in numbers.items() if len(meant) == 1}


MONTHS: Final = _read()

"""What is true only on the day it is read ("Posted 3 days ago", "12 views"): text enters, the same without it leaves.

A listing that counts days or visitors says something else at every look. Kept in a snippet, that would be wrong by the
next day, and every run would find every posting changed.
"""

from __future__ import annotations

import re
from typing import Final

_UNIT: Final = (
    r"(?:sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|heures?|jours?|semaines?|mois|minutos?|horas?|"
    r"d[ií]as?|semanas?|m[eê]s(?:es)?|minuten|stunden?|tag(?:en?)?|wochen?|monat(?:en?)?|minut[oi]|or[ae]|giorn[oi]|"
    r"settiman[ae]|mes[ei]|uur|uren|dag(?:en)?|weken|maand(?:en)?)"
)
_COUNT: Final = r"(?:\d{1,3}\+?|an?|one|une?|un[oa]|eine[mnr]?|uma?)"
_SAID: Final = (
    r"(?:posted|published|updated|added|listed|advertised|publi[ée]e?s?|publicad[oa]|actualizad[oa]|atualizad[oa]|"
    r"veröffentlicht|pubblicat[oa]|geplaatst)"
)
_DAY: Final = (
    r"(?:just now|today|tomorrow|yesterday|recently|hoy|ayer|aujourd['’]hui|hier|heute|gestern|hoje|ontem|oggi|ieri)"
)
_CLOSES: Final = r"(?:clos(?:es|ing|ed)|end(?:s|ing|ed)|expir(?:es|ing|ed)|ferme|expire|cierra|vence|encerra|endet)"
_FLEETING: Final = re.compile(
    rf"\b(?:{_SAID}\s*:?\s*)?(?:(?:more than|over|about)\s+)?{_COUNT}\s*{_UNIT}\s*(?:ago|atr[áa]s|fa|geleden)\b"
    rf"|\b(?:{_SAID}\s*:?\s*)?(?:il y a|hace|há|vor)\s+(?:(?:más de|plus de|mais de|mehr als)\s+)?{_COUNT}\s*{_UNIT}\b"
    rf"(?:\s+{_SAID}\b)?"
    rf"|\b(?:just posted|new today)\b|\b{_SAID}\s*:?\s*{_DAY}\b|\b{_SAID}(?:\s+on)?\s*:?\s*\d{{1,3}}\s?[dhw]\b"
    rf"|\b(?:only\s+)?{_COUNT}\s*{_UNIT}\s+(?:left|remaining|to go|restants?|restantes)\b(?:\s+to apply\b)?"
    rf"|\b{_CLOSES}\s*:?\s*(?:(?:in|dans|en|em|tra|fra)\s+{_COUNT}\s*{_UNIT}|{_DAY}|soon)\b"
    r"|\b\d[\d,.]{0,12}\s*(?:views?|applicants?|visits?|hits|vues|visitas|aufrufe|bewerber)\b"
    r"|\b(?:views?|visits?|hits|vues|visitas|aufrufe)\s*:\s*\d[\d,.]{0,12}",
    re.IGNORECASE,
)
# Looking for these first costs a twentieth of the pattern above.
_STEMS: Final = (
    *(" ago", "atrás", "atras", " fa ", " fa.", " fa,", "geleden", "il y a", "hace ", "há ", "vor ", "new today"),
    *("posted", "published", "publi", "updated", "added", "listed", "advertised", "actualizad", "atualizad"),
    *("veröffentlicht", "pubblicat", "geplaatst", " left", "remaining", " to go", "restant", "closes", "closing"),
    *("closed", "ends ", "ends:", "ending", "ended", "expir", "ferme", "cierra", "vence", "encerra", "endet"),
    *("view", "applicant", "visit", "hits", "vues", "aufrufe", "bewerber"),
)


def without_fleeting(text: str) -> str:
    """The text without what the next day makes untrue; blanks around it closed up."""
    lower = f" {text.lower()} "
    if not any(stem in lower for stem in _STEMS):
        return text
    shorter = _FLEETING.sub(" ", text)
    return " ".join(shorter.split()) if shorter != text else text

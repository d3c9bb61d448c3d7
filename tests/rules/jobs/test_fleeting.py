"""What only the day of reading makes true is not kept; everything else is."""

from __future__ import annotations

import pytest

from comity.rules.jobs.normalize import without_fleeting

GOES = """
Posted 3 days ago|30+ days ago|Updated 5 minutes ago|Posted: yesterday|Posted today|Posted on: 3d|just posted|
Published about an hour ago|Publiée il y a 3 jours|hace 2 horas|Publicado hace más de 2 semanas|
Vor 3 Tagen veröffentlicht|há 4 dias|2 giorni fa|3 dagen geleden|12 days left|Only 2 days remaining|5 jours restants|
Closes in 12 days|Closing: today|Expires in 3 hours|Expire dans 4 jours|12 views|1,204 views|Views: 17|15 applicants
""".replace("\n", "").split("|")
STAYS = """
Two years of experience. Report within 5 days.|We lost our office 3 years ago.|Manage 40 applications a year.|
Contract of 12 months, left-handed tools.|Deadline: 15 November 2026|Closing date: 30 December|3 days a week|
The views of refugees matter.|Posted to Nairobi for 12 months
""".replace("\n", "").split("|")


@pytest.mark.parametrize("words", GOES)
def test_what_the_next_day_makes_untrue_goes(words: str) -> None:
    assert without_fleeting(words) == ""
    assert without_fleeting(f"Nairobi, Kenya {words} Helps people.") == "Nairobi, Kenya Helps people."


@pytest.mark.parametrize("words", STAYS)
def test_what_stays_true_stays(words: str) -> None:
    assert without_fleeting(words) == words

"""Levels, terms, modality, tags, eligibility and language: what words mean in the common vocabulary."""

from __future__ import annotations

import pytest

from comity.model.job import CAREER_TYPES, LEVELS, MISSION_TAGS, MODALITIES
from comity.rules.jobs.mission import MOST_TAGS, TAG_WORDS, mission_tags
from comity.rules.jobs.normalize import language_of
from comity.rules.jobs.terms import career_of, grade_in, is_open_to_foreigners, level_of, modality_of
from comity.rules.jobs.words import plain

TITLES = {
    "intern": "Intern|Internship - Communications|Legal Intern (unpaid)|Stagiaire en communication|Pasante de "
    "derecho|Praktikant (m/w/d)|"
    "Praktikum Öffentlichkeitsarbeit|Estagiário de Marketing|Tirocinio curriculare|Graduate Trainee|"
    "Trainee Programme Officer|متدرب",
    "junior": "Junior Programme Officer|Director's Assistant|Programme Assistant|"
    "Administrative Assistant|Executive Assistant to "
    "the Director|Driver|Chauffeur|"
    "Programme Associate|Assistante administrative|Asistente de programa|Personal Assistant to the "
    "CEO|Receptionist|Graduate Engineer|"
    "Assistent der Geschäftsleitung|Entry-level Accountant|Programme Officer, P-2|Officer (P-1)|"
    "Driver, G-2|Clerk G-4|NO-A Programme Analyst|"
    "National Officer NO-B|Project Assistant, NPSA-4|Analyst, IPSA-9|Support Officer IICA-1|Finance Assistant GS-4",
    "mid": "Programme Officer|Assistant Professor of Law|Research Associate (Postdoc)|"
    "Chargé.e de mission|Communications Specialist|"
    "WASH Coordinator|Data Analyst|Chargé de projet|"
    "Chargée de communication|"
    "Coordinador de proyecto|Especialista en salud|Nurse|Accountant|Programme Officer P-3|"
    "Humanitarian Affairs Officer (P-3)|"
    "NOC National Officer|NO-C Health Officer|Associate, G-6|Project Officer, IICA-2|Specialist "
    "IPSA-10|Senior Programme Assistant|"
    "Internal Auditor Officer|International Programme Officer|Координатор проекта|منسق مشروع",
    "senior": "Senior Programme Officer|Associate Professor in Statistics|"
    "Sr. Data Analyst|Senior Advisor, Gender|Protection Adviser|Principal "
    "Engineer|Economist, P-4|"
    "Senior Officer P-4|National Officer NO-D|IPSA-11 Specialist|IICA-3 Engineer|Asesor técnico|"
    "Conseillère technique|Expert en gouvernance|"
    "Assistant G-7",
    "lead": "Programme Manager|Head of Communications|Team Leader|Lead Engineer|Grants Manager|Responsable "
    "logistique|Chef de projet|"
    "Gerente de Finanzas|Jefe de Operaciones|Teamleiter Finanzen|Leiterin Kommunikation|Senior "
    "Manager, Fundraising|Chief, Section of Education|"
    "Chief of Section, P-5|Senior Adviser (P-5)|NO-E Officer|Менеджер проекта|مدير مشروع|Field Supervisor",
    "director": "Country Director|VP of Engineering|Director of Finance|"
    "Deputy Director|Assistant Director|Regional Director, "
    "Africa|Directeur pays|"
    "Directora de Programas|Direktor Kommunikation|Chief of Party|Head of Mission|Chef de mission|"
    "Vice President, Policy|Director, D-1|"
    "Deputy Executive Officer, D-2|Associate Director, Research|Diretor de Operações",
    "executive": "Chief Executive Officer|CEO|Executive Director|Chief Financial Officer|Secretary-General|"
    "Managing Director|"
    "Directeur général|Director Ejecutivo|Geschäftsführer|Under-Secretary-General (USG)|President|"
    "Chief Information Security Officer",
}
UNSAID = "Polyglot|Join our team|Consultant|Kenya|Various positions||Lead poisoning study"

EMPLOYMENTS = {
    "full-time": "FULL_TIME|Full-time|full time|Temps plein|Vollzeit|Tiempo completo|Staff",
    "part-time": "PART_TIME|Part-time (50%)|Temps partiel|Teilzeit|Media jornada",
    "fixed-term": "Fixed-term|Fixed Term Appointment|CDD|CDD 12 mois|Befristet|Tempo determinato|Plazo fijo|12 "
    "months|6-month contract|"
    "Full-time, fixed-term|Contract",
    "permanent": "Permanent|CDI|Unbefristet|Open-ended|Tempo indeterminato|Indefinido|Regular",
    "temporary": "TEMPORARY|Temporary appointment|Maternity cover|Short-term|Interim|PER_DIEM|Roster|Stand-by",
    "consultancy": (
        "CONTRACTOR|Consultancy|Consultant|Individual Contractor|Freelance|IICA|Consultoría|Honorarvertrag|Prestataire"
    ),
    "internship": "INTERN|Internship|Stage|Praktikum|Estágio|Traineeship|Tirocinio",
    "volunteer": "VOLUNTEER|UNV|Volunteer|Bénévolat|Voluntariado|Freiwilligendienst",
    "fellowship": "Fellowship|Postdoc|PhD position|Beca",
    "secondment": "Secondment|JPO",
}

WORKPLACES = {
    "remote": (
        "TELECOMMUTE|Remote|Fully remote|Home-based|Home based|Télétravail|Teletrabajo|Work from home|"
        "Homeoffice|Удаленная работа|عن بعد"
    ),
    "hybrid": "Hybrid|Hybride|Híbrido|Partially remote|Hybrid (2 days in the office)",
    "onsite": "On-site|Onsite|In-office|In person|Présentiel|Presencial|Vor Ort|Office-based",
    "field": "Field|Field-based|Non-family duty station|Sur le terrain|En terreno",
}

TAGGED = """
Nutrition Specialist | nutrition
Health Programme Officer | health
Infirmier | health
Enfermera de salud materna | health
Krankenpfleger | health
مسؤول الصحة | health
WASH Engineer | wash, engineering
Ingénieur eau et assainissement | wash, engineering
Education in Emergencies Specialist | education, emergency
Child Protection Officer | child-protection, protection
GBV Specialist | gender
Food Security and Livelihoods Manager | food-security, livelihoods
Climate Adviser | climate
Human Rights Officer | human-rights
Droits humains: chargé de plaidoyer | human-rights, advocacy
Logistics and Supply Chain Manager | logistics
Driver | logistics
Finance Manager | finance
Comptable | finance
Buchhalter | finance
MEAL Coordinator | mel
Monitoring and Evaluation Officer | mel
Chargé de suivi et évaluation | mel
IT Officer | it
Software Developer | it
Fundraising Manager | fundraising
Communications Officer | communications
HR Officer | human-resources
Procurement Assistant | procurement
Refugee Resettlement Expert | migration
Shelter Cluster Coordinator | shelter
Governance Adviser | governance
Research Assistant | research
Emergency Response Team Leader | emergency
Cash and Voucher Assistance Officer | cash
Mine Action Programme Manager | mine-action
Translator | translation
Legal Counsel | legal
Peacebuilding Adviser | peace
Специалист по логистике | logistics
教育官员 | education
""".strip().splitlines()


@pytest.mark.parametrize(
    ("level", "title"), [(level, one) for level, titles in TITLES.items() for one in titles.split("|")]
)
def test_a_title_has_its_level(level: str, title: str) -> None:
    assert level in LEVELS
    assert level_of(title, "", "", "un") == level


@pytest.mark.parametrize("title", UNSAID.split("|"))
def test_a_title_that_says_nothing_has_no_level(title: str) -> None:
    assert level_of(title, "", "", None) is None


@pytest.mark.parametrize(
    ("title", "level_text", "org_type", "expected"),
    [
        ("Programme Officer", "P4", None, "senior"),
        ("Programme Officer", "Entry level", None, "junior"),
        ("Programme Officer", "Mid-Senior level", None, "senior"),
        ("Programme Officer", "Director", None, "director"),
        ("Economist P3", "", "un", "mid"),
        ("Economist P5", "", "ngo", None),
        ("G7 summit analyst", "", "ngo", "mid"),
        ("Analyst", "GS-5", None, "mid"),
        ("Internship", "Senior", None, "intern"),
    ],
)
def test_the_field_for_levels_and_the_kind_of_organisation_help(
    title: str, level_text: str, org_type: str | None, expected: str | None
) -> None:
    assert level_of(title, level_text, "", org_type) == expected


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, one) for kind, texts in EMPLOYMENTS.items() for one in texts.split("|")]
)
def test_the_field_for_employment_tells_the_terms(kind: str, text: str) -> None:
    assert kind in CAREER_TYPES
    assert career_of(plain(text), "officer", "") == kind


@pytest.mark.parametrize(
    ("employment", "title", "description", "expected"),
    [
        ("full_time", "Internship in communications", "", "internship"),
        ("full_time", "Consultant - gender", "", "consultancy"),
        ("", "UN Volunteer: nurse", "", "volunteer"),
        ("", "Volunteer Coordinator", "", None),
        ("", "Fellowship programme manager", "", None),
        ("", "Contracts Manager", "", None),
        ("", "Consultant Psychiatrist", "", None),
        ("", "Consultant in Emergency Medicine", "", None),
        ("", "Consultant, Public Health", "", "consultancy"),
        ("", "Officer (temporary)", "", "temporary"),
        ("", "Programme Officer", "This is a full-time position.", "full-time"),
        ("", "Programme Officer", "A fixed-term contract of a year.", "fixed-term"),
        ("", "Programme Officer", "You will supervise consultants and interns.", None),
        ("", "Early-stage research officer", "", None),
        ("", "Programme Officer", "", None),
    ],
)
def test_terms_come_from_the_title_and_from_sure_words(
    employment: str, title: str, description: str, expected: str | None
) -> None:
    assert career_of(plain(employment), plain(title), plain(description)) == expected


@pytest.mark.parametrize(
    ("modality", "text"), [(modality, one) for modality, texts in WORKPLACES.items() for one in texts.split("|")]
)
def test_the_field_for_the_workplace_tells_where_the_work_is_done(modality: str, text: str) -> None:
    assert modality in MODALITIES
    assert modality_of(plain(text), "", "", "") == modality


@pytest.mark.parametrize(
    ("location", "title", "description", "expected"),
    [
        ("Remote", "Officer", "", "remote"),
        ("Nairobi (hybrid)", "Officer", "", "hybrid"),
        ("Home-based, Kenya", "Officer", "", "remote"),
        ("Nairobi", "Remote Sensing Specialist", "", None),
        ("Nairobi", "Officer", "Travel to remote areas is required.", None),
        ("Nairobi", "Officer", "This is a fully remote position.", "remote"),
        ("Nairobi", "Officer", "Experience in the field of health; works worldwide.", None),
        ("Nairobi", "Officer", "We grow hybrid seeds.", None),
        ("Nairobi", "Officer", "This is a non-family duty station.", "field"),
        ("Nairobi", "Field-based Nurse", "", "field"),
        ("", "", "", None),
    ],
)
def test_location_title_and_description_tell_where_the_work_is_done(
    location: str, title: str, description: str, expected: str | None
) -> None:
    assert modality_of("", plain(location), plain(title), plain(description)) == expected


@pytest.mark.parametrize("row", TAGGED)
def test_a_title_has_its_tags(row: str) -> None:
    title, tags = row.split(" | ")
    assert set(tags.split(", ")) <= set(mission_tags(plain(title), ""))


def test_tags_are_of_one_vocabulary_in_its_order_and_few() -> None:
    assert set(TAG_WORDS) == set(MISSION_TAGS)
    found = mission_tags("", plain(" ".join(words.replace("*", "").replace("_", " ") for words in TAG_WORDS.values())))
    assert 0 < len(found) <= MOST_TAGS
    assert list(found) == sorted(found, key=MISSION_TAGS.index)


def test_a_description_counts_where_it_insists_and_where_nothing_else_speaks() -> None:
    assert mission_tags("officer", "the logistics of it") == ("logistics",)
    assert mission_tags("nurse", "logistics is mentioned once") == ("health",)
    assert mission_tags("nurse", "logistics and more logistics") == ("health", "logistics")
    assert mission_tags("officer", "nothing to see") == ()


@pytest.mark.parametrize(
    ("title", "description", "org_type", "expected"),
    [
        ("Officer, P-3", "", "un", True),
        ("Director, D-1", "", "un", True),
        ("Officer, NO-C", "", "un", False),
        ("Assistant, G-5", "", "un", False),
        ("Specialist IPSA-10", "", "un", True),
        ("Assistant NPSA-6", "", "un", False),
        ("Engineer LICA-9", "", "un", False),
        ("National Consultant", "", None, False),
        ("International Consultant", "", None, True),
        ("Officer", "This position is open to Kenyan nationals only.", None, False),
        ("Officer", "National position.", None, False),
        ("Officer", "Local recruits are welcome; locally recruited.", None, False),
        ("Officer", "You must have the right to work in the UK.", None, False),
        ("Officer", "We cannot offer visa sponsorship.", None, False),
        ("Officer", "Visa sponsorship is available.", None, True),
        ("Officer", "Candidates of all nationalities are welcome.", None, True),
        ("Officer", "Poste national.", None, False),
        ("Officer", "Personal internacional.", None, True),
        ("Officer", "International position or national position.", None, None),
        ("Officer, P-3", "Open to nationals of Kenya only", "un", False),
        ("Officer", "An international organisation.", None, None),
        ("Officer", "", None, None),
    ],
)
def test_words_and_grades_tell_who_may_apply(
    title: str, description: str, org_type: str | None, expected: bool | None
) -> None:
    assert is_open_to_foreigners(plain(title), plain(description), "", grade_in(title, org_type)) is expected


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("en-US", "", "en"),
        ("fr", "the officer", "fr"),
        ("", "The officer will lead the work of the team", "en"),
        ("", "Le ou la titulaire du poste assure le suivi des activités", "fr"),
        ("", "La persona seleccionada será responsable de las actividades del proyecto", "es"),
        ("", "Wir suchen eine Person für die Leitung der Abteilung und das Team", "de"),
        ("", "A pessoa será responsável pela coordenação das atividades do projeto no país", "pt"),
        ("", "La persona sarà responsabile della gestione dei progetti per gli uffici", "it"),
        ("", "Wij zoeken een medewerker voor het team van de afdeling", "nl"),
        ("", "مسؤول حماية الطفل في عمان", "ar"),
        ("", "Специалист по логистике", "ru"),
        ("", "Спеціаліст з логістики, Київ", "uk"),
        ("", "教育官员", "zh"),
        ("", "教育担当官の募集について", "ja"),
        ("", "Xyzzy", None),
        ("not a language at all", "", None),
        ("", "", None),
    ],
)
def test_the_language_is_the_declared_one_or_that_of_the_words(declared: str, text: str, expected: str | None) -> None:
    assert language_of(declared, plain(text), "") == expected

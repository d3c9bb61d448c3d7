"""What a job is about: takes its title and description, returns tags of one vocabulary."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.model.job import MISSION_TAGS
from comity.rules.jobs.words import plain

# Words for each tag, folded. A stem ends in `*`; the words of a phrase are joined by `_`.

TAG_WORDS: Final = {
    "health": (
        "health* medic* nurs* midwi* doctor physician* epidemiol* immuni* vaccin* hiv aids malaria "
        "tuberculosis surgeon* clinic* hospital* "
        "pharma* psychiatr* mhpss mental_health srh reproductive_health sante medecin* infirmi* "
        "sage_femme salud enfermer* medico* gesundheit* "
        "pflege* arzt* krankenpfleg* saude enfermeir* sanita* infermier* salute здоров* медицин* врач* "
        "صحة الصحة صحي* طبيب* ممرض* 卫生 医疗"
    ),
    "nutrition": "nutrit* nutric* malnutrition malnutric* iycf cmam ernahrung* nutriz* питани* تغذية التغذية",
    "education": (
        "educat* teach* school* learning_centre literacy curricul* tutor* lecturer* professor* eie "
        "enseign* ecole* instituteur* docente* educac* "
        "maestr* bildung* lehrer* escola* scuola insegnant* образован* учител* تعليم التعليم معلم* 教育"
    ),
    "wash": (
        "wash sanitation hygien* water watsan wastewater latrine* eau assainissement saneamiento agua "
        "wasser* acqua hydraul* вод* مياه المياه صرف"
    ),
    "protection": (
        "protection safeguarding gbv_ case_management idp idps refugee_protection proteccion protecao "
        "protezione schutz защит* حماية الحماية"
    ),
    "child-protection": (
        "child_protection children* child_rights protection_de_l_enfance enfance enfants ninez infancia "
        "kinderschutz protezione_minori حماية_الطفل child_safeguarding"
    ),
    "gender": (
        "gender* gbv sgbv women* girls* femin* genre femme* genero mujer* frauen* geschlecht* mulher* "
        "donne гендер* النساء المراة جندر psea"
    ),
    "food-security": (
        "food_security fsl food_assistance food_systems hunger securite_alimentaire "
        "seguridad_alimentaria ernahrungssicher* seguranca_alimentar sicurezza_alimentare الامن_الغذائي"
    ),
    "livelihoods": (
        "livelihood* income_generat* microfinance entrepreneur* vocational tvet employment value_chain* "
        "economic_development economic_recovery "
        "moyens_de_subsistance moyens_d_existence medios_de_vida lebensgrundlagen سبل_العيش market_systems"
    ),
    "shelter": (
        "shelter* nfi nfis cccm camp_management housing abri* alojamiento refugio* unterkunft* alloggi* "
        "مأوى المأوى settlements"
    ),
    "emergency": (
        "emergenc* humanitarian* disaster* drr crisis_response rapid_response surge relief urgence* "
        "emergencia* humanitaire* humanitari* katastroph* "
        "humanitar* nothilfe emergenza чрезвычайн* гуманитар* طوارئ الطوارئ انساني*"
    ),
    "climate": (
        "climat* resilience carbon renewable* decarboni* net_zero adaptation_au clima klima* "
        "energy_transition климат* المناخ mitigation"
    ),
    "environment": (
        "environment* biodivers* conservation forest* wildlife ecolog* ocean* environnement* ambient* "
        "umwelt* naturschutz эколог* البيئة"
    ),
    "agriculture": (
        "agricult* agronom* farm* crop* livestock* veterinar* fisheries agropastoral* irrigation "
        "landwirtschaft* agricol* زراعة الزراعة сельск*"
    ),
    "migration": (
        "migra* refugee* displace* asylum resettlement durable_solutions repatriation refugie* deplaces "
        "refugiad* desplazad* fluchtling* rifugiat* "
        "мигра* беженц* لاجئ* اللاجئين هجرة الهجرة trafficking"
    ),
    "human-rights": (
        "human_rights droits_de_l_homme droits_humains derechos_humanos menschenrecht* direitos_humanos "
        "diritti_umani حقوق_الانسان прав_человека civic_space transitional_justice"
    ),
    "governance": (
        "governance democra* election* elector* rule_of_law public_administration anti_corruption "
        "decentrali* parliament* gouvernance gobernanza "
        "governanca regierungsfuhrung حوكمة الحوكمة public_policy civil_society public_sector"
    ),
    "peace": (
        "peace* conflict* mediation ddr stabili* reconciliation paix paz frieden* pace мир* السلام "
        "social_cohesion cve pve"
    ),
    "disability": (
        "disabilit* inclusion handicap* discapacidad behindert* deficiencia disabili* اعاقة الاعاقة "
        "rehabilitation physiotherap* prosthe* orthope*"
    ),
    "youth": (
        "youth* adolescen* young_people jeunesse jeunes juventud jovenes jugend* juventude giovani молодеж* شباب الشباب"
    ),
    "mine-action": "mine_action demining eod explosive* uxo ordnance weapons_contamination deminage desminado",
    "cash": "cash cva voucher* cash_transfer* social_protection social_safety_net* transferts_monetaires",
    "logistics": (
        "logist* supply_chain warehous* fleet transport* shipping customs storekeep* driver* chauffeur* "
        "motorista* conductor* supply approvisionnement "
        "almacen* lager* armazem magazzin* логист* склад* لوجست* سائق entrepot* pipeline_"
    ),
    "procurement": (
        "procur* purchas* sourcing buyer* tender* achats acheteur* adquisiciones compras einkauf* "
        "beschaffung* acquisti закуп* مشتريات المشتريات"
    ),
    "mel": (
        "meal mel monitoring evaluation* evaluat* m_e accountability rbm suivi_evaluation "
        "seguimiento_y_evaluacion suivi_et_evaluation imo "
        "monitoreo monitoramento avaliacao valutazione impact_measurement мониторинг* المتابعة_والتقييم evaluaciones"
    ),
    "research": (
        "research* scientist* survey* phd postdoc* study_ recherche* chercheu* investigac* "
        "investigador* forschung* wissenschaft* pesquis* ricerc* исследован* بحث باحث* enumerator*"
    ),
    "data": (
        "data data_analy* statistic* gis database* analytics big_data donnees estadistic* daten* dados "
        "dati statisti* information_management بيانات machine_learning"
    ),
    "it": (
        "it_officer it_manager it_specialist it_support it_systems it_infrastructure it_assistant "
        "it_associate it_coordinator it_administrator it_project it_consultant it_security it_services "
        "ict software developer* devops cyber* cybersecurity sysadmin sap erp network_engineer "
        "helpdesk information_technology information_systems "
        "web_develop* informati* entwickler* programmer* full_stack backend frontend cloud digital* "
        "технолог* تكنولوجيا المعلوماتية"
    ),
    "finance": (
        "financ* account* audit* budget* treasur* payroll controller* cashier* bookkeep* comptab* "
        "contab* contador* tesorer* finanz* buchhalt* "
        "controlling finanzas financeir* ragionier* amministrazione_finanza бухгалтер* финанс* مالي* "
        "المالية محاسب* 财务 grants_management"
    ),
    "administration": (
        "admin* secretar* office_manage* reception* clerk* executive_assistant personal_assistant "
        "administrat* verwaltung* sekretar* assistante_administrati* "
        "amministrativ* администра* اداري* الادارية cleaner* facilities"
    ),
    "human-resources": (
        "hr human_resource* recruit* talent people_and_culture people_culture personnel "
        "ressources_humaines rh recursos_humanos personal* risorse_umane кадр* الموارد_البشرية "
        "staff_development"
    ),
    "legal": (
        "legal law lawyer* attorney* counsel paralegal compliance juridi* juriste* avocat* abogad* "
        "legales rechts* jurist* advogad* legale юрист* قانون* محامي*"
    ),
    "security": (
        "security_ safety security_officer security_manager security_adviser security_advisor "
        "security_guard* guard* undss hse surete seguridad_fisica sicherheits* امن_وسلامة inso"
    ),
    "communications": (
        "communicat* media journalis* press_officer public_relations social_media content_ editor* "
        "graphic_design* photograph* video* storytell* "
        "communication* comunicac* comunicaz* kommunikation* offentlichkeitsarbeit pressesprecher* "
        "copywrit* коммуникац* اعلام* اتصال* marketing"
    ),
    "fundraising": (
        "fundrais* donor* philanthrop* resource_mobili* major_gifts grant_writ* proposal_writ* "
        "collecte_de_fonds levee_de_fonds recaudacion captacao "
        "spender* raccolta_fondi фандрайз* جمع_التبرعات business_development grants grant"
    ),
    "advocacy": (
        "advoca* campaign* lobby* plaidoyer plaidoyers incidencia kampagne* policy_advis* "
        "policy_officer policy_analyst public_affairs политик* مناصرة المناصرة"
    ),
    "engineering": (
        "engineer* construct* architect* electric* mechanic* civil_works infrastructure surveyor* "
        "ingenieur* ingenier* bauingenieur* engenh* ingegner* инженер* مهندس* solar"
    ),
    "programme-management": (
        "programme_manage* program_manage* project_manage* programme_officer program_officer "
        "project_officer programme_coordinat* program_coordinat* "
        "project_coordinat* chef_de_projet charge_de_projet gestion_de_proyect* projektmanage* "
        "projektleit* gestao_de_projet* chef_de_mission "
        "coordinateur_de_projet country_director programme_director pmo"
    ),
    "partnerships": (
        "partnership* stakeholder* external_relations partenariat* alianzas partnerschaft* parceria* partenariati شراك*"
    ),
    "translation": (
        "translat* interpret* traduct* interprete* traductor* ubersetz* dolmetsch* tradut* interpreter* "
        "переводчик* مترجم* linguist*"
    ),
}


MOST_TAGS: Final = 6
_MOST_WORDS: Final = 100  # a description is read so far
_SHORTEST_STEM: Final = 3
_LONGEST_PHRASE: Final = 4
_WORDS: Final = re.compile(r"[^\W\d_]+")
_ORDER: Final = {tag: at for at, tag in enumerate(MISSION_TAGS)}
_HAN_OR_KANA: Final = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def mission_tags(title: str, description: str) -> tuple[str, ...]:
    """Tags of a job, from folded texts.

    What its title says counts; of its description what is said twice, or once if nothing else is.
    """
    in_title = _tags(title)
    in_description = _tags(description)
    found = in_title.keys() | {tag for tag, count in in_description.items() if count > 1} or in_description.keys()
    ranked = sorted(found, key=lambda tag: (tag not in in_title, -in_description.get(tag, 0), _ORDER[tag]))[:MOST_TAGS]
    return tuple(sorted(ranked, key=_ORDER.__getitem__))


def _tags(text: str) -> dict[str, int]:
    """How often a text speaks of each tag."""
    words = _WORDS.findall(text)[:_MOST_WORDS]
    found: dict[str, int] = {}
    for at, word in enumerate(words):
        tags, phrases = _meaning(word)
        for tag in tags:
            found[tag] = found.get(tag, 0) + 1
        for phrase, tag in phrases:
            if _is_said(phrase, words[at : at + len(phrase)]):
                found[tag] = found.get(tag, 0) + 1
    return found


def _is_said(phrase: tuple[str, ...], words: list[str]) -> bool:
    if len(words) < len(phrase) or words[1:-1] != list(phrase[1:-1]):
        return False
    last = phrase[-1]
    return words[-1].startswith(last[:-1]) if last[-1] == "*" else words[-1] == last


@lru_cache(maxsize=16384)
def _meaning(word: str) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], str]]]:
    """The tags that a word alone speaks of, and the phrases that it may begin."""
    whole, stems = _vocabulary()
    found = list(whole.get(word, ()))
    for end in range(_SHORTEST_STEM, len(word) + 1):
        found += stems.get(word[:end], ())
    if _HAN_OR_KANA.match(word):  # written without blanks
        found += [
            tag
            for known, tags in whole.items()
            if len(known) > 1 and not known.isascii() and known in word
            for tag in tags
        ]
    return tuple(dict.fromkeys(found)), _phrases().get(word, [])


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    whole: dict[str, tuple[str, ...]] = {}
    stems: dict[str, tuple[str, ...]] = {}
    for tag, words in TAG_WORDS.items():
        for word in map(plain, words.split()):
            if "_" in word.strip("_"):
                continue
            table, name = (stems, word[:-1]) if word.endswith("*") else (whole, word)
            table[name] = (*table.get(name, ()), tag)
    return whole, stems


@lru_cache(maxsize=1)
def _phrases() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for tag, words in TAG_WORDS.items():
        for phrase in map(plain, words.split()):
            parts = tuple(phrase.strip("_").split("_"))[:_LONGEST_PHRASE]
            if len(parts) > 1:
                phrases.setdefault(parts[0], []).append((parts, tag))
    return phrases

"""Words that stand before a value or over a column: "Closing date", "Lieu", "Bewerbungsfrist" …; text in,
meaning out.

Meanings are the names of `JobFound`'s fields; `department` and `other` are known only so as not to be taken
for others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from comity.extract.jobs.words.dates import DATE, deadline_in, is_open_ended
from comity.extract.jobs.words.patterns import alternatives
from comity.extract.jobs.words.tables.labels_latin import LABELS as LATIN_LABELS
from comity.extract.jobs.words.tables.labels_scripts import LABELS as OTHER_LABELS
from comity.extract.jobs.words.tables.openings import ANNOUNCEMENTS
from comity.rules.jobs.words import plain

# Meanings whose value is stored in the page's own words, beside a label or under a header.
TAKEN_VERBATIM: Final = frozenset(
    {
        "location_raw",
        "deadline_raw",
        "posted_raw",
        "employment_raw",
        "workplace_raw",
        "level_raw",
        "reference",
        "org_name",
    }
)
_WORDS: Final[dict[str, str]] = {
    "title": """
        position|positions|job title|job|jobs|title|post|post title|vacancy|vacancies|role|position title|
        vacancy title|
        advertisement|advt|name of post|name of the post|post name|notification|advertised post|recruitment|
        제목|직무|모집분야|포지션|채용공고|직종|
        opening|job opening|name of position|position name|designation|opportunity|job name|posting title|function|
        poste|intitulé du poste|intitulé|offre|titre|titre du poste|offres|emploi|fonction|libellé du poste|
        puesto|cargo|título|vacante|plaza|convocatoria|denominación|puesto de trabajo|nombre del puesto|oferta|perfil|
        stelle|stellenbezeichnung|position|stellentitel|stellenangebot|stellenausschreibung|bezeichnung|titel|
        tätigkeit|jobtitel|
        vaga|cargo|função|título da vaga|posição|oportunidade|
        posizione|figura|profilo|figura professionale|titolo|ruolo|bando|posto|
        functie|vacature|functietitel|functienaam|
        الوظيفة|المسمى الوظيفي|اسم الوظيفة|المنصب|عنوان الوظيفة|الشاغر|
        должность|вакансия|название|позиция|название вакансии|наименование должности|
        职位|岗位|职位名称|岗位名称|招聘岗位|職位|職位名稱|招聘职位|
        職種|募集職種|ポジション|求人|職名|募集職名|タイトル|件名|
        tjänst|titel|stanowisko|pozisyon|tehtävä|stilling""",
    "location_raw": """
        location|locations|place|place of work|duty station|duty stations|city|country|office|based in|based at|
        workplace|
        job location|work location|station|country/city|location(s)|where|site|region|primary location|city/country|
        근무지|근무지역|지역|
        place of assignment|duty station(s)|office location|campus|
        lieu|localisation|lieu de travail|lieu d'affectation|ville|pays|lieu du poste|site|affectation|
        lieu de mission|
        ubicación|lugar|lugar de trabajo|sede|ciudad|país|localización|destino|lugar de destino|localidad|
        wo|where|ort|standort|arbeitsort|einsatzort|dienstort|standorte|dienstsitz|
        local|localização|local de trabalho|cidade|lotação|localidade|
        sede|luogo|località|sede di lavoro|città|luogo di lavoro|
        locatie|plaats|standplaats|werklocatie|vestiging|
        الموقع|المكان|مكان العمل|المدينة|الدولة|مقر العمل|موقع العمل|البلد|
        город|место работы|местоположение|регион|место|локация|страна|
        地点|工作地点|城市|所在地|工作城市|地點|工作地點|
        勤務地|場所|勤務場所|所在地|
        ort|placeringsort|lokalizacja|miejsce pracy|konum|şehir|sijainti|sted""",
    "deadline_raw": """
        deadline|closing date|closes|application deadline|apply by|apply before|close date|closing|
        deadline for applications|
        마감일|접수마감|지원마감|마감|접수기간|
        closing date for applications|last date|last date to apply|expiry date|expires|valid until|
        date of closing|due date|
        application closing date|submission deadline|expires on|closes on|closing on|end date|application due date|
        bis wann|until when|
        closing date & time|closing date/time|deadline date|vacancy closes|applications close|apply until|open until|
        date limite|date limite de candidature|date de clôture|clôture|échéance|date limite de dépôt|
        candidatures jusqu'au|
        date limite de dépôt des candidatures|date limite pour postuler|postuler avant le|à pourvoir avant|délai|
        fecha límite|fecha de cierre|cierre|plazo|fecha límite de postulación|plazo de presentación|fecha tope|
        fin de plazo|vence|fecha límite de aplicación|fecha límite para postular|hasta|vencimiento|
        bewerbungsfrist|bewerbungsschluss|frist|bewerbung bis|ablaufdatum|bewerbungsende|einsendeschluss|
        ausschreibungsende|
        prazo|data limite|prazo de inscrição|inscrições até|data de encerramento|encerramento|prazo de candidatura|
        prazo para candidatura|data limite de candidatura|fim do prazo|
        scadenza|data di scadenza|termine|candidature entro|scadenza domande|termine di presentazione|scade il|
        sluitingsdatum|deadline|solliciteren tot|reageren tot|sollicitatietermijn|reageer voor|
        reageren voor|solliciteren voor|
        آخر موعد|الموعد النهائي|آخر موعد للتقديم|تاريخ الإغلاق|آخر تاريخ للتقديم|ينتهي التقديم|
        الموعد النهائي للتقديم|تاريخ الانتهاء|
        срок подачи|дата закрытия|крайний срок|дедлайн|срок подачи заявок|прием заявок до|приём заявок до|
        действует до|
        截止日期|截止时间|申请截止日期|报名截止|截止|申請截止日期|截止日|
        締切|応募締切|締切日|応募期限|募集締切|申込期限|
        sista ansökningsdag|
        termin składania aplikacji|son başvuru tarihi|ansøgningsfrist|søknadsfrist|hakuaika päättyy""",
    "posted_raw": """
        posted|date posted|posting date|published|publication date|posted on|issue date|issued|date|
        opening date|post date|
        published on|posted date|start date of posting|date of issue|
        publié le|date de publication|publiée le|date de parution|mis en ligne le|publicado|
        fecha de publicación|publicado el|
        veröffentlicht|veröffentlicht am|erstellt am|ausschreibungsdatum|publicação|data de publicação|publicado em|
        pubblicato|data pubblicazione|data di pubblicazione|geplaatst|geplaatst op|publicatiedatum|
        تاريخ النشر|نشر في|дата публикации|опубликовано|размещено|发布日期|发布时间|發布日期|掲載日|公開日|公告日""",
    "employment_raw": """
        type|contract type|employment type|contract|job type|type of contract|schedule|working hours|hours|
        appointment type|
        position type|vacancy type|type of appointment|contract duration|duration|time type|category|employment|
        type de contrat|contrat|durée|temps de travail|durée du contrat|tipo de contrato|contrato|jornada|
        duración|modalidad de contrato|
        vertragsart|umfang|beschäftigungsart|arbeitszeit|anstellungsart|befristung|beschäftigungsumfang|
        tipo de contrato|regime|vínculo|carga horária|tipo di contratto|contratto|durata|contratttype|
        dienstverband|contract|uren|
        نوع العقد|نوع الوظيفة|الدوام|тип занятости|занятость|тип контракта|
        雇佣类型|工作性质|職務類型|雇用形態|契約形態|勤務形態""",
    "workplace_raw": """
        work arrangement|workplace type|work mode|remote|modality|work modality|modalité de travail|télétravail|
        modalidad|
        modalidad de trabajo|arbeitsmodell|homeoffice|modalidade|modalità di lavoro|thuiswerken|
        نمط العمل|формат работы|勤務スタイル""",
    "level_raw": """
        grade|level|post level|contract level|job level|seniority|category and level|grade level|experience level|
        classe|niveau|échelon|nivel|grado|entgeltgruppe|entgelt|vergütung|besoldung|eingruppierung|stufe|
        nível|livello|inquadramento|niveau|schaal|salarisschaal|الدرجة|المستوى|уровень|разряд|级别|等级|職級|等級""",
    "reference": """
        ref|ref no|reference|reference number|job id|vacancy number|job number|requisition|requisition id|
        req id|id|no|
        vacancy no|job ref|post number|job opening number|vacancy announcement|announcement number|job code|
        reference no|
        job reference|vacancy id|posting number|va number|vacancy notice|post no|job requisition id|tender no|
        référence|réf|n°|numéro|code|referencia|código|nº|referencia nº|kennziffer|referenznummer|stellennummer|
        kenn-nr|job-id|
        referência|edital|riferimento|codice|rif|referentie|referentienummer|vacaturenummer|
        الرقم المرجعي|رقم الوظيفة|رقم|номер|код|编号|职位编号|編號|求人番号|番号|#""",
    "org_name": """
        organization|organisation|company|employer|agency|hiring organization|institution|company name|
        recruiting organisation|
        organisme|employeur|entreprise|structure|organización|entidad|empresa|empleador|organisation|
        arbeitgeber|unternehmen|
        organização|empregador|azienda|ente|werkgever|organisatie|المنظمة|الجهة|الشركة|организация|работодатель|
        компания|
        公司|机构|单位|機構|企業名|会社名|団体名|機関名""",
    "department": """
        department|division|unit|team|section|faculty|school|job family|business unit|directorate|job category|
        area|area of expertise|
        département|service|direction|pôle|équipe|departamento|área|unidad|abteilung|bereich|einrichtung|
        fachbereich|fakultät|institut|
        departamento|setor|área|dipartimento|ufficio|settore|area|afdeling|team|القسم|الإدارة|отдел|подразделение|部门|院系|部門|部署""",
    "other": """
        s no|sl no|sr no|serial no|serial number|
        salary|remuneration|pay|salaire|rémunération|salario|sueldo|gehalt|salário|stipendio|salaris|الراتب|
        зарплата|薪资|薪水|給与|
        apply|how to apply|download|documents|details|attachment|more|link|postuler|télécharger|descargar|
        documento|bewerben|
        number of posts|vacancies available|no of posts|positions available|nombre de postes|vacantes|anzahl|
        vagas|posti|numero posti|
        status|state|statut|estado|stato|الحالة|статус|状态|人数|招聘人数|募集人数|experience|qualification|
        qualifications|education|
        starting date|start date|date de début|prise de poste|fecha de inicio|
        beginn|eintrittsdatum|start|início|decorrenza""",
}
_PUNCTUATION: Final = re.compile(r"[\s:：*.…|▲▼↑↓\u00a0\u200c\u200d]+")


def _read_words() -> dict[str, str]:
    """Of words that mean two things the first meaning counts."""
    meanings: dict[str, str] = {}
    for table in (_WORDS, *LATIN_LABELS.values(), *OTHER_LABELS.values()):
        for meaning, words in table.items():
            for word in words.split("|"):
                meanings.setdefault(_bare(word), meaning)
    meanings.pop("", None)
    return meanings


def _bare(text: str) -> str:
    return _PUNCTUATION.sub(" ", plain(text)).strip(" -–—()").strip()


_MEANINGS: Final = _read_words()
_LONGEST: Final = max(map(len, _MEANINGS))
# A label at the beginning of a line, with a colon or dash behind it.
_LABEL_LINE: Final = re.compile(r"^\W{0,3}([^:：]{1,50}?)\s*[:：]\s*(.*)$", re.DOTALL)
_SEPARATOR: Final = re.compile(r"\s*(?:[|•·;‖]|\s[–—-]\s|\n)\s*")
_LONGEST_VALUE: Final = 120
_LONGEST_LABEL: Final = 50
_MOST_LABEL_WORDS: Final = 6
# Words that are put together without blanks.
_EASTERN: Final = re.compile(
    "(?P<deadline_raw>締切|〆切|応募期限|截止)|(?P<location_raw>勤務地|勤務場所|工作地|地点)|(?P<title>職名|職種|岗位|职位|職位)|(?P<posted_raw>掲載|公開日|发布)"
)
_LONGEST_EASTERN: Final = 12
# What announcements begin with: "Vacancy announcement: Nurse".
_ANNOUNCED: Final = re.compile(
    rf"(?:{alternatives(ANNOUNCEMENTS)})\s*(?:(?:no|nr|n°|#|№)\.?\s*[\w/-]{{1,20}}\s*)?[:：–—-]\s+", re.IGNORECASE
)
_HOUR: Final = re.compile(
    r"[\s,–-]*(?:klo |um |à |at |kl\.? )?\d{1,2}[:.h]\d{2}(?:\s?[ap]\.?m\.?)?(?:\s?\(?[A-Z]{2,5}\)?)?"
)
_COLON: Final = re.compile(r"\s*[:：]\s*")
_WORD: Final = re.compile(r"[^\s!-&(-,.:-@\[-`{-~،؛।|]+")


@lru_cache(maxsize=4096)
def meaning_of(label: str) -> str | None:
    """What a label or column header means; None where it is no known one."""
    bare = _bare(label)
    if not bare or len(bare) > _LONGEST + 20:
        return None
    for said in (bare, bare.removesuffix("s")):
        if said in _MEANINGS:
            return _MEANINGS[said]
    if len(bare) <= _LONGEST_EASTERN and (eastern := _EASTERN.search(bare)):
        return eastern.lastgroup
    words = bare.split(" ") if not any(map(str.isdigit, bare)) else []
    for length in range(len(words) - 1, 0, -1):
        # "Deadline for documents" is a deadline; of other meanings the whole must be known.
        meaning = _MEANINGS.get(" ".join(words[:length]))
        if meaning in ("deadline_raw", "location_raw") and length > 1 and len(words) <= _MOST_LABEL_WORDS:
            return meaning
    for part in re.split(r"\s*[/(&,]\s*", bare):
        if part.strip(" )") in _MEANINGS:
            return _MEANINGS[part.strip(" )")]
    return None


def labelled(line: str) -> tuple[str, str] | None:
    """Split "Closing date: 3 May" into meaning and value; the value may be empty."""
    found = _LABEL_LINE.match(line[:400])
    if found is not None and (meaning := meaning_of(found[1])):
        return meaning, found[2].strip()
    # "Batas akhir 12 Desember 2026": a date right behind its label.
    date = DATE.search(line[:_LONGEST_VALUE])
    before = line[: date.start()].rstrip(" :：-–—(") if date and date.start() > 1 else ""
    meaning = meaning_of(before) if 2 < len(before) <= _LONGEST_LABEL else None
    if date is None or meaning not in ("deadline_raw", "posted_raw"):
        return None
    hour = _HOUR.match(line, date.end())
    return meaning, line[date.start() : hour.end() if hour else date.end()].strip()


def without_label(title: str) -> str:
    """A title without the word that says that it is one: "Position: Nurse"."""
    said = labelled(title)
    if said and said[0] == "title" and said[1]:
        return said[1]
    found = _ANNOUNCED.match(title)
    return title[found.end() :] if found and len(title) - found.end() > 3 else title


def split_at_labels(line: str) -> list[str]:
    """A line cut before each label in it: "Kraków, closing date: 3 May" are two things."""
    if ":" not in line and "：" not in line:
        return [line]
    cuts = [start for start, _, _ in _inline_labels(line[:1000]) if start > 0]
    parts = [line[start:end].strip(" ,;|") for start, end in zip([0, *cuts], [*cuts, len(line)], strict=True)]
    return [part for part in parts if part]


def before_next_label(value: str) -> str:
    """A value without the next label and what follows it in the same line."""
    if ":" not in value and "：" not in value:
        return value
    start = next((start for start, _, _ in _inline_labels(value[:400])), None)
    return value if start is None else value[:start].rstrip(" .;,|–-")


def labelled_fields(text: str) -> dict[str, str]:
    """Place and deadline in running text, by the labels before them."""
    fields: dict[str, str] = {}
    text = text[:4000]
    labels = list(_inline_labels(text))
    for index, (_, end, meaning) in enumerate(labels):
        stop = labels[index + 1][0] if index + 1 < len(labels) else len(text)
        value = _SEPARATOR.split(text[end : min(stop, end + _LONGEST_VALUE)].strip())[0].strip(" ,;–-")
        if meaning == "deadline_raw":
            date = DATE.match(value)
            value = date[0] if date else (value if is_open_ended(value) else "")
        elif meaning == "location_raw":
            value = re.split(r"(?<=\w\w)\.\s|\s{2,}", value)[0].rstrip(".")
            # A place is short; what runs on is a sentence.
            value = value if len(value) <= 60 else ""
        if value:
            fields.setdefault(meaning, value)
    if "deadline_raw" not in fields and (date_said := deadline_in(text)):
        fields["deadline_raw"] = date_said
    return {name: fields[name] for name in ("deadline_raw", "location_raw") if name in fields}


def _inline_labels(text: str) -> Iterator[tuple[int, int, str]]:
    """Labels with a colon behind them: beginning, end, meaning. Looked for backwards from each colon."""
    for colon in _COLON.finditer(text):
        before = text[max(0, colon.start() - _LONGEST_LABEL) : colon.start()]
        words = list(_WORD.finditer(before))[-_MOST_LABEL_WORDS:]
        for first in words:
            meaning = _MEANINGS.get(_bare(before[first.start() :]))
            if meaning:
                yield colon.start() - (len(before) - first.start()), colon.end(), meaning
                break

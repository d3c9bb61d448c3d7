"""Lists of jobs in many languages, by the usual markup, by their words, and by their shape where no word is known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from comity.extract.jobs.read import read_listing
from comity.extract.jobs.words.tables import openings
from comity.extract.jobs.words.tables.labels_latin import LABELS as LATIN
from comity.extract.jobs.words.tables.labels_scripts import LABELS as SCRIPTS
from comity.extract.jobs.words.tables.links import BUTTONS
from comity.model.job import Listing, ListingKind, SourceType
from comity.rules.jobs.dates import deadline_of

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# Heading, three titles, the label of the last day and 30 November 2026 as it is written there.
LANGUAGES = {
    "hu": (
        "Nyitott pozíciók",
        "Projektkoordinátor|Pénzügyi munkatárs|Sofőr",
        "Jelentkezési határidő",
        "2026. november 30.",
    ),
    "el": ("Θέσεις εργασίας", "Κοινωνικός λειτουργός|Λογιστής|Οδηγός", "Προθεσμία", "30 Νοεμβρίου 2026"),
    "th": ("ตำแหน่งงานว่าง", "เจ้าหน้าที่โครงการ|นักบัญชี|พนักงานขับรถ", "วันปิดรับสมัคร", "30 พฤศจิกายน 2569"),
    "fa": ("فرصت‌های شغلی", "کارشناس پروژه|حسابدار|راننده", "مهلت ارسال رزومه", "۹ آذر ۱۴۰۵"),
    "hi": ("रिक्तियाँ", "परियोजना अधिकारी|लेखाकार|चालक", "आवेदन की अंतिम तिथि", "30 नवंबर 2026"),
    "bn": ("চাকরির সুযোগ", "প্রকল্প কর্মকর্তা|হিসাবরক্ষক|চালক", "আবেদনের শেষ তারিখ", "৩০ নভেম্বর ২০২৬"),
    "sw": ("Nafasi za kazi", "Afisa Miradi|Mhasibu|Dereva", "Mwisho wa kutuma maombi", "30 Novemba 2026"),
    "he": ("משרות פנויות", "רכז פרויקטים|מנהלת חשבונות|נהג", "מועד אחרון להגשה", "30 בנובמבר 2026"),
    "ka": ("ვაკანსიები", "პროექტის კოორდინატორი|ბუღალტერი|მძღოლი", "ბოლო ვადა", "30 ნოემბერი 2026"),
    "my": ("အလုပ်အကိုင်အခွင့်အလမ်းများ", "စီမံကိန်းအရာရှိ|စာရင်းကိုင်|ယာဉ်မောင်း", "လျှောက်လွှာပိတ်ရက်", "30-11-2026"),
    "cs": ("Volná místa", "Koordinátor projektu|Účetní|Řidič", "Uzávěrka přihlášek", "30. listopadu 2026"),
    "sk": ("Voľné miesta", "Koordinátor projektu|Účtovník|Vodič", "Uzávierka prihlášok", "30. novembra 2026"),
    "ro": ("Posturi vacante", "Coordonator de proiect|Contabil|Șofer", "Termen limită", "30 noiembrie 2026"),
    "uk": ("Вакансії", "Координатор проєкту|Бухгалтер|Водій", "Кінцевий термін подання", "30 листопада 2026 року"),
    "sr": ("Отворени конкурси", "Координатор пројекта|Књиговођа|Возач", "Рок за пријаву", "30. новембар 2026."),
    "hr": ("Otvoreni natječaji", "Koordinator projekta|Računovođa|Vozač", "Rok za prijavu", "30. studenoga 2026."),
    "sl": ("Prosta delovna mesta", "Koordinator projekta|Računovodja|Voznik", "Rok za prijavo", "30. novembra 2026"),
    "bg": ("Свободни позиции", "Координатор проекти|Счетоводител|Шофьор", "Краен срок", "30 ноември 2026"),
    "mk": ("Слободни работни места", "Координатор на проект|Сметководител|Возач", "Краен рок", "30 ноември 2026"),
    "sq": ("Vende të lira pune", "Koordinator projekti|Kontabilist|Shofer", "Afati i aplikimit", "30 nëntor 2026"),
    "id": ("Lowongan kerja", "Koordinator Proyek|Akuntan|Pengemudi", "Batas akhir lamaran", "30 November 2026"),
    "ms": ("Jawatan kosong", "Penyelaras Projek|Akauntan|Pemandu", "Tarikh tutup", "30 November 2026"),
    "vi": ("Vị trí tuyển dụng", "Điều phối dự án|Kế toán|Lái xe", "Hạn nộp hồ sơ", "30 tháng 11 năm 2026"),
    "nb": ("Ledige stillinger", "Prosjektleder|Regnskapskonsulent|Sjåfør", "Søknadsfrist", "30. november 2026"),
    "da": ("Ledige stillinger", "Projektleder|Regnskabskonsulent|Chauffør", "Ansøgningsfrist", "30. november 2026"),
    "sv": ("Lediga tjänster", "Projektledare|Ekonom|Chaufför", "Sista ansökningsdag", "30 november 2026"),
    "fi": ("Avoimet työpaikat", "Projektipäällikkö|Kirjanpitäjä|Kuljettaja", "Hakuaika päättyy", "30.11.2026"),
    "is": ("Laus störf", "Verkefnastjóri|Bókari|Bílstjóri", "Umsóknarfrestur", "30. nóvember 2026"),
    "et": ("Vabad töökohad", "Projektijuht|Raamatupidaja|Autojuht", "Kandideerimise tähtaeg", "30. november 2026"),
    "lv": (
        "Vakances",
        "Projektu koordinators|Grāmatvedis|Autovadītājs",
        "Pieteikšanās termiņš",
        "2026. gada 30. novembris",
    ),
    "lt": (
        "Darbo skelbimai",
        "Projektų koordinatorius|Buhalteris|Vairuotojas",
        "Kandidatuoti iki",
        "2026 m. lapkričio 30 d.",
    ),
    "pl": ("Oferty pracy", "Koordynator projektu|Księgowa|Kierowca", "Termin składania aplikacji", "30 listopada 2026"),
    "tr": ("Açık pozisyonlar", "Proje Koordinatörü|Muhasebe Uzmanı|Şoför", "Son başvuru tarihi", "30 Kasım 2026"),
    "az": ("Vakansiyalar", "Layihə koordinatoru|Mühasib|Sürücü", "Son müraciət tarixi", "30 noyabr 2026"),
    "kk": ("Бос жұмыс орындары", "Жоба үйлестірушісі|Бухгалтер|Жүргізуші", "Соңғы мерзім", "2026 жылғы 30 қараша"),
    "hy": ("Թափուր աշխատատեղեր", "Ծրագրի համակարգող|Հաշվապահ|Վարորդ", "Վերջնաժամկետ", "30 նոյեմբերի 2026"),
    "ur": ("خالی آسامیاں", "پروجیکٹ مینیجر|اکاؤنٹنٹ|ڈرائیور", "آخری تاریخ", "30 نومبر 2026"),
    "ne": ("रिक्त पदहरू", "परियोजना अधिकृत|लेखापाल|चालक", "अन्तिम मिति", "30 नोभेम्बर 2026"),
    "ta": ("வேலைவாய்ப்பு", "திட்ட அலுவலர்|கணக்காளர்|ஓட்டுநர்", "கடைசி தேதி", "30 நவம்பர் 2026"),
    "si": ("ඇබෑර්තු", "ව්‍යාපෘති නිලධාරී|ගණකාධිකාරී|රියදුරු", "අවසන් දිනය", "2026-11-30"),
    "km": ("ឱកាសការងារ", "មន្ត្រីគម្រោង|គណនេយ្យករ|អ្នកបើកបរ", "ថ្ងៃផុតកំណត់", "30 វិច្ឆិកា 2026"),
    "lo": ("ຕຳແໜ່ງວ່າງ", "ເຈົ້າໜ້າທີ່ໂຄງການ|ບັນຊີ|ຄົນຂັບລົດ", "ວັນປິດຮັບ", "30/11/2026"),
    "am": ("ክፍት የሥራ ቦታዎች", "የፕሮጀክት አስተባባሪ|የሂሳብ ሠራተኛ|ሹፌር", "የማመልከቻ ማብቂያ ቀን", "ኖቬምበር 30 ቀን 2026"),
    "ar": ("الوظائف الشاغرة", "منسق مشروع|محاسب|سائق", "آخر موعد للتقديم", "30 نوفمبر 2026"),
    "ru": ("Открытые вакансии", "Координатор проекта|Бухгалтер|Водитель", "Срок подачи заявок", "30 ноября 2026 г."),
    "zh": ("招聘职位", "项目官员|会计|司机", "截止日期", "2026年11月30日"),
    "ja": ("募集職種", "プロジェクト担当|経理スタッフ|ドライバー", "応募締切", "2026年11月30日"),
    "ko": ("채용 공고", "프로젝트 매니저|회계 담당자|운전 기사", "마감일", "2026년 11월 30일"),
    "ca": ("Ofertes de feina", "Coordinador de projectes|Comptable|Conductor", "Data límit", "30 de novembre de 2026"),
    "eu": ("Lan eskaintzak", "Proiektu koordinatzailea|Kontabilitate teknikaria|Gidaria", "Epea", "2026-11-30"),
}
SHAPES = {
    "cards": '<div class="v"><h3><a href="/x/{at}">{title}</a></h3><p>{label}: {day}</p></div>',
    "buttons": '<div class="v"><h3>{title}</h3><p>{label}: {day}</p><a class="btn" href="/x/{at}">{button}</a></div>',
    "rows": '<tr><td><a href="/x/{at}">{title}</a></td><td>{label}: {day}</td></tr>',
}
KNOWN = {**LATIN, **SCRIPTS}


def read(body: str, lang: str, url: str = "https://ngo.example.org/x", title: str = "NGO") -> Listing:
    page = f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{title}</title><body><main>{body}</main>'
    return read_listing(page.encode(), url=url, content_type="text/html; charset=utf-8", source_type=SourceType.HTML)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_list_is_read_in_each_language(lang: str, shape: str) -> None:
    heading, titles, label, day = LANGUAGES[lang]
    button = BUTTONS.get(lang, "PDF").split("|")[0]
    items = "".join(
        SHAPES[shape].format(at=at, title=title, label=label, day=day, button=button)
        for at, title in enumerate(titles.split("|"))
    )
    listing = read(f"<h1>{heading}</h1>{f'<table>{items}</table>' if shape == 'rows' else items}", lang)
    assert [job.title for job in listing.jobs] == titles.split("|")
    assert [job.apply_url for job in listing.jobs] == [f"https://ngo.example.org/x/{at}" for at in range(3)]
    for job in listing.jobs:
        said = deadline_of(job.deadline_raw, now=NOW, zone=None, country=None, order_country=None, language=lang)
        assert said is not None, job.deadline_raw
        assert said.date().isoformat() == "2026-11-30"


@pytest.mark.parametrize("lang", [lang for lang in LANGUAGES if lang in KNOWN and "location_raw" in KNOWN[lang]])
def test_a_table_is_read_by_its_header_in_each_language(lang: str) -> None:
    _, titles, label, day = LANGUAGES[lang]
    place = KNOWN[lang]["location_raw"].split("|")[0]
    rows = "".join(
        f"<tr><td><a href=/x/{at}>{title}</a></td><td>Zzyzx</td><td>{day}</td></tr>"
        for at, title in enumerate(titles.split("|"))
    )
    title = KNOWN[lang].get("title", "Post").split("|")[0]
    listing = read(f"<table><tr><th>{title}</th><th>{place}</th><th>{label}</th></tr>{rows}</table>", lang)
    assert [(job.title, job.location_raw, job.deadline_raw) for job in listing.jobs] == [
        (said, "Zzyzx", day) for said in titles.split("|")
    ]


UNKNOWN = (("Kaiako reo", "Rotorua"), ("Kaitohutohu ture", "Whangārei"), ("Kaiwhakahaere pūtea", "Tauranga"))


@pytest.mark.parametrize(
    "row",
    [
        '<div class="r"><h3><a href="/jobs/{at}">{title}</a></h3><p>{place}</p><p>Rā kati: 30/11/2026</p></div>',
        '<li><a href="/jobs/{at}">{title}</a> {place} 30.11.2026</li>',
        '<tr><td><a href="/jobs/{at}">{title}</a></td><td>{place}</td><td>2026-11-30</td></tr>',
        '<div class="r"><h4>{title}</h4><p>{place} · 30/11/2026</p><a href="/jobs/{at}">Pānui</a></div>',
    ],
)
def test_a_list_is_carried_by_its_shape_where_no_word_is_known(row: str) -> None:
    items = "".join(row.format(at=at, title=title, place=place) for at, (title, place) in enumerate(UNKNOWN))
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("", "matou", "whakapa", "korero"))
    news = "".join(f'<li><a href="/news/{at}">Korero {at} mo te ra</a> 01/02/2026</li>' for at in range(4))
    items = (
        f"<table>{items}</table>" if row.startswith("<tr") else f"<ul>{items}</ul>" if row.startswith("<li") else items
    )
    body = f"<ul>{menu}</ul><h1>Ngā tūranga</h1>{items}<h2>Korero hou</h2><ul>{news}</ul>"
    listing = read(body, "mi", "https://ngo.example.org/jobs")
    assert [job.title for job in listing.jobs] == [title for title, _ in UNKNOWN]


def test_a_page_in_an_unknown_language_without_dates_or_places_has_no_jobs() -> None:
    cards = "".join(
        f'<a class="card" href="/careers/{at}"><h3>Ahurea {at}</h3><p>He kupu noa</p></a>' for at in range(4)
    )
    listing = read(f"<h1>Mahi</h1>{cards}", "mi", "https://ngo.example.org/careers")
    assert listing.kind is ListingKind.NOTHING_FOUND


NONE_NOW = {
    "hu": "Jelenleg nincs meghirdetett állásunk.",
    "el": "Αυτή τη στιγμή δεν υπάρχουν διαθέσιμες θέσεις.",
    "th": "ขณะนี้ยังไม่มีตำแหน่งงานว่าง",
    "pl": "Obecnie nie prowadzimy żadnych rekrutacji.",
    "cs": "V současné době nemáme žádné volné pozice.",
    "ro": "Momentan nu avem posturi vacante.",
    "uk": "Наразі немає відкритих вакансій.",
    "he": "כרגע אין משרות פנויות",
    "fi": "Tällä hetkellä ei ole avoimia työpaikkoja.",
    "vi": "Hiện chưa có vị trí tuyển dụng nào.",
    "id": "Saat ini belum ada lowongan.",
    "sw": "Kwa sasa hakuna nafasi za kazi.",
    "ka": "ამჟამად ვაკანსიები არ არის",
    "bn": "বর্তমানে কোনো শূন্যপদ নেই",
    "fa": "در حال حاضر فرصت شغلی وجود ندارد.",
    "tr": "Şu anda açık pozisyon bulunmamaktadır.",
    "sr": "Тренутно нема отворених конкурса.",
    "ko": "현재 진행 중인 채용 공고가 없습니다.",
}


@pytest.mark.parametrize("lang", NONE_NOW)
def test_a_page_says_in_its_language_that_nothing_is_open(lang: str) -> None:
    assert read(f"<h1>{LANGUAGES[lang][0]}</h1><p>{NONE_NOW[lang]}</p>", lang).kind is ListingKind.NO_OPENINGS


def test_the_tables_hold_forty_languages() -> None:
    for table in (KNOWN, openings.OPENINGS, openings.CAREERS, openings.NO_OPENINGS, BUTTONS):
        assert len(table) >= 40

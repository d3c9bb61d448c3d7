"""Words in the titles of jobs, and in links that are none; text in, a judgement out."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.extract.jobs.words import links, navigation
from comity.extract.jobs.words.joined import folded, words_and_pattern
from comity.extract.jobs.words_occupations import names_occupation

_GENERIC: Final = re.compile(
    r"(?:.{0,60}\b(?:job description|person specification|job pack|application (?:pack|form)|recruitment pack|"
    r"candidate pack|role profile|fiche de poste)|"
    r"(?:more|read|learn more|find out more|read more) (?:on|about) .{1,40}|apply(?: now| here| online| today|"
    r" for this (?:job|position|role))?|how to apply|read more|learn more|"
    r"more info(?:rmation)?|more|"
    r"(?:view|see|show|open|full|read)?(?: the| full| this)? ?(?:job|position|role|vacancy|opening|"
    r"post)? ?(?:details?|descriptions?|posting|advert(?:isement)?|announcement|profile)|"
    r"(?:view|see|show|open) (?:the |this )?(?:job|position|vacancy|role|opening|opportunity|more)|view|find out more|"
    r"download(?: (?:pdf|tor|tors|jd|here|file|the tor|document|job description|advert))?|"
    r"click here(?: to apply)?|here|link|pdf|doc|docx|tor|tors|jd|terms of reference|english|français|french|"
    r"español|share|save|bookmark|print|email|"
    r"application form|job pack|information pack|apply (?:via|on|through|by) .{1,30}|"
    r"submit (?:your )?(?:application|cv)|easy apply|continue reading|(?:this |the |our |online )?(?:form|portal|"
    r"website|page|application)|go|→|»|›|\+|"
    r"postuler|je postule|en savoir plus|lire la suite|voir l['’]offre|voir(?: le détail| plus| le poste)?|"
    r"consulter(?: l['’]offre)?|télécharger.{0,30}|fiche de poste|détails?|candidater|cliquez ici|ici|"
    r"postular(?:se|me)?|aplicar(?: aquí| ahora)?|ver (?:más|oferta|detalles?|vacante)|leer más|más información|"
    r"descargar.{0,30}|inscribirse|solicitar|aquí|"
    r"(?:jetzt )?(?:online )?bewerben|mehr(?: erfahren| dazu| infos?| informationen)?|weiterlesen|"
    r"details(?: ansehen)?|zur stelle(?:nausschreibung|nanzeige)?|ansehen|herunterladen|"
    r"stellenausschreibung(?: \(?pdf\)?)?|zum stellenangebot|weitere informationen|"
    r"candidat(?:ar|e-se|ura)(?: agora)?|inscrever-se|saiba mais|leia mais|ver vaga|baixar.{0,20}|edital|"
    r"candidati(?: ora)?|leggi(?: tutto| di più)?|scopri di più|scarica.{0,30}|dettagli|invia candidatura|"
    r"solliciteer(?: nu| direct)?|lees (?:meer|verder)|meer (?:info|informatie|lezen)|bekijk(?: vacature|"
    r" de vacature)?|"
    r"قدم الآن|التقديم|تقدم الآن|المزيد|اقرأ المزيد|التفاصيل|تفاصيل|تحميل|للتقديم|عرض التفاصيل|откликнуться|"
    r"подробнее|подать заявку|скачать|читать далее|"
    r"申请|立即申请|查看详情|详情|更多|下载|申請|立即應徵|詳情|応募する|応募|詳細|詳細を見る|詳しく見る|"
    r"もっと見る|エントリー|läs mer|ansök|devamı|başvur)"
    r"\s*(?:[→»›>+…]|\.\.\.|\(?pdf.{0,20}\)?|\(?docx?\)?|\(\d.{0,12}\))*",
    re.IGNORECASE,
)
_NAVIGATION: Final = re.compile(
    r"(?:(?:view |see |browse |search |show |explore |all |our |current |open |find |latest |back to |more |other )*"
    r"(?:all |our |current |open |available |the )*(?:jobs?|careers?|vacanc(?:y|ies)|positions?|roles|openings|"
    r"opportunities|job (?:search|board|listings?|openings?|opportunities|vacancies|alerts?|seekers?))(?: (?:at|"
    r"with|in) .{1,40}| archive| list| page| home)?|"
    r"(?:(?:view|see|find|browse|our) .{0,20}\bon )?(?:linked ?in|indeed|naukri(?:\.com)?|glassdoor|facebook|twitter|"
    r"instagram|youtube|monster|stepstone|xing|kununu|telegram|whatsapp|tiktok|github|handshake|bayt(?:\.com)?|jobstreet)|"
    r"home(?:page)?|about(?: us)?|contact(?: us)?|news(?:room)?|blog|events?|donate|privacy(?: policy| notice)?|"
    r"informativ[ae] .{0,40}|"
    r"cookies?(?: policy)?|terms.{0,30}|sign ?(?:in|up)|log ?(?:in|out)|register|subscribe|"
    r"job alerts?.{0,30}|.{0,30}(?:e-?mail|job) alerts?|create (?:a )?(?:job )?alert.{0,20}|join (?:our|"
    r"the) .{0,30}(?:talent|network|pool|community|mailing list).{0,20}|talent (?:network|pool|community)|"
    r".{0,20}(?:spontaneous|speculative|unsolicited|general|open) applications?.{0,30}|"
    r".{0,30}candidatures? spontanées?.{0,20}|.{0,20}candidatura (?:espontánea|espontânea|spontanea).{0,20}|"
    r".{0,30}(?:initiativ|spontan|blind)bewerbung.{0,20}|open sollicitatie.{0,20}|autocandidatur.{0,20}|"
    r"spontanansökan.{0,20}|(?:uopfordret|uoppfordret) .{0,20}|avoin hakemus|"
    r".{0,20}register (?:your|an) interest.{0,20}|"
    r"(?:our |the )?talent (?:pool|community|network)(?: \w+){0,3}|future (?:opportunities|openings|vacancies)|"
    r"(?:our )?(?:benefits|culture|values|team|people|story|mission|locations|offices)|life at .{1,30}|"
    r"how we hire|why (?:work|join).{0,30}|working (?:at|with|for) .{1,40}|work with us|join (?:us|our team)|"
    r"(?:recruitment|application|hiring|selection) process|how to apply|faqs?|students?(?: and graduates)?|"
    r"(?:internships?|traineeships?)(?: and volunteering| programme)?|volunteer(?:ing)?(?: opportunities| with us)?|"
    r"equal opportunit.{0,40}|diversity.{0,40}|"
    r"beware of .{0,40}|fraud alert|code of conduct|safeguarding.{0,30}|annual report.{0,20}|(?:first|last|next|"
    r"previous|prev|newer|older)(?: page| posts| entries)?|page \d+|\d+|skip to .{1,30}|"
    r"emplois?|carrières?|offres? d['’]emploi|nos offres(?: d['’]emploi)?|toutes (?:les|nos) offres|recrutement|"
    r"nous rejoindre|accueil|actualités|contactez-nous|mentions légales|"
    r"empleos?|trabaja con nosotros|ofertas de empleo|todas las (?:ofertas|vacantes|convocatorias)|"
    r"ver todas.{0,20}|inicio|contacto|noticias|convocatorias|"
    r"karriere|stellenangebote|alle (?:stellen|jobs|stellenangebote)|offene stellen|startseite|kontakt|impressum|"
    r"datenschutz.{0,40}|aktuelles|"
    r"vagas|trabalhe conosco|carreiras?|todas as vagas|lavora con noi|posizioni aperte|offerte di lavoro|carriere|"
    r"vacatures|alle vacatures|werken bij.{0,30}|"
    r"الوظائف(?: الشاغرة)?|جميع الوظائف|وظائف|الرئيسية|اتصل بنا|من نحن|вакансии|все вакансии|карьера|работа у нас|"
    r"招聘|招聘信息|职业机会|所有职位|加入我们|首页|採用情報|求人情報|採用|募集要項|ホーム|お問い合わせ)",
    re.IGNORECASE,
)
# What a button on one job says, though "View jobs" leads elsewhere.
_ONE_JOB: Final = re.compile(
    r"(?:view|see|show|open) (?:the |this )?(?:job|position|vacancy|role|opening|opportunity)", re.IGNORECASE
)
_NEWS: Final = re.compile(
    r"(?:meet |becoming |introduction to |how |why |what |when |where |watch|video|interview|press release|"
    r"statement|report:|[^|]{0,60}\?$|"
    r"\d+ (?:ways|tips|reasons|lessons|things)|five |ten )",
    re.IGNORECASE,
)


_BUTTON_WORDS, _BUTTONS = words_and_pattern(links.BUTTONS)
_ELSEWHERE_WORDS, _ELSEWHERE = words_and_pattern(
    {**navigation.NAVIGATION, **{f"{language} keeping": said for language, said in navigation.KEEPING.items()}}
)


@lru_cache(maxsize=8192)
def is_job_title(text: str) -> bool:
    """Whether a text reads like the title of a job."""
    text = text[:200]
    return names_occupation(text) and not is_navigation(text)


@lru_cache(maxsize=8192)
def is_generic(text: str) -> bool:
    """Whether a link's words only ask to be clicked: "Apply now", "En savoir plus", "PDF"."""
    if not text or _GENERIC.fullmatch(text[:80].strip()) is not None:
        return True
    bare = folded(text[:80])
    return not bare or bare in _BUTTON_WORDS or _BUTTONS.fullmatch(bare) is not None


@lru_cache(maxsize=8192)
def is_navigation(text: str) -> bool:
    """Whether a link's words lead elsewhere on the site: "All jobs", "Job alerts", "Life at …"."""
    bare = text.strip(" ›»→<>«‹")
    if len(text) > 100:
        return False
    if _NAVIGATION.fullmatch(bare) is not None:
        return _ONE_JOB.fullmatch(bare) is None
    simple = folded(bare)
    if simple in _BUTTON_WORDS:
        return False  # "Prijava" is a login in one language, and how one applies in the next
    return simple in _ELSEWHERE_WORDS or _ELSEWHERE.fullmatch(simple) is not None


@lru_cache(maxsize=8192)
def is_news_title(text: str) -> bool:
    """Whether a text reads like a headline."""
    return _NEWS.match(text) is not None

"""Words in job titles, including occupations in some twenty languages, and in links that are no jobs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from comity.extract.jobs.words.patterns import folded, words_and_pattern
from comity.extract.jobs.words.tables import links
from comity.extract.jobs.words.tables.occupations import ANYWHERE, INSIDE, STEMS

# Beginnings of words, so that "Koordinatorin" and "managers" count as well.
_STEMS: Final = r"""
    officer manager managing directors?\b coordinator co-ordinator assistant specialist engineer developer
    analyst advisor adviser consultan internship intern\b associate\b administrator accountant technician
    scientist researcher postdoc professor lecturer teacher nurse doctor\b physician midwife driver secretary
    clerk supervisor representative editor designer architect trainer facilitator counsell?ors? counsel\b
    lawyer auditor controller planner buyer logistician programmer writer translator interpreter receptionist
    cleaner guard\b cook\b chef electrician mechanic operator fundraiser trainee apprentice fellowship
    fellow\b curator librarian psychologist therapist worker economist statistician steward partner\b
    recruiter expert agent\b treasurer deputy executive strategist producer epidemiologist surveyor inspector
    warden caretaker coach tutor instructor head\b lead\b leader chief\b phd\b doctoral tenure faculty
    position superintendent pharmacist surgeon welder carpenter plumber botanist chemist physicist biologist
    registrar dean\b bursar paralegal attorney sysadmin devops ambassador mentor seasonal volunteer surge
    roster consult dispatcher cashier waiter barista sales\w* reporter journalist broadcaster photographer
    videographer marketer copywriter installer fitter helper practitioner nutritionist painter roofer mason
    tailor sailor pilot bolsas? pós-dout bolseir doutorand agronomist aquarist lifeguard packer aide\b host\b
    spokesperson психолог водій organi[sz]er captain veterinarian ranger educator generalist loader porter
    farmer keeper baker butcher gardener nanny president secretary-general ombudsman rapporteur vacancy
    chargé responsable directeur directrice coordinat coordonnat ingénieur développeu technicien comptable
    stagiaire stage\b conseill gestionnaire adjoint animat éducat infirmi médecin juriste secrétaire
    chauffeur logistic alternan apprenti chercheu professeur enseignant délégué administrateur rédacteur
    rédactrice assistante chef\b cheffe formateur formatrice coordinador técnic asistente auxiliar
    especialista ingenier analista consultor gerente jefe jefa encargad oficial asesor desarrollador contador
    contable abogad enfermer médic docente profesor investigador pasant becari practicante conductor
    administrativ secretari facilitador promotor evaluaci consultoría directora?\b mitarbeiter referent
    sachbearbeit entwickler ingenieur koordinat assisten berater praktik werkstudent volontär auszubildende
    ausbildung professur doktorand techniker sozialarbeiter sozialpädagog buchhalt hausmeister jurist arzt
    ärzt freiwillig bundesfreiwilligendienst hilfskraft geschäftsführ coordenador gestor assistente diretor
    diretora engenheir estagi estágio bolsista assessor desenvolvedor motorista responsabile addett tirocin
    stagista impiegat tecnic ingegnere ricercat assegno operatore educatore consulente direttore sviluppatore
    infermier docenz collaborator medico funzionari coördinator projectleider stagiair docent onderzoeker
    promovendus ontwikkelaar consulent verpleegkundig teamleider secretaress vrijwillig hoogleraar begeleider
    handläggare samordnare utvecklare ingenjör sjuksköterska lärare koordinator specjalista kierownik
    asystent uzman\b müdür mühendis asistan danışman koordinatör менеджер специалист координатор инженер
    директор ассистент бухгалтер консультант руководител начальник аналитик разработчик стаж[её]р водитель
    врач преподаватель эксперт помощник секретарь юрист сотрудник администратор переводчик программист
    методист оператор редактор научный лаборант reviewer coder tester modell?er moderator evaluator
    enumerator appraiser negotiator broker underwriter actuary adjuster estimator scheduler assembler
    machinist fabricator hygienist dentist optometrist paramedic phlebotomist carer caregiver custodian
    janitor labou?rer bricklayer plasterer joiner scaffolder rigger driller marshal constable firefighter
    detective bailiff usher concierge butler bartender dishwasher sommelier sous-chef commis\b merchandiser
    stylist beautician hairdresser barber florist typist proofreader archivist conservator crew\b deckhand
    skipper attendant forwarder picker sorter stocker product\sowner scrum\smaster full-?stack frontend
    backend front-end back-end qa\b sdet\b sre\b graduate\s(?:programme|program|trainee) locum trustee
    commissioner councillor liaison chairperson foreman salesman craftsman watchman nurser
    (?:tour|mountain|field|park|museum)\sguide brand\smarket animator illustrator composer musician dancer
    actor\b actress choreographer dietitian dietician audiologist orthoptist prosthetist rider\b forester
    arborist horticultur groom\b blacksmith jeweller locksmith tiler glazier vice-chancellor provost
    postmaster sitter au\spair housemaid maid\b vendor\smanage co-?founder evangelist investigator examiner
    invigilator proctor grader bookkeep teller\b trader\b dealer\b stockist telemarket telecaller caller\b
    lernende lehrling lehrstelle hebamme disponent monteur schlosser schreiner maler\b maurer dachdecker
    zimmerer tischler gärtner koch/köchin köchin kellner bäcker konditor metzger lagerist fahrer dozent
    wissenschaftler direktor sekretär redakteur lektor grafiker gestalter zeichner planer polier laborant
    chemikant informatiker programmierer anwalt anwältin steuerberat steuerfach aushilf minijob nebenjob
    ferienjob duales\sstudium zivildienst fsj\b bfd\b stellvertret pflegehilf pflegeassist verwaltungsfach
    verwaltungsangest bauleit projektleit übersetz dolmetsch hauswirtschaft raumpfleg reinigungskraft
    küchenhilf servicekraft kundenberat geschäftsleit prokurist syndikus kantor küster pastor pfarrer
    diakon(?:in)?\b mécanicien opérateur opératrice vendeur vendeuse cuisinier cuisinière serveur serveuse
    plongeur boulanger ouvrier manutentionnaire magasinier conducteur conductrice livreur aide-soignant
    auxiliaire psychologue sage-femme kinésithérapeute ergothérapeute orthophoniste moniteur monitrice
    intervenant médiateur médiatrice documentaliste bibliothécaire archiviste attaché contrôleur auditeur
    auditrice acheteu standardiste hôtesse jardinier paysagiste électricien plombier menuisier maçon peintre
    soudeur téléconseill référent volontaire service\scivique bénévole doctorant post-?doctorant
    maître\sde\sconférences géomètre dessinat architecte urbaniste informaticien surveillant gardien veilleur
    agents?\b encadrant économe trésori concept(?:eur|rice) chargés? inspecteur inspectrice sapeur policier
    instituteur institutrice pharmacien dentiste vétérinaire sociologue anthropologue autista conducente
    operaio magazzinier cuoco camerier commess[oa] venditor farmacist ostetric fisioterapist psicolog
    educatric insegnante apprendist elettricist idraulic meccanic muratore falegname giardinier custode
    caposquadra capoprogetto caporeparto capocantiere progettist disegnator contabil ragionier segretar
    architett avvocat giurist sistemist programmator dirigente ausiliari borsa\sdi\s dottorand direttric
    pediatra veterinari macellai panettier parrucchier autist manutentor saldator tornitor chofer cociner
    camarer limpiador vigilante guardia\b mecánic electricist albañil psicólog trabajador educador
    maestr[oa]s?\sde vendedor cajer recepcionista operari operador obrer jardiner arquitect economista
    periodista comunicador traductor líder\b diseñador programador agente\b subdirector catedrátic
    titular\sde ayudante delegad sociólog antropólog bibliotecari cozinheir enfermeir pedagog nutricionista
    zelador porteiro encarregad eletricista mecânic pedreiro aprendiz jovem\saprendiz secretári jornalista
    orientador advogad farmacêutic kok\b verzorgende leraar leerkracht schoonmaker beveiliger beheerder
    timmerman schilder metselaar loodgieter elektricien ontwerper verkoper bestuurder penningmeester
    psycholoog fysiotherapeut huisarts arts\b apotheker jongerenwerker bewindvoerder boekhoud undersköterska
    läkare förskollärare städare kock\b elektriker mekaniker säljare projektledare forskare sygeplejerske
    læge lærer pædagog medarbejder rådgiver saksbehandler sykepleier prosjektleder konsulent sairaanhoitaja
    lääkäri asiantuntija opettaja johtaja päällikkö suunnittelija kierowca pracownik inżynier nauczyciel
    lekarz pielęgniark sprzedawca magazynier księgow doradca dyrektor konsultant programista řidič učitel
    lékař účetní vedoucí pracovník odborník şoför öğretmen hemşire doktor teknisyen uzmanı\b görevlisi müdürü
    mühendisi медсестра учитель слесарь электрик повар\b продавец кассир грузчик охранник уборщик дизайнер
    маркетолог фельдшер логист тренер ведущий фахівець лікар вчитель спеціаліст staf\b manajer petugas
    asisten ahli\b pengemudi nhân\sviên chuyên\sviên trưởng\sphòng kỹ\ssư quản\slý
"""
# Ends of words that are put together: "Bauleiter", "Hydrologist", "Pflegefachperson"; also at their beginning.
_ENDINGS: Final = r"""
    monteur wärter fahrer gärtner zeichner schlosser schreiner informatiker redakteur laborant disponent sekretär
    ologist ographer keeper (?<=\w)master\b leiter leitung fachkraft lehrkraft pflegekraft hilfskraft
    bürokraft fachperson fachfrau fachmann fachleute kaufmann kauffrau kaufleute helfer arbeiter sanitäter
    therapeut führer(?:in)?\b meister(?:in)?\b pfleger erzieher pädagog assistenz mechaniker mechatroniker
    elektroniker installateur verkäufer lehrer lehrperson betreuer prüfer beauftragte inspektor spezialist
    experte verantwortliche hauswart abwart platzwart berater medewerker adviseur begeleider praktikum
    praktikant referent sachbearbeit entwickler analyst manager ingenieur engineer therapist techniker
    sköterska lärare ledare handläggare rådgiver konsulent (?<=\w)leder\b
"""
# Scripts without blanks between words, or with prefixes: anywhere in the text.
_ANYWHERE: Final = re.compile(
    "مدير|منسق|محاسب|مساعد|مهندس|مسؤول|أخصائي|اخصائي|موظف|مستشار|مشرف|ضابط|سائق|معلم|باحث|متدرب|طبيب|ممرض|مترجم|"
    "خبير|فني|محلل|مصمم|"
    "工程师|工程師|经理|經理|主管|助理|专员|專員|总监|總監|顾问|顧問|研究员|研究員|实习|實習|教师|教師|教授|会计|"
    "會計|主任|分析师|分析師|设计师|设计|"
    "开发|司机|翻译|干事|编辑|讲师|博士后|协调员|官员|秘书|管理员|技术员|医生|护士|"
    "エンジニア|マネージャー|マネジャー|職員|スタッフ|研究員|インターン|担当|コーディネーター|アシスタント|教員|"
    "教授|助教|講師|"
    "専門家|アナリスト|デザイナー|看護師|医師|コンサルタント|ディレクター|オフィサー|事務|開発者|アドバイザー|"
    "매니저|엔지니어|연구원|담당자|코디네이터|간사|사원|개발자|디자이너|인턴|직원|교사|간호사|활동가|"
    + "|".join(ANYWHERE.values())
)
_GENDER: Final = re.compile(
    r"\((?:[mwfdhxv]|all|h/f|f/h|gn)(?:\s*[/|*]\s*[mwfdhxv]\+?)+\)|\b[hf]/[hf]\b|\(m/w\)|:in\b|/-?in\b|\*in\b|"
    r"\(e\)|/a\b",
    re.IGNORECASE,
)
# The hours, as titles in German, French and Italian have them: "80–100 %", "(60%)", "à 50%".
_WORKLOAD: Final = re.compile(
    r"\b\d0\s?(?:%\s?)?(?:[-–/]|bis|à|to)\s?(?:\d0|100)\s?%|[(,]\s?(?:[2-9]0|100)\s?%\)?$|\s(?:[4-9]0|100)\s?%$"
)


def _by_first_letter(stems: str) -> str:
    """Alternatives apart by their first letter, so that each word is compared with few of them."""
    letters: dict[str, list[str]] = {}
    for stem in dict.fromkeys(stems.split()):
        letters.setdefault(stem[0] if stem[0].isalpha() else "", []).append(stem)
    return "|".join(
        f"{letter}(?:{'|'.join(stem[len(letter) :] for stem in found)})" for letter, found in letters.items()
    )


_WORDS: Final = re.compile(rf"(?<!\w)(?:{_by_first_letter(' '.join((_STEMS, *STEMS.values())))})", re.IGNORECASE)
_INSIDE: Final = re.compile(_by_first_letter(" ".join((_ENDINGS, *INSIDE.values()))), re.IGNORECASE)


def names_occupation(text: str) -> bool:
    """Whether a text names an occupation, or looks like the title of one."""
    return any(pattern.search(text) for pattern in (_WORDS, _INSIDE, _ANYWHERE, _GENDER, _WORKLOAD))


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
    {**links.NAVIGATION, **{f"{language} keeping": said for language, said in links.KEEPING.items()}}
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

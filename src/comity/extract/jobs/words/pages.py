"""Words that say what a page, a heading, an address or an element is about."""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.words.patterns import alternatives
from comity.extract.jobs.words.tables import advertisements, links, openings

_I: Final = re.IGNORECASE
NO_OPENINGS: Final = re.compile(
    r"(?:no (?:current |open |available |active |suitable |live |job |new )*(?:job |employment |"
    r"career )?(?:vacanc(?:y|ies)|openings?|positions?|jobs|opportunities|postings|roles)\b"
    r"(?:.{0,40}(?:at (?:this|the) (?:time|moment)|at present|currently|available|open|right now|found|posted|"
    r"match|advertised)|\s*[.,;!]|\s*$)"
    r"|(?:couldn['’]t|could not|can(?:not|['’]t)|did(?:n['’]t| not)) find any (?:\w+ ){0,2}(?:vacanc|openings|"
    r"positions|jobs|roles|opportunities)"
    r"|(?:there (?:are|is)|we (?:have|do not have|don['’]t have)|not) (?:currently |presently |at present |"
    r"any )*(?:no |any |not )?(?:currently )?(?:any )?(?:current |open |available |active )*(?:vacanc|openings|"
    r"positions|jobs|job openings|roles|hiring).{0,30}(?:at (?:this|the) (?:time|moment)|currently|right now|"
    r"at present|available)"
    r"|(?:not|aren['’]t) (?:currently )?(?:hiring|recruiting)|no (?:job )?(?:listings|results|matches|"
    r"items)(?: were| was)? (?:found|match\w*|available|to display)|(?:no|0) (?:jobs|results|vacancies|positions|"
    r"openings) (?:were )?found|all (?:of )?(?:our |open |the )?(?:positions|vacancies|posts|roles|jobs) "
    r"(?:are|have been) (?:currently |now )?(?:filled|closed|taken)"
    r"|currently no (?:open |job )?(?:vacanc|positions|openings|jobs|opportunit)|nothing (?:open|"
    r"available) (?:right now|at the moment|currently)|"
    r"(?:^|(?<=\n))0 (?:open |current |job )?(?:vacancies|openings|positions|jobs|roles|results)\b|"
    r"check back (?:later|soon) for (?:new |future )?(?:openings|"
    r"vacancies|opportunities)"
    r"|aucune? (?:offre|poste|annonce|emploi|recrutement|opportunité).{0,60}(?:disponible|moment|actuellement|"
    r"en cours|ouvert|trouvée?|publiée?|à pourvoir)|aucune? (?:offre d['’]emploi|poste ouvert|poste à pourvoir)|"
    r"pas d['’](?:offre|annonce|emploi)s?.{0,40}(?:moment|actuellement|disponible)|pas de (?:poste|recrutement|"
    r"offre).{0,40}(?:moment|actuellement|disponible|ouvert)|ne recrut(?:ons|e) pas"
    r"|(?:no hay|no existen|no tenemos|no contamos con|ninguna) .{0,30}(?:vacante|oferta|convocatoria|plaza|proceso|"
    r"puesto|empleo|posicion|búsqueda).{0,40}|sin (?:vacantes|convocatorias|ofertas)"
    r"|(?:keine|leider keine|zur zeit keine|derzeit keine|aktuell keine|momentan keine) .{0,30}(?:stellen|"
    r"stellenangebote|jobs|vakanzen|positionen|ausschreibungen|stelle)|"
    r"alle (?:unsere )?(?:stellen|positionen) (?:\w+ )?besetzt|"
    r"(?:stellen|stellenangebote).{0,20}(?:keine|"
    r"nicht) .{0,20}(?:vorhanden|verfügbar|ausgeschrieben|frei)"
    r"|(?:não há|nao ha|não existem|não temos|nenhuma|sem) .{0,30}(?:vaga|oportunidade|posiç|concurso|oferta).{0,30}"
    r"|(?:non ci sono|nessuna?|non sono (?:al momento |attualmente )?(?:presenti|disponibili|previste)|"
    r"al momento non) .{0,40}(?:posizion|offert|opportunità|bandi|ricerche|selezion|annunci)"
    r"|(?:geen|momenteel geen|op dit moment geen) .{0,30}(?:vacature|functies|openstaande)"
    r"|لا (?:توجد|يوجد) .{0,30}(?:وظائف|شواغر|وظيفة|فرص)|(?:لا|ليس) .{0,20}(?:وظائف|شواغر) .{0,20}(?:حاليا|متاحة|"
    r"حالياً)"
    r"|(?:нет|отсутствуют|не найдено) .{0,25}(?:ваканси|открытых)|ваканси[йи].{0,20}(?:нет|отсутств|не найден)"
    r"|(?:暂无|暫無|目前没有|目前沒有|没有|沒有|暂时没有).{0,15}(?:职位|職位|岗位|空缺|招聘|職缺|工作)|(?:职位|"
    r"岗位)空缺.{0,4}(?:暂无|无)"
    r"|(?:現在|ただいま|只今).{0,20}(?:募集|求人|採用).{0,15}(?:ありません|おりません|ございません|行っていません|"
    r"していません|停止)|募集中の(?:職種|求人|ポジション)は(?:現在)?(?:ありません|ございません)|"
    r"該当する求人.{0,10}(?:ありません|見つかりません)"
    r"|현재.{0,20}(?:채용|모집).{0,15}(?:없습니다|않습니다|없음)|(?:채용|모집) ?(?:중인|공고).{0,15}(?:없습니다|"
    r"없음)|inga lediga (?:tjänster|jobb)|brak (?:aktualnych )?ofert(?: pracy)?|"
    r"açık pozisyon(?:umuz)? (?:bulunmamaktadır|yok)|ei avoimia (?:työpaikkoja|paikkoja)|ingen ledige stillinger|"
    + alternatives(openings.NO_OPENINGS)
    + ")",
    _I,
)
OPENINGS_HEADING: Final = re.compile(
    r"(?:채용 ?공고|채용|모집|(?:current|open|available|latest|our|job|all|new|active|live|"
    r"advertised)\s+(?:\w+\s+)?(?:vacanc|"
    r"positions?|openings?|opportunit|jobs|roles|opportunities|postings|recruitments?)|^vacanc|vacancies|^openings?$|"
    r"job openings?|(?:following|these|vacant) (?:\w+ )?(?:posts|positions|vacancies|jobs|roles)|"
    r"invit\w+ applications|job (?:board|listings?|search|opportunities)|open calls?|we(?:['’]re| are) (?:hiring|"
    r"recruiting|looking)|one opening|"
    r"offres? d['’]emploi|offres (?:de stage|en cours|disponibles)|postes? (?:à pourvoir|ouverts?|vacants?)|"
    r"nos offres|appels? à candidatures?|recrutements? en cours|avis de (?:vacance|recrutement)|"
    r"ofertas? (?:de (?:empleo|trabajo)|laborales?|vigentes)|vacantes|convocatorias?|puestos? (?:vacantes?|"
    r"disponibles?)|oportunidades laborales|"
    r"stellenangebote|offene stellen|stellenausschreibung|aktuelle (?:stellen|jobs|ausschreibungen)|freie stellen|"
    r"unsere jobs|jobangebote|"
    r"vagas|oportunidades (?:abertas|de emprego|de trabalho)|processos? seletivos?|concursos abertos|"
    r"posizioni aperte|offerte di lavoro|opportunità di lavoro|bandi (?:aperti|di concorso|attivi)|"
    r"ricerche in corso|"
    r"vacatures|openstaande|الوظائف|وظائف|شواغر|فرص عمل|ваканси|открытые позиции|招聘|职位|職位|岗位|空缺|"
    r"募集職種|求人|採用情報|募集中|募集要項|lediga (?:tjänster|jobb)|oferty pracy|açık pozisyon|"
    r"ledige stillinger|" + alternatives(openings.OPENINGS) + ")",
    _I,
)
CAREERS: Final = re.compile(
    r"(?:\bjobs?\b|career|vacanc|employment|채용|모집|인재|recrutamento|reclutamiento|reclutamento|work here|"
    r"\bjoin\b|"
    r"work(?:ing)? (?:with|for|at) us|join (?:us|"
    r"our team|the team)|"
    r"opportunit|recruit|openings|hiring|\bpositions?\b|"
    r"emploi|recrutement|carri[eè]re|nous rejoindre|rejoignez|postes|empleo|trabaj|convocatoria|vacante|karriere|"
    r"stellen|arbeiten bei|bewerb|jobportal|"
    r"vagas|carreira|trabalhe|emprego|lavora con noi|lavoro|carriere|posizioni|concorsi|vacature|werken bij|وظائف|"
    r"وظيف|توظيف|ваканси|карьер|работа|招聘|职位|職位|加入我们|人才|採用|求人|募集|キャリア|karriär|lediga|praca|"
    r"kariyer|" + alternatives(openings.CAREERS) + "|" + alternatives(openings.OPENINGS) + ")",
    _I,
)
NOT_JOBS_HEADING: Final = re.compile(
    r"(?:^(?:online |related |latest |recent |our |upcoming |past |all |more )*(?:exhibitions?|concerts?|news|"
    r"blog|posts?|articles?|stories|"
    r"events?|team|people|staff|leadership|board|publications?|resources?|projects?|press|partners?|testimonials|"
    r"categories|tags|archives?|products?|services|courses|trainings?|tenders?|meet .{1,30})\b|"
    r"recent posts|you may also like|useful (?:links|documents|information)|quick links|contact|follow us|"
    r"newsletter|documents|policies|how to apply|why .{0,30}\?|faq|what we offer|benefits|"
    r"^(?:actualités|agenda|événements|équipe|notre équipe|publications|documents utiles|liens utiles|noticias|"
    r"eventos|equipo|publicaciones|documentos|aktuelles|veranstaltungen|über uns|downloads|notícias|equipe|"
    r"notizie|eventi|nieuws|agenda|أخبار|فعاليات|новости|события|команда|新闻|活动|团队|ニュース|イベント|"
    r"お知らせ|スタッフ紹介)\b|^(?:" + alternatives(links.NOT_JOBS) + r")\s*$)",
    _I,
)
# Headings over stories about people and events.
STORIES_HEADING: Final = re.compile(
    r"\b(?:meet|news|stor(?:y|ies)|testimonials?|blog|events?|alumni|voices|say about|leadership|rencontrez|"
    r"témoignages|"
    r"actualités|conoce a|testimonios|noticias|historias|das sagen|geschichten|lernen sie|aktuelles|veranstaltungen)\b",
    _I,
)
# "12 open roles": what leads to a list of jobs, not to one.
COUNT_OF_JOBS: Final = re.compile(
    r"\b\d+\+? (?:open |current |active |available )?(?:roles?|jobs?|positions?|openings?|vacanc(?:y|ies)|offres?|"
    r"vacantes?|stellen?|vagas?)\b",
    _I,
)
# "120 engineers" boast of many.
MANY_OF_THEM: Final = re.compile(r"^(?:\d{2,}|\d+[+k%])", _I)
# Parts of one advertisement.
POSTING_PART: Final = re.compile(
    r"(?:\b(?:responsibilit|requirement|qualification|duties\b|tasks\b|skills\b|competenc|experience\b|"
    r"key accountabilit|about (?:the|this) (?:role|job|position|post|opportunity)|(?:job|role|position) "
    r"(?:summary|description|purpose|profile|overview)|what you(?:['’]ll| will) |who you are|"
    r"your (?:profile|role|tasks)|person specification|terms of reference|scope of work|reporting line)|"
    r"missions?\b|profil|compétences|responsabilités|description du poste|tâches|formation\b|"
    r"funciones|requisitos|responsabilidades|perfil|descripción del puesto|formación|"
    r"aufgaben|anforderungen|stellenbeschreibung|qualifikation|"
    r"atribuições|qualificações|requisiti|mansioni|competenze|functie-?eisen|taken\b|jouw profiel|"
    r"المهام|المسؤوليات|المتطلبات|المؤهلات|обязанности|"
    r"требования|условия|职责|要求|任职|仕事内容|応募資格|必須|" + alternatives(advertisements.PARTS) + ")",
    _I,
)
OTHER_PAGES: Final = re.compile(alternatives(advertisements.OTHER_PAGES), _I)
# Over a list of other jobs, beside the one that a page is about.
OTHER_JOBS: Final = re.compile("|".join(advertisements.OTHERS.values()), _I)
CLOSED_MARK: Final = re.compile(
    r"(?:plazo (?:cerrado|finalizado|vencido)|en (?:resolución|proceso)|(?:this )?(?:position|vacancy|job|role|"
    r"post|application|applications)?\s?(?:is |are |has been |"
    r"now )*(?:closed|filled|expired)(?: for applications)?|no longer (?:available|accepting applications)|"
    r"(?:poste |offre )?(?:pourvue?|clôturée?|expirée?|fermée?)|(?:convocatoria |vacante )?(?:cerrad[ao]|"
    r"cubiert[ao]|finalizad[ao]|vencid[ao])|(?:stelle )?(?:besetzt|vergeben|geschlossen|abgelaufen)|"
    r"(?:vaga )?(?:encerrad[ao]|preenchid[ao])|(?:bando )?(?:scadut[ao]|chius[ao])|(?:vacature )?(?:gesloten|"
    r"vervuld|ingevuld)|مغلق[ةه]?|منتهي[ةه]?|(?:вакансия )?закрыта|已结束|已截止|已关闭|募集終了|受付終了|"
    + alternatives(advertisements.CLOSED)
    + ")[.!]?",
    _I,
)
CLOSED_HEADING: Final = re.compile(
    r"(?:(?:closed|past|expired|filled|archived|previous|old) (?:\w+ )?(?:positions?|vacanc|jobs|calls|opportunit|"
    r"openings|recruitments?|postings|selections?|procedures?|competitions?)|^archived?\b|"
    r"(?:ongoing|running) (?:selections?|(?:selection|recruitment) (?:procedures?|processes))|"
    r"no longer (?:open|accepting)|"
    r"offres? (?:pourvues?|clôturées?|expirées?|archivées?)|postes? pourvus?|convocatorias? (?:cerradas?|"
    r"finalizadas?|pasadas)|abgeschlossen|abgelaufen|encerrad[ao]s|bandi (?:scaduti|chiusi)|scadut[ei]|"
    r"gesloten vacatures|وظائف مغلقة|архив|закрытые вакансии|已结束|已过期|募集終了)",
    _I,
)
JOB_PATH: Final = re.compile(
    r"(?:^|[/_.-])(?:jobs?|job-?(?:posting|offer|opening|detail|ad|listing|description|view)s?|vacanc(?:y|ies)|"
    r"openings?|positions?|opportunit(?:y|ies)|requisition|jobdetail|posting|postings|employment|recruit(?:ment)?|"
    r"offres?(?:-d-?emploi)?|emplois?|poste|recrutement|empleos?|vacantes?|convocatorias?|ofertas?|puestos?|"
    r"stellen?|stellenangebote?|stellenausschreibung(?:en)?|jobangebot|ausschreibung|vagas?|concursos?|bandi|"
    r"posizioni|offerte-lavoro|"
    r"vacatures?|zhaopin|recruit|saiyo|kyujin|vakansi[iy]|vakansii|wazaif|wzayf|tors?|jd|karriere|gh_jid|jobid|"
    r"job_id|apply|rekrutacja|lediga-jobb)(?=[/_.=?&-]|\d|$)",
    _I,
)
SYSTEM_HOST: Final = re.compile(
    r"(?:greenhouse\.io|lever\.co|workable\.com|smartrecruiters\.com|ashbyhq\.com|bamboohr\.com|recruitee\.com|"
    r"teamtailor\.com|personio\.(?:de|com)|myworkdayjobs\.com|reliefweb\.int/job|"
    r"icims\.com|taleo\.net|successfactors|jobvite\.com|breezy\.hr|applytojob\.com|pageuppeople\.com|"
    r"oraclecloud\.com|applitrack|unjobs|impactpool|devex\.com/jobs|talentsoft|cornerstoneondemand|csod\.com|"
    r"softgarden|rexx|umantis|join\.com|factorial|zohorecruit|hirehive|pinpointhq|eightfold|forms\.gle|"
    r"docs\.google\.com/forms|forms\.office\.com|jotform|"
    r"ceipal\.com|zohocdn\.com/recruit|ripplehire\.com|keka\.com|darwinbox|freshteam\.com|zappyhire\.com|rippling\.com|"
    r"comeet\.com?/|concludis|dvinci|ostendis|prospective\.ch|refline\.ch|onlyfy|prescreen|talention|hr4you|coveto|"
    r"tribepad|jobtrain|eploy|networxrecruitment|bullhorn|paylocity|paycom|ultipro|recruiting\.adp|dayforcehcm|"
    r"silkroad|brassring|avature|oleeo|cezanne|flatchr|taleez|digitalrecruiters|beetween|homerun\.co|traffit|emply|"
    r"hr-manager\.net|reachmee|varbi|jobylon|easycruit|webcruiter|recman|gupy\.io|bizneo|viterbit|hrmos|trakstar|"
    r"jobscore|clearcompany|governmentjobs\.com|neogov|peopleadmin|interfolio)",
    _I,
)
NOT_JOB_PATH: Final = re.compile(
    r"/(?:exhibitions?|ausstellung(?:en)?|expositions?|concerts?|films?|books?|performances?|academy|news|blog|"
    r"posts?|stories|story|articles?|events?|event|agenda|team|people|staff|person|persons|authors?|"
    r"category|categories|tags?|topics?|publications?|press|media|products?|product|shop|courses?|projects?|"
    r"donate|contact|faq|actualites?|evenements?|equipe|noticias|eventos|equipo|aktuelles|veranstaltungen|profile|"
    r"member|members|privacy|legal|cookies?|terms|help|support|videos?|podcasts?|wiki|tenders?|login|signin|"
    r"benefits|culture)(?:/|$|\.)",
    _I,
)
JOB_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:jobs?|vacanc(?:y|ies)|vacature|positions?|openings?|careers?|postings?|stellen?|"
    r"stellenangebote?|roles?|offre|offres|emploi|empleo|convocatoria|vaga|vagas|opportunit(?:y|ies)|job\w*|bando|"
    r"recruit\w*|kyujin|awsm-job\w*)(?=[\s_-]|$)",
    _I,
)
CHROME_WORDS: Final = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|submenu|breadcrumbs?|footer|sidebar|sidenavbox|widget-area|"
    r"cookies?|consent|gdpr|cc-window|onetrust\w*|pagination|pager|paging|pages|page-numbers|"
    r"social|socials|share|sharing|sharedaddy|languages?|language-switcher|lang-switch\w*|skip-link|toolbar|"
    r"topbar|top-bar|top-nav|masthead|tagcloud|related|related-posts|recent-posts|filters?|facets?|facetwp-facet|"
    r"comments?|newsletter|login-box|modal|popup|quicklinks|screen-reader-text|visually-hidden|sr-only)(?=[\s_-]|"
    r"$)",
    _I,
)
# Names that no list of jobs has.
STRONG_CHROME_WORDS: Final = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|submenu|breadcrumbs?|footer|cookies?|consent|gdpr|cc-window|onetrust\w*|"
    r"pagination|pager|page-numbers|social|socials|share|sharing|sharedaddy|language-switcher|languages?|lang-switch\w*|"
    r"skip-link|topbar|top-bar|top-nav|masthead|tagcloud|comments?|newsletter|login-box|modal|popup|quicklinks)(?=[\s_-]|$)",
    _I,
)
# Marks beside a title.
BADGE_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:badges?|tags?|pills?|chips?|ribbon|flag|status|is-new|new|label-new|tag-container|sticker)(?=[\s_-]|$)",
    _I,
)
CHALLENGE: Final = re.compile(
    r"_cf_chl_opt|cdn-cgi/challenge-platform|cf-challenge|cf_chl_|hcaptcha\.com/captcha|challenge-form|"
    r"g-recaptcha-response.{0,400}(?:robot|human|unusual)|px-captcha|perimeterx|_Incapsula_Resource|"
    r"Incapsula incident|"
    r"datadome|captcha-delivery\.com|awsWafCookieDomainList|aws-waf-token|AwsWafIntegration|sucuri_cloudproxy|"
    r"distil_r_captcha|/_sec/cp_challenge|ak_bmsc.{0,200}challenge|arkoselabs|geo\.captcha",
    _I | re.DOTALL,
)
CHALLENGE_TITLE: Final = re.compile(
    r"(?:just a moment|attention required|checking your browser|are you (?:a )?(?:human|robot)|"
    r"verify(?:ing)? (?:you are|that you are|you're) (?:a )?human|human verification|security check|"
    r"bot verification|access to this page has been denied|"
    r"please verify|ddos-guard|one moment, please|un momento|un instant|einen moment|pardon our interruption|"
    r"robot check|captcha|request rejected|请稍候|安全验证|验证码)",
    _I,
)
CHALLENGE_TEXT: Final = re.compile(
    r"(?:verify (?:that )?you are (?:a )?human|enable javascript and cookies to continue|"
    r"enable js and disable any ad ?blocker|"
    r"checking (?:if the site connection is secure|your browser before)|unusual traffic from your|"
    r"unusual activity (?:has been |was )?detected|the requested url was rejected|(?:enable|turn on) cookies|"
    r"your (?:request|access|ip(?: address)?) (?:has been|was|is) (?:blocked|temporarily blocked|denied)|"
    r"complete (?:the|a|this) (?:security check|captcha)|i['’]?m not a robot|"
    r"prove (?:that )?you are (?:not a robot|human)|"
    r"press (?:&|and) hold|vous n['’]êtes pas un robot|no eres un robot|kein roboter|non sei un robot|não (?:é|"
    r"sou) um robô|не робот|我不是机器人|私はロボットではありません)",
    _I,
)
ERROR_TITLE: Final = re.compile(
    r"(?:\b(?:404|403|410|500|502|503|504)\b|page (?:not found|cannot be found|can['’]t be found|doesn['’]t exist|"
    r"no longer exists|unavailable)|not found|(?:server|internal|application|database|fatal|unexpected) error|"
    r"service (?:temporarily )?unavailable|session (?:has )?expired|access denied|forbidden|bad gateway|"
    r"too many requests|rate limit|"
    r"unavailable (?:due to|for) legal reasons|(?:down for|scheduled) maintenance|be (?:right )?back (?:soon|shortly)|"
    r"gateway time-?out|"
    r"^(?:error|oops|whoops|uh[- ]oh)\b|something (?:has )?(?:went|gone) wrong|"
    r"temporarily (?:down|unavailable|offline)|"
    r"(?:site|sitio|sito) (?:is |web )?(?:(?:en|em|in) (?:maintenance|mantenimiento|manutenção|manutenzione)|"
    r"maintenance en cours|wartung|onderhoud|техническ\w+ работ|维护中|under maintenance|offline|"
    r"suspended)|under maintenance|"
    r"maintenance mode|account suspended|domain (?:is )?for sale|"
    r"page (?:introuvable|non trouvée)|erreur|página no encontrada|no encontrad[ao]|seite nicht gefunden|"
    r"nicht gefunden|wartungsarbeiten|página não encontrada|pagina non trovata|pagina niet gevonden|"
    r"الصفحة غير موجودة|страница не найдена|页面不存在|找不到(?:页面|頁面)|ページが見つかりません|お探しのページ|"
    r"メンテナンス)",
    _I,
)
# What a program prints as it falls over.
FAULT: Final = re.compile(
    r"\b(?:fatal error|parse error|uncaught \w*(?:exception|error)|sqlstate\[|traceback \(most recent call last\)|"
    r"stack trace:|server error in '/|there has been a critical error on this website|"
    r"error establishing a database connection)",
    _I,
)
LOGIN_TITLE: Final = re.compile(
    r"(?:sign[ -]?in|log[ -]?in|log on|authenticat|single sign-on|connexion|se connecter|identifiez-vous|"
    r"iniciar sesión|acceso|anmelden|anmeldung|einloggen|entrar|iniciar sessão|accedi|accesso|inloggen|aanmelden|"
    r"تسجيل الدخول|войти|вход|авторизация|登录|登錄|登入|ログイン|サインイン|logga in|giriş)",
    _I,
)
NEXT_WORDS: Final = re.compile(
    r"(?:next(?: page| \d+| results)?(?: of results)?|(?:show |load |view |see )?more (?:jobs|results|vacancies|"
    r"positions|openings)|older(?: posts| entries)?|"
    r"(?:page )?suivante?(?: page)?|page suivante|siguiente(?: página)?|página siguiente|(?:nächste|"
    r"weiter)(?: seite)?|nächste seite|vor|próxim[ao](?: página)?|seguinte|"
    r"(?:pagina )?successiv[ao]|avanti|prossim[ao]|volgende(?: pagina)?|다음(?: 페이지)?|التالي|الصفحة التالية|"
    r"التالية|"
    r"следующая(?: страница)?|вперед|вперёд|далее|下一页|下一頁|下页|次へ|次のページ|次|nästa|następna|sonraki|"
    r"neste|seuraava|go to next page)"
    r"\s*[›»→>⟩]*|[›»→⟩]|>{1,2}|&gt;",
    _I,
)
PREVIOUS_WORDS: Final = re.compile(
    r"prev|previous|précédent|anterior|zurück|vorherige|precedente|vorige|السابق|назад|предыдущ|上一|前へ|newer", _I
)
PLACE_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:locations?|loc|city|place|places|duty[-_]?stations?|duty|station|work[-_]?place|cities|stadt|plats|sted|"
    r"country|region|office|lieu|ville|ort|standort|miejsce|lokalizacja|mesto|lokacija|misto|helyszin|hely|konum|sehir|lokasi|"
    r"paikka|sijainti|paikkakunta|where|area|town|locality|address[-_]?locality|job[-_]?geo|"
    r"einsatzort|arbeitsort|ubicacion|lugar|sede|ciudad|localizacao|local|cidade|luogo|locatie|plaats|joblocation|"
    r"job-?location|map-?marker\w*|fa-map\w*|geo|icon-location|location_on|kinmuchi)(?=[\s_-]|$)",
    _I,
)
DEADLINE_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:deadline|closing|closing[-_]?date|close[-_]?date|closes|end|ends|due|hatarido|termin|rok|frist|until|"
    r"application[-_]?(?:end|close)\w*|date-?limite|expir\w*|due-?date|valid-?through|"
    r"valid-?until|dl|frist|bewerbungsfrist|fecha-?limite|cierre|prazo|scadenza|sluitingsdatum|end-?date|"
    r"shimekiri)(?=[\s_-]|$)",
    _I,
)
ORGANISATION_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:company|company-?name|employer|organi[sz]ation|arbeitgeber|entreprise|empresa|azienda)(?=[\s]|$)",
    _I,
)
PLACE_ICON: Final = re.compile(
    r"map-marker|map-pin|fa-location|location-dot|icon-location|geo-alt|dashicons-location|glyphicon-map|icon-pin|"
    r"location_on|marker|bi-geo|icon-map|icon-place|pin\b",
    _I,
)
APPLY_WORDS: Final = re.compile(
    r"\bapply|\b(?:this|the|full|view|see|about) (?:\w+ )?(?:job|position|role|vacancy|post|opening)|"
    r"recruitment pack|job description|\btors?\b|\bjd\b|terms of reference|postul|candidat|aplicar|bewerb|"
    r"stellenausschreibung|inscrever|edital|"
    r"sollicit|قدم|التقديم|откликнуться|подать заявку|申请|申請|応募|エントリー|ansök|başvur",
    _I,
)
TERMS: Final = re.compile(
    r"(?:per |ab )?(?:nach (?:vereinbarung|absprache)|by arrangement|as agreed|à convenir|a convenir|"
    r"da concordare|a combinar|in overleg|по договор[её]нности|"
    r"(?:ab |per )?sofort|immediate(?:ly)?|asap|as soon as possible|dès que possible|competitive|negotiable|"
    r"multiple|ongoing|rolling|urgent|paid|unpaid|salary.*)",
    _I,
)
DEPARTMENT: Final = re.compile(
    r"(?:engineering|finance|programs?|programmes?|marketing|operations|ops|human resources|hr|people|sales|legal|"
    r"communications?|product|design|it|technology|data|research|administration|support|customer \w+|"
    r"logistics|procurement|health|education|development|fundraising|policy|advocacy|science|security|strategy|"
    r"leadership|other|general|multiple|new|urgent|featured)(?: (?:team|department|&|and) ?\w*)?",
    _I,
)
EMPLOYMENT: Final = re.compile(
    r"\b(?:full[- ]?time|part[- ]?time|fixed[- ]term|permanent|temporary|contract(?:or)?|internship|freelance|"
    r"seasonal|volunteer|consultancy|CDI|CDD|stage|alternance|temps (?:plein|partiel)|tiempo completo|"
    r"medio tiempo|jornada completa|vollzeit|teilzeit|befristet|unbefristet|tempo integral|meio período|"
    r"tempo pieno|tempo determinato|tempo indeterminato|fulltime|parttime|voltijd|deeltijd)\b|دوام كامل|دوام جزئي|"
    r"полная занятость|частичная занятость|全职|兼职|实习|正社員|契約社員|パート|常勤|非常勤|"
    + alternatives(advertisements.EMPLOYMENT, is_whole=True),
    _I,
)
WORKPLACE: Final = re.compile(
    r"\b(?:remote(?:ly)?|hybrid|on-?site|home[- ]?based|home[- ]?office|telecommut\w+|télétravail|à distance|"
    r"teletrabajo|remoto|híbrido|a distancia|mobiles arbeiten|smart working|da remoto|thuiswerk\w*|anywhere)\b|"
    r"عن بعد|удаленн|удалённ|远程|リモート|在宅|" + alternatives(advertisements.WORKPLACE),
    _I,
)
NOT_JOB_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:courses?|events?|news|products?|team-?members?|members?|speakers?|stor(?:y|ies)|experts?|"
    r"profiles?|person|people|author|webinars?|publications?|testimonials?)(?=[\s_-]|$)",
    _I,
)
BYLINE: Final = re.compile(
    r"(?:\bby [A-Z][a-z]+\b|\bposted by\b|\bcomments?\b|\bmin(?:ute)?s? read\b|leave a comment|no comments|"
    r"author\b|par [A-Z][a-zé]+ |publié par|von [A-Z][a-z]+ |\d{1,2}:\d{2}\s*(?:[–-]|to|bis|à|h)\s*\d{1,2}:\d{2}|"
    r"add to calendar|register now|rsvp|tickets?\b|add to cart|\$\s?\d+\.\d\d|€\s?\d+,\d\d)"
)

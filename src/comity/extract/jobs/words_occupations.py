"""Words for what people do for a living, in some twenty languages; text in, whether a job is named in it."""

from __future__ import annotations

import re
from typing import Final

from comity.extract.jobs.words.occupations import ANYWHERE, INSIDE, STEMS

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
    """Whether a text names what somebody does for a living, or bears the marks of such a title."""
    return any(pattern.search(text) for pattern in (_WORDS, _INSIDE, _ANYWHERE, _GENDER, _WORKLOAD))

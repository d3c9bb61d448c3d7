"""Headings of the parts of one advertisement, and of lists of other jobs beside it, by language."""

from __future__ import annotations

from typing import Final

# Duties, requirements, what is offered.
PARTS: Final[dict[str, str]] = {
    "en": (
        "how to apply|application procedure|we offer|what we offer|selection criteria|minimum requirements|background"
        "|main duties|key duties|job summary|education|languages?|required documents|functions"
    ),
    "fr": "profil recherché|missions principales|conditions|nous offrons|pour postuler|activités|contexte",
    "es": "funciones|requisitos|ofrecemos|perfil requerido|tareas|cómo postular|formación requerida",
    "pt": "atribuições|oferecemos|perfil|competências|o que oferecemos|habilitações",
    "it": "requisiti|attività|offriamo|profilo|responsabilità|cosa offriamo",
    "de": (
        "ihre aufgaben|ihr profil|wir bieten|wir erwarten|deine aufgaben|dein profil|das erwartet|das bringen"
        "|anforderungsprofil"
    ),
    "nl": (
        "functieomschrijving|wij vragen|wij bieden|wat ga je doen|wie ben jij|wat bieden wij|jouw taken|functie-eisen"
    ),
    "sv": "arbetsuppgifter|kvalifikationer|om tjänsten|vi erbjuder|din profil|om rollen|vi söker dig",
    "da": "arbejdsopgaver|kvalifikationer|om jobbet|vi tilbyder|dine opgaver|ansvarsområder|om dig",
    "nb": "arbeidsoppgaver|kvalifikasjoner|vi tilbyr|personlige egenskaper|om stillingen|utdanning",
    "fi": "tehtävät|vaatimukset|tarjoamme|edellytämme|odotamme|tehtävänkuva|kelpoisuus|tehtävän kuvaus|työtehtävät",
    "is": "helstu verkefni|hæfniskröfur|menntunar",
    "et": "tööülesanded|nõudmised|ootused|pakume|ootused kandidaadile",
    "lv": "pienākumi|prasības|piedāvājam|galvenie pienākumi",
    "lt": "reikalavimai|funkcijos|siūlome|darbo pobūdis|pareigos",
    "pl": "wymagania|obowiązki|oferujemy|zadania|twój profil|zakres obowiązków|oczekujemy|zakres zadań",
    "cs": "náplň práce|požadujeme|nabízíme|požadavky|popis pozice|koho hledáme|pracovní náplň",
    "sk": "náplň práce|požadujeme|ponúkame|požiadavky|popis pozície",
    "hu": "feladatok|elvárások|amit kínálunk|követelmények|munkaköri leírás|főbb feladatok|kínálunk|feladatkör",
    "ro": "responsabilități|cerințe|oferim|atribuții|descrierea postului|condiții|ce oferim",
    "hr": "opis posla|uvjeti|kvalifikacije|odgovornosti|nudimo|opis radnog mjesta",
    "sr": (
        "opis posla|uslovi|kvalifikacije|odgovornosti|nudimo|опис посла|услови|квалификације|одговорности|нудимо"
        "|zaduženja|задужења"
    ),
    "sl": "opis dela|pogoji|ponujamo|zahteve|opis del in nalog",
    "mk": "опис на работа|услови|квалификации|нудиме|одговорности",
    "sq": "përgjegjësitë|kërkesat|kualifikimet|ofrojmë",
    "bg": "отговорности|изисквания|предлагаме|задължения|основни задължения",
    "uk": "обов['’ʼ]язки|вимоги|ми пропонуємо|умови роботи|кваліфікація|пропонуємо|завдання",
    "ru": "должностные обязанности|мы предлагаем|обязанности|задачи|квалификация|что нужно делать",
    "el": "αρμοδιότητες|προσόντα|καθήκοντα|περιγραφή θέσης|απαιτούμενα προσόντα|προσφέρουμε|κύρια καθήκοντα",
    "tr": "görevler|aranan nitelikler|nitelikler|iş tanımı|sorumluluklar|gereklilikler|genel nitelikler|görev tanımı",
    "az": "vəzifə öhdəlikləri|tələblər|namizədə tələblər",
    "kk": "міндеттері|талаптар|міндеттер",
    "hy": "պարտականություններ|պահանջներ|որակավորում",
    "ka": "მოვალეობები|მოთხოვნები|კვალიფიკაცია|ფუნქციები|პასუხისმგებლობა|ძირითადი მოვალეობები",
    "he": "דרישות|תיאור התפקיד|תחומי אחריות|כישורים|דרישות התפקיד|מה אנחנו מציעים",
    "ar": "المهام|الواجبات|الشروط|المهارات|الخبرات|المهام والمسؤوليات|المتطلبات|شروط",
    "fa": "شرح وظایف|شرایط احراز|وظایف|مهارت|الزامات|مزایا|شرایط",
    "ur": "ذمہ داریاں|اہلیت|فرائض",
    "hi": "दायित्व|मुख्य दायित्व|योग्यता|कर्तव्य|जिम्मेदारियां|पात्रता|आवश्यक",
    "ne": "योग्यता|जिम्मेवारी|कार्य विवरण",
    "bn": "দায়িত্ব|যোগ্যতা|শিক্ষাগত যোগ্যতা|কাজের বিবরণ|অভিজ্ঞতা|প্রধান দায়িত্ব",
    "ta": "தகுதிகள்|பொறுப்புகள்|தகுதி",
    "si": "සුදුසුකම්|රාජකාරි|වගකීම්",
    "th": "คุณสมบัติ|หน้าที่|ความรับผิดชอบ|ลักษณะงาน|สวัสดิการ|หน้าที่ความรับผิดชอบ",
    "lo": "ໜ້າທີ່|ຄຸນສົມບັດ",
    "km": "ភារកិច្ច|លក្ខខណ្ឌ|គុណវុឌ្ឍិ|តួនាទី",
    "my": "တာဝန်|အရည်အချင်း|လိုအပ်ချက်",
    "vi": "mô tả công việc|yêu cầu|quyền lợi|trách nhiệm|nhiệm vụ",
    "id": "tanggung jawab|kualifikasi|persyaratan|deskripsi pekerjaan|tugas|tugas utama",
    "ms": "tanggungjawab|kelayakan|syarat|skop tugas",
    "sw": "majukumu|sifa|vigezo|uzoefu|elimu|majukumu makuu|sifa za mwombaji",
    "am": "ተፈላጊ|የሥራ ኃላፊነት|የትምህርት ደረጃ|የሥራ ልምድ|ተግባር|ዋና ዋና ተግባራት|የስራ ልምድ",
    "ca": "funcions|requisits|oferim|tasques",
    "ko": "담당업무|자격요건|주요업무|우대사항|지원자격|업무내용|모집요강",
    "ja": "業務内容|応募条件|待遇|職務内容|求める人物|応募方法|応募資格",
    "zh": "岗位职责|任职要求|任职资格|职位描述|工作内容|福利待遇|職務說明|資格條件|应聘条件|岗位要求",
}
# Over a list of other jobs, beside the one that a page is about.
OTHERS: Final[dict[str, str]] = {
    "en": (
        "(?:similar|related|other|more|further|recommended|featured|latest|recent) (?:\\w+ )?(?:jobs?|positions?"
        "|vacanc\\w+|roles?|openings?|opportunit\\w+|postings?)|you (?:may|might) (?:also )?(?:like"
        "|be interested).{0,30}|people also viewed|jobs like this"
    ),
    "fr": "(?:autres|offres similaires|postes similaires|ces offres|offres qui).{0,40}",
    "es": (
        "(?:otras|otros|más) (?:ofertas|vacantes|puestos|convocatorias|empleos).{0,20}|(?:ofertas|vacantes"
        "|empleos) (?:similares|relacionad\\w+)"
    ),
    "pt": (
        "(?:outras|mais) (?:vagas|oportunidades|ofertas).{0,20}|(?:vagas|ofertas|oportunidades) (?:semelhantes"
        "|similares|relacionadas)"
    ),
    "it": "(?:altre|posizioni simili|offerte simili|annunci simili).{0,30}",
    "de": (
        "(?:ähnliche|weitere|andere|verwandte) (?:stellen|jobs|positionen|vakanzen)\\w*|das könnte (?:sie|dich).{0,30}"
    ),
    "nl": "(?:andere|vergelijkbare|gerelateerde|meer) (?:vacatures|functies).{0,20}",
    "sv": "(?:liknande|andra|fler|relaterade) (?:jobb|tjänster|annonser)",
    "da": "(?:lignende|andre|flere|relaterede) (?:job|stillinger)",
    "nb": "(?:lignende|andre|flere|relaterte) (?:stillinger|jobber)",
    "fi": (
        "(?:muita|muut|vastaavia|samankaltaisia) (?:avoimia )?(?:työpaikkoja|työpaikat|tehtäviä|paikkoja|ilmoituksia)"
    ),
    "pl": "(?:podobne|inne|pozostałe|powiązane) (?:oferty|stanowiska|ogłoszenia).{0,20}",
    "cs": "(?:podobné|další|související) (?:pozice|nabídky|místa|inzeráty).{0,20}|podobná místa|další volná místa",
    "sk": "(?:podobné|ďalšie|súvisiace) (?:pozície|ponuky|miesta).{0,20}",
    "hu": "(?:hasonló|további|egyéb|kapcsolódó) (?:állás|pozíci|munk|hirdet)\\w*",
    "ro": (
        "(?:posturi|joburi|anunțuri|oferte|poziții) similare|alte (?:posturi|joburi|poziții|oferte|anunțuri).{0,20}"
    ),
    "hr": "(?:slični|slična|ostali|ostala|drugi) (?:natječaji|oglasi|radna mjesta|poslovi)",
    "sr": (
        "(?:slični|slicni|ostali|drugi) (?:konkursi|oglasi|poslovi)|(?:слични|остали|други) (?:конкурси|огласи|послови)"
    ),
    "bg": "(?:подобни|други|още) (?:обяви|позиции|работни места)",
    "uk": "(?:схожі|подібні|інші) вакансії",
    "ru": "(?:похожие|другие|еще|ещё|схожие) вакансии",
    "lt": "(?:panašūs|kiti) (?:skelbimai|darbo skelbimai|pasiūlymai)",
    "lv": "(?:līdzīgas|citas) vakances",
    "et": "(?:sarnased|teised) (?:tööpakkumised|töökohad)",
    "el": "(?:παρόμοιες|άλλες|σχετικές) (?:θέσεις|αγγελίες).{0,20}",
    "tr": "(?:benzer|diğer|ilgili) (?:ilanlar|pozisyonlar|iş ilanları)",
    "he": "משרות (?:דומות|נוספות|קשורות)|עוד משרות",
    "ar": "(?:وظائف|شواغر|فرص) (?:مشابهة|أخرى|مماثلة|ذات صلة)",
    "fa": "(?:مشاغل|فرصت‌های شغلی|آگهی‌های|فرصتهای شغلی|موقعیت‌های شغلی) (?:مشابه|مرتبط|دیگر)",
    "hi": "(?:समान|अन्य|संबंधित|मिलती-जुलती) (?:नौकरियाँ|नौकरियां|रिक्तियाँ|रिक्तियां|पद)",
    "bn": "(?:অনুরূপ|অন্যান্য|একই ধরনের|সম্পর্কিত) (?:চাকরি|পদ|নিয়োগ)",
    "th": "(?:งาน|ตำแหน่ง|ตำแหน่งงาน)(?:ที่คล้ายกัน|ใกล้เคียง|อื่นๆ|ที่เกี่ยวข้อง|ที่ใกล้เคียง|คล้ายกัน)",
    "vi": "(?:việc làm|vị trí|công việc) (?:tương tự|khác|liên quan)",
    "id": "(?:lowongan|pekerjaan|posisi) (?:serupa|lain|lainnya|terkait|sejenis)",
    "sw": "(?:nafasi|kazi) (?:zinazofanana|nyingine|zingine|sawa)",
    "ka": "(?:მსგავსი|სხვა) ვაკანსიები",
    "my": "(?:အလားတူ|ဆင်တူ|အခြား).{0,30}",
    "am": "(?:ተመሳሳይ|ሌሎች).{0,30}",
    "ko": "(?:유사|비슷한|다른|관련) ?(?:채용|공고|포지션)(?: ?공고)?",
    "ja": "(?:類似|関連|その他|似ている|他)の?(?:求人|募集|職種|採用).{0,10}",
    "zh": "(?:相似|类似|相关|其他|更多|推荐|類似|相關)(?:职位|岗位|職位|招聘|職缺)",
    "ca": "(?:altres|més) ofertes.{0,20}|ofertes similars",
}
# Pages of other calls and offers, which have last days and places as well: tenders, courses, events, grants.
OTHER_PAGES: Final[dict[str, str]] = {
    "en": (
        "tenders?\\b|procurement|requests? for (?:proposals?|quotations?)|rf[pq]s?\\b|invitations? to bid|bids?\\b"
        "|courses?\\b|trainings?\\b|events?\\b|webinars?|workshops?\\b|scholarships?|grants?\\b|calls? for proposals?"
        "|auctions?"
    ),
    "fr": (
        "appels? d['’]offres?|marchés publics|formations?\\b|événements?|bourses?\\b|appels? à projets?|ateliers?\\b"
    ),
    "es": "licitaci\\w+|contrataciones|cursos?\\b|eventos?\\b|becas?\\b|talleres|concursos públicos|subvenciones",
    "pt": "licitaç\\w+|cursos?\\b|eventos?\\b|aquisiç\\w+|bolsas de estudo|concursos públicos de aquisição",
    "it": "gare d['’]appalto|appalti|corsi\\b|eventi\\b|borse di studio|bandi di gara",
    "de": (
        "vergabe\\w*|beschaffung|kurse\\b|seminare|veranstaltungen|stipendien|fortbildung\\w*"
        "|öffentliche ausschreibungen"
    ),
    "nl": "aanbestedingen|cursussen|evenementen|trainingen",
    "sv": "upphandling\\w*|kurser|evenemang|utbildningar",
    "da": "udbud\\b|kurser|arrangementer",
    "nb": "anskaffelser|anbud|kurs\\b|arrangementer",
    "fi": "hankinnat|tarjouspyynn\\w+|kurssit|tapahtumat|koulutukset",
    "pl": "zamówieni\\w+ publiczn\\w+|przetarg\\w*|szkoleni\\w+|kursy|wydarzenia|zapytani\\w+ ofertow\\w+",
    "cs": "veřejné zakázky|výběrová řízení na dodavatele|kurzy|akce\\b|školení",
    "sk": "verejné obstarávanie|kurzy|podujatia|školenia",
    "hu": "közbeszerzés\\w*|tanfolyam\\w*|képzés\\w*|rendezvény\\w*|ösztöndíj\\w*|ajánlatkérés\\w*",
    "ro": "achiziții|licitații|cursuri|evenimente|burse\\b",
    "hr": "javna nabava|tečajevi|događanja|stipendije",
    "sr": "javne nabavke|kursevi|događaji|stipendije|јавне набавке|курсеви|догађаји|стипендије|тендери",
    "bg": "обществени поръчки|търгове|курсове|събития|обучения",
    "uk": "тендер\\w*|закупівл\\w*|курси|заходи|навчання|гранти",
    "ru": "тендер\\w*|закупк\\w*|курсы|мероприятия|обучение|гранты",
    "el": "διαγωνισμ\\w+ προμήθει\\w*|προμήθειες|σεμινάρια|εκδηλώσεις|διαγωνισμοί|μαθήματα",
    "tr": "ihale\\w*|satın alma|kurslar|etkinlikler|eğitimler|burslar",
    "he": "מכרזי רכש|רכש|קורסים|אירועים|הכשרות",
    "ar": "مناقص\\w*|عطاءات|دورات|فعاليات|مشتريات|منح دراسية",
    "fa": "مناقص\\w*|مزایده|دوره‌ها|دوره های|رویدادها|بورسیه",
    "hi": "निविदा\\w*|पाठ्यक्रम|कार्यक्रम|प्रशिक्षण",
    "bn": "দরপত্র|কোর্স|প্রশিক্ষণ|অনুষ্ঠান",
    "th": "ประกวดราคา|จัดซื้อจัดจ้าง|หลักสูตร|อบรม|กิจกรรม",
    "vi": "đấu thầu|mời thầu|khóa học|sự kiện|học bổng",
    "id": "tender|lelang|pengadaan|kursus|pelatihan|acara\\b|beasiswa",
    "sw": "zabuni|kozi\\b|mafunzo|matukio|ufadhili",
    "ka": "ტენდერ\\w*|შესყიდვ\\w*|კურსები|ღონისძიებები|ტრენინგ\\w*",
    "my": "တင်ဒါ|သင်တန်း\\w*",
    "am": "ጨረታ|ሥልጠና|ስልጠና",
    "ko": "입찰|강좌|교육 ?과정|행사",
    "ja": "入札|調達|講座|研修|イベント|助成",
    "zh": "采购|招标|投标|课程|培训|活动|採購|標案",
    "lt": "viešieji pirkimai|kursai|renginiai|mokymai",
    "lv": "iepirkumi|kursi|pasākumi",
    "et": "hanked|riigihanked|kursused|sündmused|koolitused",
}

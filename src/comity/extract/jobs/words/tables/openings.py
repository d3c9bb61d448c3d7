"""How pages and headings name careers and openings, and how they say that there are none, by language."""

from __future__ import annotations

from typing import Final

# Over a list of jobs: "Open positions". Each is the beginning of a word or phrase.
OPENINGS: Final[dict[str, str]] = {
    "sv": (
        "lediga tjänster|lediga jobb|lediga befattningar|jobba hos|jobb hos|våra jobb|aktuella tjänster|platsannonser"
    ),
    "da": "ledige stillinger|ledige job|stillingsopslag|jobopslag|aktuelle job|ledig stilling",
    "nb": "ledige stillinger|ledig stilling|stillingsannonser|utlyste stillinger|ledige jobber",
    "fi": "avoimet työpaikat|avoimet paikat|avoimia työpaikkoja|avoimet tehtävät|avoinna olevat|työpaikkailmoitukset",
    "is": "laus störf|störf í boði|lausar stöður|starfsauglýsingar",
    "et": "vabad töökohad|tööpakkumised|vabad ametikohad|avalikud konkursid|tööpakkumine",
    "lv": "vakances|brīvās darba vietas|darba piedāvājumi|aktuālās vakances",
    "lt": "darbo skelbimai|darbo pasiūlymai|laisvos darbo vietos|laisvos pareigybės|karjeros galimybės",
    "pl": (
        "oferty pracy|ogłoszenia o pracę|wolne stanowiska|aktualne oferty|aktualne rekrutacje|wakaty|nabory|praca u nas"
    ),
    "cs": (
        "volná místa|volné pozice|volná pracovní místa|nabídka práce|nabídka zaměstnání|otevřené pozice"
        "|aktuální nabídka|výběrová řízení|pracovní nabídky|hledáme"
    ),
    "sk": (
        "voľné miesta|voľné pozície|voľné pracovné miesta|pracovné ponuky|ponuka práce|otvorené pozície"
        "|výberové konania"
    ),
    "hu": (
        "nyitott pozíció|álláshirdetés|állásajánlat|aktuális állás|betöltetlen állás|álláspályázat|állásaink"
        "|aktuális pozíció|szabad állás|meghirdetett állás|állások|állaslehetőség|álláslehetőség|nyitott állás"
        "|pályázati felhívás"
    ),
    "ro": (
        "posturi vacante|locuri de muncă|oferte de muncă|poziții deschise|joburi|posturi disponibile"
        "|anunțuri de angajare|concursuri|poziții vacante|oportunități de angajare|posturi deschise"
    ),
    "hr": (
        "otvorena radna mjesta|slobodna radna mjesta|natječaji|otvorene pozicije|oglasi za posao|otvoreni natječaji"
        "|slobodna mjesta|radna mjesta"
    ),
    "sr": (
        "otvorene pozicije|slobodna radna mesta|konkursi za posao|oglasi za posao|otvoreni konkursi"
        "|otvorena radna mesta|отворене позиције|слободна радна места|огласи за посао|отворени конкурси"
        "|отворена радна места|конкурси за посао|конкурси"
    ),
    "sl": (
        "prosta delovna mesta|prosta mesta|razpisi|odprta delovna mesta|zaposlitvene priložnosti"
        "|razpisana delovna mesta"
    ),
    "mk": "слободни работни места|отворени позиции|огласи за работа|конкурси|отворени работни места",
    "sq": "vende të lira pune|pozicione të hapura|vende vakante|shpallje pune|konkurse|mundësi punësimi",
    "bg": (
        "свободни позиции|свободни места|обяви за работа|отворени позиции|работни места|свободни работни места|конкурси"
    ),
    "uk": (
        "вакансі|відкриті позиції|відкриті вакансії|вільні посади|оголошення про вакансії|вакантні посади"
        "|пропозиції роботи"
    ),
    "be": "вакансіі|адкрытыя вакансіі",
    "ru": (
        "открытые вакансии|вакантные должности|свободные вакансии|актуальные вакансии|конкурсы на замещение"
        "|объявления о работе"
    ),
    "el": (
        "θέσεις εργασίας|ανοιχτές θέσεις|ανοικτές θέσεις|διαθέσιμες θέσεις|κενές θέσεις|προκηρύξεις"
        "|ευκαιρίες καριέρας|αγγελίες εργασίας|προκηρύξεις θέσεων|προσκλήσεις εκδήλωσης"
    ),
    "tr": (
        "açık pozisyon|iş ilanları|açık iş|iş fırsatları|güncel ilanlar|kariyer fırsatları|açık kadrolar|ilanlarımız"
    ),
    "az": "vakansiyalar|açıq vakansiya|boş iş yerləri|iş elanları|aktiv vakansiya|mövcud vakansiya",
    "kk": "бос жұмыс орындары|бос орындар|вакансиялар|ашық вакансиялар|бос лауазымдар",
    "ky": "бош орундар|вакансиялар|бош жумуш орундары",
    "uz": "bo'sh ish o'rinlari|vakansiyalar|ochiq vakansiyalar|bo‘sh ish o‘rinlari|ish o'rinlari",
    "mn": "ажлын байр|нээлттэй ажлын байр|сул ажлын байр|ажлын зар",
    "hy": "թափուր աշխատատեղեր|թափուր հաստիքներ|աշխատատեղեր|թափուր պաշտոններ|աշխատանքի հայտարարություն|բաց հաստիքներ",
    "ka": "ვაკანსიები|ღია ვაკანსიები|ვაკანტური|თავისუფალი პოზიციები|ვაკანსია|ღია პოზიციები|მიმდინარე ვაკანსიები",
    "he": (
        "משרות פנויות|משרות פתוחות|דרושים|המשרות שלנו|משרות|הזדמנויות תעסוקה|מכרזי כוח אדם|תפקידים פתוחים"
        "|מכרזים פומביים"
    ),
    "ar": (
        "الوظائف الشاغرة|الشواغر|فرص العمل|الوظائف المتاحة|فرص وظيفية|إعلانات التوظيف|وظائف شاغرة|الفرص الوظيفية"
        "|فرص التوظيف|عروض العمل|مناصب شاغرة"
    ),
    "fa": (
        "فرصت‌های شغلی|فرصتهای شغلی|فرصت های شغلی|موقعیت‌های شغلی|موقعیتهای شغلی|موقعیت های شغلی|آگهی استخدام"
        "|آگهی‌های استخدام|آگهیهای استخدام|استخدام|مشاغل|ردیف‌های شغلی|فرصت شغلی"
    ),
    "ps": "تشې دندې|دندې|کاري فرصتونه",
    "ur": "خالی آسامیاں|آسامیاں|ملازمتیں|ملازمت کے مواقع|نوکریاں|موجودہ آسامیاں|خالی اسامیاں|اسامیاں",
    "hi": (
        "रिक्तियाँ|रिक्तियां|वर्तमान रिक्तियां|नौकरियां|नौकरियाँ|रिक्त पद|भर्ती|खुले पद|रोजगार के अवसर|रोज़गार|उपलब्ध पद|वर्तमान रिक्तियाँ"
    ),
    "mr": "रिक्त पदे|नोकरीच्या संधी|भरती",
    "ne": "रिक्त पदहरू|रोजगारीका अवसर|जागिर|खुला पद|विज्ञापन|रोजगारी",
    "bn": "চাকরির সুযোগ|শূন্যপদ|শূন্য পদ|নিয়োগ বিজ্ঞপ্তি|চলমান নিয়োগ|চাকরি|বর্তমান শূন্যপদ|কর্মখালি|খালি পদ|চাকরির বিজ্ঞপ্তি",
    "ta": "வேலைவாய்ப்பு|காலிப் பணியிடங்கள்|பணியிடங்கள்|வேலை வாய்ப்பு|தற்போதைய காலியிடங்கள்|காலியிடங்கள்|வெற்றிடங்கள்",
    "te": "ఉద్యోగ అవకాశాలు|ఖాళీలు|ఉద్యోగాలు",
    "kn": "ಉದ್ಯೋಗಾವಕಾಶಗಳು|ಖಾಲಿ ಹುದ್ದೆಗಳು|ಉದ್ಯೋಗಗಳು",
    "ml": "ഒഴിവുകൾ|തൊഴിലവസരങ്ങൾ|ജോലി ഒഴിവുകൾ",
    "pa": "ਨੌਕਰੀਆਂ|ਖਾਲੀ ਅਸਾਮੀਆਂ",
    "gu": "નોકરીની તકો|ખાલી જગ્યાઓ|ભરતી",
    "si": "ඇබෑර්තු|පුරප්පාඩු|රැකියා අවස්ථා|රැකියා ඇබෑර්තු|රැකියා",
    "th": (
        "ตำแหน่งงานว่าง|ตำแหน่งที่เปิดรับ|ร่วมงานกับเรา|เปิดรับสมัคร|รับสมัครงาน|งานที่เปิดรับ|ตำแหน่งว่าง|ประกาศรับสมัคร|ตำแหน่งงาน"
        "|รับสมัครบุคลากร"
    ),
    "lo": "ຕຳແໜ່ງງານ|ຕໍາແໜ່ງວ່າງ|ຮັບສະໝັກ|ວຽກວ່າງ|ໂອກາດວຽກ|ຕຳແໜ່ງວ່າງ",
    "km": "ឱកាសការងារ|ការងារ|ជ្រើសរើសបុគ្គលិក|មុខតំណែងទំនេរ|ការជ្រើសរើស|ដំណឹងជ្រើសរើស",
    "my": "အလုပ်အကိုင်|လစ်လပ်ရာထူး|အလုပ်ခေါ်စာ|အလုပ်အကိုင်အခွင့်အလမ်း|ရာထူးများ|အလုပ်ခေါ်ယူ|လစ်လပ်နေရာ|ဝန်ထမ်းခေါ်",
    "vi": (
        "vị trí tuyển dụng|vị trí đang tuyển|tuyển dụng|cơ hội việc làm|tin tuyển dụng|việc làm|đang tuyển"
        "|cơ hội nghề nghiệp"
    ),
    "id": (
        "lowongan|kesempatan kerja|posisi yang tersedia|posisi tersedia|lowongan kerja|peluang karir|peluang karier"
        "|posisi terbuka"
    ),
    "ms": "jawatan kosong|kekosongan jawatan|peluang kerjaya|kerja kosong|iklan jawatan",
    "tl": "bakanteng posisyon|mga trabaho|bukas na posisyon|mga bakante|oportunidad sa trabaho",
    "sw": "nafasi za kazi|nafasi zilizo wazi|ajira|nafasi wazi|fursa za kazi|matangazo ya kazi|fursa za ajira",
    "so": "shaqooyin|boosaska banaan|fursadaha shaqo|shaqooyinka banaan",
    "ha": "guraben aiki|ayyuka|damar aiki",
    "yo": "àwọn iṣẹ́|ipò iṣẹ́",
    "am": "ክፍት የሥራ ቦታዎች|ክፍት የስራ ቦታዎች|የሥራ ማስታወቂያ|የስራ ማስታወቂያ|ክፍት ቦታ|ክፍት የሥራ|ክፍት የስራ|የሥራ እድሎች",
    "ti": "ክፍት ናይ ስራሕ|ክፍት ስራሕ",
    "rw": "imyanya y'akazi|akazi|imyanya ipigwanirwa",
    "zu": "izikhala zomsebenzi|amathuba omsebenzi",
    "af": "vakatures|poste beskikbaar|vakante poste",
    "mg": "tolotra asa|asa misokatra",
    "ht": "òf travay|djòb disponib|travay ki disponib",
    "ca": (
        "ofertes de feina|ofertes de treball|vacants|places vacants|convocatòries|borsa de treball|ofertes actives"
        "|llocs vacants"
    ),
    "gl": "ofertas de emprego|prazas vacantes|convocatorias",
    "eu": "lan eskaintza|lanpostu hutsak|enplegu eskaintza|lan-eskaintza|enplegu publikoa",
    "mt": "postijiet vakanti|pożizzjonijiet vakanti|opportunitajiet ta' xogħol|vakanzi",
    "ga": "folúntais|poist|deiseanna fostaíochta|folúntas",
    "cy": "swyddi gwag|swyddi|cyfleoedd gwaith",
    "ko": "채용 ?공고|채용 ?정보|모집 ?공고|진행 ?중인 ?채용|구인|직원 ?모집|입사 ?지원|채용 ?안내|인재 ?채용",
    "zh": "招聘|招募|职位|職位|岗位|職缺|空缺|招贤纳士|人才招聘|诚聘|徵才|工作機會|工作机会|社会招聘|校园招聘",
    "ja": "募集職種|求人|採用情報|募集中|募集要項|職員募集|スタッフ募集|公募情報|採用案内|教員公募|募集一覧",
    "fr": (
        "offres d['’]emploi|postes? ouverts?|opportunités d['’]emploi|offres de stage|nos postes|nous recrutons"
        "|on recrute|avis de recrutement|avis de vacance|appel à candidatures"
    ),
    "es": (
        "puestos abiertos|empleos disponibles|ofertas activas|oportunidades de empleo|vacantes|trabaja con nosotros"
        "|búsquedas abiertas|búsquedas activas|bolsa de trabajo|bolsa de empleo|plazas|ofertas de trabajo"
    ),
    "de": "offene positionen|freie stellen|jobs bei|offene jobs|stellenmarkt|vakanzen|ausschreibungen|wir suchen",
    "pt": (
        "vagas|oportunidades de carreira|ofertas de emprego|vagas abertas|bolsas|procedimentos concursais|recrutamento"
    ),
    "it": (
        "posizioni aperte|offerte di lavoro|annunci di lavoro|bandi|concorsi|selezioni in corso|opportunità"
        "|ricerche aperte"
    ),
    "nl": "vacatures|openstaande vacatures|openstaande functies|actuele vacatures|werken bij",
}
# What a page about working there is called, besides the above: in its title, its heading or its address.
CAREERS: Final[dict[str, str]] = {
    "en": "vacancy|vacancies|get involved|work for us|jobseekers?|staffing|come work|roster|consultanc",
    "sv": "jobb|karriär|jobba|lediga|anställning|rekrytering",
    "da": "karriere|stillinger|ledige|rekruttering",
    "nb": "karriere|stillinger|stilling|jobb|rekruttering",
    "fi": "työpaikat|ura|rekry|töihin|työnhak|tyopaikat|avoimet",
    "is": "störf|starf|atvinna|storf",
    "et": "karjäär|töökoh|tööle|karjaar|tookoh|toopakkum|tööpakkum",
    "lv": "karjera|karjeras|vakances|vakance|darbs|darba",
    "lt": "karjera|darbas|karjeros|darbo",
    "pl": "praca|kariera|rekrutacja|pracuj|zatrudnienie|oferty|nabór|nabor",
    "cs": "kariéra|kariera|práce|volná|volne|zaměstnání|zamestnani|nábor",
    "sk": "kariéra|kariera|práca|praca|voľné|volne|zamestnanie",
    "hu": "karrier|állás|allas|munka|dolgozz|csatlakozz|toborzás|palyazat|pályázat",
    "ro": "cariere|cariera|carieră|angaj|locuri de munca|joburi|recrutare|posturi|vacante|munca",
    "hr": "karijera|karijere|zaposlenje|posao|natječaj|natjecaj|poslovi|zapošljavanje|radna",
    "sr": (
        "karijera|posao|poslovi|zaposlenje|konkurs|zapošljavanje|каријера|посао|послови|запослење|конкурс|запошљавање"
    ),
    "sl": "kariera|zaposlitev|delovna|razpis|zaposlit",
    "mk": "кариера|вработување|работа|оглас",
    "sq": "karrier|punësim|vende pune|punesim|pune",
    "bg": "кариера|работа|кариери|позиции|обяви|rabota|kariera|karieri",
    "uk": "вакансі|кар[’'ʼ]?єр|робота|працевлаштування|приєднуй|vakansii|kariera|robota|vakansiyi",
    "be": "вакансі|кар'ера|праца",
    "ru": "ваканси|карьера|трудоустройство|работа|rabota|vakansii|vakansiy|karera",
    "el": "καριέρα|καριερα|εργασία|εργασια|θέσεις|προσλήψεις|σταδιοδρομία|theseis|ergasia|kariera",
    "tr": "kariyer|iş ilan|is ilan|insan kaynakları|iş başvuru|is basvuru|ilanlar|insan kaynaklari",
    "az": "karyera|vakansiya|iş elan|vakansiyalar",
    "kk": "мансап|жұмыс|вакансия",
    "ky": "карьера|жумуш|вакансия",
    "uz": "karyera|vakansiya|ish o[‘'ʻ]?r|vakansiyalar",
    "mn": "ажлын|карьер|хүний нөөц",
    "hy": "կարիերա|աշխատանք|աշխատատեղ",
    "ka": "კარიერა|ვაკანსი|დასაქმება|სამუშაო",
    "he": "קריירה|דרושים|משרות|משרה|הצטרפו|עבודה|מכרזי",
    "ar": "وظائف|وظيف|توظيف|شواغر|انضم|فرص عمل|عمل معنا|التوظيف|مهن",
    "fa": "استخدام|شغل|فرصت|همکاری با ما|مشاغل|کاریابی",
    "ur": "ملازمت|نوکری|کیریئر|آسامی|روزگار|اسامی",
    "hi": "करियर|नौकरी|भर्ती|रोजगार|रोज़गार|रिक्ति|कैरियर|नियुक्ति",
    "mr": "करिअर|नोकरी|भरती",
    "ne": "करियर|क्यारियर|रोजगार|जागिर|रिक्त",
    "bn": "ক্যারিয়ার|চাকরি|নিয়োগ|শূন্যপদ|কর্মসংস্থান|ক্যারিয়ার|নিয়োগ",
    "ta": "வேலை|பணி|தொழில்",
    "te": "ఉద్యోగ|కెరీర్",
    "kn": "ಉದ್ಯೋಗ|ವೃತ್ತಿ",
    "ml": "ജോലി|കരിയർ|തൊഴിൽ",
    "pa": "ਨੌਕਰੀ|ਕਰੀਅਰ",
    "gu": "કારકિર્દી|નોકરી|ભરતી",
    "si": "රැකියා|වෘත්තීය|ඇබෑර්තු",
    "th": "ร่วมงาน|สมัครงาน|ตำแหน่งงาน|อาชีพ|รับสมัคร|งานว่าง|สรรหา",
    "lo": "ວຽກ|ຮັບສະໝັກ|ອາຊີບ|ສະໝັກງານ",
    "km": "ការងារ|អាជីព|ជ្រើសរើស",
    "my": "အလုပ်|အသက်မွေး|ရာထူး|ဝန်ထမ်း",
    "vi": "tuyển dụng|tuyen dung|việc làm|viec lam|nghề nghiệp|sự nghiệp|tuyen-dung|gia nhập",
    "id": "karir|karier|lowongan|bergabung|rekrutmen|pekerjaan",
    "ms": "kerjaya|jawatan|pekerjaan",
    "tl": "trabaho|karera|bakante",
    "sw": "ajira|kazi|nafasi",
    "so": "shaqo|shaqooyin",
    "ha": "aiki|ayyuka",
    "am": "ሥራ|ስራ|ቅጥር",
    "rw": "akazi|imyanya",
    "af": "vakature|loopban",
    "zu": "umsebenzi|izikhala",
    "ca": "feina|treballa|ocupació|convocatòri|borsa de treball|convocatori",
    "gl": "emprego|traballa",
    "eu": "enplegu|lan eskaintza|lanpostu",
    "mt": "karriera|impjieg|vakanzi|xogħol",
    "ga": "folúntais|gairm|fostaíocht|foluntais|poist",
    "cy": "swyddi|gyrfa|gweithio",
    "ko": "채용|모집|인재|커리어|입사|구인|일자리",
    "zh": "招聘|职位|職位|加入我们|加入我們|人才|招募|徵才|职业|岗位|求才|招贤",
    "ja": "採用|求人|募集|キャリア|リクルート|人材|公募",
    "fr": "rejoi|recrut|carrière|métiers",
    "es": "empleo|únete|unete|plazas|oposicion",
    "pt": "carreira|recrutamento|junte-se|oportunidades|procedimentos concursais",
    "it": "unisciti|selezion|concors|bandi|opportunit",
    "nl": "werk|solliciter|banen|loopbaan",
    "de": "arbeiten|ausbildung|stelle|job",
}
# Patterns that say that nothing is open now.
NO_OPENINGS: Final[dict[str, str]] = {
    "sv": "(?:inga|just nu inga|för närvarande inga) .{0,25}(?:tjänster|jobb|annonser|befattningar)|inga lediga",
    "da": "(?:ingen|pt\\.? ingen) .{0,25}(?:stillinger|job|opslag)",
    "nb": "(?:ingen|for tiden ingen) .{0,25}(?:stillinger|jobber|utlysninger)",
    "fi": "ei (?:tällä hetkellä |juuri nyt |ole |nyt )*.{0,20}avoimia|ei avoimia|avoimia (?:työ)?paikkoja ei ole",
    "is": "engin (?:laus )?störf|engar lausar stöður",
    "et": "(?:hetkel|praegu)? ?(?:ei ole|pole|puuduvad) .{0,30}(?:töökoht|tööpakkumis|ametikoht|konkurss)\\w*",
    "lv": "(?:nav|šobrīd nav|pašlaik nav) .{0,25}(?:vakanc|darba vietu|brīvu)\\w*",
    "lt": "(?:nėra|šiuo metu nėra) .{0,30}(?:darbo|pareigybi|pasiūlym|laisv|skelbim)\\w*",
    "pl": (
        "(?:brak|nie ma|nie mamy|nie prowadzimy|nie posiadamy|nie poszukujemy) .{0,45}(?:ofert|stanowisk|rekrutacj"
        "|wakat|nabor|ogłosze)\\w*"
    ),
    "cs": (
        "(?:nemáme|nejsou|není|žádné|žádná|nenabízíme|nevypisujeme) .{0,45}(?:pozic|míst|nabíd|výběrov|nehledáme)\\w*"
        "|nikoho nehledáme"
    ),
    "sk": "(?:nemáme|nie sú|nie je|žiadne|neponúkame) .{0,45}(?:pozíci|miest|ponuk|výberov)\\w*",
    "hu": (
        "(?:nincs|nincsen|jelenleg nincs|nem keresünk|nem hirdet)\\w* .{0,40}(?:állás|pozíció|munkatárs|lehetőség"
        "|álláshirdet|pályázat|hely)\\w*|(?:állás|pozíció|pályázat)\\w* .{0,30}nincs"
    ),
    "ro": "(?:nu (?:există|avem|sunt)|niciun|nici un) .{0,45}(?:post|poziți|ofert|job|locuri|angaj|concurs)\\w*",
    "hr": (
        "(?:nema|nemamo|trenutačno nema|trenutno nema|nema trenutno) .{0,35}(?:natječaj|radnih|radnog|pozicij|mjesta"
        "|oglas)\\w*"
    ),
    "sr": (
        "(?:nema|nemamo|trenutno nema) .{0,35}(?:konkurs|pozicij|radnih|oglas|posl)\\w*|(?:нема|немамо"
        "|тренутно нема) .{0,35}(?:конкурс|позициј|радних|оглас|посл)\\w*"
    ),
    "sl": "(?:ni|nimamo|trenutno ni) .{0,25}(?:prostih|razpis|delovnih|odprtih)\\w*",
    "mk": "(?:нема|немаме|моментално нема) .{0,30}(?:огла|позици|работни|конкурс)\\w*",
    "sq": "(?:nuk ka|s'ka|aktualisht nuk ka) .{0,30}(?:vende|pozicion|shpallj|konkurs)\\w*",
    "bg": "(?:няма|нямаме|в момента няма|не са намерени) .{0,35}(?:позици|места|обяв|конкурс)\\w*",
    "uk": (
        "(?:немає|нема|відсутні|наразі немає|не знайдено) .{0,30}(?:ваканс|позиці|посад)\\w*"
        "|вакансі[йї].{0,20}(?:немає|нема|відсутні)"
    ),
    "ru": "(?:нет|отсутствуют|не найдено) .{0,30}(?:ваканси|позици|должност)\\w*",
    "el": (
        "(?:δεν υπάρχουν|δεν υπάρχει|δεν βρέθηκαν|καμία|δεν έχουμε|δεν διαθέτουμε) .{0,45}(?:θέσ|προκηρύξ|αγγελ"
        "|προσλήψ)\\w*"
    ),
    "tr": (
        "(?:açık|uygun|mevcut|aktif) .{0,25}(?:pozisyon|ilan|kadro|iş)\\w* .{0,25}(?:yok|bulunm|bulunamad"
        "|mevcut değil)\\w*|(?:ilan|pozisyon)\\w* (?:yok|bulunmamak|bulunamad)\\w*"
    ),
    "az": "(?:vakansiya|elan|iş)\\w* .{0,20}(?:yoxdur|mövcud deyil|tapılmadı)",
    "kk": "бос .{0,30}жоқ|вакансия\\w* жоқ",
    "ky": "бош .{0,30}жок|вакансия\\w* жок",
    "uz": "(?:bo'sh|bo‘sh|ochiq)? ?.{0,20}(?:o'rin|o‘rin|vakansiya)\\w* (?:yo'q|yo‘q|mavjud emas)",
    "mn": "ажлын байр .{0,20}(?:байхгүй|алга)|нээлттэй .{0,25}(?:байхгүй|алга)",
    "hy": "թափուր .{0,30}(?:չկան|չկա)|(?:չկան|չկա) .{0,20}թափուր",
    "ka": (
        "(?:ვაკანსი|პოზიცი)[\\u10d0-\\u10ff]* .{0,20}(?:არ არის|არ გვაქვს|ვერ მოიძებნა)|(?:არ არის"
        "|არ გვაქვს) .{0,25}(?:ვაკანსი|პოზიცი)"
    ),
    "he": "(?:אין|לא נמצאו|אין כרגע|כרגע אין) .{0,30}(?:משר|דרוש|מכרז|תפקיד)\\w*|לא נמצאו משרות",
    "ar": "(?:لا توجد|لا يوجد|ليس لدينا|لا تتوفر|لم يتم العثور على) .{0,30}(?:وظائف|شواغر|وظيفة|فرص|شاغر|مناصب)",
    "fa": "(?:فرصت|موقعیت|آگهی|شغل|استخدام).{0,40}(?:وجود ندارد|نداریم|موجود نیست|یافت نشد|نیست)",
    "ur": (
        "(?:آسامی|ملازمت|نوکری|اسامی)\\w* .{0,20}(?:نہیں|دستیاب نہیں)|کوئی .{0,20}(?:آسامی|ملازمت|اسامی"
        "|نوکری).{0,20}نہیں"
    ),
    "hi": "(?:कोई|वर्तमान में कोई|फिलहाल कोई) .{0,30}(?:रिक्ति|पद|नौकरी|भर्ती|अवसर).{0,25}(?:नहीं|उपलब्ध नहीं)",
    "ne": "(?:कुनै|हाल कुनै|हाल) .{0,30}(?:पद|रिक्त|जागिर|अवसर).{0,20}(?:छैन|छैनन्)",
    "bn": "(?:কোনো|কোন|বর্তমানে কোনো) .{0,30}(?:পদ|শূন্যপদ|চাকরি|নিয়োগ|বিজ্ঞপ্তি|নিয়োগ).{0,20}(?:নেই|পাওয়া যায়নি)",
    "ta": "(?:காலி|பணி|வேலை).{0,40}(?:இல்லை|இல்லை)",
    "si": "(?:ඇබෑර්තු|පුරප්පාඩු|රැකියා).{0,30}(?:නොමැත|නැත)",
    "th": "(?:ไม่มี|ยังไม่มี|ขณะนี้ไม่มี|ไม่พบ).{0,25}(?:ตำแหน่ง|งาน|ประกาศ|รับสมัคร)|ยังไม่เปิดรับสมัคร",
    "lo": "(?:ບໍ່ມີ|ຍັງບໍ່ມີ).{0,25}(?:ຕຳແໜ່ງ|ວຽກ|ຮັບສະໝັກ)",
    "km": "(?:មិនមាន|គ្មាន|មិនទាន់មាន).{0,30}(?:មុខតំណែង|ការងារ|ការជ្រើសរើស)",
    "my": "(?:ရာထူး|အလုပ်|လစ်လပ်).{0,40}(?:မရှိ)",
    "vi": (
        "(?:không có|chưa có|hiện không có|hiện chưa có|không tìm thấy) .{0,30}(?:vị trí|tuyển dụng|việc làm|công việc)"
    ),
    "id": "(?:tidak ada|belum ada|saat ini tidak ada|saat ini belum ada) .{0,25}(?:lowongan|posisi|pekerjaan)",
    "ms": "(?:tiada|tidak ada) .{0,25}(?:jawatan|kekosongan|kerja)",
    "tl": "walang .{0,25}(?:bakante|posisyon|trabaho)",
    "sw": "(?:hakuna|kwa sasa hakuna|hatuna) .{0,20}(?:nafasi|kazi|ajira)",
    "so": "(?:ma jiraan|hadda ma jiraan) .{0,25}(?:shaqo|boos)\\w*",
    "am": "(?:ክፍት).{0,25}(?:የለም|የሉም)",
    "ca": "(?:no hi ha|no tenim|cap) .{0,40}(?:oferta|vacant|plaça|convocatòria|places|procés)\\w*",
    "gl": "non hai .{0,30}(?:oferta|praza|convocatoria)\\w*",
    "eu": (
        "(?:ez dago|momentuz ez dago) .{0,35}(?:eskaintza|lanpostu|deialdi)\\w*|(?:eskaintza"
        "|lanpostu)\\w* .{0,15}ez dago"
    ),
    "mt": "m['’]hemmx .{0,30}(?:post|vakanz|opportunitajiet)\\w*",
    "ga": "níl .{0,25}(?:folúntais|poist|post)",
    "cy": "(?:nid oes|does dim) .{0,25}(?:swyddi|swydd)",
    "ko": "(?:채용|모집|공고|포지션|직무).{0,20}(?:없습니다|없음|없어요|않습니다)",
    "ja": (
        "(?:募集|求人|採用|公募).{0,25}(?:ありません|おりません|ございません|行っていません|していません|終了しました"
        "|見つかりません)"
    ),
    "zh": (
        "(?:暂无|暫無|目前没有|目前沒有|没有|沒有|尚无|尚無|暂时没有|無).{0,15}(?:职位|職位|岗位|空缺|招聘|職缺|工作"
        "|公告|招募)"
    ),
    "en": (
        "(?:no|0) (?:\\w+ ){0,2}(?:adverts?|recruitments?|calls|vacancy notices?|matching (?:jobs|positions"
        "|results))(?: \\w+){0,3} (?:found|open|available|currently|now|time|present|moment)|there (?:is"
        "|are) (?:currently |at present )?nothing (?:open|available)"
    ),
    "fr": (
        "(?:il n['’]y a|nous n['’]avons|n['’]avons) (?:actuellement |pas |aucune? |à ce jour )+.{0,35}(?:offre|poste"
        "|recrutement|annonce|opportunité)\\w*"
    ),
    "es": (
        "(?:actualmente|por el momento|de momento|en este momento) no .{0,45}(?:vacante|oferta|convocatoria|proceso"
        "|puesto|plaza|búsqueda)\\w*"
    ),
    "de": (
        "(?:derzeit|zurzeit|momentan|aktuell|leider|im moment) (?:\\w+ ){0,4}(?:keine|nicht) .{0,40}(?:stelle|job"
        "|vakanz|ausschreib|position)\\w*"
    ),
    "pt": (
        "(?:de momento|neste momento|atualmente|por enquanto) (?:não|nao) .{0,45}(?:vaga|oportunidade|concurso|recrut"
        "|procediment)\\w*"
    ),
    "it": "(?:al momento|attualmente|per ora) non .{0,45}(?:posizion|offert|bandi|selezion|ricerc|concors)\\w*",
    "nl": "(?:op dit moment|momenteel|helaas) .{0,25}geen .{0,30}(?:vacature|functie|positie)\\w*",
}
# What stands before the title of an announcement.
ANNOUNCEMENTS: Final[dict[str, str]] = {
    "en": (
        "(?:job |internal |external )?(?:vacancy|job|recruitment|employment)(?: (?:announcement|notice|advert"
        "(?:isement)?|opportunity|opening|vacancy))?|re-?advertis\\w+|call for applications?|now hiring|we are hiring"
    ),
    "fr": "avis de (?:vacance(?: de poste)?|recrutement)|appel à candidatures?|offre d['’]emploi",
    "es": "convocatoria(?: laboral)?|oferta (?:de empleo|laboral)|vacante",
    "de": "stellenausschreibung|ausschreibung|stellenangebot",
    "pt": "vaga|oportunidade|oferta de emprego",
    "it": "offerta di lavoro|bando|avviso di selezione",
    "nl": "vacature",
    "pl": "ogłoszenie o prac[ęy]|oferta pracy|nabór",
    "ro": "anunț de angajare|post vacant",
    "hu": "álláshirdetés|állásajánlat",
    "sr": "oglas za posao|konkurs za posao|оглас за посао|конкурс за посао",
    "id": "lowongan(?: kerja)?",
    "vi": "tuyển dụng",
    "ru": "вакансия",
    "uk": "вакансія",
    "ar": "وظيفة شاغرة|إعلان وظيفة|إعلان توظيف",
    "fa": "آگهی استخدام|دعوت به همکاری|استخدام",
    "tr": "iş ilanı",
    "sw": "nafasi ya kazi|tangazo la kazi",
}

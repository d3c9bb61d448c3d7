"""Words in one advertisement, by language: headings of its parts and of lists of other jobs beside it; other terms.

The terms are kinds of employment, places of work, what stands before a last day, and what marks a closed job.
"""

from __future__ import annotations

from typing import Final

EMPLOYMENT: Final[dict[str, str]] = {
    "sv": "heltid|deltid|tillsvidare\\w*|visstid\\w*|vikariat|timanställning|sommarjobb|provanställning|praktik",
    "da": "fuldtid|deltid|fastansættelse|tidsbegrænset|vikariat|studiejob|praktik",
    "nb": "heltid|deltid|fast stilling|vikariat|midlertidig|engasjement|sommerjobb|prosjektstilling",
    "fi": (
        "kokoaikainen|osa-aikainen|vakituinen|määräaikainen|sijaisuus|toistaiseksi|kesätyö|harjoittelu|kokopäivätyö"
        "|osa-aikatyö"
    ),
    "is": "fullt starf|hlutastarf|tímabundið",
    "et": "täistööaeg|osaline tööaeg|tähtajatu|tähtajaline|täiskoormus|osakoormus",
    "lv": "pilna slodze|nepilna slodze|pilna laika|nepilna laika|uz nenoteiktu laiku|uz noteiktu laiku",
    "lt": "visa darbo diena|pilnas etatas|nepilnas etatas|terminuota|neterminuota|visą darbo dieną|puse etato",
    "pl": (
        "pełny etat|pełen etat|część etatu|pół etatu|umowa o pracę|umowa zlecenie|b2b|umowa na czas \\w+|staż"
        "|niepełny etat"
    ),
    "cs": (
        "plný úvazek|částečný úvazek|zkrácený úvazek|hlavní pracovní poměr|hpp|dpp|dpč|doba neurčitá|doba určitá"
        "|poloviční úvazek|zástup"
    ),
    "sk": "plný úväzok|čiastočný úväzok|trvalý pracovný pomer|tpp|dohoda|skrátený úväzok|doba neurčitá|doba určitá",
    "hu": (
        "teljes munkaidő\\w*|részmunkaidő\\w*|teljes munkaidős|részmunkaidős|határozatlan|határozott|határozott idejű"
        "|napi \\d óra|távmunka|4 órás|8 órás"
    ),
    "ro": (
        "normă întreagă|jumătate de normă|perioadă nedeterminată|perioadă determinată|part-time|full-time|colaborare"
        "|stagiu"
    ),
    "hr": (
        "puno radno vrijeme|nepuno radno vrijeme|neodređeno|određeno|na neodređeno(?: vrijeme)?"
        "|na određeno(?: vrijeme)?|stalni radni odnos|pripravništvo"
    ),
    "sr": (
        "puno radno vreme|nepuno radno vreme|na neodređeno(?: vreme)?|na određeno(?: vreme)?|stalni radni odnos"
        "|praksa|honorarno|пуно радно време|непуно радно време|на неодређено(?: време)?|на одређено(?: време)?"
        "|стални радни однос|пракса|хонорарно"
    ),
    "sl": "polni delovni čas|krajši delovni čas|nedoločen čas|določen čas|za nedoločen čas|za določen čas",
    "mk": "полно работно време|скратено работно време|неопределено|определено",
    "sq": "kohë të plotë|kohë të pjesshme|me orar të plotë|afat të caktuar",
    "bg": (
        "пълно работно време|непълно работно време|постоянна работа|пълен работен ден|срочен|безсрочен|почасова|стаж"
        "|трудов договор"
    ),
    "uk": (
        "повна зайнятість|часткова зайнятість|неповна зайнятість|повний робочий день|неповний робочий день|постійна"
        "|тимчасова|стажування|проєктна|строковий договір"
    ),
    "ru": (
        "полный день|неполный день|полный рабочий день|неполный рабочий день|стажировка|проектная работа|временная"
        "|постоянная|срочный договор|совместительство"
    ),
    "el": (
        "πλήρης απασχόληση|μερική απασχόληση|ορισμένου χρόνου|αορίστου χρόνου|πλήρους απασχόλησης|μερικής απασχόλησης"
        "|πρακτική άσκηση|σύμβαση έργου|μόνιμη"
    ),
    "tr": (
        "tam zamanlı|yarı zamanlı|süreli|süresiz|belirsiz süreli|belirli süreli|dönemsel|staj|proje bazlı|sözleşmeli"
        "|kadrolu"
    ),
    "az": "tam iş günü|yarım iş günü|tam ştat|müddətli|müddətsiz|tam məşğulluq",
    "kk": "толық жұмыс күні|жартылай жұмыс күні|толық емес|уақытша|тұрақты",
    "hy": "լրիվ դրույք|կես դրույք|լրիվ աշխատանքային օր|ժամկետային|մշտական",
    "ka": (
        "სრული განაკვეთი|ნახევარი განაკვეთი|არასრული განაკვეთი|სრული დატვირთვა|ვადიანი|უვადო|დროებითი|სრულ განაკვეთზე"
    ),
    "he": "משרה מלאה|משרה חלקית|חצי משרה|זמני|קבוע|מילוי מקום|פרילנס|היקף משרה מלא|התמחות|\\d{2,3}% משרה",
    "ar": (
        "دوام كامل|دوام جزئي|بدوام كامل|بدوام جزئي|عقد محدد المدة|عقد مؤقت|مؤقت|دائم|تدريب|عقد دائم|عقد سنوي|استشارية"
        "|محدد المدة"
    ),
    "fa": "تمام‌وقت|تمام وقت|تماموقت|پاره‌وقت|پاره وقت|پارهوقت|قراردادی|پروژه‌ای|کارآموزی|رسمی|پیمانی|دورکاری",
    "ur": "کل وقتی|جز وقتی|مستقل|عارضی|کنٹریکٹ",
    "hi": "पूर्णकालिक|अंशकालिक|संविदा|स्थायी|अस्थायी|अनुबंध|पूर्ण कालिक|इंटर्नशिप|परामर्श",
    "ne": "पूर्णकालीन|आंशिक|करार|स्थायी|अस्थायी",
    "bn": "পূর্ণকালীন|খণ্ডকালীন|চুক্তিভিত্তিক|স্থায়ী|অস্থায়ী|পূর্ণ সময়|স্থায়ী|অস্থায়ী|ফুল টাইম|পার্ট টাইম|ফুলটাইম|ইন্টার্নশিপ",
    "ta": "முழுநேரம்|பகுதிநேரம்|முழு நேரம்|பகுதி நேரம்|ஒப்பந்தம்|நிரந்தர|தற்காலிக|முழுநேர|பகுதிநேர",
    "si": "පූර්ණ කාලීන|අර්ධ කාලීන|ස්ථිර|තාවකාලික|කොන්ත්‍රාත්|කොන්ත්රාත්|පූර්ණකාලීන|අර්ධකාලීන",
    "th": "เต็มเวลา|พาร์ทไทม์|งานประจำ|สัญญาจ้าง|ชั่วคราว|งานเต็มเวลา|ฝึกงาน|ลูกจ้างชั่วคราว|อัตราจ้าง|งานพาร์ทไทม์|บางเวลา",
    "lo": "ເຕັມເວລາ|ບາງເວລາ|ສັນຍາຈ້າງ|ປະຈຳ",
    "km": "ពេញម៉ោង|ក្រៅម៉ោង|កិច្ចសន្យា|អចិន្ត្រៃយ៍|មិនពេញម៉ោង",
    "my": "အချိန်ပြည့်|အချိန်ပိုင်း|စာချုပ်|အမြဲတမ်း|ယာယီ",
    "vi": "toàn thời gian|bán thời gian|hợp đồng|thực tập|thời vụ|cộng tác viên|chính thức",
    "id": "penuh waktu|paruh waktu|kontrak|magang|tetap|purnawaktu|paruhwaktu|harian|lepas",
    "ms": "sepenuh masa|separuh masa|kontrak|tetap|sambilan",
    "sw": "muda wote|muda maalum|mkataba|kudumu|muda kamili|wakati wote|ya kudumu|muda mfupi|mafunzo kwa vitendo",
    "am": "ቋሚ|ጊዜያዊ|ኮንትራት|የሙሉ ጊዜ|በኮንትራት|በቋሚነት",
    "ca": "jornada completa|jornada parcial|temps complet|temps parcial|indefinit|temporal|mitja jornada",
    "ko": "정규직|계약직|파트타임|인턴|기간제|시간제|무기계약직|상근|비상근|아르바이트|프리랜서",
    "ja": (
        "正職員|契約職員|嘱託職員|アルバイト|派遣社員|パートタイム|フルタイム|任期付|業務委託|有期雇用|無期雇用"
        "|非常勤職員|常勤職員|有給インターン"
    ),
    "zh": "全職|兼職|合同制|实习生|正式|长期|短期|劳务派遣|约聘|約聘|合同工|編制|全日制|兼任|專任|事业编",
    "fr": "temps complet|mi-temps|intérim|contrat à durée \\w+|volontariat|prestation|bénévolat",
    "es": (
        "media jornada|tiempo parcial|contrato indefinido|contrato temporal|indefinido|prácticas|por proyecto"
        "|locación de servicios"
    ),
    "pt": (
        "período integral|tempo completo|tempo parcial|efetivo|termo certo|termo incerto|sem termo|estágio"
        "|prestação de serviços|clt"
    ),
    "it": (
        "part time|full time|a tempo determinato|a tempo indeterminato|co\\.?co\\.?co|partita iva|apprendistato"
        "|collaborazione"
    ),
    "de": "vollzeit|teilzeit|minijob|geringfügig|werkvertrag|honorarbasis|ehrenamt\\w*",
    "nl": "bepaalde tijd|onbepaalde tijd|tijdelijk|stage|vrijwilligers\\w*|zzp",
}
# Right before or behind the last day to apply, in running text: "søk innen 30. november".
UNTIL: Final[dict[str, str]] = {
    "sv": "senast|sista ansökningsdag(?: är)?|ansök senast(?: den)?|till och med|t\\.o\\.m\\.",
    "da": "senest(?: den)?|ansøgningsfrist(?:en)?(?: er)?(?: den)?|inden den|frist",
    "nb": "innen|søknadsfrist(?:en)?(?: er)?|senest|frist",
    "fi": "viimeistään|hakuaika päättyy|haku päättyy|mennessä",
    "et": "hiljemalt|tähtaeg|kuni|kandideeri kuni",
    "lv": "līdz|termiņš(?: ir)?|ne vēlāk kā",
    "lt": "iki|ne vėliau kaip",
    "pl": "do dnia|do|termin(?: składania \\w+)?(?: upływa)?|najpóźniej(?: do)?",
    "cs": "do|nejpozději(?: do)?|uzávěrka(?: přihlášek)?(?: je)?|termín",
    "sk": "do|najneskôr(?: do)?|uzávierka(?: prihlášok)?(?: je)?|termín",
    "hu": "határidő|jelentkezési határidő|legkésőbb|beadási határidő",
    "ro": "până la(?: data de)?|până în|termen(?:ul)?(?: limită)?(?: este)?|cel târziu",
    "hr": "do|rok(?: za prijavu| prijave)?(?: je)?|najkasnije do|zaključno s",
    "sr": "do|rok(?: za prijavu)?(?: je)?|najkasnije do|до|рок(?: за пријаву)?(?: је)?|најкасније до|закључно са",
    "sl": "do|rok(?: za prijavo)?|najkasneje do",
    "bg": "до|краен срок|не по-късно от",
    "mk": "до|краен рок|најдоцна до",
    "sq": "deri më|deri me|afati",
    "uk": "до|кінцевий термін|не пізніше",
    "el": "έως(?: και)?(?: τις| την)?|μέχρι(?: και)?(?: τις| την)?|προθεσμία|το αργότερο(?: έως)?",
    "tr": "son başvuru(?: tarihi)?|son tarih|en geç",
    "az": "son tarix|son müraciət(?: tarixi)?",
    "kk": "дейін|соңғы мерзім",
    "ka": "ვადა|ბოლო ვადა|არაუგვიანეს",
    "hy": "վերջնաժամկետ|մինչև",
    "he": "עד(?: ה-?| לתאריך| ליום)?|מועד אחרון(?: להגשה)?|לא יאוחר מ-?",
    "ar": "حتى(?: تاريخ)?|آخر موعد(?: للتقديم)?|في موعد أقصاه|ينتهي التقديم(?: في)?|قبل(?: تاريخ)?|لغاية",
    "fa": "تا(?: تاریخ)?|مهلت(?: ارسال)?|حداکثر تا",
    "ur": "تک|آخری تاریخ",
    "hi": "अंतिम तिथि|तक|आवेदन की अंतिम तिथि",
    "bn": "শেষ তারিখ|আবেদনের শেষ তারিখ",
    "th": "ถึงวันที่|ภายในวันที่|ปิดรับสมัคร(?:วันที่)?|หมดเขต|ถึง|ภายใน",
    "my": "နောက်ဆုံးရက်|နောက်ဆုံးထား",
    "km": "ផុតកំណត់|ថ្ងៃផុតកំណត់",
    "vi": "hạn nộp(?: hồ sơ)?|đến(?: hết)?(?: ngày)?|trước(?: ngày)?|hạn chót|hạn cuối",
    "id": "hingga|sampai(?: dengan)?|sebelum|paling lambat|batas(?: akhir)?",
    "ms": "sehingga|sebelum|selewat-lewatnya|tarikh tutup",
    "sw": "kabla ya|mwisho(?: wa kutuma maombi)?(?: ni)?|hadi|si zaidi ya|tarehe ya mwisho",
    "ca": "fins al|fins el|abans del|termini",
    "gl": "ata o|antes do",
    "am": "እስከ",
    "ko": "마감|접수마감|까지",
}
# A badge that says that the job is gone.
CLOSED: Final[dict[str, str]] = {
    "en": (
        "recruitment (?:closed|completed|cancelled)|cancelled|selection completed|under (?:review|evaluation)"
        "|evaluation ongoing|deadline (?:passed|expired)|closed for applications|position filled"
        "|not accepting applications"
    ),
    "sv": "tillsatt|avslutad|stängd|ansökningstiden har gått ut",
    "da": "besat|lukket|udløbet",
    "nb": "besatt|lukket|utløpt|fristen er utløpt",
    "fi": "täytetty|haku päättynyt|suljettu|hakuaika päättynyt",
    "et": "täidetud|lõppenud|suletud",
    "lv": "slēgts|noslēdzies|beidzies",
    "lt": "baigta|uždaryta|pasibaigęs",
    "pl": "zakończon[eay]|nieaktualn[eay]|obsadzon[eay]|nabór zakończony|rekrutacja zakończona|zamknięt[eay]",
    "cs": "obsazeno|ukončeno|uzavřeno|pozice obsazena|neaktuální",
    "sk": "obsadené|ukončené|uzavreté|pozícia obsadená|neaktuálne",
    "hu": "betöltve|lezárva|lejárt|betöltött|zárt|a pozíció betöltve|lezárult",
    "ro": "ocupat|închis|expirat|încheiat|post ocupat|finalizat",
    "hr": "zatvoren[oa]?|završen[oa]?|popunjeno|istekao|natječaj zatvoren",
    "sr": "zatvoren[oa]?|završen[oa]?|popunjeno|istekao|затворен[оа]?|завршен[оа]?|попуњено|истекао|конкурс затворен",
    "sl": "zaključeno|zaprto|zasedeno",
    "bg": "затворен[аоь]?|приключил[ао]?|изтекл[ао]|заета|попълнена",
    "uk": "закрит[оа]|вакансію закрито|завершено|неактуально",
    "ru": "закрыто|в архиве|неактуально|завершен[оа]?|вакансия закрыта|приём завершен|прием завершен",
    "el": "έκλεισε|έληξε|καλύφθηκε|ολοκληρώθηκε|ληγμένη",
    "tr": "kapandı|süresi doldu|dolduruldu|sona erdi|kapalı|pasif|başvurular kapandı|başvuru süresi doldu",
    "az": "bağlıdır|vaxtı bitib",
    "ka": "დახურულია|დასრულებულია|ვადაგასული",
    "hy": "փակ է|ավարտված",
    "he": "נסגר|המשרה אוישה|לא רלוונטי|סגור|נסגרה|אויש",
    "ar": "مغلقة|انتهى التقديم|منتهية|تم الإغلاق|تم التعيين|انتهى",
    "fa": "بسته شده|منقضی|منقضی شده|تکمیل شد|پایان یافته|بسته",
    "ur": "بند|ختم شد",
    "hi": "बंद|समाप्त|भर्ती पूर्ण|समाप्त हो गया|बंद हो चुका",
    "bn": "বন্ধ|সমাপ্ত|মেয়াদ শেষ|মেয়াদ উত্তীর্ণ",
    "th": "ปิดรับสมัครแล้ว|หมดเขตแล้ว|ปิดแล้ว|ปิดรับแล้ว",
    "km": "បានបិទ|ផុតកំណត់ហើយ",
    "my": "ပိတ်ပြီး|ကုန်ဆုံး|ပိတ်သွားပြီ",
    "vi": "đã đóng|hết hạn|đã hết hạn|đã tuyển đủ|đã kết thúc",
    "id": "ditutup|sudah ditutup|berakhir|terisi|telah ditutup",
    "ms": "telah ditutup|tamat",
    "sw": "imefungwa|imejazwa|muda umekwisha|imekwisha",
    "ca": "tancad[ae]|finalitzad[ae]|coberta",
    "ko": "마감|마감됨|채용완료|접수마감|모집완료|종료",
    "ja": "募集終了|受付終了|終了しました|締切済み|募集を終了しました",
    "zh": "已结束|已截止|已关闭|已招满|招聘结束|已過期|已截止報名|已过期",
}
# Work from home.
WORKPLACE: Final[dict[str, str]] = {
    "sv": "distans|på distans|hemarbete",
    "da": "hjemmearbejde|fjernarbejde",
    "nb": "hjemmekontor|fjernarbeid",
    "fi": "etätyö|hybridityö",
    "pl": "zdalnie|praca zdalna|hybrydowo|praca hybrydowa|stacjonarnie",
    "cs": "na dálku|práce z domova|hybridně",
    "sk": "na diaľku|práca z domu",
    "hu": "távmunka|otthoni munkavégzés|home office",
    "ro": "la distanță|telemuncă|hibrid",
    "hr": "rad od kuće|na daljinu|hibridno",
    "sr": "rad od kuće|na daljinu|рад од куће|на даљину",
    "bg": "дистанционно|от вкъщи|хибридно",
    "uk": "віддалено|дистанційно|гібридно|віддалена робота",
    "ru": "удаленно|удалённо|дистанционно|гибрид",
    "el": "τηλεργασία|εξ αποστάσεως|υβριδικ",
    "tr": "uzaktan|hibrit|evden çalışma",
    "he": "עבודה מהבית|מרחוק|היברידי",
    "ar": "عن بُعد|هجين|عمل عن بعد",
    "fa": "دورکاری|از راه دور",
    "hi": "दूरस्थ|घर से काम",
    "bn": "দূরবর্তী|রিমোট",
    "th": "ทำงานทางไกล|ทำงานที่บ้าน",
    "vi": "từ xa|làm việc từ xa",
    "id": "jarak jauh|kerja dari rumah",
    "sw": "kwa mbali|nyumbani",
    "ka": "დისტანციურ|ჰიბრიდულ",
    "ko": "재택|원격|하이브리드",
    "zh": "远程|遠端|居家办公|遠距",
}
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

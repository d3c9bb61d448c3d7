"""Words for kinds of employment and places of work, before a last day, and over what is closed, by language."""

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

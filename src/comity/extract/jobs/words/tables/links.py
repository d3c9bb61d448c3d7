"""What links and buttons say, and headings over what is not jobs, by language."""

from __future__ import annotations

from typing import Final

# The whole text of a link that only asks to be clicked: "Apply", "Details", "Read more", "Download".
BUTTONS: Final[dict[str, str]] = {
    "en": (
        "apply for (?:this )?(?:job|role|position)|view vacancy|view advert|view listing|job details|position details"
        "|view & apply|see details|see more|details & apply|know more|explore|view role|more details|full details"
        "|full advert|vacancy notice|view notice|vacancy announcement|view announcement|announcement|notice"
        "|open vacancy|job posting|go to job"
    ),
    "sv": (
        "läs mer|ansök|ansök här|ansök nu|sök jobbet|visa|visa annons|till annonsen|läs hela annonsen|se annons"
        "|mer information"
    ),
    "da": "læs mere|søg|søg stillingen|ansøg|ansøg nu|se stillingen|se mere|vis|se opslag|læs hele opslaget",
    "nb": (
        "les mer|søk|søk her|søk på stillingen|søk nå|se stilling|se stillingen|vis|se mer|til annonsen|vis stilling"
    ),
    "fi": (
        "lue lisää|hae|hae paikkaa|hae nyt|hae tehtävää|katso|lisätiedot|näytä|avaa|katso ilmoitus|hae tästä"
        "|siirry ilmoitukseen"
    ),
    "is": "sækja um|lesa meira|nánar|skoða|skoða nánar",
    "et": "kandideeri|loe edasi|loe lähemalt|vaata|vaata lähemalt|loe veel|vaata pakkumist",
    "lv": "pieteikties|lasīt vairāk|vairāk|uzzināt vairāk|skatīt|apskatīt|piesakies",
    "lt": "kandidatuoti|skaityti daugiau|daugiau|plačiau|žiūrėti|peržiūrėti|siųsti cv|teikti paraišką",
    "pl": (
        "aplikuj|aplikuj teraz|czytaj więcej|więcej|zobacz|zobacz ofertę|szczegóły|pobierz|dowiedz się więcej"
        "|zobacz więcej|sprawdź|sprawdź ofertę|przejdź|pokaż|wyślij cv|wyślij aplikację|pobierz ogłoszenie"
        "|zobacz szczegóły"
    ),
    "cs": (
        "více|číst více|detail|více informací|zobrazit|přihlásit se|odpovědět|mám zájem|zjistit více|detail pozice"
        "|stáhnout|zobrazit detail|více o pozici|odeslat životopis|zobrazit nabídku|reagovat"
    ),
    "sk": (
        "viac|čítať viac|detail|viac informácií|zobraziť|prihlásiť sa|mám záujem|zistiť viac|stiahnuť|detail pozície"
        "|zobraziť detail"
    ),
    "hu": (
        "bővebben|részletek|jelentkezem|jelentkezés|tovább|megnézem|megtekintés|letöltés|tovább olvasom|jelentkezz"
        "|jelentkezzen|részletes leírás|további részletek|érdekel|megnyitás|olvass tovább|tovább a hirdetéshez"
    ),
    "ro": (
        "aplică|aplică acum|detalii|citește mai mult|mai mult|vezi|vezi detalii|află mai multe|descarcă|vezi postul"
        "|mai multe detalii|vezi anunțul|aplica|aplică aici"
    ),
    "hr": (
        "prijavi se|više|saznaj više|detaljnije|opširnije|pogledaj|pročitaj više|prijava|detalji|preuzmi|pregledaj"
        "|vidi više"
    ),
    "sr": (
        "prijavi se|više|saznaj više|detaljnije|opširnije|pogledaj|pročitaj više|detalji|konkuriši|apliciraj|preuzmi"
        "|пријави се|више|сазнај више|детаљније|опширније|погледај|прочитај више|детаљи|конкуриши|аплицирај|преузми"
    ),
    "sl": "prijava|več|preberi več|podrobnosti|prijavi se|oglej si|več informacij|pošlji prijavo",
    "mk": "аплицирај|повеќе|прочитај повеќе|детали|пријави се|види повеќе",
    "sq": "apliko|më shumë|lexo më shumë|detaje|shiko|apliko tani",
    "bg": (
        "кандидатствай|виж повече|повече|прочети повече|подробности|детайли|виж|научи повече|изтегли|към обявата"
        "|кандидатстване"
    ),
    "uk": (
        "детальніше|докладніше|подати заявку|відгукнутися|читати далі|переглянути|надіслати резюме|завантажити|більше"
        "|подати резюме|відгукнутись|дізнатися більше|перейти|податися|подати документи"
    ),
    "be": "падрабязней|чытаць далей|падрабязна",
    "ru": (
        "подробнее о вакансии|отправить резюме|смотреть|посмотреть|узнать больше|откликнуться на вакансию|перейти"
        "|читать полностью"
    ),
    "el": (
        "περισσότερα|αίτηση|υποβολή αίτησης|διαβάστε περισσότερα|δείτε περισσότερα|κάνε αίτηση|λεπτομέρειες|λήψη"
        "|κάντε αίτηση|δείτε τη θέση|μάθετε περισσότερα|δες περισσότερα|υποβάλετε αίτηση|προβολή|αιτηθείτε"
    ),
    "tr": (
        "başvur|hemen başvur|detaylar|devamını oku|incele|detay|ilanı gör|daha fazla|detayları gör|ilanı incele|indir"
        "|başvuru yap|başvuru|şimdi başvur|ayrıntılar|detaylı bilgi|ilan detayı"
    ),
    "az": "müraciət et|ətraflı|daha ətraflı|bax|müraciət",
    "kk": "толығырақ|өтініш беру|көру|жүктеу",
    "ky": "кененирээк|арыз берүү|көрүү",
    "uz": "batafsil|ariza topshirish|ko'rish|ariza yuborish",
    "mn": "дэлгэрэнгүй|анкет илгээх|бүртгүүлэх|харах",
    "hy": "դիմել|մանրամասն|կարդալ ավելին|ավելին|տեսնել|ավելի մանրամասն",
    "ka": "დეტალურად|ვრცლად|განაცხადი|სრულად|გაიგე მეტი|ნახვა|აპლიკაცია|გაგზავნა|მეტი|განაცხადის გაგზავნა|იხილე მეტი",
    "he": (
        "הגש מועמדות|הגשת מועמדות|לפרטים|פרטים נוספים|קרא עוד|למשרה|שלח קורות חיים|לפרטים נוספים|הגישו מועמדות|הגשה"
        "|עוד|לפרטי המשרה|לצפייה|להגשת מועמדות|קראו עוד"
    ),
    "ar": (
        "قدّم الآن|تقديم|قدم|تقدم للوظيفة|تقدم|اعرف المزيد|عرض الوظيفة|مزيد من التفاصيل|عرض|قدم طلبك|التقديم الآن"
        "|تقدم بطلب|مشاهدة|التقدم للوظيفة|اقرأ التفاصيل|تفاصيل الوظيفة|عرض المزيد|التقديم للوظيفة|تقدّم الآن"
    ),
    "fa": (
        "ارسال رزومه|جزئیات|مشاهده|اطلاعات بیشتر|ادامه مطلب|درخواست|بیشتر بخوانید|مشاهده جزئیات|ثبت درخواست"
        "|مشاهده آگهی|جزئیات بیشتر|ارسال درخواست|دانلود|بیشتر|ثبت نام"
    ),
    "ur": "درخواست دیں|مزید|تفصیلات|مزید پڑھیں|ابھی درخواست دیں|تفصیل",
    "hi": "आवेदन करें|और पढ़ें|विवरण|विवरण देखें|अभी आवेदन करें|अधिक जानकारी|डाउनलोड|देखें|और जानें|अधिक पढ़ें|विस्तार से|डाउनलोड करें|आवेदन",
    "mr": "अर्ज करा|अधिक वाचा|तपशील",
    "ne": "आवेदन दिनुहोस्|थप पढ्नुहोस्|विवरण|थप जानकारी|हेर्नुहोस्",
    "bn": "আবেদন করুন|বিস্তারিত|আরও পড়ুন|বিস্তারিত দেখুন|আরও জানুন|এখনই আবেদন করুন|ডাউনলোড|দেখুন|আরো পড়ুন|আবেদন",
    "ta": "விண்ணப்பிக்க|மேலும்|மேலும் படிக்க|விவரங்கள்|விண்ணப்பிக்கவும்|மேலும் அறிய",
    "te": "దరఖాస్తు చేయండి|మరిన్ని వివరాలు|వివరాలు",
    "si": "අයදුම් කරන්න|වැඩි විස්තර|තව කියවන්න|විස්තර|අයදුම් කරන්න|බලන්න",
    "th": (
        "สมัคร|สมัครงาน|สมัครเลย|ดูรายละเอียด|รายละเอียด|อ่านต่อ|ดูเพิ่มเติม|เพิ่มเติม|อ่านเพิ่มเติม|ดาวน์โหลด|สมัครตำแหน่งนี้"
        "|รายละเอียดเพิ่มเติม|คลิก|สมัครออนไลน์"
    ),
    "lo": "ສະໝັກ|ອ່ານຕໍ່|ລາຍລະອຽດ|ເພີ່ມເຕີມ|ເບິ່ງລາຍລະອຽດ|ສະໝັກວຽກ",
    "km": "ដាក់ពាក្យ|អានបន្ត|ព័ត៌មានលម្អិត|លម្អិត|មើលលម្អិត|អានបន្ថែម|ដាក់ពាក្យឥឡូវនេះ|ទាញយក",
    "my": "လျှောက်ထားရန်|အသေးစိတ်|ပိုမိုဖတ်ရှုရန်|အသေးစိတ်ကြည့်ရန်|လျှောက်မည်|ဆက်လက်ဖတ်ရှုရန်|ကြည့်ရန်|ဖတ်ရန်|လျှောက်လွှာတင်ရန်",
    "vi": "ứng tuyển|ứng tuyển ngay|xem chi tiết|chi tiết|xem thêm|nộp hồ sơ|tải về|đọc thêm|nộp đơn|tìm hiểu thêm",
    "id": (
        "lamar|lamar sekarang|lihat|selengkapnya|baca selengkapnya|detail|lihat detail|daftar|unduh|lihat lowongan"
        "|kirim lamaran|info selengkapnya|daftar sekarang|lihat selengkapnya"
    ),
    "ms": "mohon|mohon sekarang|baca lagi|maklumat lanjut|lihat|muat turun|butiran",
    "tl": "mag-apply|mag-aplay|basahin pa|tingnan|detalye|alamin pa",
    "sw": (
        "tuma maombi|omba|soma zaidi|maelezo zaidi|omba sasa|omba kazi|angalia|pakua|tuma maombi sasa|maelezo"
        "|bofya hapa|fungua|tazama"
    ),
    "so": "codso|akhri wax badan|faahfaahin|halkan ka codso",
    "am": "አመልክት|ተጨማሪ ያንብቡ|ዝርዝር|ያመልክቱ|ተጨማሪ|ይመልከቱ|ለማመልከት|ዝርዝሩን ይመልከቱ",
    "ca": (
        "més informació|llegir més|veure|detalls|inscriure's|sol·licitar|veure oferta|inscriu-t'hi|llegeix més"
        "|descarregar"
    ),
    "gl": "máis información|ler máis|ver oferta|inscribirse",
    "eu": "gehiago irakurri|informazio gehiago|ikusi|eman izena|gehiago",
    "mt": "applika|aqra aktar|aktar informazzjoni",
    "ga": "léigh tuilleadh|cuir isteach|tuilleadh eolais|iarratas",
    "cy": "darllen mwy|ymgeisio|rhagor|gwneud cais",
    "ko": (
        "지원하기|자세히 보기|더 보기|상세보기|자세히|지원|바로가기|상세 보기|더보기|입사지원|보기|공고 보기|다운로드"
    ),
    "ja": (
        "詳しくはこちら|応募フォーム|詳細はこちら|応募はこちら|続きを読む|募集要項を見る|詳しく|エントリーする"
        "|求人詳細|募集要項|見る|ダウンロード"
    ),
    "zh": (
        "查看|了解更多|投递简历|我要应聘|立即投递|申请职位|查看更多|阅读更多|我要應徵|應徵|查看详细|投递|详细"
        "|点击查看|更多详情|职位详情|立即报名|报名"
    ),
    "fr": (
        "voir les détails|je candidate|lire plus|plus d['’]infos?|plus de détails|découvrir|découvrir le poste"
        "|voir l['’]annonce|plus d['’]informations"
    ),
    "es": (
        "ver detalle|postúlate|postúlate aquí|aplica aquí|más info|conoce más|ver convocatoria|ver puesto|saber más"
        "|inscríbete|ver|ver bases"
    ),
    "de": (
        "details anzeigen|zur ausschreibung|zum job|mehr lesen|jetzt ansehen|zur anzeige|job ansehen|stelle ansehen"
        "|pdf herunterladen|anzeigen"
    ),
    "pt": (
        "ver detalhes|ver mais|candidatar-se|mais informações|inscreva-se|detalhes|ver oferta|ver anúncio"
        "|candidate-se aqui|descarregar|saber mais"
    ),
    "it": (
        "maggiori informazioni|vedi|candidati qui|vedi dettagli|continua a leggere|visualizza|vai all['’]annuncio"
        "|invia cv|scheda|vedi offerta"
    ),
    "nl": (
        "bekijk deze vacature|naar vacature|direct solliciteren|lees meer over deze vacature|meer weten"
        "|meer over deze functie|bekijk functie"
    ),
}
# Headings over what is not jobs: news, events, people, partners, documents, related pages.
NOT_JOBS: Final[dict[str, str]] = {
    "en": (
        "similar jobs|related jobs|other jobs you|recommended jobs|you might also|jobs you may like|recently viewed"
    ),
    "sv": "nyheter|evenemang|vårt team|medarbetare|kalender|aktuellt",
    "da": "nyheder|arrangementer|medarbejdere|kalender|aktuelt",
    "nb": "nyheter|arrangementer|ansatte|kalender|aktuelt",
    "fi": "uutiset|tapahtumat|tiimimme|henkilöstö|ajankohtaista",
    "et": "uudised|sündmused|meeskond",
    "lv": "jaunumi|pasākumi|komanda|ziņas",
    "lt": "naujienos|renginiai|komanda",
    "pl": "aktualności|wydarzenia|nasz zespół|zespół|wiadomości|blog|szkolenia",
    "cs": "aktuality|akce|náš tým|novinky|události|tým",
    "sk": "aktuality|podujatia|náš tím|novinky|udalosti|tím",
    "hu": "hírek|híreink|események|csapatunk|munkatársaink|rendezvények|aktualitások",
    "ro": "știri|noutăți|evenimente|echipa|echipa noastră",
    "hr": "novosti|vijesti|događanja|naš tim|događaji",
    "sr": "vesti|novosti|događaji|naš tim|вести|новости|догађаји|наш тим",
    "sl": "novice|dogodki|naša ekipa",
    "mk": "вести|новости|настани|нашиот тим",
    "sq": "lajme|ngjarje|ekipi",
    "bg": "новини|събития|екип|нашият екип",
    "uk": "новини|події|команда|наша команда|заходи",
    "ru": "новости|события|команда|мероприятия|наша команда",
    "el": "νέα|εκδηλώσεις|η ομάδα μας|ομάδα|ανακοινώσεις",
    "tr": "haberler|etkinlikler|ekibimiz|duyurular",
    "az": "xəbərlər|tədbirlər|komandamız",
    "hy": "նորություններ|միջոցառումներ|մեր թիմը",
    "ka": "სიახლეები|ღონისძიებები|ჩვენი გუნდი",
    "he": "חדשות|אירועים|הצוות שלנו|הצוות",
    "ar": "الأخبار|أخبار|الفعاليات|فريقنا|فريق العمل",
    "fa": "اخبار|رویدادها|تیم ما|همکاران ما|آخرین اخبار",
    "ur": "خبریں|تقریبات|ہماری ٹیم",
    "hi": "समाचार|कार्यक्रम|हमारी टीम|ताज़ा समाचार",
    "ne": "समाचार|हाम्रो टोली|कार्यक्रमहरू",
    "bn": "খবর|সংবাদ|অনুষ্ঠান|আমাদের দল|সর্বশেষ সংবাদ",
    "ta": "செய்திகள்|நிகழ்வுகள்|எங்கள் குழு",
    "si": "පුවත්|සිදුවීම්|අපගේ කණ්ඩායම",
    "th": "ข่าวสาร|กิจกรรม|ทีมงาน|ทีมของเรา|ข่าวประชาสัมพันธ์",
    "km": "ព័ត៌មាន|ព្រឹត្តិការណ៍|ក្រុមការងារ",
    "my": "သတင်းများ|ပွဲများ|ကျွန်ုပ်တို့အဖွဲ့",
    "vi": "tin tức|sự kiện|đội ngũ",
    "id": "berita|acara|tim kami|kegiatan",
    "ms": "berita|acara|pasukan kami",
    "sw": "habari|matukio|timu yetu|habari mpya",
    "so": "wararka|dhacdooyinka",
    "am": "ዜና|ዝግጅቶች|ቡድናችን",
    "ca": "notícies|esdeveniments|equip|actualitat",
    "ko": "뉴스|소식|행사|팀 소개|공지",
    "ja": "ニュース|お知らせ|イベント|スタッフ紹介|新着情報",
    "zh": "新闻|新聞|活动|活動|团队|團隊|动态",
    "fr": "à lire aussi|nos équipes|dans la presse",
    "es": "nuestro equipo|últimas noticias|actualidad",
    "de": "unser team|neuigkeiten|termine|das könnte sie|ähnliche stellen|weitere stellen",
    "pt": "últimas notícias|nossa equipa|nossa equipe|eventos",
    "it": "ultime notizie|il nostro team|rassegna stampa",
    "nl": "laatste nieuws|ons team|evenementen",
}

"""Texts of links and buttons that are no jobs, and headings over other things than jobs, by language."""

from __future__ import annotations

from typing import Final

# The whole text of a link that leads elsewhere on the site: the first page, news, people, all jobs, an account.
NAVIGATION: Final[dict[str, str]] = {
    "en": (
        "our work|what we do|who we are|where we work|programmes|programs|resources|publications|media|gallery"
        "|sitemap|accessibility|search|careers home|back|back to top|login|my account|my profile|saved jobs|faq|help"
        "|partners|procurement|tenders|share this|job categories|by department|by location|clear all|reset"
        "|sort by .{1,20}|filter|close|rss|atom|xml|feed|rss feed|subscribe.{0,20}|follow us|share|tweet|e-?mail"
        "|print"
    ),
    "sv": (
        "hem|om oss|kontakt|nyheter|kontakta oss|logga in|alla lediga jobb|alla jobb|lediga jobb|jobba hos oss"
        "|integritetspolicy|start"
    ),
    "da": "hjem|om os|kontakt|nyheder|kontakt os|log ind|alle stillinger|ledige stillinger|forside|privatlivspolitik",
    "nb": "hjem|om oss|kontakt|nyheter|kontakt oss|logg inn|alle stillinger|ledige stillinger|forside|personvern",
    "fi": (
        "etusivu|yhteystiedot|uutiset|meistä|ota yhteyttä|kirjaudu|kaikki työpaikat|avoimet työpaikat|tietosuoja"
        "|tietosuojaseloste"
    ),
    "is": "forsíða|um okkur|hafa samband|fréttir|öll störf",
    "et": "avaleht|meist|kontakt|uudised|kõik tööpakkumised|privaatsus",
    "lv": "sākums|par mums|kontakti|jaunumi|visas vakances|ziņas",
    "lt": "pradžia|apie mus|kontaktai|naujienos|visi darbo skelbimai|pagrindinis",
    "pl": (
        "strona główna|o nas|kontakt|aktualności|wszystkie oferty|oferty pracy|kariera|zaloguj|polityka prywatności"
        "|rodo|nasz zespół"
    ),
    "cs": (
        "domů|o nás|kontakt|kontakty|aktuality|všechny pozice|volná místa|kariéra|přihlášení|ochrana osobních údajů"
        "|novinky|úvod"
    ),
    "sk": (
        "domov|o nás|kontakt|kontakty|aktuality|všetky pozície|voľné miesta|kariéra|prihlásenie"
        "|ochrana osobných údajov|novinky"
    ),
    "hu": (
        "főoldal|kezdőlap|rólunk|kapcsolat|hírek|összes állás|karrier|belépés|bejelentkezés|adatvédelem"
        "|adatvédelmi .{0,20}|minden állás|vissza|nyitott pozíciók|állások|munkatársaink|impresszum"
    ),
    "ro": (
        "acasă|despre noi|contact|noutăți|știri|toate posturile|cariere|autentificare|politica de confidențialitate"
        "|locuri de muncă"
    ),
    "hr": "početna|naslovnica|o nama|kontakt|novosti|vijesti|svi natječaji|natječaji|karijere|karijera|prijava",
    "sr": (
        "početna|naslovna|o nama|kontakt|vesti|novosti|svi konkursi|karijera|почетна|насловна|о нама|контакт|вести"
        "|новости|сви конкурси|каријера"
    ),
    "sl": "domov|o nas|kontakt|novice|vsi razpisi|kariera",
    "mk": "почетна|за нас|контакт|вести|новости|сите огласи|кариера",
    "sq": "kreu|ballina|rreth nesh|kontakt|lajme|të gjitha|kontakti",
    "bg": "начало|за нас|контакти|контакт|новини|всички обяви|всички позиции|кариери|кариера|вход",
    "uk": (
        "головна|про нас|контакти|новини|усі вакансії|всі вакансії|кар'єра|кар’єра|вакансії|увійти|команда"
        "|політика конфіденційності|блог"
    ),
    "be": "галоўная|пра нас|кантакты|навіны|усе вакансіі",
    "ru": (
        "главная|о нас|о компании|контакты|новости|войти|вход|команда|блог|пресс-центр|политика конфиденциальности"
        "|отзывы|партнеры"
    ),
    "el": (
        "αρχική|αρχική σελίδα|σχετικά με εμάς|επικοινωνία|νέα|όλες οι θέσεις|καριέρα|θέσεις εργασίας|σύνδεση"
        "|πολιτική απορρήτου|ποιοι είμαστε"
    ),
    "tr": (
        "ana sayfa|anasayfa|hakkımızda|iletişim|haberler|tüm ilanlar|tüm pozisyonlar|kariyer|giriş"
        "|gizlilik politikası|açık pozisyonlar|kvkk"
    ),
    "az": "ana səhifə|haqqımızda|əlaqə|xəbərlər|bütün vakansiyalar|karyera",
    "kk": "басты бет|біз туралы|байланыс|жаңалықтар|барлық вакансиялар",
    "ky": "башкы бет|биз жөнүндө|байланыш|жаңылыктар",
    "uz": "bosh sahifa|biz haqimizda|aloqa|yangiliklar|barcha vakansiyalar",
    "mn": "нүүр|бидний тухай|холбоо барих|мэдээ",
    "hy": "գլխավոր|մեր մասին|կապ|նորություններ|բոլոր հաստիքները",
    "ka": "მთავარი|ჩვენ შესახებ|კონტაქტი|სიახლეები|ყველა ვაკანსია|ვაკანსიები|კარიერა|შესვლა",
    "he": "דף הבית|בית|אודות|צור קשר|חדשות|כל המשרות|קריירה|התחברות|מדיניות פרטיות|משרות|דרושים|יצירת קשר|עמוד הבית",
    "ar": (
        "الصفحة الرئيسية|عن المنظمة|الأخبار|تواصل معنا|تسجيل الدخول|سياسة الخصوصية|من نحن|كل الوظائف|المشاريع|حول"
        "|شركاؤنا"
    ),
    "fa": (
        "صفحه اصلی|خانه|درباره ما|تماس با ما|اخبار|همه فرصت‌ها|ورود|ورود به سامانه|همه مشاغل|وبلاگ|حریم خصوصی"
        "|فرصت‌های شغلی|استخدام"
    ),
    "ur": "ہوم|صفحہ اول|ہمارے بارے میں|رابطہ|خبریں|تمام آسامیاں|رابطہ کریں",
    "hi": "होम|मुख्य पृष्ठ|हमारे बारे में|संपर्क|संपर्क करें|समाचार|सभी रिक्तियां|सभी नौकरियां|करियर|लॉगिन|गोपनीयता नीति",
    "ne": "गृहपृष्ठ|हाम्रो बारेमा|सम्पर्क|समाचार|सबै पदहरू",
    "bn": "হোম|মূল পাতা|আমাদের সম্পর্কে|যোগাযোগ|খবর|সব চাকরি|সংবাদ|ক্যারিয়ার|লগইন|প্রচ্ছদ",
    "ta": "முகப்பு|எங்களைப் பற்றி|தொடர்பு|செய்திகள்|தொடர்பு கொள்ள",
    "si": "මුල් පිටුව|අප ගැන|සම්බන්ධ වන්න|පුවත්|අපි ගැන",
    "th": (
        "หน้าแรก|เกี่ยวกับเรา|ติดต่อเรา|ข่าวสาร|ตำแหน่งงานทั้งหมด|ข่าว|เข้าสู่ระบบ|นโยบายความเป็นส่วนตัว|ร่วมงานกับเรา|บริการ|ติดต่อ|หน้าหลัก"
    ),
    "lo": "ໜ້າຫຼັກ|ກ່ຽວກັບພວກເຮົາ|ຕິດຕໍ່|ຂ່າວ|ຕິດຕໍ່ພວກເຮົາ",
    "km": "ទំព័រដើម|អំពីយើង|ទំនាក់ទំនង|ព័ត៌មាន|ការងារទាំងអស់",
    "my": "ပင်မစာမျက်နှာ|ကျွန်ုပ်တို့အကြောင်း|ဆက်သွယ်ရန်|သတင်း|အလုပ်အားလုံး|သတင်းများ|ပင်မ|အကြောင်း",
    "vi": (
        "trang chủ|giới thiệu|về chúng tôi|liên hệ|tin tức|tất cả vị trí|đăng nhập|tuyển dụng|sự kiện"
        "|chính sách bảo mật|dịch vụ"
    ),
    "id": (
        "beranda|tentang kami|kontak|hubungi kami|berita|semua lowongan|karir|karier|masuk|kebijakan privasi|lowongan"
        "|layanan"
    ),
    "ms": "laman utama|tentang kami|hubungi kami|berita|semua jawatan|kerjaya|utama",
    "tl": "tahanan|tungkol sa amin|makipag-ugnayan|balita",
    "sw": (
        "nyumbani|mwanzo|kuhusu sisi|wasiliana nasi|habari|nafasi zote|ingia|sera ya faragha|mawasiliano|ajira"
        "|nafasi za kazi|miradi"
    ),
    "so": "bogga hore|ku saabsan|nala soo xiriir|wararka|la xiriir",
    "am": "መነሻ|ስለ እኛ|ያግኙን|ዜና|ሁሉም ሥራዎች|መነሻ ገጽ|አግኙን",
    "ca": (
        "inici|qui som|contacte|notícies|totes les ofertes|treballa amb nosaltres|política de privacitat|actualitat"
    ),
    "eu": "hasiera|nor gara|kontaktua|albisteak",
    "ga": "baile|fúinn|teagmháil|nuacht",
    "cy": "hafan|amdanom ni|cysylltu|newyddion",
    "ko": (
        "홈|회사소개|소개|문의|뉴스|공지사항|로그인|전체 채용|인재상|복리후생|오시는 길|개인정보처리방침|사업소개|채용"
    ),
    "ja": (
        "トップ|会社概要|お知らせ|ニュース|よくある質問|プライバシーポリシー|アクセス|採用トップ|団体概要|ログイン"
        "|サイトマップ|活動内容"
    ),
    "zh": (
        "关于我们|關於我們|联系我们|聯絡我們|新闻|新聞|登录|注册|新闻中心|产品|服务|首頁|返回首页|隐私政策|通知公告"
        "|机构概况"
    ),
    "fr": (
        "à propos|qui sommes-nous|nos actions|partenaires|se connecter|toutes nos offres|politique de confidentialité"
        "|plan du site"
    ),
    "es": (
        "quiénes somos|nosotros|iniciar sesión|aviso legal|política de privacidad|nuestro trabajo|todas las vacantes"
        "|transparencia"
    ),
    "de": "über uns|team|presse|anmelden|karriereportal|alle stellen anzeigen|unsere arbeit|agb|newsletter|spenden",
    "pt": (
        "início|sobre nós|quem somos|contactos?|contatos?|notícias|política de privacidade|entrar"
        "|todas as oportunidades"
    ),
    "it": (
        "chi siamo|contatti|notizie|privacy|accedi|tutte le posizioni|home page|news|area riservata"
        "|amministrazione trasparente"
    ),
    "nl": "over ons|contact|nieuws|inloggen|privacyverklaring|alle functies|ons werk|vacature-?alert",
}
# The whole text of a link that keeps or passes on a job: "Save", "Share", "Apply later", "Print".
KEEPING: Final[dict[str, str]] = {
    "en": (
        "save(?: (?:job|this job|for later|vacancy))?|saved?|apply later|remind me(?: later)?"
        "|e-?mail (?:this )?(?:job|to a friend)|send to (?:a )?friend|follow(?: us)?|(?:add|save) to (?:favou?rites"
        "|basket|cart|shortlist|my jobs)|bookmark|share(?: this)?(?: job)?|share on .{1,20}|print(?: this)?(?: page"
        "| job)?|tell a friend|refer a friend|add to calendar|copy link|report(?: this)? job|get alerts?|set alert"
        "|notify me|compare|like|shortlist|\\+ ?cart|in|f|x|@|tweet|pin it"
    ),
    "fr": (
        "partager|enregistrer|imprimer|sauvegarder|ajouter aux favoris|postuler plus tard|envoyer à un ami|suivre"
        "|recommander"
    ),
    "es": (
        "compartir|guardar|imprimir|seguir|añadir a favoritos|aplicar más tarde|postular más tarde|enviar a un amigo"
    ),
    "de": (
        "merken|teilen|drucken|speichern|später bewerben|job merken|weiterempfehlen|folgen|auf die merkliste"
        "|zur merkliste.{0,20}"
    ),
    "pt": "compartilhar|partilhar|salvar|guardar|imprimir|seguir|candidatar-se mais tarde",
    "it": "condividi|salva|stampa|segui|candidati più tardi|salva annuncio",
    "nl": "delen|opslaan|bewaar|bewaren|printen|volgen|later solliciteren|deel deze vacature",
    "sv": "dela|spara|skriv ut|följ|spara annons|tipsa|tipsa en vän",
    "da": "del|gem|udskriv|følg|gem job",
    "nb": "del|lagre|skriv ut|følg|lagre annonse|tips en venn",
    "fi": "jaa|tallenna|tulosta|seuraa|jaa ilmoitus",
    "pl": "udostępnij|zapisz|drukuj|obserwuj|zapisz ofertę|poleć znajomemu|aplikuj później",
    "cs": "sdílet|uložit|tisknout|vytisknout|sledovat|poslat známému|doporučit",
    "sk": "zdieľať|uložiť|tlačiť|vytlačiť|sledovať",
    "hu": "megosztás|mentés|nyomtatás|követés|elmentem|küldés ismerősnek|megosztom",
    "ro": "distribuie|salvează|tipărește|urmărește|salvează anunțul",
    "hr": "podijeli|spremi|ispiši|prati",
    "sr": "podeli|sačuvaj|štampaj|prati|подели|сачувај|штампај|прати",
    "bg": "сподели|запази|принтирай|следвай",
    "uk": "поділитися|зберегти|друкувати|стежити|в обране",
    "ru": "поделиться|сохранить|распечатать|в избранное|подписаться|печать|отправить другу",
    "el": "κοινοποίηση|αποθήκευση|εκτύπωση|μοιραστείτε|ακολουθήστε",
    "tr": "paylaş|kaydet|yazdır|takip et|ilanı kaydet|arkadaşına gönder",
    "he": "שתף|שמור|הדפס|שיתוף|שמור משרה|עקוב",
    "ar": "مشاركة|شارك|حفظ|طباعة|متابعة|حفظ الوظيفة|التقديم لاحقا|أرسل إلى صديق",
    "fa": "اشتراک‌گذاری|اشتراک گذاری|ذخیره|چاپ|دنبال کردن|نشان کردن",
    "ur": "شیئر کریں|محفوظ کریں|پرنٹ",
    "hi": "साझा करें|सहेजें|प्रिंट करें|शेयर करें|सेव करें",
    "bn": "শেয়ার|শেয়ার করুন|সংরক্ষণ|সংরক্ষণ করুন|প্রিন্ট|শেয়ার করুন",
    "th": "แชร์|บันทึก|พิมพ์|ติดตาม|แบ่งปัน|บันทึกงาน",
    "vi": "chia sẻ|lưu|in|theo dõi|lưu tin",
    "id": "bagikan|simpan|cetak|ikuti",
    "ms": "kongsi|simpan|cetak",
    "sw": "shiriki|hifadhi|chapisha|fuata|sambaza",
    "ka": "გაზიარება|შენახვა|ბეჭდვა",
    "hy": "կիսվել|պահպանել|տպել",
    "my": "မျှဝေရန်|သိမ်းရန်|ပုံနှိပ်ရန်",
    "km": "ចែករំលែក|រក្សាទុក|បោះពុម្ព",
    "am": "አጋራ|አስቀምጥ|አትም|ያጋሩ",
    "ko": "공유|저장|인쇄|스크랩|공유하기|관심공고|팔로우",
    "ja": "シェア|保存|印刷|お気に入り|共有|ブックマーク|あとで応募|キープ|フォロー",
    "zh": "分享|收藏|打印|保存|关注|稍后申请|列印|分享职位",
    "lt": "dalintis|išsaugoti|spausdinti",
    "lv": "dalīties|saglabāt|drukāt",
    "et": "jaga|salvesta|prindi",
}


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

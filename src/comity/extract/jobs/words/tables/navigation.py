"""What links say that lead elsewhere on the site, or keep and pass on a job, by language."""

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

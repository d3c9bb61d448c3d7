"""Months and calendars: takes month names in the languages of postings, folded by `words.plain`; returns numbers.

Numbers above 100 are months of another calendar; `day_of` converts its days to ours.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from comity.rules.jobs.words import plain

# Other calendars. Thai pages count years from 543 BC; Persian and Afghan pages use the solar Hijri calendar; Ethiopian
# pages use their own.

# Added to the number of a month, so that it tells its calendar.
PERSIAN: Final = 100
ETHIOPIAN: Final = 200
_BUDDHIST_YEARS: Final = range(2400, 2700)
_PERSIAN_YEARS: Final = range(1300, 1500)
_ETHIOPIAN_YEARS: Final = range(1960, 2093)


def day_of(year: int, month: int, day: int) -> date | None:
    """The day that is meant; None where there is none, as on 31 February."""
    if year in _BUDDHIST_YEARS:
        year -= 543
    try:
        if PERSIAN < month <= PERSIAN + 12:
            return _persian(year, month - PERSIAN, day)
        if ETHIOPIAN < month <= ETHIOPIAN + 13:
            return _ethiopian(year, month - ETHIOPIAN, day)
        if year in _PERSIAN_YEARS:
            return _persian(year, month, day)
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _persian(year: int, month: int, day: int) -> date | None:
    """Six months of 31 days, then of 30; eight leap years in 33."""
    if year not in _PERSIAN_YEARS or not 1 <= month <= 12 or not 1 <= day <= (31 if month <= 6 else 30):
        return None
    years = year - 979
    days = 365 * years + years // 33 * 8 + (years % 33 + 3) // 4
    days += 31 * (month - 1) if month <= 7 else 186 + 30 * (month - 7)
    return date(1600, 1, 1) + timedelta(days=days + day - 1 + 79)


def _ethiopian(year: int, month: int, day: int) -> date | None:
    """Twelve months of 30 days and a rest; the year begins on 11 September, on the 12th before our leap years."""
    if year not in _ETHIOPIAN_YEARS or not 1 <= day <= 30:
        return None
    return date(year + 7, 9, 12 if year % 4 == 0 else 11) + timedelta(days=30 * (month - 1) + day - 1)


# January first; spellings of one month are parted by a slash.
_MONTHS: Final = {
    "en": (
        "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sep/sept october/oct"
        " november/nov december/dec"
    ),
    "fr": (
        "janvier/janv février/févr/fev mars avril/avr mai juin juillet/juil août septembre octobre novembre décembre"
    ),
    "es": (
        "enero/ene febrero marzo abril/abr mayo junio julio agosto/ago septiembre/setiembre/set octubre noviembre"
        " diciembre/dic"
    ),
    "de": (
        "januar/jänner februar/feber märz/maerz/mrz april mai juni juli august september oktober/okt november"
        " dezember/dez"
    ),
    "pt": "janeiro fevereiro março abril maio/mai junho julho agosto setembro outubro/out novembro dezembro",
    "it": (
        "gennaio/gen febbraio marzo aprile maggio/mag giugno/giu luglio/lug agosto settembre/sett ottobre/ott"
        " novembre dicembre"
    ),
    "nl": "januari februari maart/mrt april mei juni juli augustus september oktober november december",
    "ru": (
        "января/январь/янв февраля/февраль/фев марта/март/мар апреля/апрель/апр мая/май июня/июнь/июн июля/июль/июл"
        " августа/август/авг сентября/сентябрь/сен/сент октября/октябрь/окт ноября/ноябрь/ноя/нояб"
        " декабря/декабрь/дек"
    ),
    "uk": (
        "січня/січень/січ лютого/лютий березня/березень квітня/квітень травня/травень червня/червень липня/липень"
        " серпня/серпень вересня/вересень жовтня/жовтень листопада/листопад/лист грудня/грудень/груд"
    ),
    "be": (
        "студзеня/студзень лютага/люты сакавіка/сакавік красавіка/красавік мая/май чэрвеня/чэрвень ліпеня/ліпень"
        " жніўня/жнівень верасня/верасень кастрычніка/кастрычнік лістапада/лістапад снежня/снежань"
    ),
    "ar": "يناير فبراير مارس أبريل/إبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "ar-levant": "كانون_الثاني شباط آذار نيسان أيار حزيران تموز آب أيلول تشرين_الأول تشرين_الثاني كانون_الأول",
    "ar-maghreb": "جانفي فيفري مارس أفريل ماي جوان جويلية أوت سبتمبر أكتوبر نوفمبر ديسمبر",
    "ar-morocco": "يناير فبراير مارس أبريل ماي يونيو يوليوز غشت شتنبر أكتوبر نونبر دجنبر",
    "tr": (
        "ocak/oca şubat/şub mart nisan/nis mayıs haziran/haz temmuz/tem ağustos/ağu eylül/eyl ekim/eki kasım/kas"
        " aralık/ara"
    ),
    "az": "yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr",
    "uz": "yanvar fevral mart aprel may iyun iyul avgust sentyabr oktyabr noyabr dekabr",
    "kk": "қаңтар ақпан наурыз сәуір мамыр маусым шілде тамыз қыркүйек қазан қараша желтоқсан",
    "ky": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    "pl": (
        "stycznia/styczeń/sty lutego/luty/lut marca/marzec kwietnia/kwiecień/kwi maja/maj czerwca/czerwiec/cze"
        " lipca/lipiec/lip sierpnia/sierpień/sie września/wrzesień/wrz października/październik/paź"
        " listopada/listopad/lis grudnia/grudzień/gru"
    ),
    "cs": (
        "ledna/leden února/únor března/březen dubna/duben května/květen června/červen července/červenec srpna/srpen"
        " září října/říjen listopadu/listopad prosince/prosinec"
    ),
    "sk": (
        "januára/január februára/február marca/marec apríla/apríl mája/máj júna/jún júla/júl augusta/august"
        " septembra/september októbra/október novembra/november decembra/december"
    ),
    "hr": (
        "siječnja/siječanj veljače/veljača ožujka/ožujak travnja/travanj svibnja/svibanj lipnja/lipanj srpnja/srpanj"
        " kolovoza/kolovoz rujna/rujan listopada/listopad studenoga/studenog/studeni prosinca/prosinac"
    ),
    "sr": (
        "januar/januara/јануар/јануара februar/februara/фебруар/фебруара mart/marta/март/марта"
        " april/aprila/април/априла maj/maja/мај/маја jun/juna/јун/јуна jul/jula/јул/јула"
        " avgust/avgusta/август/августа septembar/septembra/септембар/септембра oktobar/oktobra/октобар/октобра"
        " novembar/novembra/новембар/новембра decembar/decembra/децембар/децембра"
    ),
    "sl": (
        "januar/januarja februar/februarja marec/marca april/aprila maj/maja junij/junija julij/julija avgust/avgusta"
        " september/septembra oktober/oktobra november/novembra december/decembra"
    ),
    "mk": "јануари февруари март април мај јуни јули август септември октомври ноември декември",
    "bg": "януари февруари март април май юни юли август септември октомври ноември декември",
    "hu": (
        "január/jan február/febr március/márc április/ápr május/máj június/jún július/júl augusztus/aug"
        " szeptember/szept október/okt november/nov december/dec"
    ),
    "ro": (
        "ianuarie/ian februarie/feb martie aprilie mai iunie/iun iulie/iul august septembrie octombrie noiembrie/noi"
        " decembrie"
    ),
    "sq": "janar shkurt mars prill maj qershor korrik gusht shtator tetor nëntor dhjetor",
    "el": (
        "ιανουαρίου/ιανουάριος/ιαν φεβρουαρίου/φεβρουάριος/φεβ μαρτίου/μάρτιος/μαρ απριλίου/απρίλιος/απρ"
        " μαΐου/μάιος/μαι ιουνίου/ιούνιος/ιουν ιουλίου/ιούλιος/ιουλ αυγούστου/αύγουστος/αυγ"
        " σεπτεμβρίου/σεπτέμβριος/σεπ/σεπτ οκτωβρίου/οκτώβριος/οκτ νοεμβρίου/νοέμβριος/νοε δεκεμβρίου/δεκέμβριος/δεκ"
    ),
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "da": "januar februar marts april maj juni juli august september oktober november december/desember/des",
    "fi": (
        "tammikuuta/tammikuu helmikuuta/helmikuu maaliskuuta/maaliskuu huhtikuuta/huhtikuu toukokuuta/toukokuu"
        " kesäkuuta/kesäkuu heinäkuuta/heinäkuu elokuuta/elokuu syyskuuta/syyskuu lokakuuta/lokakuu"
        " marraskuuta/marraskuu joulukuuta/joulukuu"
    ),
    "is": "janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember",
    "et": "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember",
    "lv": (
        "janvāris/janvāra/janvārim februāris/februāra marts/marta/martam aprīlis/aprīļa maijs/maija jūnijs/jūnija"
        " jūlijs/jūlija augusts/augusta septembris/septembra oktobris/oktobra/oktobrim novembris/novembra/novembrim"
        " decembris/decembra/decembrim"
    ),
    "lt": (
        "sausio/sausis vasario/vasaris kovo/kovas balandžio/balandis gegužės/gegužė birželio/birželis liepos/liepa"
        " rugpjūčio/rugpjūtis rugsėjo/rugsėjis spalio/spalis lapkričio/lapkritis gruodžio/gruodis"
    ),
    "id": "januari februari maret april mei juni juli agustus september oktober november desember",
    "ms": "januari februari mac april mei jun julai ogos september oktober november disember",
    "tl": "enero pebrero marso abril mayo hunyo hulyo agosto setyembre oktubre nobyembre disyembre",
    "sw": "januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba",
    "so": "janaayo febraayo maarso abriil mayo juun luulyo agoosto sebtembar oktoobar noofembar diisembar",
    "ca": "gener febrer març abril maig juny juliol agost setembre octubre novembre desembre",
    "gl": "xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro",
    "eu": (
        "urtarrila/urtarrilaren otsaila/otsailaren martxoa/martxoaren apirila/apirilaren maiatza/maiatzaren"
        " ekaina/ekainaren uztaila/uztailaren abuztua/abuztuaren iraila/irailaren urria/urriaren azaroa/azaroaren"
        " abendua/abenduaren"
    ),
    "ga": (
        "eanáir feabhra márta aibreán bealtaine meitheamh iúil lúnasa meán_fómhair deireadh_fómhair samhain nollaig"
    ),
    "cy": "ionawr chwefror mawrth ebrill mai mehefin gorffennaf awst medi hydref tachwedd rhagfyr",
    "mt": "jannar frar marzu april mejju ġunju lulju awwissu settembru ottubru novembru diċembru",
    "he": (
        "ינואר/בינואר פברואר/בפברואר מרץ/במרץ/מרס/במרס אפריל/באפריל מאי/במאי יוני/ביוני יולי/ביולי אוגוסט/באוגוסט"
        " ספטמבר/בספטמבר אוקטובר/באוקטובר נובמבר/בנובמבר דצמבר/בדצמבר"
    ),
    "fa-west": "ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر",
    "ur": "جنوری فروری مارچ اپریل مئی جون جولائی اگست ستمبر اکتوبر نومبر دسمبر",
    "hi": "जनवरी/जन फरवरी/फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर/सितम्बर अक्टूबर/अक्तूबर नवंबर/नवम्बर दिसंबर/दिसम्बर",
    "mr": "जानेवारी फेब्रुवारी मार्च एप्रिल मे जून जुलै ऑगस्ट सप्टेंबर ऑक्टोबर नोव्हेंबर डिसेंबर",
    "ne": "जनवरी फेब्रुअरी मार्च अप्रिल मे जुन जुलाई अगस्ट सेप्टेम्बर अक्टोबर नोभेम्बर डिसेम्बर",
    "bn": "জানুয়ারি/জানুয়ারী ফেব্রুয়ারি/ফেব্রুয়ারী মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর ডিসেম্বর",
    "pa": "ਜਨਵਰੀ ਫਰਵਰੀ ਮਾਰਚ ਅਪ੍ਰੈਲ ਮਈ ਜੂਨ ਜੁਲਾਈ ਅਗਸਤ ਸਤੰਬਰ ਅਕਤੂਬਰ ਨਵੰਬਰ ਦਸੰਬਰ",
    "gu": "જાન્યુઆરી ફેબ્રુઆરી માર્ચ એપ્રિલ મે જૂન જુલાઈ ઓગસ્ટ સપ્ટેમ્બર ઓક્ટોબર નવેમ્બર ડિસેમ્બર",
    "ta": "ஜனவரி பிப்ரவரி/பெப்ரவரி மார்ச் ஏப்ரல் மே ஜூன் ஜூலை ஆகஸ்ட்/ஓகஸ்ட் செப்டம்பர்/செப்டெம்பர் அக்டோபர்/ஒக்டோபர் நவம்பர் டிசம்பர்",
    "te": "జనవరి ఫిబ్రవరి మార్చి ఏప్రిల్ మే జూన్ జులై ఆగస్టు సెప్టెంబర్ అక్టోబర్ నవంబర్ డిసెంబర్",
    "kn": "ಜನವರಿ ಫೆಬ್ರವರಿ ಮಾರ್ಚ್ ಏಪ್ರಿಲ್ ಮೇ ಜೂನ್ ಜುಲೈ ಆಗಸ್ಟ್ ಸೆಪ್ಟೆಂಬರ್ ಅಕ್ಟೋಬರ್ ನವೆಂಬರ್ ಡಿಸೆಂಬರ್",
    "ml": "ജനുവരി ഫെബ്രുവരി മാർച്ച് ഏപ്രിൽ മേയ് ജൂൺ ജൂലൈ ഓഗസ്റ്റ് സെപ്റ്റംബർ ഒക്ടോബർ നവംബർ ഡിസംബർ",
    "si": "ජනවාරි පෙබරවාරි මාර්තු අප්‍රේල්/අප්රේල් මැයි ජූනි ජූලි අගෝස්තු සැප්තැම්බර් ඔක්තෝබර් නොවැම්බර් දෙසැම්බර්",
    "th": (
        "มกราคม/มค กุมภาพันธ์/กพ มีนาคม/มีค เมษายน/เมย พฤษภาคม/พค มิถุนายน/มิย กรกฎาคม/กค สิงหาคม/สค กันยายน/กย ตุลาคม/ตค"
        " พฤศจิกายน/พย ธันวาคม/ธค"
    ),
    "lo": "ມັງກອນ ກຸມພາ ມີນາ ເມສາ ພຶດສະພາ ມິຖຸນາ ກໍລະກົດ ສິງຫາ ກັນຍາ ຕຸລາ ພະຈິກ ທັນວາ",
    "km": (
        "មករា/ខែមករា កុម្ភៈ/ខែកុម្ភៈ មីនា/ខែមីនា មេសា/ខែមេសា ឧសភា/ខែឧសភា មិថុនា/ខែមិថុនា កក្កដា/ខែកក្កដា សីហា/ខែសីហា កញ្ញា/ខែកញ្ញា"
        " តុលា/ខែតុលា វិច្ឆិកា/ខែវិច្ឆិកា ធ្នូ/ខែធ្នូ"
    ),
    "my": (
        "ဇန်နဝါရီ/ဇန်နဝါရီလ ဖေဖော်ဝါရီ/ဖေဖော်ဝါရီလ မတ်/မတ်လ ဧပြီ/ဧပြီလ မေ/မေလ ဇွန်/ဇွန်လ ဇူလိုင်/ဇူလိုင်လ ဩဂုတ်/ဩဂုတ်လ/သြဂုတ်/သြဂုတ်လ စက်တင်ဘာ/စက်တင်ဘာလ"
        " အောက်တိုဘာ/အောက်တိုဘာလ နိုဝင်ဘာ/နိုဝင်ဘာလ ဒီဇင်ဘာ/ဒီဇင်ဘာလ"
    ),
    "ka": (
        "იანვარი/იანვრის/იანვარს/იანვრამდე თებერვალი/თებერვლის/თებერვალს/თებერვლამდე მარტი/მარტის/მარტს/მარტამდე"
        " აპრილი/აპრილის/აპრილს/აპრილამდე მაისი/მაისის/მაისს/მაისამდე ივნისი/ივნისის/ივნისს/ივნისამდე"
        " ივლისი/ივლისის/ივლისს/ივლისამდე აგვისტო/აგვისტოს/აგვისტომდე სექტემბერი/სექტემბრის/სექტემბერს/სექტემბრამდე"
        " ოქტომბერი/ოქტომბრის/ოქტომბერს/ოქტომბრამდე ნოემბერი/ნოემბრის/ნოემბერს/ნოემბრამდე"
        " დეკემბერი/დეკემბრის/დეკემბერს/დეკემბრამდე"
    ),
    "hy": (
        "հունվարի/հունվար փետրվարի/փետրվար մարտի/մարտ ապրիլի/ապրիլ մայիսի/մայիս հունիսի/հունիս հուլիսի/հուլիս"
        " օգոստոսի/օգոստոս սեպտեմբերի/սեպտեմբեր հոկտեմբերի/հոկտեմբեր նոյեմբերի/նոյեմբեր դեկտեմբերի/դեկտեմբեր"
    ),
    "am-west": "ጃንዋሪ/ጃንዩወሪ ፌብሩዋሪ/ፌብሩወሪ ማርች ኤፕሪል ሜይ/ሜ ጁን ጁላይ ኦገስት ሴፕቴምበር ኦክቶበር ኖቬምበር ዲሴምበር",
}
_PERSIAN_MONTHS: Final = (
    "فروردین/حمل/وری اردیبهشت/ثور خرداد/جوزا تیر/سرطان مرداد/اسد/امرداد شهریور/سنبله مهر/میزان آبان/عقرب آذر/قوس "
    "دی/جدی بهمن/دلو اسفند/حوت"
)
_ETHIOPIAN_MONTHS: Final = "መስከረም ጥቅምት ኅዳር/ህዳር ታኅሣሥ/ታህሳስ/ታኅሳስ ጥር የካቲት መጋቢት ሚያዝያ/ሚያዚያ ግንቦት ሰኔ ሐምሌ/ሀምሌ ነሐሴ/ነሀሴ ጳጉሜ/ጳጉሜን"


def _named(line: str, first: int = 0) -> dict[str, int]:
    return {
        plain(spelling.replace("_", " ")): first + number
        for number, spellings in enumerate(line.split(), start=1)
        for spelling in spellings.split("/")
    }


def _read() -> dict[str, int]:
    """Numbers by name, without names that mean two months: "listopada" is November in Poland, October in Croatia."""
    numbers: dict[str, set[int]] = {}
    for line in _MONTHS.values():
        for name, number in _named(line).items():
            numbers.setdefault(name, set()).add(number)
    known = {name: meant.pop() for name, meant in numbers.items() if len(meant) == 1}
    other = _named(_PERSIAN_MONTHS, PERSIAN) | _named(_ETHIOPIAN_MONTHS, ETHIOPIAN)
    return other | known


MONTHS: Final = _read()
_OF_LANGUAGE: Final = {language: _named(line) for language, line in _MONTHS.items()}


def month_called(name: str, language: str = "") -> int | None:
    """The number of a month; the language decides where a name means different months in two of them."""
    return _OF_LANGUAGE.get(language, {}).get(name) or MONTHS.get(name)

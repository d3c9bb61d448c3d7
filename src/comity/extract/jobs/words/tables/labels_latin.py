"""Labels before a value or over a column, in languages written in Latin letters; `labels_scripts` has the others."""

from __future__ import annotations

from typing import Final

# Meanings are those of `words.labels`; English, French, Spanish, German, Portuguese, Italian and Dutch stand there.
LABELS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "title": "vacancy name|job position|role title|call|assignment title|announcement",
        "location_raw": (
            "duty station and country|location of work|work station|duty location|assignment location|hub"
        ),
        "deadline_raw": (
            "closing for application|closing for applications|application end date|applications due"
            "|application closes|deadline to apply|deadline for application|deadline for submission|last day to apply"
            "|apply no later than|closing time|application closing|posting end date|posting close date"
            "|closing deadline|applications by|application period ends|final date|end of application period"
            "|vacancy closing date|bid deadline"
        ),
        "posted_raw": "posting start date|advertised|first posted|date advertised|application start date|job posted",
        "employment_raw": "contract modality|type of employment|contract length|working time|job schedule|shift",
        "reference": (
            "advertisement no|advert no|requisition number|announcement no|job req|vacancy ref|notice number"
        ),
        "level_raw": "function group|function group/grade|pay grade|pay band|salary band|band|grade/band",
        "department": "function|functional area|practice area|discipline|office/unit|entity|bureau|network|portfolio",
    },
    "sv": {
        "title": "tjänst|befattning|roll|rubrik|annons|yrkesroll|ledig tjänst",
        "location_raw": (
            "ort|placeringsort|plats|arbetsplats|stad|arbetsort|placering|kontor|land|kommun|stationering"
        ),
        "deadline_raw": (
            "sista ansökningsdag|sista ansökningsdatum|ansök senast|sista dag att ansöka|ansökan senast|sista dag"
            "|söktid till|söks senast|slutdatum|ansökningstid till"
        ),
        "posted_raw": "publicerad|publicerat|publiceringsdatum|upplagd|datum",
        "employment_raw": "anställningsform|omfattning|anställning|arbetstid|anställningstyp|varaktighet",
        "department": "avdelning|enhet|förvaltning|område|yrkesområde|verksamhet",
        "reference": "referensnummer|annonsnummer|ref nr|diarienummer|referens|jobb-id",
        "org_name": "arbetsgivare|företag|organisation|myndighet",
    },
    "da": {
        "title": "stilling|titel|jobtitel|stillingsbetegnelse|job",
        "location_raw": "sted|arbejdssted|lokation|arbejdsplads|placering|kommune|land|område",
        "deadline_raw": "ansøgningsfrist|frist|sidste frist|deadline|søg senest|ansøg senest|sidste ansøgningsdato",
        "posted_raw": "opslået|oprettet|publiceret|dato|oprettelsesdato|indrykket",
        "employment_raw": "ansættelsesform|arbejdstid|ansættelsestype|ansættelse|timetal|varighed",
        "department": "afdeling|enhed|fagområde|kategori|forvaltning",
        "reference": "jobnummer|referencenummer|stillingsnummer|sagsnummer|job id|quicknummer",
        "org_name": "arbejdsgiver|virksomhed|institution|organisation",
    },
    "nb": {
        "title": "stilling|stillingstittel|tittel|ledig stilling|stillingsbetegnelse",
        "location_raw": "sted|arbeidssted|lokasjon|arbeidsplass|kommune|fylke|land|tjenestested|kontorsted",
        "deadline_raw": "søknadsfrist|frist|søk innen|siste frist|frist for søknad|søknadsfristen er",
        "posted_raw": "publisert|lagt ut|dato|publiseringsdato|utlyst",
        "employment_raw": "ansettelsesform|stillingstype|ansettelse|omfang|stillingsprosent|arbeidstid|varighet",
        "department": "avdeling|enhet|fagområde|seksjon",
        "reference": "referansenummer|stillingsnummer|ref nr|annonsenummer|stillings-id",
        "org_name": "arbeidsgiver|bedrift|virksomhet|organisasjon",
    },
    "fi": {
        "title": "tehtävä|tehtävänimike|työtehtävä|avoin työpaikka|työpaikka|nimike|ammattinimike|virka",
        "location_raw": (
            "sijainti|paikkakunta|toimipaikka|työpaikan sijainti|kaupunki|kunta|työskentelypaikka|maa|alue"
        ),
        "deadline_raw": (
            "hakuaika päättyy|haku päättyy|viimeinen hakupäivä|hakuaika|hae viimeistään|hakemukset viimeistään"
            "|määräaika|päättyy|hakemuksen jättöaika päättyy"
        ),
        "posted_raw": "julkaistu|ilmoitus julkaistu|ilmoitettu|päivämäärä|hakuaika alkaa",
        "employment_raw": "työsuhde|työsuhteen tyyppi|työsuhteen muoto|työaika|palvelussuhde|työsuhteen kesto|kesto",
        "department": "osasto|yksikkö|toimiala|tiimi|ammattiala",
        "reference": "viitenumero|työavain|tunniste|ilmoituksen numero",
        "org_name": "työnantaja|yritys|organisaatio",
    },
    "is": {
        "title": "starf|starfsheiti|staða|laust starf",
        "location_raw": "staðsetning|starfsstöð|staður|borg",
        "deadline_raw": "umsóknarfrestur|umsóknarfrestur er til|frestur|lokadagur umsókna",
        "posted_raw": "birt|auglýst|dagsetning",
        "employment_raw": "starfshlutfall|tegund starfs|ráðningarform",
        "department": "deild|svið",
        "org_name": "vinnuveitandi|fyrirtæki|stofnun",
    },
    "et": {
        "title": "ametikoht|töökoht|ametinimetus|positsioon|vaba ametikoht",
        "location_raw": "asukoht|töö asukoht|linn|töökoha asukoht|maakond|koht",
        "deadline_raw": "tähtaeg|kandideerimise tähtaeg|kandideeri kuni|kandideerimistähtaeg|avalduste tähtaeg",
        "posted_raw": "avaldatud|lisatud|kuupäev",
        "employment_raw": "tööaeg|töösuhe|koormus|töölepingu tüüp",
        "department": "osakond|valdkond|üksus",
        "org_name": "tööandja|ettevõte|asutus",
    },
    "lv": {
        "title": "amats|vakance|amata nosaukums|pozīcija|darba vieta",
        "location_raw": "atrašanās vieta|darba vietas adrese|pilsēta|vieta|adrese|reģions",
        "deadline_raw": (
            "pieteikšanās termiņš|termiņš|pieteikties līdz|pieteikumu iesniegšanas termiņš|pieteikšanās līdz"
        ),
        "posted_raw": "publicēts|ievietots|datums|publicēšanas datums",
        "employment_raw": "darba laiks|slodze|darba veids|līguma veids",
        "department": "nodaļa|struktūrvienība|joma",
        "org_name": "darba devējs|uzņēmums|iestāde",
    },
    "lt": {
        "title": "pareigos|pareigybė|pozicija|darbo skelbimas|pareigų pavadinimas|darbo vieta",
        "location_raw": "vieta|miestas|darbo vietos adresas|vietovė|darbovietė|savivaldybė",
        "deadline_raw": (
            "kandidatuoti iki|paraiškų pateikimo terminas|terminas|galioja iki|prašymus teikti iki"
            "|skelbimas galioja iki|dokumentus teikti iki"
        ),
        "posted_raw": "paskelbta|įdėta|data|skelbimo data",
        "employment_raw": "darbo laikas|darbo pobūdis|etatas|sutarties tipas|darbo sutartis",
        "department": "skyrius|padalinys|sritis",
        "org_name": "darbdavys|įmonė|įstaiga|organizacija",
    },
    "pl": {
        "title": "stanowisko|nazwa stanowiska|oferta pracy|oferta|tytuł|ogłoszenie|wakat",
        "location_raw": "lokalizacja|miejsce pracy|miasto|miejscowość|siedziba|oddział|województwo|kraj|region|biuro",
        "deadline_raw": (
            "termin składania aplikacji|termin składania ofert|aplikuj do|termin aplikowania"
            "|termin nadsyłania zgłoszeń|termin składania dokumentów|ważne do|oferta ważna do|zgłoszenia do"
            "|data zakończenia|termin|termin zgłoszeń|składanie ofert do|aplikacje do|dokumenty do"
        ),
        "posted_raw": "data publikacji|opublikowano|dodano|data dodania|data ogłoszenia",
        "employment_raw": "rodzaj umowy|wymiar etatu|forma zatrudnienia|typ umowy|wymiar czasu pracy|etat|umowa",
        "department": "dział|departament|zespół|obszar|kategoria|wydział|jednostka",
        "reference": "numer referencyjny|nr ref|nr oferty|numer ogłoszenia|nr ogłoszenia|sygnatura",
        "org_name": "pracodawca|firma|organizacja|instytucja|urząd",
        "level_raw": "poziom|poziom stanowiska",
    },
    "cs": {
        "title": "pozice|název pozice|pracovní pozice|volné místo|volná pozice|funkce|pracovní místo|nabídka",
        "location_raw": "místo|místo výkonu práce|lokalita|město|pracoviště|místo práce|kraj|obec|země|pobočka",
        "deadline_raw": (
            "termín pro podání přihlášek|uzávěrka|uzávěrka přihlášek|přihlášky do|termín|datum uzávěrky|platí do"
            "|termín podání přihlášky|přihlaste se do|nejpozději do|termín přihlášek|lhůta"
        ),
        "posted_raw": "zveřejněno|datum zveřejnění|přidáno|vyvěšeno|publikováno|datum",
        "employment_raw": (
            "úvazek|typ úvazku|pracovní úvazek|typ smlouvy|pracovní poměr|druh pracovního poměru|smlouva"
        ),
        "department": "oddělení|odbor|útvar|tým|obor|fakulta",
        "reference": "číslo pozice|referenční číslo|ref číslo|číslo jednací|č j",
        "org_name": "zaměstnavatel|firma|společnost|organizace|instituce",
        "level_raw": "platová třída|třída",
    },
    "sk": {
        "title": "pozícia|názov pozície|pracovná pozícia|voľné miesto|voľná pozícia|funkcia|pracovné miesto",
        "location_raw": "miesto|miesto výkonu práce|lokalita|mesto|pracovisko|miesto práce|kraj|obec|krajina",
        "deadline_raw": (
            "termín podania žiadosti|uzávierka|uzávierka prihlášok|prihlášky do|termín|platí do|najneskôr do"
        ),
        "posted_raw": "zverejnené|dátum zverejnenia|pridané|publikované|dátum",
        "employment_raw": "úväzok|typ úväzku|druh pracovného pomeru|pracovný pomer|typ zmluvy|zmluva",
        "department": "oddelenie|odbor|útvar|tím",
        "reference": "referenčné číslo|číslo ponuky",
        "org_name": "zamestnávateľ|firma|spoločnosť|organizácia|inštitúcia",
    },
    "hu": {
        "title": "pozíció|állás|munkakör|állás megnevezése|munkakör megnevezése|beosztás|állásajánlat|álláshely",
        "location_raw": (
            "helyszín|munkavégzés helye|hely|munkahely|város|település|telephely|ország|munkavégzés helyszíne|megye"
            "|iroda"
        ),
        "deadline_raw": (
            "jelentkezési határidő|határidő|pályázati határidő|pályázat benyújtásának határideje|beadási határidő"
            "|jelentkezés határideje|a pályázat benyújtásának határideje|érvényes|lejárat|beküldési határidő"
            "|pályázatok beérkezési határideje|jelentkezés"
        ),
        "posted_raw": "közzététel|közzétéve|meghirdetve|feladás dátuma|publikálva|közzététel dátuma|dátum|feladva",
        "employment_raw": (
            "munkaidő|foglalkoztatás típusa|szerződés típusa|jogviszony|foglalkoztatás jellege|munkarend|munkaviszony"
        ),
        "department": "osztály|szervezeti egység|részleg|terület|csapat|főosztály",
        "reference": "azonosító|hivatkozási szám|referenciaszám|állás azonosító|pályázati azonosító|azonosítószám",
        "org_name": "munkáltató|szervezet|cég|intézmény|munkaadó",
    },
    "ro": {
        "title": "post|postul|poziție|denumirea postului|funcția|funcție|titlu|anunț|post vacant|concurs",
        "location_raw": "locație|locul de muncă|oraș|localitate|sediu|județ|loc|țară|locația|punct de lucru",
        "deadline_raw": (
            "termen limită|data limită|termen de depunere|termen|termen limită de aplicare|aplică până la"
            "|valabil până la|depunere dosare până la|data limită de depunere"
            "|termen limită pentru depunerea dosarelor|data expirării"
        ),
        "posted_raw": "publicat|data publicării|publicat la|postat|adăugat|data",
        "employment_raw": "tip contract|tipul contractului|normă|program|tip normă|tipul jobului|durata",
        "department": "departament|direcție|serviciu|compartiment|domeniu",
        "reference": "cod|referință|număr de referință|nr anunț",
        "org_name": "angajator|companie|organizație|instituție",
    },
    "hr": {
        "title": "radno mjesto|pozicija|naziv radnog mjesta|natječaj|posao|naziv|oglas",
        "location_raw": "mjesto rada|lokacija|grad|mjesto|županija|država|sjedište|općina",
        "deadline_raw": (
            "rok prijave|rok za prijavu|rok|prijave do|natječaj otvoren do|rok za podnošenje prijava|oglas ističe"
            "|rok prijava|vrijedi do|prijaviti se do|zatvaranje natječaja"
        ),
        "posted_raw": "objavljeno|datum objave|objava|datum",
        "employment_raw": "vrsta ugovora|vrsta zaposlenja|radno vrijeme|vrsta radnog odnosa|zaposlenje|ugovor",
        "department": "odjel|služba|sektor|odsjek|tim",
        "reference": "klasa|šifra|broj natječaja|oznaka|referentni broj",
        "org_name": "poslodavac|tvrtka|organizacija|ustanova|kompanija",
    },
    "sr": {
        "title": "radno mesto|pozicija|naziv pozicije|konkurs|posao|naziv radnog mesta|oglas",
        "location_raw": "mesto rada|lokacija|grad|mesto|opština|država|sedište",
        "deadline_raw": (
            "rok za prijavu|rok za prijavljivanje|rok|konkurs otvoren do|prijave do|rok za apliciranje|rok prijave"
            "|oglas ističe|rok za podnošenje prijava|rok konkursa"
        ),
        "posted_raw": "objavljeno|datum objave|postavljeno|datum objavljivanja|datum",
        "employment_raw": "vrsta zaposlenja|vrsta ugovora|radno vreme|tip zaposlenja|angažman|ugovor",
        "department": "odeljenje|služba|sektor|tim|oblast",
        "reference": "šifra konkursa|broj konkursa|šifra",
        "org_name": "poslodavac|kompanija|organizacija|firma|ustanova",
    },
    "sl": {
        "title": "delovno mesto|naziv delovnega mesta|prosto delovno mesto|razpis|pozicija|zaposlitev",
        "location_raw": "kraj dela|lokacija|kraj|mesto|občina|regija|kraj opravljanja dela",
        "deadline_raw": "rok za prijavo|rok prijave|rok|prijave do|rok za oddajo prijav|prijava do|razpis odprt do",
        "posted_raw": "objavljeno|datum objave|datum",
        "employment_raw": "vrsta zaposlitve|delovni čas|trajanje zaposlitve|vrsta pogodbe",
        "department": "oddelek|služba|področje|sektor",
        "org_name": "delodajalec|podjetje|organizacija",
    },
    "sq": {
        "title": "pozicioni|vendi i punës|titulli|vend vakant|pozita|shpallje",
        "location_raw": "vendndodhja|vendi|qyteti|lokacioni|komuna|vendi i punës",
        "deadline_raw": "afati|afati i aplikimit|afati i fundit|afati për aplikim|data e mbylljes|apliko deri më",
        "posted_raw": "publikuar|data e publikimit|data",
        "employment_raw": "lloji i kontratës|orari|lloji i punës|kontrata",
        "department": "departamenti|njësia|sektori",
        "org_name": "punëdhënësi|kompania|organizata|institucioni",
    },
    "tr": {
        "title": "pozisyon|pozisyon adı|iş ilanı|unvan|görev|kadro|ilan|ilan başlığı|iş tanımı|pozisyonlar",
        "location_raw": "konum|şehir|lokasyon|çalışma yeri|yer|il|görev yeri|ülke|ofis|iş yeri|il/ilçe",
        "deadline_raw": (
            "son başvuru tarihi|başvuru son tarihi|son başvuru|son tarih|başvuru bitiş tarihi|bitiş tarihi"
            "|başvuru süresi|ilan bitiş tarihi|son gün|kapanış tarihi"
        ),
        "posted_raw": "yayın tarihi|ilan tarihi|yayınlanma tarihi|başlangıç tarihi|tarih|yayınlandı",
        "employment_raw": "çalışma şekli|istihdam türü|sözleşme türü|çalışma tipi|iş tipi|sözleşme|çalışma süresi",
        "department": "departman|birim|bölüm|ekip|alan|müdürlük",
        "reference": "referans no|ilan no|referans numarası|ilan numarası|kod",
        "org_name": "işveren|şirket|kurum|firma|kuruluş",
    },
    "az": {
        "title": "vakansiya|vəzifə|iş elanı|vəzifənin adı|peşə",
        "location_raw": "yer|şəhər|iş yeri|ünvan|məkan|bölgə",
        "deadline_raw": (
            "son müraciət tarixi|son tarix|bitmə tarixi|son müddət|elanın bitmə tarixi|müraciət üçün son tarix"
        ),
        "posted_raw": "dərc olunub|elan tarixi|yerləşdirilib|tarix",
        "employment_raw": "iş rejimi|məşğulluq növü|müqavilə növü|iş qrafiki",
        "department": "şöbə|departament",
        "org_name": "işəgötürən|şirkət|təşkilat",
    },
    "vi": {
        "title": "vị trí|vị trí tuyển dụng|chức danh|tên công việc|công việc|vị trí công việc|tin tuyển dụng",
        "location_raw": "địa điểm|nơi làm việc|địa điểm làm việc|thành phố|khu vực|tỉnh thành|tỉnh/thành phố|địa chỉ",
        "deadline_raw": (
            "hạn nộp hồ sơ|hạn nộp|hạn chót|thời hạn nộp hồ sơ|ngày hết hạn|hạn cuối|hết hạn|hạn ứng tuyển"
            "|hạn cuối nộp hồ sơ|hạn chót nộp hồ sơ|thời hạn|nhận hồ sơ đến"
        ),
        "posted_raw": "ngày đăng|đăng ngày|ngày cập nhật|ngày đăng tuyển",
        "employment_raw": "loại hình|hình thức|hình thức làm việc|loại hợp đồng|loại công việc|thời gian làm việc",
        "department": "phòng ban|bộ phận|phòng|ngành nghề|khối",
        "reference": "mã công việc|mã số|mã tuyển dụng",
        "org_name": "công ty|tổ chức|nhà tuyển dụng|đơn vị",
    },
    "id": {
        "title": "posisi|jabatan|lowongan|nama jabatan|nama posisi|judul|formasi|nama lowongan",
        "location_raw": "lokasi|lokasi kerja|tempat|kota|penempatan|tempat kerja|wilayah|lokasi penempatan|provinsi",
        "deadline_raw": (
            "batas akhir|batas waktu|tenggat|tanggal penutupan|batas akhir lamaran|batas pendaftaran|batas lamaran"
            "|ditutup|batas akhir pendaftaran|berlaku hingga|berakhir|tanggal berakhir|penutupan|tutup pada"
        ),
        "posted_raw": "diposting|tanggal tayang|dipublikasikan|tanggal posting|diterbitkan|tanggal",
        "employment_raw": "jenis pekerjaan|tipe pekerjaan|jenis kontrak|status kepegawaian|tipe kerja|kontrak",
        "department": "departemen|divisi|bagian|unit kerja|bidang",
        "reference": "kode|nomor referensi|kode lowongan|kode posisi",
        "org_name": "perusahaan|organisasi|lembaga|instansi",
    },
    "ms": {
        "title": "jawatan|nama jawatan|kekosongan|jawatan kosong",
        "location_raw": "lokasi|tempat|bandar|penempatan|negeri|tempat bertugas|lokasi kerja",
        "deadline_raw": "tarikh tutup|tarikh tutup permohonan|tarikh akhir|tarikh akhir permohonan|ditutup pada",
        "posted_raw": "tarikh iklan|tarikh siaran|tarikh buka|disiarkan",
        "employment_raw": "jenis pekerjaan|taraf jawatan|jenis kontrak|jenis lantikan",
        "department": "jabatan/bahagian|bahagian|unit",
        "org_name": "majikan|syarikat|organisasi|agensi",
    },
    "tl": {
        "title": "posisyon|trabaho|bakanteng posisyon|tungkulin",
        "location_raw": "lokasyon|lugar|lungsod|lugar ng trabaho",
        "deadline_raw": "huling araw|huling araw ng aplikasyon|huling araw ng pagsusumite|takdang petsa",
        "posted_raw": "nai-post|petsa",
        "employment_raw": "uri ng trabaho|uri ng kontrata",
        "org_name": "kumpanya|organisasyon",
    },
    "sw": {
        "title": "nafasi|cheo|kazi|nafasi ya kazi|jina la kazi|wadhifa|jina la nafasi",
        "location_raw": "mahali|eneo|kituo cha kazi|mahali pa kazi|mji|kituo|eneo la kazi|mkoa|nchi|ofisi",
        "deadline_raw": (
            "mwisho wa kutuma maombi|tarehe ya mwisho|mwisho wa maombi|tarehe ya kufunga|mwisho wa kupokea maombi"
            "|siku ya mwisho|tarehe ya mwisho ya kutuma maombi|mwisho"
        ),
        "posted_raw": "imechapishwa|tarehe ya kuchapishwa|ilitangazwa|tarehe ya tangazo|tarehe",
        "employment_raw": "aina ya ajira|aina ya mkataba|mkataba|muda wa mkataba",
        "department": "idara|kitengo|timu",
        "reference": "namba ya kumbukumbu|kumb na|rejea",
        "org_name": "mwajiri|shirika|kampuni|taasisi",
    },
    "so": {
        "title": "jagada|shaqada|boos banaan|magaca shaqada",
        "location_raw": "goobta|goobta shaqada|magaalada|xarunta",
        "deadline_raw": "taariikhda ugu dambeysa|waqtiga ugu dambeeya|ku eg|xilliga xiritaanka",
        "posted_raw": "la daabacay|taariikhda",
        "employment_raw": "nooca shaqada|nooca heshiiska",
        "org_name": "shirkadda|hay'adda",
    },
    "ca": {
        "title": "lloc de treball|plaça|càrrec|oferta de feina|lloc",
        "location_raw": "ubicació|lloc de feina|ciutat|localitat|seu|població|municipi|centre de treball",
        "deadline_raw": "data límit|termini|termini de presentació|fi de termini|data de tancament|fins al",
        "posted_raw": "publicat|data de publicació|publicat el",
        "employment_raw": "tipus de contracte|jornada|contracte|tipus de jornada",
        "department": "departament|àrea|unitat|servei",
        "reference": "referència|codi|núm de referència",
        "org_name": "empresa|entitat|organització",
    },
    "gl": {
        "title": "posto|praza|posto de traballo",
        "location_raw": "localidade|lugar de traballo|concello|cidade",
        "deadline_raw": "prazo|data límite|prazo de presentación|fin de prazo|ata o",
        "employment_raw": "tipo de contrato|xornada",
    },
    "eu": {
        "title": "lanpostua|lan eskaintza|postua",
        "location_raw": "kokapena|lantokia|herria|hiria",
        "deadline_raw": "epea|azken eguna|eskaerak egiteko epea|epemuga|aurkezteko epea",
        "employment_raw": "kontratu mota|lanaldia",
    },
    "mt": {
        "title": "pożizzjoni|post vakanti|impjieg",
        "location_raw": "post tax-xogħol|lok|belt",
        "deadline_raw": "data tal-għeluq|skadenza|l-aħħar data",
    },
    "ga": {
        "title": "post|folúntas|teideal an phoist",
        "location_raw": "suíomh|áit|ionad oibre",
        "deadline_raw": "spriocdháta|dáta deiridh|dáta deiridh d'iarratais|dáta dúnta",
    },
    "cy": {
        "title": "swydd|teitl y swydd|swydd wag",
        "location_raw": "lleoliad|lle|man gwaith",
        "deadline_raw": "dyddiad cau|dyddiad cau ceisiadau",
        "employment_raw": "math o gontract|oriau",
    },
    "ht": {
        "title": "pòs|djòb",
        "location_raw": "kote|vil|lokalizasyon",
        "deadline_raw": "dat limit|dènye dat",
    },
    "uz": {
        "title": "lavozim|vakansiya|bo'sh ish o'rni|ish o'rni",
        "location_raw": "joylashuv|shahar|ish joyi|hudud|manzil",
        "deadline_raw": "oxirgi muddat|ariza topshirish muddati|muddat|tugash sanasi|topshirish muddati",
        "posted_raw": "e'lon qilingan|sana",
        "employment_raw": "bandlik turi|ish turi|shartnoma turi",
        "org_name": "ish beruvchi|tashkilot|kompaniya",
    },
}

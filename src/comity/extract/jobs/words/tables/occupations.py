"""Words for what people do for a living, by language: beginnings of words; `words.titles` compiles them."""

from __future__ import annotations

from typing import Final

# Languages that put blanks between words.
STEMS: Final[dict[str, str]] = {
    "en": (
        "technologist delegate responder custodian monitor adjudicator arbitrator attaché superviser handler "
        "mobili[sz]er enumerators? translator usher coxswain cartographer geologist hydrologist demograph "
        "anthropolog sociolog linguist seismolog meteorolog judge\\b prosecutor jurist clinician obstetric "
        "gyn[ae]+colog p[ae]+diatric an[ae]+sthe radiolog patholog oncolog psychiatr cardiolog orthop[ae]+dic "
        "microbiolog virolog bioinformat toxicolog entomolog ecologist conservationist beekeeper shepherd herder "
        "fisher(?:man|woman) seafarer stevedore crane\\b forklift storekeeper storeman machine\\soperator "
        "sewing\\smachine seamstress cutter packager security\\sguard night\\sguard tailor bid\\swriter "
        "grant(?:s|-)?\\s?(?:manag|writ|officer) consultant\\b individual\\scontractor iunv unv\\b iicc?\\b "
        "seconded contractor solicitor barrister conveyancer notary"
    ),
    "fr": (
        "coordonnateur coordinatrice chargée logisticien logisticienne sage-femme superviseu enquêteur enquêteuse"
        " expert consultant prestataire assistant évaluateur facilitat mobilisat traducteur interprète"
        " points?\\sfocal magasinier caissi directeur hygiéniste nutritionniste vaccinat planton gérant métreur"
        " économiste statisticien démographe développeuse ingénieure technicienne vigile agronome hydrogéologue"
    ),
    "es": (
        "coordinadora gestora especialista técnico médica logista trabajadora educadora monitor[ae]?\\b evaluador"
        " asociad[oa] gestor enlace consultora oficiales analistas traductora intérprete supervisor encuestador"
        " ingeniera contadora cuidador celador orientador mediador dinamizador psicopedagog matrón fisioterapeuta"
        " redactor"
    ),
    "pt": (
        "coordenadora técnica gestora enfermeira supervisor oficial consultor professora investigadora tradutor"
        " intérprete motorista contabilista bolseira arquiteto economista médico psicólogo assistentes auxiliar"
        " operadora"
    ),
    "it": (
        "coordinatore coordinatrice operatrice consulente collaboratrice ricercatrice responsabile\\sprogett logista"
        " assistente tecnico medico ingegner mediatore mediatrice traduttore interprete animatore tirocinante"
    ),
    "de": (
        "koordinatorin leiterin fachreferent projektmanag bildungsreferent fundraiserin juristin wirtschaftsprüf"
        " sozialbetreu schulbegleit integrationshelf betreuungskraft pflegefach notfallsanitäter heilerzieh pförtner"
        " softwareentwickl teamleit abteilungsleit bereichsleit studentische wissenschaftliche promotionsstelle"
    ),
    "nl": (
        "medewerk coördinator manager projectmanager onderzoekster adviseur docente teamlid chauffeur stafmedewerk"
        " directeur bestuurslid jurist schoonma verpleeg consultent ambtenaar"
    ),
    "sv": (
        "projektledare handläggare samordnare lärare sjuksköt assistent chef\\b specialist administratör ekonom"
        " utredare strateg kommunikatör vårdbiträde barnmorska kurator psykolog socialsekreterare ingenjör tekniker"
        " chaufför vaktmästare controller forskare doktorand lektor rådgivare personlig\\sassistent praktikant"
        " volontär kock\\b montör snickare rektor jurist enhetschef verksamhetschef programhandläggare säljare"
        " utvecklare generalsekreterare lokalvårdare fritidsledare förskol undersköt"
    ),
    "da": (
        "projektleder konsulent medarbejder koordinator sagsbehandler lærer sygeplejerske pædagog specialist chef\\b"
        " direktør rådgiver assistent studentermedhjælper praktikant socialrådgiver ingeniør tekniker chauffør"
        " frivillig leder\\b sekretær fuldmægtig jurist forsker ph\\.?d kok\\b pedel  udvikler sosu jordemoder"
        " læge\\b afdelingsleder fundraiser sundhedsplejerske elev\\b lektor adjunkt"
    ),
    "nb": (
        "prosjektleder rådgiver konsulent koordinator saksbehandler lærer sykepleier vernepleier spesialist sjef\\b"
        " direktør assistent medarbeider ingeniør tekniker sjåfør frivillig leder\\b avdelingsleder fagarbeider"
        " forsker stipendiat førsteamanuensis postdoktor renholder kokk\\b vaktmester utvikler  miljøterapeut"
        " miljøarbeider lege\\b jordmor psykolog programrådgiver lærling "
    ),
    "fi": (
        "asiantuntij koordinaattor projektipäällik päällik johtaj suunnittelij opettaj sairaanhoitaj lääkäri avustaj"
        " harjoittelij insinööri tutkij ohjaaj sihteer kehittäj neuvoj assistent hoitaj työntekij kuljettaj siivooj"
        " kokki\\b myyj vastaav lakim kirjanpitäj kouluttaj esimies terapeut psykologi sosiaalityö toimittaj"
        " lähihoitaj apteekkar varastotyö asentaj tohtorikoulutett yliopistonlehtor kätilö"
    ),
    "is": (
        "verkefnastjór sérfræðing kennar hjúkrunarfræðing læknir framkvæmdastjór fulltrú ráðgjaf starfsmað bílstjór"
        " verkfræðing forstöðumað deildarstjór ritar leiðbeinand sjúkraliði starfsfólk"
    ),
    "et": (
        "juht\\b projektijuht spetsialist koordinaator nõunik õpetaja arst\\b õde\\b assistent insener arendaja"
        " jurist raamatupidaja teadur peaspetsialist juhataja ekspert autojuht koristaja sotsiaaltöötaja praktikant"
        " analüütik müüja kokk\\b tehnik vabatahtlik nooremteadur lektor ametnik"
    ),
    "lv": (
        "vadītāj speciālist koordinator skolotāj ārst medmās asistent inženier grāmatved jurist referent eksperts"
        " pārvald direktor autovadītāj konsultant analītiķ programmētāj apkopēj pētniek praktikant pārdevēj māsa\\b"
        " tehniķ brīvprātīg lietved"
    ),
    "lt": (
        "vadov specialist koordinator mokytoj gydytoj slaugytoj asistent inžinier buhalter jurist vairuotoj ekspert"
        " direktor patarėj analitik programuotoj valytoj tyrėj praktikant administrator konsultant pardavėj"
        " socialin\\w+\\sdarbuotoj savanor technik pavaduotoj"
    ),
    "pl": (
        "kierownic koordynator asystent specjalist inżynier nauczyciel lekarz pielęgniar pracowni referent dyrektor"
        " młodszy\\s starszy\\s księgow kierowc analityk doradc programist stażyst praktykant główny\\s sekretar"
        " opiekun psycholog terapeut wychowawc sprzedawc magazynier kucharz sprzątacz konserwator radca informatyk"
        " technik adiunkt profesor wolontariusz przedstawiciel operator elektryk mechanik spawacz ratownik położn"
        " fizjoterapeut redaktor tłumacz grafik\\b kasjer monter audytor menedżer menadżer trener badacz logistyk"
        " fundraiser"
    ),
    "cs": (
        "koordinátor vedoucí asistent specialist inženýr učitel lékař sestra\\b pracovni referent ředitel účetní"
        " řidič analytik poradce programátor stážist manažer psycholog terapeut sociální\\spracov sociální\\skonzult"
        " pečovatel administrátor technik vývojář právník lektor projektov[ýá]\\s odborn[ýá]\\s kuchař uklízeč"
        " prodavač skladník elektrikář mechanik dělník svářeč vychovatel dobrovolník tajemník správce tlumočn"
        " překladat výzkumn vědeck[ýá] fundraiser zástupce konzultant recepční porodní sanitář ošetřovatel dispečer "
    ),
    "sk": (
        "koordinátor vedúc asistent špecialist inžinier učiteľ lekár sestra\\b pracovn[ií]\\b pracovníč referent"
        " riaditeľ účtovn vodič analytik poradc programátor stážist manažér psycholog terapeut sociáln[ya]\\spracov"
        " opatrovateľ administrátor technik vývojár právnik lektor projektov[ýá] odborn[ýá]\\s kuchár upratovač"
        " predavač skladník elektrikár mechanik vychovávateľ dobrovoľník tajomník správca tlmočn prekladat výskumn"
        " konzultant"
    ),
    "hu": (
        "munkatárs vezető mérnök koordinátor asszisztens referens igazgató fejlesztő tanár ápoló orvos sofőr titkár"
        " szakértő tanácsadó elemző könyvelő gyakornok önkéntes takarító raktáros eladó pénztáros szerelő hegesztő"
        " kertész kutató menedzser ügyintéző gépkocsivezető szakács adminisztrátor pedagógus óvodapedagógus"
        " pszichológus  előadó gondozó nővér védőnő tanító jogász technikus programozó tervező karbantartó gépkezelő"
        " operátor értékesít\\w+ ügyvezető főosztályvezető osztályvezető projektvezető specialista oktató adjunktus"
        " tanársegéd recepciós portás rendszergazda közgazdász szerkesztő tolmács fordító dajka targoncavezető"
        " villanyszerelő igazgatóhelyettes állatgondozó szülésznő mentő\\w+ logisztikus"
    ),
    "ro": (
        "coordonator manager\\b asistent specialist inginer profesor medic\\b inspector referent director contabil"
        " șofer sofer expert consilier analist programator stagiar asistent[ăe] lucrător asistent\\smedical psiholog"
        " educator administrator jurist economist ofițer muncitor îngrijitor bucătar vânzător electrician mecanic"
        " cercetător secretar responsabil voluntar arhitect traducător infirmier farmacist dezvoltator tehnician"
        " lector conferențiar formator facilitator paznic casier gestionar magaziner kinetoterapeut logopede mediator"
        " grefier"
    ),
    "hr": (
        "voditelj koordinator asistent stručnjak inženjer učitelj liječnik medicinska\\ssestra savjetnik referent"
        " ravnatelj računovođ vozač analitičar programer pripravnik suradnik psiholog pedagog odgojitelj"
        " administrator tajnik pravnik stručni\\s viši\\s njegovatelj spremač kuhar prodavač skladištar električar"
        " nastavnik direktor menadžer istraživač volonter prevoditelj tehničar ekonomist socijalni\\sradnik"
        " fizioterapeut operater djelatnik radnik viši\\sreferent docent poslijedoktorand doktorand "
    ),
    "sr": (
        "rukovodilac koordinator asistent stručnjak inženjer nastavnik lekar medicinska\\ssestra savetnik referent"
        " direktor knjigovođa vozač analitičar programer pripravnik saradnik psiholog pedagog vaspitač administrator"
        " sekretar pravnik stručni\\s viši\\s negovatelj spremač kuvar prodavac magacioner električar menadžer"
        " istraživač volonter prevodilac tehničar socijalni\\sradnik radnik službenik šef\\b specijalist  руководилац"
        " координатор асистент стручњак инжењер наставник лекар медицинска\\sсестра саветник референт директор"
        " књиговођа возач аналитичар програмер приправник сарадник психолог педагог васпитач администратор секретар"
        " правник стручни\\s виши\\s неговатељ спремач кувар продавац магационер електричар менаџер истраживач"
        " волонтер преводилац техничар социјални\\sрадник радник службеник шеф специјалист чистач домар"
    ),
    "sl": (
        "vodja koordinator asistent strokovn inženir učitelj zdravnik medicinska\\ssestra svetovalec svetovalka"
        " referent direktor računovod voznik analitik programer pripravnik sodelav psiholog pedagog vzgojitelj"
        " administrator tajnik pravnik kuhar prodajal skladiščnik električar raziskoval prostovolj prevajal tehnik"
        " socialni\\sdelav"
    ),
    "mk": (
        "раководител координатор асистент стручњак инженер наставник лекар медицинска\\sсестра советник референт"
        " директор сметководител возач аналитичар програмер практикант соработник психолог педагог воспитувач"
        " администратор секретар правник готвач продавач електричар менаџер истражувач волонтер преведувач техничар"
        " социјален"
    ),
    "sq": (
        "koordinator asistent specialist inxhinier mësues mjek\\b infermier këshilltar drejtor kontabilist shofer"
        " analist programues praktikant psikolog edukator administrator sekretar jurist kuzhinier shitës menaxher"
        " hulumtues vullnetar përkthyes teknik zyrtar udhëheqës punonjës punëtor përgjegjës ekspert financier"
    ),
    "bg": (
        "ръководител координатор асистент специалист инженер учител лекар медицинска\\sсестра съветник референт"
        " директор счетоводител шофьор анализатор програмист стажант сътрудник психолог педагог възпитател"
        " администратор секретар юрист експерт готвач продавач електротехник мениджър изследовател доброволец"
        " преводач техник социален\\sработник консултант работник служител началник главен\\s старши\\s младши\\s"
        " разработчик чистач хигиенист касиер логопед рехабилитатор акушерка детегледач"
    ),
    "uk": (
        "менеджер координатор асистент фахів спеціаліст інженер вчитель учитель викладач лікар медсестра радник"
        " консультант директор бухгалтер водій аналітик програміст розробник стажер стажист психолог педагог"
        " вихователь адміністратор секретар юрист експерт кухар продавець електрик дослідник волонтер перекладач"
        " технік соціальний\\sпрацівник керівник начальник головний\\s старший\\s молодший\\s провідний\\s офіцер"
        " логіст редактор помічник прибиральни охоронець двірник касир слюсар комірник фасилітатор тренер представник"
        " завідувач заступник методист  лаборант соцпрацівник фармацевт дизайнер оператор фандрайз"
    ),
    "be": (
        "менеджар каардынатар асістэнт спецыяліст інжынер настаўнік урач бухгалтар кіроўца аналітык праграміст псіхолаг"
    ),
    "ru": (
        "координатор ассистент педагог воспитатель главный\\s старший\\s младший\\s дворник логопед кладовщик сторож"
        " помощник заместитель заведующ доцент профессор исследователь волонтер волонтёр лектор экономист журналист"
        " представитель машинист монтажник сварщик токарь технолог конструктор архитектор механик офицер агроном"
        " ветеринар фармацевт провизор акушер делопроизвод супервайзер фасилитатор советник"
    ),
    "el": (
        "υπεύθυν διευθυντ βοηθ[όο]ς βοηθο μηχανικ συντονιστ σύμβουλο συμβούλ ειδικ[όέ]ς ειδικού λογιστ οδηγ[όο]"
        " γραμματ δάσκαλ καθηγητ νοσηλευτ ιατρ[όο] γιατρ κοινωνικ[όέ]ς ψυχολόγ δικηγόρ αναλυτ προγραμματιστ διερμηνέ"
        " μεταφραστ εκπαιδευτ εκπαιδευόμεν προϊστ στέλεχος υπάλληλος τεχνικ[όο] μάγειρ σερβιτόρ πωλητ ταμ[ίι]α"
        " καθαριστ φύλακ αποθηκ ηλεκτρολόγ υδραυλικ ερευνητ διοικητικ οικονομολόγ επιμελητ εθελοντ λογοθεραπευτ"
        " διαχειριστ συνεργάτ εργάτ εργάτρι μαί φαρμακοποι αρχιτέκτον σχεδιαστ επόπτ χειριστ φροντιστ νηπιαγωγ"
        " παιδαγωγ εμπειρογνώμ δημοσιογρ διαμεσολαβητ φυσικοθεραπευτ προγραμματιστή ασκούμεν"
    ),
    "tr": (
        "uzman müdür mühendis asistan danışman koordinatör sorumlu yönetici öğretmen hemşire doktor teknisyen"
        " tekniker şoför sekreter stajyer memur görevli akademisyen psikolog avukat analist geliştirici aşçı garson"
        " temsilci kasiyer işçi operatör elektrikçi eğitmen tercüman çevirmen gönüllü direktör şef\\b yardımcı hekim"
        " ebe\\b eczacı mimar sosyal\\sçalışmacı editör tasarımcı bekçi usta profesör doçent denetçi personel eleman"
        " fizyoterapist diyetisyen ekonomist"
    ),
    "az": (
        "mütəxəssis menecer mühəndis köməkçi koordinator məsləhətçi rəhbər müəllim həkim mühasib sürücü katib"
        " təcrübəçi analitik proqramçı hüquqşünas müdir operator satıcı aşpaz tərcüməçi könüllü"
    ),
    "kk": (
        "маман менеджер инженер көмекші үйлестіруші кеңесші басшы мұғалім дәрігер бухгалтер жүргізуші хатшы"
        " тағылымдамашы аналитик бағдарламашы заңгер директор оператор аудармашы сарапшы психолог"
    ),
    "ky": "адис менеджер инженер жардамчы координатор кеңешчи жетекчи мугалим дарыгер эсепчи айдоочу катчы",
    "uz": (
        "mutaxassis menejer muhandis yordamchi koordinator maslahatchi rahbar o['‘]qituvchi shifokor hisobchi"
        " haydovchi kotib tahlilchi dasturchi huquqshunos boshlig"
    ),
    "mn": "мэргэжилтэн менежер инженер туслах зохицуулагч зөвлөх дарга багш эмч нягтлан жолооч ажилтан захирал",
    "hy": (
        "մասնագետ մենեջեր ճարտարագետ օգնական համակարգող խորհրդատու ղեկավար ուսուցիչ բժիշկ հաշվապահ վարորդ քարտուղար"
        " փորձագետ վերլուծաբան ծրագրավորող իրավաբան տնօրեն թարգմանիչ հոգեբան ստաժոր պրակտիկանտ կառավարիչ"
    ),
    "he": (
        "מנהל רכז מתאמ עוזר מהנדס יועצ רואה\\sחשבון מזכיר נהג מורה אחות\\b רופא מפתח אנליסט עובד פסיכולוג עורך\\sדין"
        " עורכת\\sדין מתמח טכנאי מתנדב חוקר מדריך מטפל גנן גננת טבח מאבטח קופאי נציג סגן\\b ראש\\sצוות ראש\\sתחום"
        ' מזכ"?ל כלכלן מתרגם עורך\\b עורכת\\b אחראי קלינאי מרצה ספרן תומכ מפקח בודק שף\\b סייע מעצב מנכ"ל יו"ר'
    ),
    "fa": (
        "کارشناس مدیر مهندس مسئول مشاور حسابدار راننده منشی معلم پرستار پزشک تحلیلگر برنامه‌نویس برنامه نویس روان‌شناس"
        " روانشناس وکیل کارآموز مترجم پژوهشگر کارمند تکنسین هماهنگ دستیار معاون سرپرست متخصص فروشنده آشپز نگهبان طراح"
        " توسعه‌دهنده توسعه دهنده مددکار ماما کارگر نماینده آموزگار استاد مربی داوطلب اپراتور بازرس کارمند رئیس"
        " تسهیلگر"
    ),
    "ur": (
        "افسر مینیجر منیجر انجینئر اسسٹنٹ کوآرڈینیٹر مشیر اکاؤنٹنٹ ڈرائیور استاد نرس ڈاکٹر کلرک ڈائریکٹر ماہر معاون"
        " سپروائزر سیکرٹری محقق مترجم رضاکار انٹرن ٹیکنیشن ہیلتھ"
    ),
    "vi": (
        "chuyên\\sviên nhân\\sviên trưởng\\s kỹ\\ssư quản\\slý giám\\sđốc trợ\\slý điều\\sphối cán\\sbộ kế\\stoán"
        " tư\\svấn giáo\\sviên bác\\ssĩ y\\stá lái\\sxe thư\\ský lập\\strình phân\\stích thực\\stập phiên\\sdịch"
        " phó\\s chuyên\\sgia điều\\sdưỡng giảng\\sviên bảo\\svệ biên\\stập cộng\\stác tình\\snguyện"
    ),
    "id": (
        "koordinator manajer asisten staf\\b staff\\b petugas spesialis pengemudi sopir sekretaris analis konsultan"
        " insinyur direktur guru\\b dosen perawat dokter bidan akuntan peneliti magang kepala\\s penanggung"
        " fasilitator relawan pengawas penerjemah teknisi supervisor psikolog pendamping programer pengembang satpam"
        " juru kasir operator penyuluh pelaksana ahli\\b pejabat editor desainer pengelola pembina instruktur penulis"
        " wakil"
    ),
    "ms": (
        "pegawai pengurus penolong jurutera pembantu penyelaras pemandu setiausaha akauntan guru\\b jururawat doktor"
        " eksekutif penganalisis juruteknik penyelia pensyarah pengarah pelatih penterjemah kerani tukang"
    ),
    "tl": (
        "tagapamahala katulong inhinyero tagapag-ugnay guro drayber kalihim manggagawa tagasalin nars doktor opisyal"
    ),
    "sw": (
        "meneja afisa mratibu msaidizi mhandisi mshauri mhasibu dereva mwalimu muuguzi daktari katibu mkurugenzi"
        " mtaalamu mtafiti mfasiri fundi msimamizi mchambuzi mkufunzi mwanasheria mlinzi mpishi karani mkuu\\swa"
        " mkaguzi wakala mhadhiri mfanyakazi mwanafunzi mhudumu mtunza mwezeshaji mkunga mfamasia mtakwimu mwandishi"
        " kiongozi naibu mpokeaji mpangaji maafisa mfawidhi mtendaji mwenza mjenzi"
    ),
    "so": (
        "maamule isuduwe injineer xisaabiye darawal macallin kalkaaliye dhakhtar xoghaye agaasime khabiir kormeere"
        " sarkaal"
    ),
    "ha": "manaja malami direba likita akawu",
    "ca": (
        "coordinador tècnic gestor metge infermer educador auxiliar responsable director professor treballador"
        " psicòleg administratiu enginyer monitor conductor investigador advocat comptable becari ajudant cuiner"
    ),
    "gl": "coordinador técnico xestor médico enfermeir educador auxiliar profesor enxeñeir condutor investigador",
    "eu": (
        "koordinatzaile teknikari zuzendari irakasle mediku erizain ingeniari gidari ikertzaile laguntzaile hezitzaile"
    ),
    "mt": "maniġer uffiċjal assistent direttur inġinier għalliem infermier tabib koordinatur konsulent",
    "ga": (
        "bainisteoir oifigeach comhordaitheoir cúntóir múinteoir altra dochtúir innealtóir stiúrthóir taighdeoir rúnaí"
    ),
    "cy": (
        "rheolwr swyddog cydlynydd cynorthwyydd athro athrawes nyrs meddyg peiriannydd cyfarwyddwr gweithiwr ymchwilydd"
    ),
    "ht": "kowòdonatè asistan direktè enfimyè chofè kontab pwofesè",
    "rw": "umuyobozi umukozi umwarimu umuganga umushoferi umuhuzabikorwa",
    "zu": "umphathi umqondisi umhleli uthisha unesi umshayeli",
    "af": "bestuurder koördineerder onderwyser verpleeg ingenieur assistent direkteur navorser",
}
# Languages that put words together: anywhere in a word.
INSIDE: Final[dict[str, str]] = {
    "fi": (
        "kehittäj opettaj hoitaj päällik asiantuntij työntekij suunnittelij johtaj insinöör tutkij avustaj ohjaaj"
        " sihteer lääkäri koordinaattor konsultti neuvoj vastaav kuljettaj myyj valmentaj"
    ),
    "hu": (
        "vezető munkatárs mérnök koordinátor pedagógus szerelő asszisztens gondozó menedzser tanácsadó fejlesztő"
        " előadó orvos referens kezelő ügyintéző"
    ),
    "sv": (
        "lärare sköterska ledare\\b chef\\b ingenjör handläggare utvecklare assistent samordnare biträde tekniker"
        " rådgivare konsult\\b forskare sekreterare"
    ),
    "da": (
        "leder\\b lærer medarbejder konsulent sygeplejerske udvikler chef\\b assistent ingeniør rådgiver koordinator"
        " arbejder hjælper"
    ),
    "nb": "lærer pleier rådgiver ingeniør utvikler arbeider\\b koordinator sjef\\b terapeut fører\\b",
    "is": "stjóri fræðing kennari fulltrúi ráðgjafi",
    "et": "juht\\b õpetaja spetsialist insener töötaja juhataja",
    "nl": "medewerker leider\\b adviseur verpleegkundig ontwikkelaar begeleider coördinator beheerder docent\\b",
    "de": "ingenieur entwickler koordinator pädagog referent berater assistent",
    "lt": "inžinier specialist koordinator",
    "el": "μηχανικ",
    "tr": "mühendis",
}
# Scripts that join words, or letters to their vowel signs: anywhere in the text.
ANYWHERE: Final[dict[str, str]] = {
    "ar": (
        "منسّق|مشرفة|ميسّر|ميسر|محامي|محام|نائب|قائد|سكرتير|مراقب|محرر|صيدلي|حارس|طباخ|مبرمج|مطور|أستاذ|قابلة|مدقق"
        "|مستشارة|استشاري|متطوع|أخصائية|اختصاصي|مدرب|ناشط|مسؤولة|منشط|مراسل|خبيرة|مسئول|إداري|كيميائي|مختص|جراح|مكلف"
    ),
    "hi": (
        "अधिकारी|प्रबंधक|समन्वयक|सहायक|अभियंता|इंजीनियर|सलाहकार|लेखाकार|चालक|शिक्षक|नर्स|चिकित्सक|डॉक्टर|निदेशक|विशेषज्ञ|पर्यवेक्षक"
        "|कार्यकर्ता|सचिव|प्रशिक्षु|अनुवादक|शोधकर्ता|लिपिक|परामर्शदाता|तकनीशियन|विश्लेषक|प्रोफेसर|प्रशिक्षक|कार्यकारी|संपादक|कर्मचारी"
        "|ड्राइवर|मैनेजर|ऑफिसर|इंटर्न|फैसिलिटेटर|काउंसलर|एनिमेटर|अध्यापक|लेखपाल|वैज्ञानिक|गार्ड|रसोइया|टेक्नीशियन"
    ),
    "mr": "अधिकारी|व्यवस्थापक|समन्वयक|सहाय्यक|शिक्षक|चालक|परिचारिका",
    "ne": (
        "अधिकृत|व्यवस्थापक|संयोजक|सहायक|इन्जिनियर|लेखापाल|चालक|शिक्षक|निर्देशक|विशेषज्ञ|सहजकर्ता|परिचालक|कार्यकर्ता|प्राविधिक"
        "|सल्लाहकार|सुपरिवेक्षक"
    ),
    "bn": (
        "কর্মকর্তা|ব্যবস্থাপক|সমন্বয়ক|সমন্বয়কারী|সহকারী|প্রকৌশলী|পরামর্শক|হিসাবরক্ষক|চালক|শিক্ষক|নার্স|চিকিৎসক|ডাক্তার|পরিচালক"
        "|বিশেষজ্ঞ|সুপারভাইজার|কর্মী|সচিব|শিক্ষানবিশ|অনুবাদক|গবেষক|ম্যানেজার|অফিসার|ইঞ্জিনিয়ার|ড্রাইভার|টেকনিশিয়ান|বিশ্লেষক"
        "|অধ্যাপক|প্রশিক্ষক|ইন্টার্ন|সমন্বয়ক|সমন্বয়কারী|নির্বাহী|সম্পাদক|তত্ত্বাবধায়ক|এক্সিকিউটিভ|কো-অর্ডিনেটর|প্রভাষক|ফ্যাসিলিটেটর"
        "|স্বেচ্ছাসেবক|রক্ষী|বাবুর্চি"
    ),
    "pa": "ਅਧਿਕਾਰੀ|ਪ੍ਰਬੰਧਕ|ਸਹਾਇਕ|ਅਧਿਆਪਕ|ਡਰਾਈਵਰ|ਇੰਜੀਨੀਅਰ|ਨਰਸ",
    "gu": "અધિકારી|મેનેજર|સહાયક|શિક્ષક|ડ્રાઈવર|ઈજનેર|સંયોજક|નર્સ",
    "ta": (
        "அலுவலர்|மேலாளர்|ஒருங்கிணைப்பாளர்|உதவியாளர்|பொறியாளர்|ஆலோசகர்|கணக்காளர்|ஓட்டுநர்|ஆசிரியர்|செவிலியர்|மருத்துவர்|இயக்குநர்|நிபுணர்"
        "|அதிகாரி|பணியாளர்|முகாமையாளர்|சாரதி|செயலாளர்|தொழில்நுட்ப|ஆய்வாளர்|பயிற்சியாளர்|எழுத்தர்|உத்தியோகத்தர்"
    ),
    "te": "అధికారి|మేనేజర్|సహాయకుడు|ఇంజనీర్|ఉపాధ్యాయుడు|డ్రైవర్|నర్సు|సమన్వయకర్త|డైరెక్టర్|అసిస్టెంట్|నిపుణుడు",
    "kn": "ಅಧಿಕಾರಿ|ವ್ಯವಸ್ಥಾಪಕ|ಸಹಾಯಕ|ಶಿಕ್ಷಕ|ಚಾಲಕ|ಎಂಜಿನಿಯರ್|ಸಂಯೋಜಕ",
    "ml": "ഓഫീസർ|മാനേജർ|അസിസ്റ്റന്റ്|അധ്യാപക|ഡ്രൈവർ|എഞ്ചിനീയർ|നഴ്സ്|കോർഡിനേറ്റർ",
    "si": (
        "නිලධාරී|නිලධාරි|කළමනාකරු|සම්බන්ධීකාරක|සහකාර|ඉංජිනේරු|උපදේශක|ගණකාධිකාරී|රියදුරු|ගුරු|හෙද|වෛද්‍ය|වෛද්ය|අධ්‍යක්ෂ|අධ්යක්ෂ|විශේෂඥ|සේවක|ලේකම්"
        "|පරීක්ෂක|පුහුණු|තාක්ෂණ|විධායක|ලිපිකරු|පර්යේෂක|කථිකාචාර්ය"
    ),
    "th": (
        "เจ้าหน้าที่|ผู้จัดการ|ผู้ประสานงาน|ผู้ช่วย|วิศวกร|ที่ปรึกษา|นักบัญชี|พนักงาน|ครู|พยาบาล|แพทย์|ผู้อำนวยการ|ผู้เชี่ยวชาญ|หัวหน้า|เลขานุการ"
        "|นักศึกษาฝึกงาน|ล่าม|นักวิจัย|ช่าง|นักวิเคราะห์|อาจารย์|นักพัฒนา|ผู้บริหาร|นักจิตวิทยา|นักสังคม|โปรแกรมเมอร์|ฝึกงาน|นักวิชาการ|แม่บ้าน"
        "|คนขับรถ|ทนาย|นักกฎหมาย|นักออกแบบ|เภสัชกร|นักโภชนาการ|นักประชาสัมพันธ์"
    ),
    "lo": (
        "ເຈົ້າໜ້າທີ່|ຜູ້ຈັດການ|ຜູ້ປະສານງານ|ຜູ້ຊ່ວຍ|ວິສະວະກອນ|ທີ່ປຶກສາ|ບັນຊີ|ພະນັກງານ|ຄູ|ພະຍາບານ|ແພດ|ຜູ້ອຳນວຍການ|ຫົວໜ້າ|ຊ່ຽວຊານ|ຄົນຂັບລົດ|ນັກວິຊາການ"
    ),
    "km": (
        "មន្ត្រី|អ្នកគ្រប់គ្រង|អ្នកសម្របសម្រួល|ជំនួយការ|វិស្វករ|ទីប្រឹក្សា|គណនេយ្យករ|បុគ្គលិក|គ្រូ|គិលានុបដ្ឋាក|វេជ្ជបណ្ឌិត|នាយក|អ្នកជំនាញ|ប្រធាន"
        "|អ្នកបើកបរ|លេខា|អ្នកបកប្រែ|ឆ្មប"
    ),
    "my": (
        "အရာရှိ|မန်နေဂျာ|ညှိနှိုင်းရေးမှူး|လက်ထောက်|အင်ဂျင်နီယာ|အကြံပေး|စာရင်းကိုင်|ဝန်ထမ်း|ဆရာ|သူနာပြု|ဆရာဝန်|ညွှန်ကြားရေးမှူး|ကျွမ်းကျင်|ခေါင်းဆောင်"
        "|ယာဉ်မောင်း|အတွင်းရေးမှူး|ဘာသာပြန်|သုတေသ|ပညာရှင်|ကြီးကြပ်|သင်တန်းသား|မှူး|တာဝန်ခံ|စာရေး|အလုပ်သင်"
    ),
    "ka": (
        "მენეჯერ|კოორდინატორ|ასისტენტ|სპეციალისტ|ინჟინერ|კონსულტანტ|ბუღალტერ|მძღოლ|მასწავლებ|ექთან|ექიმ|დირექტორ"
        "|ექსპერტ|ხელმძღვანელ|მდივან|სტაჟიორ|მთარგმნელ|მკვლევარ|ანალიტიკოს|იურისტ|ფსიქოლოგ|ოფიცერ|ოპერატორ|დეველოპერ"
        "|ადმინისტრატორ|მრჩეველ|პროგრამისტ|აღმზრდელ|ლექტორ|ტექნიკოს|მუშაკ|თანამშრომ|დიზაინერ|უფროს|ფასილიტატორ"
        "|აუდიტორ|მოლარ|მზარეულ|დაცვის|ლოჯისტიკ|წარმომადგენელ|რედაქტორ|მოხალისე|ტრენერ"
    ),
    "am": (
        "ኦፊሰር|ሥራ አስኪያጅ|ስራ አስኪያጅ|አስተባባሪ|ረዳት|መሐንዲስ|መሃንዲስ|አማካሪ|የሂሳብ|ሹፌር|መምህር|ነርስ|ሐኪም|ዳይሬክተር|ባለሙያ|ጸሐፊ|ፀሐፊ|ተመራማሪ|ተንታኝ|ጠበቃ"
        "|ኃላፊ|ሰራተኛ|ሠራተኛ|አካውንታንት|ማናጀር|ተርጓሚ"
    ),
    "zh": (
        "负责人|負責人|专家|專家|技师|員$|师$|師$|长$|工人|店员|客服|运营|運營|销售|司机|保安|厨师|出纳|律师|社工"
        "|项目官|實習生|研究助理|护理|药师|志愿者|招募|讲席|教练|策划|文员|企劃|督导"
    ),
    "ja": (
        "士$|師$|員$|者$|主任|部長|課長|支援員|相談員|保育士|介護|営業|調理|運転手|ドライバー|プログラマー|ライター"
        "|編集|広報|経理|総務|人事|ファンドレイザー|エディター|リーダー|ボランティア|アルバイト|パートタイム|専門員"
        "|ソーシャルワーカー|准教授|ポスドク|嘱託|マーケ|デベロッパー|カウンセラー|サポーター|プランナー"
        "|プロデューサー"
    ),
    "ko": (
        "매니저|팀장|담당|전문가|조교|교수|강사|기사|상담사|사회복지사|분석가|기획자|에디터|마케터|컨설턴트"
        "|어시스턴트|운전|간병|의사|변호사|회계|비서|자원봉사|영업|디렉터|코디|책임자|선생님|요리사|조리사|보육"
        "|물리치료|활동가|국장|사무원|행정|계약직|인턴|스태프|요양|주무관|리더|전문위원|관리자|실장|과장|대리"
    ),
}

"""Words that tell what a job is about, tag by tag: stems end in `*`, phrases are joined by `_`; folded."""

from __future__ import annotations

from typing import Final

TAG_WORDS: Final = {
    "health": (
        "health* medic* nurs* midwi* doctor physician* epidemiol* immuni* vaccin* hiv aids malaria "
        "tuberculosis surgeon* clinic* hospital* "
        "pharma* psychiatr* mhpss mental_health srh reproductive_health sante medecin* infirmi* "
        "sage_femme salud enfermer* medico* gesundheit* "
        "pflege* arzt* krankenpfleg* saude enfermeir* sanita* infermier* salute здоров* медицин* врач* "
        "صحة الصحة صحي* طبيب* ممرض* 卫生 医疗"
    ),
    "nutrition": "nutrit* nutric* malnutrition malnutric* iycf cmam ernahrung* nutriz* питани* تغذية التغذية",
    "education": (
        "educat* teach* school* learning_centre literacy curricul* tutor* lecturer* professor* eie "
        "enseign* ecole* instituteur* docente* educac* "
        "maestr* bildung* lehrer* escola* scuola insegnant* образован* учител* تعليم التعليم معلم* 教育"
    ),
    "wash": (
        "wash sanitation hygien* water watsan wastewater latrine* eau assainissement saneamiento agua "
        "wasser* acqua hydraul* вод* مياه المياه صرف"
    ),
    "protection": (
        "protection safeguarding gbv_ case_management idp idps refugee_protection proteccion protecao "
        "protezione schutz защит* حماية الحماية"
    ),
    "child-protection": (
        "child_protection children* child_rights protection_de_l_enfance enfance enfants ninez infancia "
        "kinderschutz protezione_minori حماية_الطفل child_safeguarding"
    ),
    "gender": (
        "gender* gbv sgbv women* girls* femin* genre femme* genero mujer* frauen* geschlecht* mulher* "
        "donne гендер* النساء المراة جندر psea"
    ),
    "food-security": (
        "food_security fsl food_assistance food_systems hunger securite_alimentaire "
        "seguridad_alimentaria ernahrungssicher* seguranca_alimentar sicurezza_alimentare الامن_الغذائي"
    ),
    "livelihoods": (
        "livelihood* income_generat* microfinance entrepreneur* vocational tvet employment value_chain* "
        "economic_development economic_recovery "
        "moyens_de_subsistance moyens_d_existence medios_de_vida lebensgrundlagen سبل_العيش market_systems"
    ),
    "shelter": (
        "shelter* nfi nfis cccm camp_management housing abri* alojamiento refugio* unterkunft* alloggi* "
        "مأوى المأوى settlements"
    ),
    "emergency": (
        "emergenc* humanitarian* disaster* drr crisis_response rapid_response surge relief urgence* "
        "emergencia* humanitaire* humanitari* katastroph* "
        "humanitar* nothilfe emergenza чрезвычайн* гуманитар* طوارئ الطوارئ انساني*"
    ),
    "climate": (
        "climat* resilience carbon renewable* decarboni* net_zero adaptation_au clima klima* "
        "energy_transition климат* المناخ mitigation"
    ),
    "environment": (
        "environment* biodivers* conservation forest* wildlife ecolog* ocean* environnement* ambient* "
        "umwelt* naturschutz эколог* البيئة"
    ),
    "agriculture": (
        "agricult* agronom* farm* crop* livestock* veterinar* fisheries agropastoral* irrigation "
        "landwirtschaft* agricol* زراعة الزراعة сельск*"
    ),
    "migration": (
        "migra* refugee* displace* asylum resettlement durable_solutions repatriation refugie* deplaces "
        "refugiad* desplazad* fluchtling* rifugiat* "
        "мигра* беженц* لاجئ* اللاجئين هجرة الهجرة trafficking"
    ),
    "human-rights": (
        "human_rights droits_de_l_homme droits_humains derechos_humanos menschenrecht* direitos_humanos "
        "diritti_umani حقوق_الانسان прав_человека civic_space transitional_justice"
    ),
    "governance": (
        "governance democra* election* elector* rule_of_law public_administration anti_corruption "
        "decentrali* parliament* gouvernance gobernanza "
        "governanca regierungsfuhrung حوكمة الحوكمة public_policy civil_society public_sector"
    ),
    "peace": (
        "peace* conflict* mediation ddr stabili* reconciliation paix paz frieden* pace мир* السلام "
        "social_cohesion cve pve"
    ),
    "disability": (
        "disabilit* inclusion handicap* discapacidad behindert* deficiencia disabili* اعاقة الاعاقة "
        "rehabilitation physiotherap* prosthe* orthope*"
    ),
    "youth": (
        "youth* adolescen* young_people jeunesse jeunes juventud jovenes jugend* juventude giovani молодеж* شباب الشباب"
    ),
    "mine-action": "mine_action demining eod explosive* uxo ordnance weapons_contamination deminage desminado",
    "cash": "cash cva voucher* cash_transfer* social_protection social_safety_net* transferts_monetaires",
    "logistics": (
        "logist* supply_chain warehous* fleet transport* shipping customs storekeep* driver* chauffeur* "
        "motorista* conductor* supply approvisionnement "
        "almacen* lager* armazem magazzin* логист* склад* لوجست* سائق entrepot* pipeline_"
    ),
    "procurement": (
        "procur* purchas* sourcing buyer* tender* achats acheteur* adquisiciones compras einkauf* "
        "beschaffung* acquisti закуп* مشتريات المشتريات"
    ),
    "mel": (
        "meal mel monitoring evaluation* evaluat* m_e accountability rbm suivi_evaluation "
        "seguimiento_y_evaluacion suivi_et_evaluation imo "
        "monitoreo monitoramento avaliacao valutazione impact_measurement мониторинг* المتابعة_والتقييم evaluaciones"
    ),
    "research": (
        "research* scientist* survey* phd postdoc* study_ recherche* chercheu* investigac* "
        "investigador* forschung* wissenschaft* pesquis* ricerc* исследован* بحث باحث* enumerator*"
    ),
    "data": (
        "data data_analy* statistic* gis database* analytics big_data donnees estadistic* daten* dados "
        "dati statisti* information_management بيانات machine_learning"
    ),
    "it": (
        "it_officer it_manager it_specialist it_support it_systems it_infrastructure it_assistant "
        "it_associate it_coordinator it_administrator it_project it_consultant it_security it_services "
        "ict software developer* devops cyber* cybersecurity sysadmin sap erp network_engineer "
        "helpdesk information_technology information_systems "
        "web_develop* informati* entwickler* programmer* full_stack backend frontend cloud digital* "
        "технолог* تكنولوجيا المعلوماتية"
    ),
    "finance": (
        "financ* account* audit* budget* treasur* payroll controller* cashier* bookkeep* comptab* "
        "contab* contador* tesorer* finanz* buchhalt* "
        "controlling finanzas financeir* ragionier* amministrazione_finanza бухгалтер* финанс* مالي* "
        "المالية محاسب* 财务 grants_management"
    ),
    "administration": (
        "admin* secretar* office_manage* reception* clerk* executive_assistant personal_assistant "
        "administrat* verwaltung* sekretar* assistante_administrati* "
        "amministrativ* администра* اداري* الادارية cleaner* facilities"
    ),
    "human-resources": (
        "hr human_resource* recruit* talent people_and_culture people_culture personnel "
        "ressources_humaines rh recursos_humanos personal* risorse_umane кадр* الموارد_البشرية "
        "staff_development"
    ),
    "legal": (
        "legal law lawyer* attorney* counsel paralegal compliance juridi* juriste* avocat* abogad* "
        "legales rechts* jurist* advogad* legale юрист* قانون* محامي*"
    ),
    "security": (
        "security_ safety security_officer security_manager security_adviser security_advisor "
        "security_guard* guard* undss hse surete seguridad_fisica sicherheits* امن_وسلامة inso"
    ),
    "communications": (
        "communicat* media journalis* press_officer public_relations social_media content_ editor* "
        "graphic_design* photograph* video* storytell* "
        "communication* comunicac* comunicaz* kommunikation* offentlichkeitsarbeit pressesprecher* "
        "copywrit* коммуникац* اعلام* اتصال* marketing"
    ),
    "fundraising": (
        "fundrais* donor* philanthrop* resource_mobili* major_gifts grant_writ* proposal_writ* "
        "collecte_de_fonds levee_de_fonds recaudacion captacao "
        "spender* raccolta_fondi фандрайз* جمع_التبرعات business_development grants grant"
    ),
    "advocacy": (
        "advoca* campaign* lobby* plaidoyer plaidoyers incidencia kampagne* policy_advis* "
        "policy_officer policy_analyst public_affairs политик* مناصرة المناصرة"
    ),
    "engineering": (
        "engineer* construct* architect* electric* mechanic* civil_works infrastructure surveyor* "
        "ingenieur* ingenier* bauingenieur* engenh* ingegner* инженер* مهندس* solar"
    ),
    "programme-management": (
        "programme_manage* program_manage* project_manage* programme_officer program_officer "
        "project_officer programme_coordinat* program_coordinat* "
        "project_coordinat* chef_de_projet charge_de_projet gestion_de_proyect* projektmanage* "
        "projektleit* gestao_de_projet* chef_de_mission "
        "coordinateur_de_projet country_director programme_director pmo"
    ),
    "partnerships": (
        "partnership* stakeholder* external_relations partenariat* alianzas partnerschaft* parceria* partenariati شراك*"
    ),
    "translation": (
        "translat* interpret* traduct* interprete* traductor* ubersetz* dolmetsch* tradut* interpreter* "
        "переводчик* مترجم* linguist*"
    ),
}

"""Words for dates and times in the languages besides English, by the English words for them.

Each line gives an English wording and patterns over folded text for the same; a wording of several
parts stands before those that it begins with. Months, weekdays and numbers are in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MONTH_NAMES = (
    "january february march april may june july august september october november december".split()
)
WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()


class Vocabulary(NamedTuple):
    """The words of one language; `is_spaced` where they are written apart.

    `marks` tell the language of a text, as do its months and days of the week.
    """

    months: str
    weekdays: str
    numbers: str
    phrases: str
    marks: str = ""
    is_spaced: bool = True


_CHINESE_NUMBERS = "一 [二两] 三 四 五 六 七 八 九 十 十一 十二"

VOCABULARIES: Mapping[str, Vocabulary] = {
    "de": Vocabulary(
        "januar|janner februar|feber marz april mai juni juli august september oktober november"
        " dezember",
        "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        "eine[mrn]?|ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
        """this morning = heute (?:morgen|fruh|vormittag)
        tonight = heute (?:abend|nacht)
        yesterday = gestern(?: (?:abend|morgen|fruh|nachmittag|vormittag|mittag))?
        last night = letzte nacht
        day before yesterday = vorgestern
        day after tomorrow = ubermorgen
        today = heute(?: (?:nachmittag|mittag))?
        tomorrow = morgen
        day = tage?[ns]?
        weekend = wochenendes?
        week = wochen?
        month = monat(?:e[ns]?|s)?
        year = jahr(?:e[ns]?|s)?
        last = (?:letzt|vergangen|vorig)e[nrsm]?
        this = diese[nrsm]?
        next = (?:nachst|kommend)e[nrsm]?
        since = seit
        before = vor
        after = nach
        until = bis(?: zum)?
        between = zwischen
        and = und
        from = vom|von
        since = ab
        on the \\1th, = am (\\d{1,2})\\.(?!\\s*(?:\\d|(?:MONTH)\\b))
        on = am
        in = im
        early = anfang
        mid = mitte
        late = ende
        \\1 = (\\d{1,2})\\.(?=\\s*(?:(?:MONTH|und|bis)\\b|-|–))
        the = d(?:em|en|er|ie|as|es)""",
        "gestern vorgestern heute ubermorgen tagen wochen monaten letzten letzte vergangenen",
    ),
    "nl": Vocabulary(
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "een twee drie vier vijf zes zeven acht negen tien elf twaalf",
        """this morning = vanmorgen|vanochtend
        today = vandaag|vanmiddag
        tonight = vanavond|vannacht
        day before yesterday = eergisteren
        day after tomorrow = overmorgen
        yesterday = gisteren(?:avond|ochtend|middag|morgen)?
        last night = afgelopen nacht
        tomorrow = morgen
        day = dag(?:en)?
        weekend = weekend
        week = we(?:ek|ken)
        month = maand(?:en)?
        year = jaar|jaren
        ago = geleden
        last = (?:vorig|afgelopen|laatst)e?
        this = dit|deze
        next = (?:volgend|komend)e?
        since = sinds
        before = voor
        after = na
        until = tot(?: en met)?
        between = tussen
        and = en
        from = van(?:af)?
        on the \\1th, = op de (\\d{1,2})(?:e|de|ste)
        on = op
        early = begin
        mid = half|midden
        late = eind
        the = de|het""",
        "gisteren eergisteren vandaag geleden afgelopen",
    ),
    "fr": Vocabulary(
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "une? deux trois quatre cinq six sept huit neuf dix onze douze",
        """this morning = ce matin
        tonight = ce soir|cette nuit
        today = aujourd['’ ]?hui|cet apres-midi
        day before yesterday = avant-hier
        day after tomorrow = apres-demain
        yesterday = hier(?: (?:soir|matin|apres-midi))?
        last night = la nuit derniere
        tomorrow = demain
        ago 2 week = il y a quinze jours
        ago = il y a
        day = jours?
        weekend = week-?end
        week = semaines?
        month = mois
        year = ans?|annees?
        last = dernier(?:e|s|es)?|passee?s?
        this = ce(?:tte|t)?
        next = prochain(?:e|s|es)?
        since = depuis
        before = avant
        after = apres
        until = jusqu['’ ](?:au|a la|a|en)
        between = entre
        and = et
        to = aux?|a
        from = du|des?
        early = (?:au )?debut
        mid = mi(?=-)|(?:au )?milieu
        late = (?:a la )?fin
        1 = 1er
        on the \\1th, = le (\\d{1,2})(?!\\s*\\w|[/.-]\\d)
        on = le
        in = en
        the = l[ae]s?""",
        "hier aujourd semaine derniere dernier jours",
    ),
    "it": Vocabulary(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre"
        " dicembre",
        "lunedi martedi mercoledi giovedi venerdi sabato domenica",
        "un[oa]? due tre quattro cinque sei sette otto nove dieci undici dodici",
        """this morning = stamattina|questa mattina|stamani
        tonight = stasera|questa sera|stanotte
        today = oggi|questo pomeriggio
        day before yesterday = l['’ ]?altro ieri|ieri l['’ ]altro|avantieri
        day after tomorrow = dopodomani
        yesterday = ieri(?: (?:sera|mattina|pomeriggio))?
        tomorrow = domani
        ago = fa
        day = giorn[oi]
        weekend = fine settimana|week-?end
        week = settiman[ae]
        month = mes[ei]
        year = ann[oi]
        last = (?:scors|passat|ultim)[oaie]
        this = quest[oa]
        next = (?:prossim)[oa]
        since = da(?:l|lla)?(?= (?:WEEKDAY|MONTH|\\d))
        before = prima (?:di|del|della|dello|dell['’ ])
        after = dopo(?: (?:il|la))?
        until = fino (?:al?|alla)
        between = tra|fra
        and = e
        to = al?
        from = dal?
        early = (?:all['’ ])?inizio(?: di)?
        mid = (?:a )?meta(?: di)?
        late = (?:alla )?fine(?: di)?
        1 = primo
        on the \\1th, = il (\\d{1,2})(?!\\s*\\w|[/.-]\\d)
        in = in|a(?= (?:MONTH))
        on = il
        of = di|del
        the = l[ao]|l['’]""",
        "ieri oggi settimana scorsa scorso giorni",
    ),
    "es": Vocabulary(
        "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre"
        " diciembre",
        "lunes martes miercoles jueves viernes sabado domingo",
        "una?|uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        """this morning = esta manana
        tonight = esta noche
        today = hoy|esta tarde
        day before yesterday = anteayer|antes de ayer|antier
        day after tomorrow = pasado manana
        last night = anoche
        yesterday = ayer(?: por la (?:manana|tarde|noche))?
        tomorrow = manana
        ago 2 week = hace quince dias
        ago = hace
        day = dias?(?! \\d)
        weekend = fin de semana
        week = semanas?
        month = mes(?:es)?
        year = anos?
        last = pasad[oa]s?|ultim[oa]s?
        this = est[ea]
        next = (?:proxim|siguient)[oae]|que viene
        since = desde(?: el| la)?
        before = antes del?
        after = despues del?
        until = hasta(?: el)?
        between = entre
        and = y
        to = al?
        early = (?:a )?(?:principios|comienzos|inicios?)(?: de)?
        mid = (?:a )?(?:mediados|mitad)(?: de)?
        late = (?:a )?(?:finales|fines)(?: de)?
        on the \\1th, = el(?: dia)? (\\d{1,2})(?!\\s*\\w|[/.-]\\d)
        on = el
        in = en
        of = del?
        the = l[ao]s?|dia(?= \\d)""",
        "ayer anteayer hoy hace pasada pasado",
    ),
    "pt": Vocabulary(
        "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda(?:.feira)? terca(?:.feira)? quarta(?:.feira)? quinta(?:.feira)? sexta(?:.feira)?"
        " sabado domingo",
        "uma?|um dois|duas tres quatro cinco seis sete oito nove dez onze doze",
        """this morning = (?:hoje|esta) (?:de )?manha
        tonight = (?:hoje|esta) (?:a )?noite
        today = hoje|esta tarde
        day before yesterday = anteontem
        day after tomorrow = depois de amanha
        last night = (?:ontem a|na) noite passada|ontem a noite
        yesterday = ontem(?: de manha| a tarde)?
        tomorrow = amanha
        ago 2 week = ha quinze dias
        ago = ha|faz|atras
        day = dias?(?! \\d)
        weekend = fim de semana
        week = semanas?
        month = mes(?:es)?
        year = anos?
        last = passad[oa]s?|ultim[oa]s?
        this = n?est[ea]
        next = proxim[oa]|que vem
        since = desde(?: o| a)?
        before = antes (?:de|do|da)
        after = depois (?:de|do|da)|apos
        until = ate(?: o| a| ao)?
        between = entre(?: os)?
        and = e
        to = ao?
        early = (?:no )?(?:inicio|comeco)(?: de)?
        mid = (?:em )?(?:meados|meio)(?: de)?
        late = (?:no )?(?:fim|final)(?: de)?
        on the \\1th, = (?:no )?dia (\\d{1,2})(?!\\s*\\w|[/.-]\\d)
        on = em|n[oa]
        of = d[eoa]
        the = o|dia(?= \\d)""",
        "ontem anteontem hoje feira passada",
    ),
    "ru": Vocabulary(
        "январ[ьяе] феврал[ьяе] март[ае]? апрел[ьяе] ма[йяе] июн[ьяе] июл[ьяе] август[ае]?"
        " сентябр[ьяе] октябр[ьяе] ноябр[ьяе] декабр[ьяе]",
        "понедельник[ае]? вторник[ае]? сред[ауые] четверг[ае]? пятниц[ауые] суббот[ауые]"
        " воскресень[еюя]",
        "один|одну|одна дв[аеу]х? тр[иеё]х? четыре пять шесть семь восемь девять десять"
        " одиннадцать двенадцать",
        """this morning = сегодня утром
        tonight = сегодня вечером
        last night = прошлой ночью
        day before yesterday = позавчера
        day after tomorrow = послезавтра
        yesterday = вчера(?: (?:утром|днем|вечером|ночью))?
        today = сегодня
        tomorrow = завтра
        ago = (?:тому )?назад
        ago 1 week = неделю назад
        ago 1 month = месяц назад
        ago 1 year = год назад
        day = дн(?:я|ей|и)|день
        weekend = выходны[еймх]+
        week = недел[юяиеь]
        month = месяц(?:а|ев|е|ы)?
        year = лет|год(?:а|у)?
        last = (?:в |во |на )?(?:прошл|последн|минувш)\\w{2,3}
        this = (?:в |во |на )?эт(?:от|у|ой|ом)
        next = (?:в |во |на )?следующ\\w{2,3}
        since = с(?:о)?(?= (?:WEEKDAY|MONTH|\\d{1,2} (?:MONTH)(?! п?о )))
        after = после
        before = до|перед
        until = по
        between = между
        and = и
        early = (?:в )?начале
        mid = (?:в )?середине
        late = (?:в )?конце
        on the \\1th, = (\\d{1,2})(?:-?го|-?е)?(?: числа)
        on = вo?|во?
        from = с""",
    ),
    "zh": Vocabulary(
        "",
        "(?:周|星期|礼拜)一 (?:周|星期|礼拜)二 (?:周|星期|礼拜)三 (?:周|星期|礼拜)四"
        " (?:周|星期|礼拜)五 (?:周|星期|礼拜)六 (?:周|星期|礼拜)[日天]",
        _CHINESE_NUMBERS,
        """day before yesterday = 前天
        day after tomorrow = 后天
        yesterday = 昨[天日晚]|昨天晚上
        today = 今[天日]
        tonight = 今晚
        this morning = 今早|今天早上
        tomorrow = 明[天日]
        \\1 month ago = (NUMBER|\\d+) ?个月(?:以前|之前|前)
        \\1 week ago = (NUMBER|\\d+) ?个?(?:周|星期|礼拜)(?:以前|之前|前)
        \\1 day ago = (NUMBER|\\d+) ?天(?:以前|之前|前)
        \\1 year ago = (NUMBER|\\d+) ?年(?:以前|之前|前)
        last \\1 day = (?:过去|最近)(?:的)?(NUMBER|\\d+) ?天
        last weekend = 上个?周末
        this weekend = 这个?周末|周末
        last month = 上个?月
        this month = 这个?月|本月
        next month = 下个?月
        last year = 去年
        this year = 今年
        next year = 明年
        last \\1 = 上个?(WEEKDAY)
        this \\1 = [这本]个?(WEEKDAY)
        next \\1 = 下个?(WEEKDAY)
        last week = 上个?(?:周|星期|礼拜)
        this week = [这本]个?(?:周|星期|礼拜)
        next week = 下个?(?:周|星期|礼拜)
        \\1-\\2-\\3 = (\\d{4})年(\\d\\d?)月(\\d\\d?)[日号]
        month\\2 \\1 = (\\d{4})年(\\d\\d?)月
        month\\1 \\2th = (\\d\\d?)月(\\d\\d?)[日号]?
        early month\\1 = (\\d\\d?)月初
        mid month\\1 = (\\d\\d?)月中(?:旬)?
        late month\\1 = (\\d\\d?)月[底末]
        in month\\1 = (\\d\\d?)月(?:份|里)?
        early this month = 月初
        late this month = 月[底末]
        in \\1 = ((?:19|20)\\d\\d)年
        on the \\1th, = (\\d\\d?)[日号]
        ~since = 以来|至今|起|以后|之后
        ~before = 以前|之前
        until = 到|至
        since = 自从?
        and = 和|与""",
        is_spaced=False,
    ),
    "ja": Vocabulary(
        "",
        "月曜日? 火曜日? 水曜日? 木曜日? 金曜日? 土曜日? 日曜日?",
        _CHINESE_NUMBERS,
        """day before yesterday = 一昨日|おととい|おとつい
        day after tomorrow = 明後日|あさって
        yesterday = 昨[日晚夜]|きのう
        this morning = 今朝
        tonight = 今晚|今夜
        today = 今日|きょう|本日
        tomorrow = 明日|あした
        \\1 day ago = (NUMBER|\\d+) ?日前
        \\1 week ago = (NUMBER|\\d+) ?[周週][间間]前
        \\1 month ago = (NUMBER|\\d+) ?[かヶヵケカ]月前
        \\1 year ago = (NUMBER|\\d+) ?年前
        last \\1 day = (?:過去|过去|この)(NUMBER|\\d+) ?日[间間]?
        last weekend = 先[周週]末|先[周週]の[周週]末
        this weekend = 今[周週]末|[周週]末
        last week \\1 = 先[周週]の?(WEEKDAY)
        this \\1 = 今[周週]の?(WEEKDAY)
        next week \\1 = 来[周週]の?(WEEKDAY)
        last \\1 = (?:前の|この前の)(WEEKDAY)
        last week = 先[周週]
        this week = 今[周週]
        next week = 来[周週]
        last month = 先月
        this month = 今月
        next month = 来月
        last year = 去年|昨年
        this year = 今年
        next year = 来年
        \\1-\\2-\\3 = (\\d{4})年(\\d\\d?)月(\\d\\d?)日
        month\\2 \\1 = (\\d{4})年(\\d\\d?)月
        month\\1 \\2th = (\\d\\d?)月(\\d\\d?)日
        early month\\1 = (\\d\\d?)月(?:の?初め|上旬|の?始め|初旬)
        mid month\\1 = (\\d\\d?)月(?:中旬|の?半ば)
        late month\\1 = (\\d\\d?)月(?:下旬|の?終わり|末)
        in month\\1 = (\\d\\d?)月
        in \\1 = ((?:19|20)\\d\\d)年
        on the \\1th, = (\\d\\d?)日
        ~since = 以来|以降|から(?!.{0,6}(?:\\d|WEEKDAY))
        ~after = の?[后後]
        ~before = (?:より|の|以)?前
        until = から
        ~until = まで
        and = と""",
        is_spaced=False,
    ),
    "ko": Vocabulary(
        "",
        "월요일 화요일 수요일 목요일 금요일 토요일 일요일",
        "한|하루|일 두|이틀|이 세|사흘|삼 네|나흘 다섯|오 여섯|육 일곱|칠 여덟|팔 아홉|구 열|십"
        " 열한 열두",
        """day before yesterday = 그저께|그제|엊그제
        day after tomorrow = 모레
        yesterday = 어제|어젯밤
        this morning = 오늘 ?아침
        tonight = 오늘 ?밤|오늘 ?저녁
        today = 오늘
        tomorrow = 내일
        1 day ago = 하루 ?전
        2 day ago = 이틀 ?전
        3 day ago = 사흘 ?전
        \\1 day ago = (NUMBER|\\d+) ?일 ?전
        \\1 week ago = (NUMBER|\\d+) ?주(?:일)? ?전
        \\1 month ago = (NUMBER|\\d+) ?(?:달|개월) ?전
        \\1 year ago = (NUMBER|\\d+) ?년 ?전
        last \\1 day = (?:지난|최근) ?(NUMBER|\\d+) ?일
        last weekend = 지난 ?주말
        this weekend = 이번 ?주말|주말
        last week \\1 = (?:지난 ?주|저번 ?주) ?(WEEKDAY)
        this \\1 = 이번 ?주? ?(WEEKDAY)
        next week \\1 = 다음 ?주 ?(WEEKDAY)
        last \\1 = (?:지난|저번) ?(WEEKDAY)
        last week = 지난 ?주|저번 ?주
        this week = 이번 ?주
        next week = 다음 ?주
        last month = 지난 ?달|저번 ?달
        this month = 이번 ?달
        next month = 다음 ?달
        last year = 작년|지난 ?해
        this year = 올해
        next year = 내년
        \\1-\\2-\\3 = (\\d{4})년 ?(\\d\\d?)월 ?(\\d\\d?)일
        month\\2 \\1 = (\\d{4})년 ?(\\d\\d?)월
        month\\1 \\2th = (\\d\\d?)월 ?(\\d\\d?)일
        early month\\1 = (\\d\\d?)월 ?초
        mid month\\1 = (\\d\\d?)월 ?중순
        late month\\1 = (\\d\\d?)월 ?말
        in month\\1 = (\\d\\d?)월
        in \\1 = ((?:19|20)\\d\\d)년
        on the \\1th, = (\\d\\d?)일
        ~since = 이후|이래|부터(?! ?(?:\\d|WEEKDAY))
        ~before = 이전|전
        until = 부터
        ~until = 까지
        and = 와|과""",
        is_spaced=False,
    ),
}
"""The vocabularies by the codes of their languages."""

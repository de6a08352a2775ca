"""The words around a value, by language: what remains of a sentence without them is its attribute.

Each entry is a pattern of alternatives over folded text; those of spaced scripts are whole words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from salience.language.tokens import unified


@dataclass(frozen=True)
class Wordings:
    """The words of one language.

    Attributes:
        owners: possessives and articles before the noun of an attribute.
        present: words for now, and those that say only that something is new.
        links: verbs between an attribute and its value.
        changes: verbs by which a value takes the place of another.
        origins: what was before, between a verb of change and the new value.
        corrections: words by which somebody corrects what was said, or says that it is no more so.
        past: signs of what happened once, which states nothing unless it is a change.
        vague: words for what may be, is denied, or is said of nobody known.
        indefinite: articles of one among many.
        calendar: names of months, days of the week and times of day.
        particles: endings of words in a language that writes them together.
        is_spaced: whether words are written apart.
    """

    owners: str
    present: str
    links: str
    changes: str
    origins: str
    corrections: str
    past: str
    vague: str
    indefinite: str
    calendar: str
    particles: str = ""
    is_spaced: bool = True
    _compiled: dict[str, re.Pattern[str]] = field(default_factory=dict, compare=False, repr=False)

    def find(self, name: str, text: str) -> re.Match[str] | None:
        """The first place of an entry in a folded text."""
        return self._pattern(name).search(text)

    def without(self, text: str, *names: str) -> str:
        """A folded text without some entries."""
        for name in names:
            text = self._pattern(name).sub(" " if self.is_spaced else "", text)
        return text

    @cached_property
    def plain_words(self) -> frozenset[str]:
        """The single words of all entries that are no patterns, to know the language by."""
        entries = (self.owners, self.present, self.links, self.changes, self.calendar)
        listed = [word for entry in entries for word in entry.split("|")]
        listed += [form for word in listed if word[-1:] == "?" for form in (word[:-1], word[:-2])]
        return frozenset(filter(str.isalpha, listed))

    @cached_property
    def calendar_words(self) -> str:
        """The calendar as it stands in a pattern."""
        return unified(self.calendar)

    def _pattern(self, name: str) -> re.Pattern[str]:
        compiled = self._compiled.get(name)
        if compiled is None:
            listed = unified(getattr(self, name)) or r"(?!)"
            whole = rf"(?<!\w)(?:{listed})(?!\w)" if self.is_spaced else f"(?:{listed})"
            compiled = self._compiled[name] = re.compile(whole)
        return compiled


WORDINGS: Mapping[str, Wordings] = {
    "en": Wordings(
        owners="my|our|the|the user's|user's",
        present=r"now|currently|nowadays|these days|at the moment|from now on"
        r"|(?:since|as of|starting|effective) (?:last |next |this |in )?\w+"
        r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?|new|newly|already|finally|just|recently"
        r"|again|instead|at present|today|only|about|around|roughly|even|approximately|exactly"
        r"|nearly|almost",
        links=r"is|are|am|be|will be|remains|costs?|takes?|lasts?|weighs?|measures?|amounts? to"
        r"|stands? at|comes? to|starts?|begins?|leaves?|departs?|takes? place|happens?|falls?"
        r"|due|scheduled|planned|set|deadline|date|time|price|cost|fee|period|interval|duration"
        r"|currently|every|has|have|total|amount|pay|paying|user|costing|runs?"
        r"|dose|dosage",
        changes=r"(?:(?:was|were|is|are|been|being|got|get|had|has|have|will|be|had to|have to"
        r"|decided to|agreed to|asked to) )*(?:(?:moved?|push(?:ed)?|changed?|shift(?:ed)?"
        r"|rescheduled?|postponed?|delay(?:ed)?|extend(?:ed)?|brought|raised?|lower(?:ed)?|increased?|decreased?"
        r"|reduced?|cut|bumped|reset|updated?|adjusted|upgraded|downgraded|switched|corrected|put"
        r"|slipped|slid|went|gone|goes|rose|risen|dropped|fell|fallen|grew|grown|climbed|jumped"
        r"|shrank|shrunk|crept|turned|expanded|lengthened|shortened|become|became|migrated|reached"
        r"|renewed|doubled|halved|advanced|rebooked|revised|gained|lost|relocated)"
        r"(?: (?:back|up|down|out|forward|ahead|over|off))*|is up|is down|came down)",
        origins=r"from .{1,30}? (?=to\b)",
        corrections=r"turns? out|turned out|corrections?|scratch that|misspoke|mistaken|(?:was"
        r"|were|got it) wrong"
        r"|rather than|after all|steps? down|stepped down|no longer|any ?more|instead|update"
        r"|^(?:actually|in fact)",
        past=r"was|were|had|did|bought|paid|ran|met|saw|ate|drank|took|gave|sold|spent|won|made"
        r"|wrote|read|slept|drove|flew|walked|called|sent|said|told|left|arrived|finished|visited"
        r"|stayed|(?<!is )(?<!are )(?<!am )(?<!be )(?!need|speed|feed|seed|indeed|weed|exceed)"
        r"\w{3,}ed",
        vague=r"he|she|it|they|you|this|that|these|those|there|who|what|which|when|while|because"
        r"|than|his|her|their|its|your|everyone|someone|if|not|no longer|never|by \d\S*|let's|lets"
        r"|please|can|could|should|would|want|wants|needs? to|hope|think|thinks|said|says|between"
        r"|and|or|each|some|will",
        indefinite=r"an?|another|some|one of",
        calendar="january|february|march|april|may|june|july|august|september|october|november"
        "|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mondays?|tuesdays?|wednesdays?"
        "|thursdays?|fridays?|saturdays?|sundays?|noon|midnight|tomorrow",
    ),
    "de": Wordings(
        owners="mein|meine|meinen|meinem|meiner|unser|unsere|unserer|unseren|unserem|der|die|das"
        "|den|dem",
        present="jetzt|nun|neuerdings|inzwischen|mittlerweile|kunftig|aktuell|derzeit|momentan"
        "|gerade|ab sofort|schon|wieder|doch|endlich|neu|neue[rsnm]?|seit \\w+|seit|ab \\w+"
        "|heute|zurzeit|nur|noch|bereits|etwa|ungefahr|circa|knapp|genau|fast",
        links="ist|sind|betragt|betragen|liegt|kostet|kosten|dauert|wiegt|wiege|misst|beginnt"
        "|startet|findet|statt|fangt|an|fahrt ab|wird|werden|sei|fallig|termin|preis|frist|bei"
        "|zahle|zahlen|habe|hat|haben|alle|uhr|um|am|bis|auf|euro|zum|mal",
        changes="verschoben|verlegt|vorverlegt|vorgezogen|gestiegen|gesunken|gefallen|erhoht"
        "|gesenkt|geandert|geaendert|verlangert|verkurzt|angehoben|umgestellt|gewechselt|gewachsen"
        "|gekurzt|aktualisiert|angepasst|verdoppelt|halbiert|umgezogen|verschob\\w*|steigt|stieg"
        "|sank|erhohte|wurden?|worden|geworden|wechselte|umgebucht",
        origins="vo[nm] .{1,25}? (?=auf|zu)",
        corrections="korrektur|berichtigung|doch|statt|anstelle|anstatt|nicht mehr|sondern|erst"
        "|abgelost|eigentlich"
        "|in wirklichkeit|stattdessen|nun|neuerdings|jetzt",
        past="war|waren|hatten?"
        "|(?:habe|hat|haben|bin|ist|sind) .*\\b(?:ge\\w{2,}(?:t|en)|\\w+iert)",
        vague="er|sie|es|ihr|ihm|ihre?|sein|seine[mnrs]?|du|dein\\w*|dies\\w*|jemand|wenn|falls"
        "|weil|dass|nicht|kein\\w*|nie|oder|und|vielleicht|wahrscheinlich|konnte\\w*|sollte\\w*"
        "|mochte\\w*|will|wollen|damals|fruher|ehemals",
        indefinite="eine?[nmrs]?",
        calendar="januar|februar|marz|april|mai|juni|juli|august|september|oktober|november"
        "|dezember|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonnabends?"
        "|sonntags?|mittags?|mitternacht|morgen",
    ),
    "nl": Wordings(
        owners="mijn|onze|ons|de|het",
        present="nu|tegenwoordig|inmiddels|momenteel|voortaan|al|weer|nieuwe?|sinds \\w+|sinds"
        "|vanaf \\w+|eindelijk|vandaag|nog|maar|slechts|ongeveer|ruim|bijna",
        links="is|zijn|bedraagt|kost|kosten|duurt|weegt?|begint|start|vertrekt|ligt|wordt|worden"
        "|prijs|datum|betaal|betalen|heb|heeft|hebben|elke|om|op|tot|uur|euro|naar",
        changes="verplaatst|verschoven|verzet|gestegen|gedaald|verhoogd|verlaagd|gewijzigd"
        "|veranderd|verlengd|verkort|uitgesteld|omgeboekt|aangepast|werd|werden|geworden"
        "|gewisseld|vervroegd",
        origins="van .{1,25}? (?=naar|tot)",
        corrections="correctie|toch|in plaats van|niet meer|maar|pas|eigenlijk|nu|voortaan",
        past="was|waren|had|hadden|(?:heb|heeft|hebben|ben|is) .*\\bge\\w{2,}(?:t|d|en)",
        vague="hij|zij|ze|het is|hem|haar|hun|jij|je|jouw|dit|dat|deze|iemand|als|omdat|niet|geen"
        "|nooit|of|en|misschien|zou|zouden|moet|wil|vroeger|toen",
        indefinite="een",
        calendar="januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november"
        "|december|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|middernacht|morgen",
    ),
    "fr": Wordings(
        owners="mon|ma|mes|notre|nos|le|la|les|l",
        present="maintenant|desormais|actuellement|dorenavant|a present|enfin|deja|nouvelle"
        "|nouveau|nouvel|depuis \\w+|en ce moment|aujourd'hui|a partir de"
        "|seulement|environ|presque|plus que",
        links="est|sont|coute|coutent|dure|durent|pese|fait|font|mesure|commence|debute|part|a lieu"
        "|aura lieu|prix|date|echeance|est due?|s'eleve|paie|paye|ai|avons|a|tous|toutes|pour"
        "|heures?|euros?|au|en|dans|prevue?s?|fixee?s?|de|du|des",
        changes="(?:est |a |ont |sont |ete |avons |ai )*(?:passee?s?|deplac\\w+|report\\w+"
        "|decal\\w+|repouss\\w+|augment\\w+|montee?s?|baiss\\w+|diminu\\w+|change\\w*|modifi\\w+|avanc\\w+"
        "|prolong\\w+|redui\\w+|remplac\\w+|mise?s? a jour|deven\\w+|grimp\\w+|tomb\\w+"
        "|descend\\w+)",
        origins="de .{1,25}? (?=a\\b)",
        corrections="rectificati\\w+|correction|en fait|finalement|desormais|au lieu de"
        "|plutot que|ne? \\w+ plus"
        "|n'\\w+ plus|maintenant|en realite|a la place",
        past="etait|etaient|avait|avaient|fut|ai \\w+[eiut]s?(?= )|(?:a|ont|avons) \\w+(?:e|i|u)s?",
        vague="il|elle|ils|elles|lui|leur|leurs|tu|ton|ta|tes|son|sa|ses|ce|cela|ca|cette|ces"
        "|quelqu'un|si|parce|que|qui|pas|jamais|ne|ou|et|peut-etre|pourrait|devrait|veut|veux"
        "|autrefois|avant",
        indefinite="une?|des",
        calendar="janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre"
        "|decembre|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|midi|minuit"
        "|demain",
    ),
    "es": Wordings(
        owners="mi|mis|nuestro|nuestra|nuestros|nuestras|el|la|los|las",
        present="ahora|actualmente|hoy en dia|ya|por fin|nuev[oa]s?|desde \\w+|a partir de|hoy"
        "|de momento|en este momento|otra vez|solo|casi|unos|unas|aproximadamente",
        links="es|son|esta|estan|cuestan?|duran?|pesa|peso|mide|empieza|comienza|sale|sera|precio"
        "|fecha|vence|pago|pagamos|tengo|tiene|tenemos|cada|para|horas?|euros?|al|en|a|de|del"
        "|previst[oa]s?|fijad[oa]s?|que",
        changes="(?:se |ha |han |he |hemos |fue |sido |fueron )*(?:mov[ei]\\w*|aplaz\\w+|pospu\\w+"
        "|retras\\w+|cambi\\w+|sub(?:io|ido|ieron|imos)|baj(?:o|ado|aron|amos)|aument\\w+|redu[cj]\\w+"
        "|adelant\\w+|prorrog\\w+|actualiz\\w+|pas(?:o|ado|aron)|traslad\\w+|convirti\\w+|crec\\w+"
        "|reemplaz\\w+|reprogram\\w+|descend\\w+|cayo|encareci\\w+|ampli\\w+)",
        origins="de .{1,25}? (?=a\\b)",
        corrections="correccion|en realidad|finalmente|al final|ya no|en lugar de|en vez de"
        "|sino|ahora|resulta que",
        past="era|eran|estaba|estuve|fui|tenia|tuve|he \\w+[ai]do|compre|vi|comi"
        "|\\w+(?:aron|ieron)",
        vague="el es|ella|ellos|ellas|le|les|tu|tus|su|sus|est[eoa]s?|es[eoa]s?|alguien|si|porque"
        "|no|nunca|o|y|quizas?|podria|deberia|quiere|quiero|antes|cuando",
        indefinite="un|una|unos|unas",
        calendar="enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
        "|diciembre|lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|mediodia|medianoche"
        "|manana",
    ),
    "it": Wordings(
        owners="mio|mia|miei|mie|nostro|nostra|nostri|nostre|il|lo|la|i|gli|le|l",
        present="adesso|ora|attualmente|ormai|oggi|gia|finalmente|nuov[oaie]|da \\w+|dal \\w+"
        "|al momento|in questo momento|d'ora in poi|solo|circa|quasi|soltanto",
        links="e|sono|costano?|durano?|pesa|peso|misura|comincia|inizia|parte|sara|prezzo|data"
        "|scade|scadenza|pago|paghiamo|ho|ha|abbiamo|ogni|per|ore|euro|alle|al|in|a|di|del|della"
        "|previst[oa]|fissat[oa]|che|entro",
        changes="(?:e |sono |ha |hanno |stat[oa] |stati )*(?:spostat[oaie]|rinviat[oaie]"
        "|rimandat[oaie]|posticipat[oaie]|anticipat[oaie]|aumentat[oaie]|salit[oaie]|sces[oaie]"
        "|diminuit[oaie]|cambiat[oaie]|modificat[oaie]|passat[oaie]|prolungat[oaie]|prorogat[oaie]|calat[oaie]|sposta[rt]\\w+"
        "|ridott[oaie]|aggiornat[oaie]|diventat[oaie]|cresciut[oaie]|sostituit[oaie])",
        origins="da .{1,25}? (?=a\\b)",
        corrections="correzione|rettifica|in realta|alla fine|non \\w+ piu|invece|al posto di"
        "|bensi|ora|adesso",
        past="era|erano|fu|aveva|avevo|ho \\w+(?:ato|uto|ito|tto|so)"
        "|(?:sono|e) (?:andat|stat|venut)[oaie]",
        vague="lui|lei|loro|gli ha|tu|tuo|tua|suo|sua|quest[oaie]|quell[oaie]|qualcuno|se|perche"
        "|non|mai|o|ed?(?= \\w+ (?:il|la))|forse|potrebbe|dovrebbe|vuole|voglio|prima|quando",
        indefinite="uno?|una",
        calendar="gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre"
        "|novembre|dicembre|lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica|mezzogiorno"
        "|mezzanotte|domani",
    ),
    "pt": Wordings(
        owners="meu|minha|meus|minhas|nosso|nossa|nossos|nossas|o|a|os|as",
        present="agora|atualmente|hoje em dia|ja|finalmente|nov[oa]s?|desde \\w+|a partir de|hoje"
        "|de momento|neste momento|no momento|so|apenas|cerca de|quase",
        links="e|sao|esta|estao|custam?|duram?|pesa|peso|mede|comeca|inicia|sai|sera|preco|data"
        "|prazo|vence|pago|pagamos|tenho|tem|temos|cada|para|horas?|euros?|reais|ao|em|de|do|da"
        "|as|no|na|previst[oa]|marcad[oa]|que|por",
        changes="(?:foi |foram |se |tem |sido )*(?:movid[oa]|adiad[oa]|adiantad[oa]|antecipad[oa]"
        "|mudad[oa]|mudou|subiu|desceu|baixou|caiu|aumentad[oa]|aumentou|reduzid[oa]|diminuiu"
        "|alterad[oa]|alterou|passou|prorrogad[oa]|atualizad[oa]|tornou|cresceu|transferid[oa]"
        "|remarcad[oa]|substituid[oa]|trocad[oa]|virou)",
        origins="de .{1,25}? (?=para|a\\b)",
        corrections="correcao|na verdade|afinal|ja nao|nao \\w+ mais|em vez de|no lugar de"
        "|mas sim|agora",
        past="era|eram|estava|estive|fui|tinha|tive|comprei|vi|comi|\\w+(?:aram|eram|iram)"
        "|\\w{3,}ei",
        vague="ele|ela|eles|elas|lhe|tu|voce|seu|sua|teu|tua|est[ea]s?|iss?to|aquel[ea]|alguem|se"
        "|porque|nao|nunca|ou|e (?:o|a|um)|talvez|poderia|deveria|quer|quero|antes|quando",
        indefinite="um|uma",
        calendar="janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro"
        "|dezembro|segunda-feira|terca-feira|quarta-feira|quinta-feira|sexta-feira|segundas?"
        "|tercas?|quartas?|quintas?|sextas?|sabados?|domingos?|meio-dia|meia-noite|amanha",
    ),
    "ru": Wordings(
        owners="мой|моя|мое|мои|моего|моей|мою|наш|наша|наше|наши|нашу|нашего|нашей",
        present="теперь|сейчас|уже|наконец|новы[йе]|новая|новое|с \\w+|отныне|сегодня|ныне|снова"
        "|больше|только|около|примерно|всего|почти",
        links="это|является|составляет|стоит|стоят|длится|занимает|весит|вешу|плачу|платим"
        "|начинается|отправляется|будет|цена|дата|срок|каждые|у|меня|нас|в|на|до|к|часов|евро"
        "|рублей|назначен[аоы]?|запланирован[аоы]?|есть|по",
        changes="перенес\\w*|перенос\\w*|сдвин\\w*|отлож\\w*|измен\\w*|помен\\w*|выросл?[аои]?|вырос"
        "|подн[яи]\\w*|подорожал\\w*|упал\\w*|сниз\\w*|повы[сш]\\w*|увелич\\w*|уменьш\\w*"
        "|продл[еи]\\w*|сократ\\w*|обнов\\w*|сменил\\w*|стал[аои]?|перевел\\w*|переш[ле]\\w*"
        "|замен\\w*|был[аои]?(?= \\w+(?:ен|ена|ено|ены))",
        origins="с .{1,25}? (?=до|на)",
        corrections="исправление|поправка|на самом деле|все-таки|больше не|вместо|теперь"
        "|оказалось|оказывается",
        past="был[аои]?|\\w{3,}(?:ил|ал|ел|ул|ял)[аи]?",
        vague="он|она|оно|они|его|ее|их|ему|ты|твой|твоя|вы|ваш\\w*|эт[оау]|этот|тот|кто|если|потому"
        "|не|нет|никогда|или|и|может|возможно|хочу|хочет|раньше|когда",
        indefinite="один|одна|какой-то",
        calendar="январ[ья]|феврал[ья]|марта?|апрел[ья]|мая?|май|июн[ья]|июл[ья]|августа?"
        "|сентябр[ья]|октябр[ья]|ноябр[ья]|декабр[ья]|понедельник\\w*|вторник\\w*|сред[уыа]"
        "|четверга?|пятниц[уыа]|суббот[уыа]|воскресень[ея]|полдень|полночь|завтра",
    ),
    "zh": Wordings(
        owners="我们的|我的|我们|咱们的?|我|本|该|那个|这个",
        present="现在|目前|如今|已经|已|最近|当前|从.{1,4}起|新的|又|终于|今天起|只|才|左右|差不多|大约|大概",
        links="是|为|在|要|每|需要|花|价格|费用|时间|日期|定于|定在|安排在|开始|有|的|了|重|大概|大约"
        "|付|交|欧元|元|块钱?|美元|上午|下午|晚上|早上",
        changes="推迟到?|提前到?|改到|改为|改成|改在|变成|变为|换成|换到|涨到|涨|升到|升至|上调到?|上调至"
        "|降到|降至|下调到?|延长到?|延期到?|缩短到?|调整到?|调整为|移到|更新为|搬到|增加到|减少到|加到|减到|增至|减至|降为|升为|提高到|提前至|延至"
        "|成了|成为",
        origins="[从由].{1,12}?(?=[改推提变换涨升降调移延增减])",
        corrections="更正|纠正|其实|实际上|不再|不是|而是|原来|改由|改为|现在|不\\w{1,6}了",
        past="昨天|前天|去年|当时|曾经|曾|过(?=了?$)|买了|吃了|去了",
        vague="他|她|它|你|您|谁|什么|如果|因为|不|没|可能|也许|想|应该|或者|和|以前|之前|原来|吗|吧|"
        "能",
        indefinite="一个|一场|一次|一节",
        calendar="星期[一二三四五六日天]|周[一二三四五六日末]|礼拜[一二三四五六日天]|明天|中午|半夜",
        is_spaced=False,
    ),
    "ja": Wordings(
        owners="私たちの|私の|僕の|俺の|うちの|我々の|弊社の|我が家の|私は|僕は",
        present="今は|今|現在は|現在|最近|もう|新しい|から(?=。?$)|ようやく|これから|今日から|今度の|だけ|ほど|くらい|ぐらい|約",
        links="です|ます|である|だ(?=$)|は|が|を|の|に|で|から|まで|へ|かかります|かかる|開始|始まり"
        "|予定|価格|料金|ごと|毎|あります|います|払って|払い|円|ユーロ|ドル|午前|午後|約|重さ",
        changes="に?(?:延期|変更|移動|値上げ|値下げ|短縮|延長|更新|増額|減額|前倒し)(?:され|し|に)?"
        "(?:なり)?(?:ました|た)?|に?(?:変わり|なり|上がり|下がり|移り|増え|減り)ました"
        "|に?(?:変わった|なった|上がった|下がった|移った|増えた|減った)|に(?:し|替え|変え|換え)ました"
        "|に(?:した|替えた|変えた|換えた)",
        origins="[^はが、]{1,12}から(?=[^はが、]{1,12}[にへ])",
        corrections="訂正|実は|実際は|ではなく|じゃなく|もう|やっぱり|代わりに|今は",
        past="でした|ました|だった|[いきしちにみりぎ]た(?=$)|昨日|先週|去年",
        vague="彼|彼女|あなた|君|それ|これ|あれ|誰|何|もし|ない|ません|たぶん|かも|たい|べき|と思|以前"
        "|前は|か$",
        indefinite="ある(?=[^り])",
        calendar="[月火水木金土日]曜日?|明日|正午|真夜中",
        is_spaced=False,
    ),
    "ko": Wordings(
        owners="(?<!\\w)(?:저희|우리|제|내|나의|저의)(?!\\w)",
        present="(?<!\\w)(?:지금은?|이제는?|현재는?|요즘은?|최근에?|벌써|새로운|새|다시|오늘부터|약|겨우)(?!\\w)|만(?=\\s)|정도",
        links="입니다|이에요|예요|이다|있습니다|있어요|걸립니다|걸려요|시작합니다|시작해요|시작|매일|가격"
        "|비용|시간|날짜|유로로?|원으?로?(?=[입이에으]|$|\\s)|달러로?|오전|오후|마다|냅니다|내요|약(?=\\s)"
        "|(?<!\\w)매(?!\\w)|됩니다|돼요",
        changes="(?:연기|변경|이동|인상|인하|단축|연장|조정|업데이트)(?:되었|됐|했|하였)\\w*"
        "|바뀌었\\w*|바뀐\\w*|옮겼\\w*|옮겨졌\\w*|올랐\\w*|내렸\\w*|늘었\\w*|줄었\\w*|미뤄졌\\w*"
        "|당겨졌\\w*|바꿨\\w*|되었\\w*|됐\\w*",
        origins="\\S{1,10}에서(?= )",
        corrections="정정|사실은|실제로는|더 ?이상|아니라|대신|이제",
        past="\\w*(?:었|았|했|였|갔|샀)(?:습니다|어요|다)",
        vague="(?<!\\w)(?:그는|그녀|당신|너|이것|그것|누구|만약|아마|안|못)(?!\\w)|않|아니|없|싶|예전"
        "|전에는|까요",
        indefinite="(?<!\\w)어떤(?!\\w)",
        calendar="[월화수목금토일]요일|내일|정오|자정",
        particles="(?<=\\w)(?:으로|에서|에게|까지|부터|은|는|이|가|을|를|의|에|로|도)(?!\\w)",
        is_spaced=False,
    ),
}

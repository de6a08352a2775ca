"""Word lists and patterns of English that reading a question or a memory draws on.

Other languages simply match none of them, and rank by words and meaning alone; of some the words
without a meaning of their own are known.
"""

from __future__ import annotations

import re

STOP = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn d did didn do does doesn doing don down
    during each few for from further had hadn has hasn have haven having he her here hers herself
    him himself his how i if in into is isn it its itself just let ll m me might more most must my
    myself no nor not of off on once only or other ought our ours ourselves out over own re s same
    shall shan she should shouldn so some such t than that the their theirs them themselves then
    there these they this those through to too under until up upon us ve very was wasn we were
    weren what when where which while who whom whose why will with would wouldn you your yours
    yourself yourselves may""".split()
)
"""Words without a meaning of their own; "don't" counts as "don" and "t"."""

_STOP_ELSEWHERE = {
    "German": """aber als am an auch auf aus bei beim bin bis bist da das dass dein deine dem
    den der des dich die dir du durch ein eine einem einen einer eines er es euch fur gegen habe
    haben habt hast hat hatte hatten ich ihm ihn ihr ihre ihren im in ist kann kannst kein keine
    konnen lange man mein meine meinem meinen meiner mich mir mit muss mussen nach nicht nur ob
    oder oft ohne sein seine seinen seit sich sie sind so soll sollen sollte uber um und uns
    unser unsere unseren unter viel viele vom von vor wann war waren warum was wegen welche
    welchem welchen welcher welches wem wen wenn wer werden wessen wie wieso wieviel will wir
    wird wo woher wohin wurde wurden zu zum zur""",
    "Dutch": """aan als ben bent bij dat de deze die dit door een en er had heb hebben heeft het
    hij hoe hoeveel ik in is je kan kunnen maar me met mijn moet moeten naar niet nog om onder
    ons onze ook op over te tot uit vaak van veel voor waar waarom wanneer waren was wat we welk
    welke werd wie wiens worden wordt zal ze zich zij zijn""",
    "French": """a ai as au aux avait avec avez avons c ce ces cet cette chez combien comment d
    dans de des dois doit dont du elle elles en est et etait eu eux faut il ils j je l la le les
    leur leurs m ma mais me mes moi mon n ne nos notre nous on ont ou par pas pour pourquoi qu
    quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous sur t ta
    te tes ton tu un une vos votre vous y""",
    "Italian": """a ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del
    della delle di dove e era erano gli ha hai hanno ho i il in io la le lo ma mi mia mie miei
    mio ne nei nel nella noi non nostra nostro o per perche piu quale quali quando quanta quante
    quanti quanto se si sono su sua sue sul sulla suo ti tu tua tuo un una uno vi voi""",
    "Spanish": """a al como con cual cuales cuando cuanta cuantas cuanto cuantos de debo del
    desde donde e el en era es esta estaba estan este esto fue fueron ha habia han has hasta hay
    he la las le les lo los mas me mi mis muy ni no nos nuestra nuestro o para pero por porque
    puedo que quien quienes se ser si sin sobre son su sus te tengo tiene tu tus un una unas uno
    unos y ya yo""",
    "Portuguese": """a ao aos as com como da das de do dos e ela ele em era eram essa esse esta
    estao este eu foi foram ha isso lhe mais mas me meu meus minha minhas muito na nao nas no
    nos nossa nosso o onde os ou para pela pelo por porque quais qual quando quanta quantas
    quanto quantos que quem sao se sem ser seu sua suas tem tenho um uma umas uns""",
}
STOP_ELSEWHERE = tuple(frozenset(words.split()) for words in _STOP_ELSEWHERE.values())
"""The same of other languages, folded."""

FRAMING = frozenset(
    """kind kinds sort type types mention mentioned mentions describe described describes tell told
    say says said discuss discussed discussing talk talked talking conversation conversations chat
    chats ask asked question questions list order brought bring walk throughout across different
    aspects various summarize summarise summary overview remind recall remember please item items
    know give provide explain based according regarding sequence chronological previously earlier
    clear quick comprehensive detailed many much long often""".split()
)
"""Words that say how a question is put, not what it is about."""

_FORMS = """go went gone goes|buy bought|see saw seen|eat ate eaten|meet met|take took taken
make made|give gave given|get got gotten|come came|do did done|find found|leave left|feel felt
think thought|teach taught|bring brought|catch caught|run ran|begin began begun
write wrote written|drive drove driven|fly flew flown|grow grew grown|know knew known
throw threw thrown|draw drew drawn|speak spoke spoken|break broke broken|choose chose chosen
win won|lose lost|sell sold|tell told|pay paid|send sent|spend spent|build built|keep kept
sleep slept|swim swam swum|sing sang sung|drink drank drunk|wear wore worn|hold held|stand stood
understand understood|hear heard|become became|fall fell fallen|fight fought
forget forgot forgotten|hide hid hidden|ride rode ridden|rise rose risen|shake shook shaken
steal stole stolen|wake woke woken|lead led|seek sought|child children|man men|woman women
foot feet|tooth teeth|mouse mice|person people|wife wives|life lives|knife knives"""
IRREGULAR_FORMS = tuple(
    tuple(forms.split()) for line in _FORMS.splitlines() for forms in line.split("|")
)
"""Groups of forms of one word that no stemmer brings together."""

FIRST_PERSON = frozenset("i my me mine myself we our us".split())
USER = frozenset({"user", "human"})
ASSISTANT = frozenset({"assistant", "ai", "bot"})
ROLES = USER | ASSISTANT | {"system", "agent"}

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
).split()
MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}
NAMESAKE_MONTHS = frozenset("jan april june jun august".split())  # people are called so, too
AMBIGUOUS_MONTHS = NAMESAKE_MONTHS | {"may", "mar", "march"}  # those are mostly not a month

WEEKDAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays mon tue tues wed thu thur thurs fri sat sun""".split()
)

HONORIFICS = frozenset("mr mrs ms miss dr prof sir madam st".split())
JOINING = frozenset("of de van von der den del della di da la le du bin al the".split())
"""Small words inside a name: Bank of America, Ludwig van Beethoven."""

ORDINARY = (
    STOP
    | FRAMING
    | frozenset(
        """accept action actions actually add added additionally afterwards agreed ah ahead allow
    almost along already alright although always amazing answer anybody anyone anything anyway
    apart apologies apply approx archive aside assume attach average avoid aw awesome back bad
    basically begin best better big bought budget build bye call came camera cancel car care
    case cat change check cheers children choose city class clean client clients clock close
    code coffee come compare complete conclusion conference config congrats congratulations
    consider contact content continue convert cool copy correct costs country course cover
    create currently customer customers cut daily data database date dates daughter day days
    deadline dear decide decided decision default definitely delete deploy design desk despite
    details dev devs dinner director disable dismiss doc docs doctor dog door double draft
    drives due dunno early easy eats edit either else email employee enable end engineer
    engineering engineers enjoy enough ensure error especially even evening event events
    eventually ever every everybody everyone everything everywhere exactly excellent except
    expect export fact fair family fantastic father feature features feedback feel figure file
    final finally find fine finish firmware first five fix flight flights focus follow forget
    former forward found four free friend friends front full fun game generally get given glad
    go goal goals going gonna good goodbye goodnight got gotcha grab great group groups growers
    guess guys haha half happy hard head health hello help hence hey hi hmm hold home honestly
    hope hours house however hurry husband idea ideally ideas ignore images imagine immediately
    impact import important impressive include increase indeed info initially inside install
    instead interesting invoice issue issues job join keep kids kitchen laptop lately later
    latest lead learn leave lesson lessons lets level life light like likely link links listen
    little live lives load location log logs lol look looks lots love lovely lucky lunch made
    mail main make manage management manager map market marketing maybe mean meanwhile meet
    meeting meetings member members memory merge message metric middle migration mind mine minor
    minutes model mom money month monthly morning mornings mostly mother move mum music name
    near nearly need needs neither network never nevertheless new news next nice night nights
    nobody none nope normally note noted notes nothing notice now number obviously office ok
    okay old one ones ooh oops open originally otherwise outside overall owner pages parents
    part password past patient payment people per perfect perhaps person personally phone photo
    pick picture place plain plan plans plus point possible possibly post prefer prefers prepare
    pretty previous price pricing probably problem process product production profile program
    progress project proposal proud provided publish pull purchase push put quality quite rather
    read ready real really recently recipe record reduce release reminder remote remove rename
    replace report request research reset respond restart restaurant results return revenue
    review right room root run sad sales save saw schedule school search second security see
    seems send sensible sent serious seriously server service session sessions set settings
    several share shop short show similarly simple simply since sister site six size skip sleep
    slow smart software somebody someone something sometimes somewhere son soon sorry sounds
    speak specifically spend sprint staff staging standup start started status stay step steps
    still stop store story strategy student students suddenly suggest super supplier suppliers
    support suppose sure surely sweet switch table tags take takes task team teams tech
    telemetry ten test tests text thank thanks that's therefore things think third though
    thoughts three thus ticket tickets till time times tip title today together tomorrow tonight
    tool tools topic total totally track training travel trip trips true truly try turn two
    typically ugh ultimately understood unfortunately unless unlike update upgrade use used user
    users usually vacation vendor version via video views visit wait wanna want warm watch way
    wears weather website week weekend weekly weeks welcome well what's whatever whenever
    wherever whether whew whoa whoever whole wife wish within without wonderful words work
    working works workshop world worst wow write wrong yeah year years yep yes yesterday yet
    young""".split()
    )
)
NAMESAKES = frozenset(
    """amber angel art ash autumn baker basil bill bishop brook cash chance chase chip clay
    cliff cook crystal dawn destiny diamond drew duke echo faith forest fox gene ginger grace
    grant gray green guy harmony hope hunter ivory jewel joy king lane major mark max melody
    mercy miles misty norm olive page patience peace pearl pepper porter prince queen rain
    rich river rock rocky rose rosemary ruby rusty sage sandy sky star stone storm summer
    sunny tiger victory violet west wood""".split()
)
"""Words that people are called, too."""
ORDINARY_ENDING = re.compile(
    r"(?:ing|ings|ly|[^aeiou]..ed|i[sz]ed?|tions?|ments?|ness|[ai]bility|ances?|ences?)$"
)
"""Words, and endings of words, that are no name when a sentence begins with them."""


# In a memory

TEMPORAL_WORDS = frozenset(
    """yesterday today tonight tomorrow ago last next past recently since weekend week weeks month
    months year years day days morning evening monday tuesday wednesday thursday friday saturday
    sunday january february march april june july august september october november
    december""".split()
)
CLOCK = re.compile(
    r"\d(?<!\w\d)(?:(?:(?<=1)9|(?<=2)0)\d\d|\d?[:/.]\d{1,2}|\d?(?:st|nd|rd|th)|\d? ?[ap]m)\b"
)
"""A year, a date or a time of day in figures, looked for by its first one, which is quickest."""
TEMPORAL = re.compile(rf"\b(?:{'|'.join(sorted(TEMPORAL_WORDS))})\b|{CLOCK.pattern}")
NUMBER_WORDS = frozenset(
    """two three four five six seven eight nine ten eleven twelve dozen hundred thousand twice once
    couple half""".split()
)
DIGIT = re.compile(r"\d")
NUMBER = re.compile(rf"{DIGIT.pattern}|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b")
NAME_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
"""A capitalised word inside a sentence."""
GREETING = re.compile(
    r"^\W*(?:[Hh]ey|[Hh]i|[Hh]ello|HEY|HI|[Dd]ear|[Tt]hanks|[Tt]hank you)[ ,]+([A-Z][a-z]{2,})\b"
)
INSTRUCTION = re.compile(
    r"(?:^|[.!?:;]\s+|\n)(?:please |and |so )?(?:always"
    r"|never(?! (?:mind|been|have|had|a|the|in)\b)|from now on|going forward"
    r"|in (?:the )?future|remember to|don't ever|do not ever|make sure (?:to|you)|be sure to)\b"
    r"|\b(?:when(?:ever)?|if|every time|any time|anytime) i(?:'m)? "
    r"(?:ask|asking|request|tell you to|mention|talk about|bring up|say)\b"
    r"|\bi(?:'d like| want| need) you to (?:always|never)\b|\bfrom now on\b",
)
INSTRUCTION_WORDS = frozenset(
    """always never now forward future remember ever sure ask asking request tell mention talk bring
    say""".split()
)
"""One of these is in whatever is an INSTRUCTION."""
PREFERENCE = re.compile(
    r"\bprefer|\brather\b|\bfavou?rite|\bi (?:really |also )?(?:like|love|enjoy|hate|dislike|avoid)"
    r"\b|\ballergic|\bvegan|\bvegetarian|\bfan of\b",
)

# In a question, in lower case

ASKS_WHEN = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:date|day|month|year|time)"
    r"|how many (?:days|weeks|months|years))\b"
)
ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|often|far|tall|big|fast|high)\b|\bpercent(?:age)?\b"
    r"|\bwhat time\b|\baverage\b|\bwhat(?:'s| is| was)? (?:the |my )?(?:\w+ )?"
    r"(?:number|amount|price|cost|budget|rate|score|size|age|distance|salary|total)\b"
)
ASKS_NAME = re.compile(
    r"^\W*(?:who(?:se|m)?|where|which"
    r"|what (?:book|movie|show|game|city|country|place|brand|name|song|band|artist)s?)\b"
)
ASKS_SUMMARY = re.compile(r"\b(?:summar(?:y|i[sz]e|ies)|overview|recap|sum up)\b")
ASKS_ORDER = re.compile(
    r"\b(?:(?:in|what) (?:chronological )?order\b(?! to\b)|the order in\b"
    r"|order of events\b|sequence|timeline|chronolog)"
)
ASKS_WHAT_YOU_SAID = re.compile(
    r"\b(?:did|have|had|were|was) you\b"
    r"|\byou(?:'ve| have| had)? (?:recommended|suggested|said|told|gave|given|mentioned|provided"
    r"|explained|listed|described|advised|outlined|proposed|helped|shared|wrote|created|made|used"
    r"|came up|walked)\b"
    r"|\byour (?:\w+ )?(?:advice|suggestions?|recommendations?|answers?|responses?|explanations?"
    r"|list|plan|tips|guidance)\b"
    r"|\bprevious (?:chat|conversation|discussion)\b|\bremind me (?:what|of|which)\b"
)
LOOKS_BACK = re.compile(r"\b(?:did|have|had) (?:i|you|we)\b|\bhow (?:did|have|has)\b")
ASKS_ADVICE = re.compile(
    r"\b(?:suggest|recommend|advice|advise|ideas?|options?|tips)\b|\bshould i\b"
    r"|\bhow (?:should|can|could|do|would) (?:i|you)\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:help|show|explain|walk me through how|suggest"
    r"|recommend|plan|write|make|create|give me (?:some|an?) (?:ideas?|tips|advice|example|plan))\b"
    r"|\bhelp me\b|\bwhat (?:should|can|could) i\b"
    r"|\bi(?:'m| am) (?:looking|planning|thinking|working|trying|about)\b|\bwhere do you think\b"
    r"|\bwhat (?:\w+ ){0,3}(?:might|would|could) \w+ (?:like|enjoy|prefer|want)\b"
)
ASKS_PRESENT = re.compile(
    r"\b(?:now|currently|current|(?<!at the )latest|nowadays|at present|presently|these days"
    r"|at the moment|most recent(?:ly)?|as of (?:now|today))\b"
)
ASKS_FORMER = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|former(?:ly)?|previous(?:ly)?|back then|at first"
    r"|did(?:n't| not)? (?:[^\s?]+ ){0,3}?use to)\b"
)
USED_TO = re.compile(
    r"(?P<other>(?:\b(?:am|is|are|was|were|be|been|being|has|have|had|get|gets|got|gotten|getting"
    r"|become|became)(?:n't)?(?: (?:the|an?|this|that|these|those|my|our|your|their))?(?: [^\s?]+)?"
    r"|'(?:s|m|re|ve)(?: (?:not|still|also|often|\w+ly))?) )?\bused to\b"
)
"""What once was, too, unless `other` matches: what something is used to do, or one got used to."""

"""Cues of what a query asks for, matched against the folded query."""

from __future__ import annotations

from salience.language.cues import pattern_cue, word_cue

QUESTION_MARK = pattern_cue(
    "question_mark",
    "query: a question mark of any script, at the end of a sentence or inside as in Armenian",
    r"[\uff1f\u061f\u055e?\u037e\u00bf\u1367\u2047-\u2049\u2e2e\ua60f\ua6f7](?![^\W_])"
    r"|[\u00bf\u055e]",
    catches="ana lives where?",
    must_not_catch="see example.org/a?b=c",
)
ASKS = pattern_cue(
    "asks",
    "query: a sentence that begins as a question does",
    r"^\W*(?:(?:and|but|so|ok|okay|hey|hi|hello|please|also|then) )?\W*(?:"
    r"(?:(?:at|by|for|from|in|of|on|since|to|until|with|about) )?(?:who(?:m|se)?|which)"
    r"|(?:who|what|when|where|why|how)'s|why|what(?! an?\b)|where(?!ver)|how"
    r"|(?:since |until )?when (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|should)|(?:is|are|was|were|has)(?:n't)? (?!in\b|at\b|on\b|to\b|an?\b|been\b|not\b)\w+"
    r"|(?:am|do|did|does|had|have(?! the\b| an?\b)|shall|should|may|might|must|can|could"
    r"|will|would)(?:n't)?"
    r" (?:i|he|she|it|we|they|there|this|that|the|an?|my|our|your|his|her|their|any\w*)"
    r"|(?:do|did|have|had)(?:n't)? you|(?:did|does) \w+"
    r"|(?:(?:can|could|will|would) you )?(?:please )?"
    r"(?:tell|remind) (?:me|us) (?:about|who\w*|what|when|where|which|why|how|if|whether))\b",
    catches="where does ana live",
    must_not_catch="when ana asks, do not mention where she lives",
)
TASK_WORDS = word_cue(
    "task_words",
    "query: verbs by which a task begins",
    """add answer avoid build compare continue create delete deploy describe draft explain fix
    generate greet help implement improve install let make notify prepare proofread recommend
    refactor remember remove reply respond rewrite send summarise summarize suggest translate use
    welcome write""",
    catches="greet ana",
    must_not_catch="gate code",
)
LINKING_WORDS = word_cue(
    "linking_words",
    "query: the stop words that stand between the words of a short query",
    "a an and at by for from her his in my of on or our s the their to with your",
    catches="password of the cabin",
    must_not_catch="password that he forgot",
)
DETERMINERS = word_cue(
    "determiners",
    "query: words before a noun or a name; a word before them is no noun",
    "a an her his my our the their your",
    catches="book a table",
    must_not_catch="book of tables",
)
ASKS_WHEN = pattern_cue(
    "asks_when",
    "query: asks for a time",
    r"\b(?:when|how long|(?:what|which) (?:date|day|month|year|time)"
    r"|how many (?:days|weeks|months|years))\b",
    catches="how long was ana in rome?",
    must_not_catch="who met ana in rome?",
)
ASKS_NUMBER = pattern_cue(
    "asks_number",
    "query: asks for a number",
    r"\bhow (?:many|much|long|old|often|far|tall|big|fast|high)\b|\bpercent(?:age)?\b"
    r"|\bwhat time\b|\baverage\b|\bwhat(?:'s| is| was)? (?:the |my )?(?:\w+ )?"
    r"(?:number|amount|price|cost|budget|rate|score|size|age|distance|salary|total)\b",
    catches="how many cats does ana have?",
    must_not_catch="how is ana?",
)
ASKS_NAME = pattern_cue(
    "asks_name",
    "query: asks for a person, a place or the name of a thing",
    r"^\W*(?:who(?:se|m)?|where|which"
    r"|what (?:book|movie|show|game|city|country|place|brand|name|song|band|artist)s?)\b",
    catches="what books has ana read?",
    must_not_catch="whole milk or oat milk?",
)
ASKS_KIND = pattern_cue(
    "asks_kind",
    "query: the words in which it names the kind of thing that it asks for",
    r"\b(?:what|which|how many)(?:'s| is| are| was| were)?("
    r"(?: (?!(?:has|have|had|did|does|do|is|are|was|were|can|could|would|will|should|might|may"
    r"|at|in|on|to|for|with|from|about|after|before|during|by|near|when|that|who|while|because|as"
    r")\b)[\w'-]+){1,6})",
    catches="which sports does ana play?",
    must_not_catch="what did ana play at the store?",
)
ASKS_SUMMARY = pattern_cue(
    "asks_summary",
    "query: asks for a summary",
    r"\b(?:summar(?:y|i[sz]e|ies)|overview|recap|sum up)\b",
    catches="give me a recap of the trip",
    must_not_catch="how was the trip?",
)
ASKS_ORDER = pattern_cue(
    "asks_order",
    "query: asks for things in their order in time",
    r"\b(?:(?:in|what) (?:chronological )?order\b(?! to\b)|the order in\b"
    r"|order of events\b|sequence|timeline|chronolog)",
    catches="list the trips in order",
    must_not_catch="what must i do in order to pay?",
)
ASKS_WHAT_YOU_SAID = pattern_cue(
    "asks_what_you_said",
    "query: asks what the assistant said or did",
    r"\b(?:did|have|had|were|was) you\b"
    r"|\byou(?:'ve| have| had)? (?:recommended|suggested|said|told|gave|given|mentioned|provided"
    r"|explained|listed|described|advised|outlined|proposed|helped|shared|wrote|created|made|used"
    r"|came up|walked)\b"
    r"|\byour (?:\w+ )?(?:advice|suggestions?|recommendations?|answers?|responses?|explanations?"
    r"|list|plan|tips|guidance)\b"
    r"|\bprevious (?:chat|conversation|discussion)\b|\bremind me (?:what|of|which)\b",
    catches="what did you recommend?",
    must_not_catch="what do you recommend?",
)
LOOKS_BACK = pattern_cue(
    "looks_back",
    "query: asks about what was said or done",
    r"\b(?:did|have|had) (?:i|you|we)\b|\bhow (?:did|have|has)\b",
    catches="what did i cook?",
    must_not_catch="what can i cook?",
)
NAMES_USER = pattern_cue(
    "names_user",
    "query: speaks of the user as of somebody else",
    r"(?i)\b(?:(does|is|has|was|do|did) )?(?:the|this|our) (?:user|customer|client)\b('s)?"
    r"|\b(?:der|die|den|dem|des) (?:be)?nutzer(?:in|s)?\b|\bl'utilisat(?:eur|rice)\b"
    r"|\b(?:el|la|o|a) usu[a\u00e1]ri[oa]\b|\bl'utente\b"
    r"|пользовател[ьяюи]|用户|使用者|ユーザー|사용자",
    catches="where does the user work?",
    must_not_catch="how many users are there?",
)
ASKS_ADVICE = pattern_cue(
    "asks_advice",
    "query: asks for advice, a plan, a draft or leave to do something",
    r"\b(?:suggest(?:ions?)?|recommend(?:ations?)?|advice|advise|ideas?|options?|tips)\b"
    r"|\bhow (?:should|can|could|do|would) (?:i|you|we)\b"
    r"|^\W*(?:please |now |and |so |ok |then )*(?:plan|book|pick|choose|order|cook|make|write|draft"
    r"|create|design|organi[sz]e|schedule|prepare|compose|propose|brainstorm|outline|pack|build"
    r"|implement|generate|help|decide|arrange|set up|(?:find|get|give|show|tell) (?:me|us) (?:an?"
    r"|some|how to)|let's)\b"
    r"|\b(?:can|could|may|should|shall|must) (?:i|we)\b|^\W*who (?:can|could|should)\b"
    r"|\bis (?:it|this|that|there) (?:(?:ok|okay|safe|wise|fine|worth|healthy|all right|smart|good"
    r"|anything)\b|an? (?:good|bad))|\b(?:good|safe|ok|okay|bad|suitable|right|best) for (?:me"
    r"|us)\b"
    r"|\b(?:would|might|could|should|can|will) (?:be (?:good|best|nice|suitable|right)|suit|fit)\b"
    r"|\bwhat(?:'s| is| are) (?:an?|some|the best|your)\b|\b(?:what|how) about\b"
    r"|(?<!do )\bi (?:need|want|would like)\b|\bi'd like\b"
    r"|\b(?:can|could|would|will) you (?:please )?(?:help|show|explain|walk me through how|suggest"
    r"|recommend|plan|write|make|create|give me (?:some|an?) (?:ideas?|tips|advice|example|plan))\b"
    r"|\bhelp me\b"
    r"|\b(?:i|we)(?:'m|'re| am| are|'ll be| will be) (?:looking|planning|thinking|working"
    r"|trying|about"
    r"|considering|hoping|going to|in the mood|hungry|bored|visiting|hosting|travell?ing)\b"
    r"|\bwhere do you think\b"
    r"|\bwhat (?:\w+ ){0,3}(?:might|would|could) \w+ (?:like|enjoy|prefer|want)\b",
    catches="any tips for rome?",
    must_not_catch="what is most likely to happen?",
)
ABOUT_BODY = pattern_cue(
    "about_body",
    "query: is about food, medicine or sport",
    r"\b(?:eat\w*|food|foods|cook\w*|dinner|lunch|breakfast|brunch|supper|meals?|recipes?|snacks?"
    r"|restaurants?|menu|dish(?:es)?|desserts?|cakes?|bak(?:e|ing)|drinks?|cocktails?|wine|beer"
    r"|coffee|grocer\w*|diets?|nutrition\w*|supplements?|vitamins?|ibuprofen|aspirin|paracetamol"
    r"|painkillers?|pills?|tablets?|medicines?|medication|drugs?|dose|headache|fever|cold|cough"
    r"|pain|sick|symptoms?|doctor|dentist|workouts?|exercis\w+|gym|jog\w*|run|running|marathon"
    r"|train(?:ing)?|yoga|swim\w*|hik\w+|cycling|sports?|fitness|stretch\w*|massage|sauna)\b",
    catches="what can i cook for dinner?",
    must_not_catch="which bus do i take to the office?",
)
ASKS_PRESENT = pattern_cue(
    "asks_present",
    "query: asks for the present state",
    r"\b(?:now|currently|current|(?<!at the )latest|nowadays|at present|presently|these days"
    r"|at the moment|most recent(?:ly)?|as of (?:now|today))\b",
    catches="where does ana live at present?",
    must_not_catch="when is it due at the latest?",
)
ASKS_FORMER = pattern_cue(
    "asks_former",
    "query: asks for all that was once",
    r"\b(?:original(?:ly)?|initial(?:ly)?|former(?:ly)?|previous(?:ly)?|back then|at first"
    r"|did(?:n't| not)? (?:[^\s?]+ ){0,3}?use to|before(?=\W*$))\b",
    catches="where did ana originally live?",
    must_not_catch="where does ana live?",
)
USED_TO = pattern_cue(
    "used_to",
    "query: asks for what once was, unless `other` matches: used to do, or got used to",
    r"(?P<other>(?:\b(?:am|is|are|was|were|be|been|being|has|have|had|get|gets|got|gotten|getting"
    r"|become|became)(?:n't)?(?: (?:the|an?|this|that|these|those|my|our|your|their))?(?: [^\s?]+)?"
    r"|'(?:s|m|re|ve)(?: (?:not|still|also|often|\w+ly))?) )?\bused to\b",
    catches="ana used to swim",
    must_not_catch="ana used the pool",
)
QUOTED_PHRASE = pattern_cue(
    "quoted_phrase",
    "query: words in quotation marks, which stand together in what is searched for",
    r"[\"“]([^\"“”]+)[\"”]",
    catches='who said "never again"?',
    must_not_catch="who said never again?",
)
WORD_PREFIX = pattern_cue(
    "word_prefix",
    "query: a beginning of words before a star",
    r"(?<![^\W_])([^\W_]+):?\*(?![\w*])",
    catches="deploy:*",
    must_not_catch="2 * 3 or 2*x or **note:** this",
)

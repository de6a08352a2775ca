"""Words and patterns that statements are recognised by."""

from __future__ import annotations

from salience.language.cues import pattern_cue, word_cue

OPEN_ENDED = word_cue(
    "open_ended",
    "fact: words for what may be, for what was, and for one of several",
    """if unless maybe perhaps probably possibly might would could should or but also too either
    neither both once formerly previously used another""",
    catches="she also likes tea",
    must_not_catch="she likes tea",
)
HALF_DENIAL = pattern_cue(
    "half_denial",
    "fact: a denial of the past, or of a part",
    r"\bnot (?:yet|only|just|all|every|always|very|sure|really|necessarily|exactly)\b"
    r"|\b(?:did|was|were|had) not\b",
    catches="he is not always late",
    must_not_catch="he is not late",
)
CODE = pattern_cue(
    "code",
    "fact: signs of code, lists and links, which state nothing",
    r"[{}\[\]=<>_#|`\\]|\(\)|//|[:,]\s*$|^\s*[-*\u2022]|^\s*[a-z-]+: |^\W*$",
    catches="name = ana",
    must_not_catch="my name: ana",
)
FILLERS = pattern_cue(
    "fillers",
    "fact: words that say only that it holds now",
    r"(?i:^(?:actually|correction|update|note|fact|fyi|by the way|lately"
    r"|(?:since|as of|starting|from) [\w ]{1,20}?,?(?= (?:i|we|my|our)\b))[,:]? |,? instead of .*"
    r"|,? \b(?:now|currently|nowadays|these days|at the moment|at present|already|again|actually"
    r"|still|instead|any ?more|any longer|recently|last (?:week|month|year))\b"
    r"|(?<=\b(?:is|am) )now )",
    catches="he lives in rome now",
    must_not_catch="he knows rome",
)
FILLER_WORDS = word_cue(
    "filler_words",
    "fact: one of these is in all FILLERS, and quick to look for",
    """actually correction update note fact fyi way now currently nowadays days moment present
    already again still instead more anymore longer recently last lately since starting from""",
    catches="he lives in rome now",
    must_not_catch="he knows rome",
)
DENIAL_WORDS = word_cue(
    "denial_words",
    "fact: one of these is in each DENIAL, and quick to look for",
    "not no never quit stopped gave given",
    catches="he does not smoke",
    must_not_catch="he does smoke",
)
DENIAL = pattern_cue(
    "denial",
    "fact: denies what the rest of it says",
    r"(?i:\b(?:(?:do|does|can) not|no longer|not|never|(?:has )?(?:quit|stopped|gave up|given up)"
    r"(?= [a-z]+ing\b))\b ?)",
    catches="he does not smoke",
    must_not_catch="he does smoke",
)
NO_SUBJECTS = word_cue(
    "no_subjects",
    "fact: words that the noun phrase of a subject does not have, or it is a clause",
    """i you he she it they we this that these those there who what which whose everyone someone
    everybody somebody nobody and or but than as says said say thinks think told tells knows
    believes heard read has have had is are was were will not when while because each every many
    most any a an in at on""",
    catches="i read that ana left",
    must_not_catch="my flight to oslo",
)
UNNAMED_SUBJECTS = word_cue(
    "unnamed_subjects",
    "fact: first words that may be anybody",
    """he she it they you this that these those there everyone someone somebody who what his her
    their its your""",
    catches="she lives in rome",
    must_not_catch="sheila lives in rome",
)
EVENT_NOUNS = word_cue(
    "event_nouns",
    "fact: nouns for what has a time",
    """flight train bus ferry meeting appointment deadline call standup lecture class lesson concert
    dinner lunch breakfast brunch party wedding exam interview reservation booking game match launch
    release checkin checkout pickup delivery departure arrival session workshop seminar conference
    review demo show screening rehearsal checkup surgery ceremony funeral webinar kickoff shift""",
    catches="flight at nine",
    must_not_catch="cat at nine",
)
COLOURS = word_cue(
    "colours",
    "fact: names of colours",
    """black white red green blue yellow orange purple violet pink brown grey gray beige turquoise
    silver gold cream navy teal""",
    catches="it is grey",
    must_not_catch="it is great",
)
COUNTRIES = word_cue(
    "countries",
    "fact: countries and regions, which lie about a town, not beside it",
    """argentina australia austria belgium brazil bulgaria california canada chile china colombia
    croatia cuba cyprus czechia denmark egypt england estonia ethiopia europe finland florida france
    georgia germany ghana greece hungary iceland india indonesia iran iraq ireland israel italy
    japan jordan kenya latvia lithuania luxembourg malaysia malta mexico morocco netherlands nigeria
    norway ontario pakistan peru philippines poland portugal quebec romania russia scotland serbia
    singapore slovakia slovenia spain sweden switzerland taiwan texas thailand tunisia turkey uganda
    ukraine uruguay venezuela vietnam wales africa asia america bavaria tuscany catalonia republic
    states kingdom uk usa us emirates""",
    catches="in canada",
    must_not_catch="in toronto",
)
CHANGES = pattern_cue(
    "changes",
    "fact: tells that something is no more as it was",
    r"\b(?:no longer|any ?more|instead|from now on|these days|again|started|stopped|quit|cancell?ed"
    r"|terminated|broke up|passed away|passed to|handed over|took over|takes over|stays .* now"
    r"|settled|renamed|relocated|rebooked|(?:was|were|been) (?:paid|delivered|approved|rejected"
    r"|resolved|merged|signed|completed|finished|closed|reopened|fixed|repaired|sold|assigned)"
    r"|(?:got|have|has) a new|new job|is now|are now|am now|has shipped|got married)\b",
    catches="the contract was terminated",
    must_not_catch="the contract is long",
)
STATUSES = word_cue(
    "statuses",
    "fact: where something stands; one excludes the others",
    """pending shipped delivered dispatched cancelled canceled approved rejected resolved merged
    blocked unblocked published refunded archived deprecated completed finished signed done
    unresolved unsigned undecided outstanding overdue ready postponed launched released reopened
    denied granted confirmed unconfirmed""",
    catches="the order is pending",
    must_not_catch="the order is large",
)
EXCLUSIVE = tuple(
    word_cue(
        f"exclusive_{name}",
        f"fact: one excludes the others: {name}",
        listed,
        catches=f"it is {listed.split()[0]}",
        must_not_catch="it is nice",
    )
    for name, listed in (
        ("opening", "open closed shut"),
        ("handedness", "ambidextrous left-handed right-handed lefthanded righthanded"),
        ("lock", "locked unlocked"),
        ("switch", "enabled disabled"),
        ("employment", "employed unemployed retired"),
        ("life", "alive dead"),
        ("connection", "online offline"),
        ("temper", "introverted extroverted"),
        ("price", "free paid"),
    )
)
ALTERNATIVES = tuple(
    word_cue(
        f"alternatives_{name}",
        f"fact: of these one is preferred: {name}",
        listed,
        catches=f"she prefers {listed.split()[0]}",
        must_not_catch="she prefers it",
    )
    for name, listed in (
        ("hot_drinks", "tea coffee"),
        ("drinks", "beer wine"),
        ("pets", "cats dogs"),
        ("seats", "window aisle"),
        ("daytime", "mornings evenings afternoons nights"),
        ("contact", "email phone text chat calls texts emails"),
        ("landscape", "beach mountains"),
        ("season", "summer winter spring autumn"),
        ("transport", "train plane bus car flying driving trains planes buses cars"),
        ("editor", "vim emacs"),
        ("indent", "tabs spaces"),
        ("units", "metric imperial"),
        ("phones", "android iphone ios"),
        ("desktops", "mac windows linux"),
        ("homes", "city countryside suburbs"),
        ("media", "books films movies"),
        ("work", "remote office"),
    )
)
MULTI_VALUED = word_cue(
    "multi_valued",
    "fact: stems of verbs whose objects are many, so that another one contradicts nothing",
    """like love enjoy hate dislik speak know visit read watch eat drink plai own bui bought learn
    studi teach us collect includ follow want need recommend support play""",
    catches="i like jazz",
    must_not_catch="i live here",
)
PAST_EVENTS = word_cue(
    "past_events",
    "fact: stems of verbs for what may happen more than once",
    """met bought visit went saw watch ate drank attend call sent paid ran walk flew drove cook
    wrote sold won lost spoke talk order book travel finish complet""",
    catches="i met ana",
    must_not_catch="i meet ana",
)

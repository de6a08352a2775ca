"""Word lists and patterns of English that reading a question or a memory draws on.

Other languages have tables in `languages`; those without one match none of these, and rank by words
and meaning alone.
"""

from __future__ import annotations

from salience.language.cues import pattern_cue, word_cue

STOP_WORDS = word_cue(
    "stop_words",
    "words without a meaning of their own; don't counts as don and t",
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn d did didn do does doesn doing don down
    during each few for from further had hadn has hasn have haven having he her here hers herself
    him himself his how i if in into is isn it its itself just let ll m me might more most must my
    myself no nor not of off on once only or other ought our ours ourselves out over own re s same
    shall shan she should shouldn so some such t than that the their theirs them themselves then
    there these they this those through to too under until up upon us ve very was wasn we were
    weren what when where which while who whom whose why will with would wouldn you your yours
    yourself yourselves may""",
    catches="who is it",
    must_not_catch="paint walls",
)

REPORTING_WORDS = word_cue(
    "reporting_words",
    "query: verbs of saying, asking and remembering",
    """ask asked describe describes described discuss discussed discussing explain mention mentions
    mentioned recall remember remind say says said summarise summarize talk talked talking tell
    told""",
    catches="which boat did i mention?",
    must_not_catch="which boat did i buy?",
)
CONVERSATION_WORDS = word_cue(
    "conversation_words",
    "query: nouns for the conversation and what it is made of",
    "chat chats conversation conversations question questions",
    catches="in our conversations",
    must_not_catch="on our boat",
)
REQUEST_WORDS = word_cue(
    "request_words",
    "query: words that ask for an answer, or say what it is to be drawn from",
    "please give provide know walk bring brought according based regarding earlier previously",
    catches="please walk me through it",
    must_not_catch="show it",
)
KIND_WORDS = word_cue(
    "kind_words",
    "query: nouns for kinds, lists and summaries",
    """aspects chronological item items kind kinds list order overview sequence sort summary type
    types""",
    catches="what kind of boat",
    must_not_catch="what boat",
)
EXTENT_WORDS = word_cue(
    "extent_words",
    "query: words for how much and how thorough",
    """across clear comprehensive detailed different long many much often quick throughout
    various""",
    catches="how many boats",
    must_not_catch="which boats",
)
FRAMING_WORDS = REPORTING_WORDS | CONVERSATION_WORDS | REQUEST_WORDS | KIND_WORDS | EXTENT_WORDS
"""Words that frame a query about a conversation; they do not tell its topic."""

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

FIRST_PERSON_WORDS = word_cue(
    "first_person_words",
    "the speaker speaks of themselves",
    "i my me mine myself we our us",
    catches="where did we park",
    must_not_catch="where did they park",
)
USER_NAMES = word_cue(
    "user_names", "names of a role: the user", "user human", catches="user", must_not_catch="ana"
)
ASSISTANT_NAMES = word_cue(
    "assistant_names",
    "names of a role: the assistant",
    "assistant ai bot",
    catches="ai",
    must_not_catch="aida",
)
ROLE_NAMES = USER_NAMES | ASSISTANT_NAMES | {"system", "agent"}

_MONTH_NAMES = (
    "january february march april may june july august september october november december"
).split()
MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: i for name, i in MONTHS.items()} | {"sept": 9}
NAMESAKE_MONTHS = word_cue(
    "namesake_months",
    "months that people are named after, too",
    "jan april june jun august",
    catches="april",
    must_not_catch="may",
)
AMBIGUOUS_MONTHS = word_cue(
    "ambiguous_months",
    "months whose names mostly are names of people or other words",
    NAMESAKE_MONTHS | {"may", "mar", "march"},
    catches="may",
    must_not_catch="october",
)

WEEKDAYS = word_cue(
    "weekdays",
    "days of the week, which are no entities",
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays mon tue tues wed thu thur thurs fri sat sun""",
    catches="on tuesdays",
    must_not_catch="in may",
)

HONORIFICS = word_cue(
    "honorifics",
    "titles before a name, whose full stop ends no sentence",
    "mr mrs ms miss dr prof sir madam st",
    catches="dr. costa",
    must_not_catch="doctors",
)
NAME_PARTICLES = word_cue(
    "name_particles",
    "small words inside a name: Bank of America",
    "of de van von der den del della di da la le du bin al the",
    catches="bank of america",
    must_not_catch="bank on america",
)

_ORDINARY = """
    accept action actions actually add added additionally afterwards agreed ah ahead allow
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
    young"""
ORDINARY_WORDS = word_cue(
    "ordinary_words",
    "words that are no names at the beginning of a sentence",
    STOP_WORDS | FRAMING_WORDS | frozenset(_ORDINARY.split()),
    catches="dinner was good",
    must_not_catch="sarah",
)
NAMESAKE_WORDS = word_cue(
    "namesake_words",
    "words that people are named after, too",
    """amber angel art ash autumn baker basil bill bishop brook cash chance chase chip clay
    cliff cook crystal dawn destiny diamond drew duke echo faith forest fox gene ginger grace
    grant gray green guy harmony hope hunter ivory jewel joy king lane major mark max melody
    mercy miles misty norm olive page patience peace pearl pepper porter prince queen rain
    rich river rock rocky rose rosemary ruby rusty sage sandy sky star stone storm summer
    sunny tiger victory violet west wood""",
    catches="the bill",
    must_not_catch="the invoice",
)
ORDINARY_ENDING = pattern_cue(
    "ordinary_ending",
    "endings of words that are no names at the beginning of a sentence",
    r"(?:ing|ings|ly|[^aeiou]..ed|i[sz]ed?|tions?|ments?|ness|[ai]bility|ances?|ences?)$",
    catches="happiness",
    must_not_catch="anna",
)

"""Statements of somebody about themselves, which bear on later requests: tastes, health and such.

A statement counts, not a question; a question that states something first counts as well.
"""

from __future__ import annotations

import re

from salience.language.cues import pattern_cue
from salience.language.english import ASKS
from salience.language.languages.table import CueName, Language

NOTHING, CIRCUMSTANCE, PREFERENCE, INSTRUCTION, HEALTH = 0.0, 1.0, 2.0, 3.0, 4.0
"""The kinds of statements, in the order in which they matter; of several the last one counts."""
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\n\u3002\uff01\uff1f]*")
_QUESTION_MARKS = ("?", "\uff1f")

# "can I eat" states nothing; "what I eat" may.
_NOT_ASKED = "".join(
    rf"(?<!\b{word} )"
    for word in "can could should shall would will do did does may might must am was n't".split()
)
_ADVERBS = (
    r"(?: (?:also|do|just|still|now|always|never|usually|often|mostly|only|really|much|strongly"
    r"|strictly|personally|generally|normally|currently|absolutely|\w+ly|don't|do not|can't|cannot"
    r"|won't|will not|would|'d|try to|tend to|want to|like to|have to|need to|choose to))*"
)
_I = rf"\b{_NOT_ASKED}(?:i|we|(?:the )?(?:user|customer|client))"
_I_AM = (
    rf"(?:{_I}(?:'m| am|'re| are|'ve been| have been| is)|^)"
    r"(?: \w+ly| also| still| now| not| so| very| a bit)*"
)
_MY = r"\b(?:my|our|the (?:user|customer|client)'s|user's)"
_HABIT = (
    r"(?:eat|drink|wear|use|watch|read|listen|buy|fly|drive|travel|smoke|consume|trust|stay|shop"
    r"|cook|consider|support|play|go|work|do|order|sleep|take|keep|write|choose|attend|follow"
    r"|accept|touch|visit|spend|own|rent|book|stream|pay)"
)

PREFERENCE_STATED = pattern_cue(
    "preference",
    "memory: tells what somebody likes or avoids",
    r"\bprefer|\bfavou?rite|\b(?:i'd|would) rather\b|\b(?:a|big|huge) fan of\b|\bnot a fan\b"
    rf"|{_I}{_ADVERBS} (?:like|love|enjoy|hate|dislike|avoid|adore|detest|loathe|despise|refuse"
    r"|value|prioriti[sz]e|appreciate|favou?r|insist|care about|steer clear|stay away|stick to"
    r"|opt for"
    r"|gravitate|can't stand|cannot stand|can't bear|stand)s?\b"
    rf"|{_I} (?:\w+ly )?(?:don't|do not|never|only|will only|won't|will not|always|usually|doesn't)"
    rf"(?: \w+ly| even| ever| only)?(?: want to| like to)? {_HABIT}s?\b"
    rf"|{_I_AM} (?:into|against|opposed|averse|afraid|scared|terrified|fond|keen|passionate"
    r"|interested|tired|sick|particular|picky|committed|uncomfortable|wary|skeptical|sensitive"
    r"|concerned|drawn|(?:an?|the) (?:\w+ ){0,2}(?:person|lover|enthusiast|advocate|fan|believer"
    r"|supporter|minimalist|introvert|extrovert|morning|night))\b"
    rf"|{_I} (?:\w+ )?(?:have|has|'ve|got) (?:an? )?(?:\w+ ){{0,3}}?(?:aversion|dislike|preference"
    r"|fear|phobia|love|passion|interest|distaste|disdain|contempt|hatred|soft spot|sweet tooth"
    r"|taste)\b"
    r"|\b(?:important|matters?(?: a lot| most)?) to me\b|\bmy (?:number one|top|first|main|biggest)"
    r" (?:priority|concern|fear)\b|\bdeal-?breaker\b"
    r"|^\W*(?:dis)?(?:likes|loves|hates|avoids|enjoys)\b",
    catches="i really like tea",
    must_not_catch="they look like tea",
)
_AILMENTS = (
    r"allerg\w*|\w*intoleran\w+|lactose|gluten\w*|c(?:o|oe)eliac|celiac|diabet\w+|insulin|asthma\w*"
    r"|inhaler|epilep\w+|migraines?|hypertension|blood (?:pressure|thinners?|sugar)|cholesterol"
    r"|arthriti\w+|anaemi\w+|anemi\w+|pregnan\w+|breastfeeding|vegan\w*|vegetarian\w*"
    r"|pescatarian\w*|halal|kosher|keto|low-(?:carb|sodium|salt|sugar|fodmap)|(?:dairy|sugar|nut)"
    r"-free|medication\w*|medicines?|prescri\w+|warfarin|statins?|antidepressants?|chemo\w*"
    r"|dialysis|pacemaker|surgery|injur\w+|chronic|diagnosed|disorder|disab\w+|wheelchair"
    r"|depression|anxiety|insomnia|apn(?:o|oe)?ea|adhd|autis\w+|dyslexi\w+|colou?r-?blind|deaf"
    r"|hearing aid|crohn'?s|ibs|reflux|eczema|psoriasis|gout|thyroid|hay fever|vertigo|sciatica"
    r"|sober|teetotal\w*|(?:bad|sore|weak|torn|broken|sprained|stiff|injured) (?:knee|back|hip"
    r"|shoulder|ankle|wrist|neck|leg|arm|foot|heart|elbow|tooth|eye)s?|(?:knee|back|hip|shoulder"
    r"|heart|joint|kidney|liver|skin|stomach|sleep|hearing|vision) (?:pain|problem|issue|condition"
    r"|disease|failure|trouble|attack)s?|(?:on an? (?:\w+ )?|dietary|\w+ )diet"
    r"|(?:don't|do not|doesn't|never|can't|cannot|no longer) (?:eat|drink|tolerate|digest)"
    r"|take \w+ (?:\w+ ){0,4}?(?:every|daily|each|twice|once|at night|in the (?:morning|evening))"
)
HEALTH_STATED = pattern_cue(
    "health",
    "memory: tells of somebody's health, diet or medicine",
    rf"(?:(?:{_I}|{_MY}|\bme\b)[^.!?\n]{{0,80}}?|^\W*(?:is |has )?)\b(?:{_AILMENTS})\b",
    catches="i'm allergic to nuts",
    must_not_catch="can you name a vegan dish",
)
RELATIVES = (
    r"wife|husband|partner|spouse|girlfriend|boyfriend|fianc\w+|sons?|daughters?|kids?|child"
    r"(?:ren)?|baby|twins|toddler|mother|father|mum|mom|dad|parents?|brothers?|sisters?|siblings?"
    r"|grand\w+|nephews?|nieces?|aunt|uncle|cousins?|family|room-?mates?|flat-?mates?|neighbou?rs?"
    r"|cats?|dogs?|pup(?:py|pies)|kittens?|pets?|rabbits?|horses?|parrot|hamster"
)
_BELONGINGS = (
    r"job|boss|company|employer|shifts?|salary|income|budget|savings|mortgage|rent|debts?|loan|car"
    r"|bike|bicycle|van|flat|apartment|house|home|garden|balcony|kitchen|birthday|anniversary|name"
    r"|height|weight|size|shoe size|degree|hometown|mother tongue|native language|commute|hobb(?:y"
    r"|ies)|schedule|goal|dream|laptop|phone|guitar|piano"
)
CIRCUMSTANCE_STATED = pattern_cue(
    "circumstance",
    "memory: tells of somebody's family, work, home, belongings or skills",
    rf"{_MY}(?: \w+){{0,2}}? (?:{RELATIVES}|{_BELONGINGS})\b"
    rf"|{_I}{_ADVERBS} (?:live|work|commute|drive|own|rent|study|teach|speak|earn|cycle|volunteer"
    r"|grew up|was born|moved|graduated|train|practi[cs]e|foster|garden|code|program)s?\b"
    rf"|{_I_AM} (?:from|based|married|single|divorced|engaged|retired|unemployed|self-employed"
    r"|learning|studying|training|saving|living|working (?:as|at|for|in|on)|left-handed|colou?r"
    r"|\S+ years old|an? (?!bit|little|lot|few|hurry|fan|big|huge|good|bad)(?:\w+ ){0,3}?\w+(?:er"
    r"|or|ist|ian|ant|ent|man|woman|nurse|chef|cook|pilot|clerk|mum|mom|dad|mother|father|parent"
    r"|widow\w*|carer|coach|vet|nurse|analyst|founder|beginner|novice)\b)"
    rf"|{_I}(?: also| only| now)? (?:have|has|keep|'ve got|have got) (?:an? |one |two |three |four"
    rf" |five |\d+ |no |some |my )?(?:\w+ ){{0,2}}?(?:{RELATIVES}|{_BELONGINGS})\b"
    rf"|{_I} use \w+ (?:and \w+ )?(?:at|for|as|daily|every)\b"
    # A short statement, unless it is one of the moment.
    r"|^\W*(?:(?:i|we)(?: \w+ly| still| also)* (?!(?:need|want|think|thought|guess|mean|see|saw"
    r"|know|knew|understand|hope|wonder|tried|try|would|will|could|can|should|may|might|must|was"
    r"|were|did|do|don't|didn't|am|are|agree|appreciate|feel|find|found|got it|just|forgot"
    r"|believe|remember|asked|said|added|changed|updated|noticed|met|went|suppose|assume|have to"
    r"|have a question)\b)|(?:my|our) )[^.!?\n]{4,70}\.?\s*$",
    catches="my daughter emma is four",
    must_not_catch="which car is the fastest",
)


_ENGLISH = (
    (HEALTH, HEALTH_STATED), (PREFERENCE, PREFERENCE_STATED), (CIRCUMSTANCE, CIRCUMSTANCE_STATED),
)  # fmt: skip
_CUES: tuple[tuple[float, CueName], ...] = (
    (HEALTH, "health"), (PREFERENCE, "preference"), (CIRCUMSTANCE, "circumstance"),
)  # fmt: skip


def personal(text: str, instructs: bool, language: Language | None) -> float:
    """The kind of statement that a folded text makes of who says it; questions make none."""
    found = _said(text, language)
    if found and any(mark in text for mark in _QUESTION_MARKS):
        sentences = _SENTENCE.findall(text)
        said = (_said(one, language) for one in sentences if not _asks(one.strip(), language))
        found = max(said, default=NOTHING)
    return max(found, INSTRUCTION) if instructs else found


def _said(text: str, language: Language | None) -> float:
    if language is None:
        return next((kind for kind, cue in _ENGLISH if cue.search(text)), NOTHING)
    found = next((kind for kind, cue in _CUES if language.matches(cue, text)), NOTHING)
    return found if found != HEALTH or language.is_about_speaker(text) else NOTHING


def _asks(sentence: str, language: Language | None) -> bool:
    if not sentence.endswith(_QUESTION_MARKS):
        return False
    asks = ASKS.search(sentence) if language is None else language.matches("asks", sentence)
    return bool(asks)

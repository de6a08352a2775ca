"""States in English; its other cues are in `query_cues` and `memory_cues`."""

from __future__ import annotations

from salience.language.english import FIRST_PERSON_WORDS, STOP_WORDS
from salience.language.languages.table import Cue, Language, words

STATE_WORDS = words(
    """live lives living lived moved relocated settled reside work works working worked employed
    employer company job joined favourite favorite learning learn learned studying play playing
    played
    phone number email name called old age drive drives driving drove car"""
)
"""One of these is in every state, and quick to look for."""

ENGLISH = Language(
    code="en",
    name="English",
    stop_words=STOP_WORDS,
    cues={
        "first_person": Cue("|".join(sorted(FIRST_PERSON_WORDS)), "my cat", "his cat"),
        "asks_present": Cue(
            r"now|currently|current|nowadays|at present|presently|these days|at the moment",
            "where do i live now?",
            "where did i live?",
        ),
        "asks_former": Cue(
            r"originally|formerly|previously|previous|former|back then|at first|before|used to",
            "where did i live before?",
            "where do i live?",
        ),
        "looks_back": Cue(
            r"did (?:i|we)|was my|have i|had i", "where did i live?", "where do i live?"
        ),
    },
    states={
        "favourite": Cue(
            r"(?:favourite|favorite) (\w+)", "my favourite colour is blue", "the colour is blue"
        ),
        "name": Cue(r"my name|i am called|am i called", "my name is mia", "the name of the street"),
        "phone": Cue(r"(?:phone|mobile) number", "my phone number is 12", "my phone is new"),
        "email": Cue(
            r"e-?mail address|my e-?mail is|(?:what is|what's) my e-?mail",
            "my email is new",
            "an email came",
        ),
        "age": Cue(r"\w+ years old|how old am i|my age", "i am 30 years old", "in 30 years"),
        "job": Cue(
            r"work(?:ing|ed)? (?:\w+ )?as|my job|(?:do|am) i (?:do )?for a living",
            "i work as a cook",
            "i work at siemens",
        ),
        "employer": Cue(
            r"(?:do|did) i work|(?:i|i'm|i am) (?:\w+ ){0,2}(?:work(?:ed|ing)? (?:at|for)"
            r"|employed (?:at|by))"
            r"|(?:started|begun|began) (?:to work|working) (?:at|for)|i(?:'ve| have)? joined"
            r"|my employer",
            "i work at siemens",
            "it works at night",
        ),
        "residence": Cue(
            r"(?:do|did|am) i (?:\w+ )?liv(?:e|ing)|(?:i|i'm|i am|we) (?:\w+ ){0,2}liv(?:e|ed"
            r"|ing) (?:in|at|on)"
            r"|i(?:'ve| have)? (?:\w+ )?(?:moved|relocated) to|settled in",
            "i have moved to lyon",
            "i have been to lyon",
        ),
        "drives": Cue(r"i (?:\w+ )?drive", "i drive a red car", "my red car"),
        "learns": Cue(
            r"(?:am i|i am|i'm|do i|did i|begun to|started to|started) (?:\w+ )?(?:learn(?:ing)?"
            r"|study(?:ing)?)"
            r"|i (?:learn|study)",
            "i am learning polish",
            "learning is fun",
        ),
        "plays": Cue(
            r"(?:do|did) i (?:\w+ )?play|(?:i|and) (?:\w+ )?play|am i playing"
            r"|i am (?:\w+ )?playing",
            "i play tennis",
            "the play was good",
        ),
    },
)

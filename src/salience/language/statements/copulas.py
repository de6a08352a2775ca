"""Readers of any language: what a noun is, and who holds a role.

"Our team lead is Dora", "Emil is now our team lead" and "we have a new team lead: Emil" all name
the lead of a team.
"""

from __future__ import annotations

import re
from functools import cache

from salience.language.english import STOP_WORDS
from salience.language.languages.table import Language
from salience.language.statements import cues
from salience.language.statements.phrases import NAME, Reading
from salience.language.statements.wordings import WORDINGS, Wordings
from salience.language.tokens import fold, stem, unified, words

_MAX_VALUE_WORDS = 4
_WHAT = r"(?P<what>[\w'-]+(?: [\w'-]+){0,3}?)"
_OFFICE = r"(?P<what>[\w'-]+(?: [\w'-]+){0,6}?)"
_BE = r"(?:is|are|was named|will be)"
_BECAME = (
    r"(?:is|became|has become|took over as|has taken over as|was (?:appointed|promoted to|made"
    r"|elected)|has been (?:appointed|promoted to|made|elected)|acts as|serves as|steps? in as"
    r"|stepped in as)"
)
_ENGLISH = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?P<value>{NAME}) {_BECAME} (?:(?P<who>our|my|the|{NAME}'s) )?{_OFFICE}$",
        rf"^(?P<value>{NAME}) (?:replace[sd]|has replaced|takes over from|took over from"
        rf"|succeed(?:s|ed)) (?:{NAME}) as (?:(?P<who>our|my|the|{NAME}'s) )?{_WHAT}$",
        rf"^(?:I|We|i|we) (?:have |has )?(?:switched|changed|moved|went over|gone over) to "
        rf"(?P<value>{NAME}) (?:as|for) (?:(?P<who>our|my|the) )?{_WHAT}$",
        rf"^(?:I|We|They|i|we) (?:have )?(?:switched|changed|moved) (?P<who>my|our|the) {_WHAT} "
        rf"(?:over )?to (?P<value>{NAME})$",
        rf"^(?:I|We|i|we) (?:have|got|hired|have hired|have got) (?:a|an) (?:new|different|another)"
        rf" {_WHAT}(?:,|:| -| called| named) (?P<value>{NAME})$",
        rf"^(?:(?P<who>[Mm]y|[Oo]ur|[Tt]he|{NAME}'s) )?(?:(?:[Nn]ew|[Cc]urrent) )?{_WHAT} {_BE} "
        rf"(?P<value>(?:the |an? )?[\w.'+&-]+(?: [\w.'+&-]+){{0,3}})$",
    )
)
_COMPLEMENT = re.compile(r" (?:of|for|at|in) .*")
_GENERIC = frozenset("team new current head user s my our the user's of official next".split())


def role(sentence: str) -> Reading | None:
    """The holder of a role, or the thing of a kind that one has one of."""
    for place, pattern in enumerate(_ENGLISH):
        match = pattern.match(sentence)
        if match is None:
            continue
        what, value = fold(match["what"]), match["value"]
        if not cues.NO_SUBJECTS.isdisjoint(words(what)):
            continue
        head = _COMPLEMENT.sub("", what)
        is_holder = place < len(_ENGLISH) - 1 or re.fullmatch(NAME, value) is not None
        if is_holder and cues.PERSON_ATTRIBUTES.search(head):
            return _reading(match.groupdict().get("who"), what, value)
        if cues.THING_ATTRIBUTES.search(head) and cues.NO_SUBJECTS.isdisjoint(words(value)[1:]):
            return _reading(match.groupdict().get("who"), what, value)
    return None


def _reading(who: str | None, what: str, value: str) -> Reading:
    stems = {stem(w) for w in words(f"{who or ''} {what}") if w not in STOP_WORDS | _GENERIC}
    plain = re.sub(r"^(?:the|an?) ", "", fold(value))
    return "", " ".join(sorted(stems or map(stem, words(what)))), {"value": plain}


@cache
def _copulas(code: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(unified(pattern)) for pattern in _PATTERNS[code])


_NAMES = r"(?:(?:[Dd]r|[Pp]rof|[Ff]rau|[Hh]err|[Dd]ra|[Ss]r|[Ss]ra|[Mm]me|[Mm]me?)\.? )?"
_VALUE = rf"(?P<value>{_NAMES}[\w.+-]+(?: [\w.+-]+){{0,3}})"
_NEW_NAME = rf"(?P<value>{_NAMES}[^\W\d_a-zа-я]\w*(?: [^\W\d_a-zа-я]\w*){{0,2}})"


def _european(owners: str, be: str, become: str) -> tuple[str, ...]:
    what = r"(?P<what>[\w'-]+(?: (?:d[eiuao]|del|of|van|von) [\w'-]+| [\w'-]+){0,2}?)"
    owner = rf"(?i:(?:{owners})[ '])"
    return (
        rf"^{owner}(?P<head>){what} (?:{be}|{become}) {_VALUE}$",
        rf"^{_NEW_NAME} (?:{be}|{become}) {owner}{what}$",
    )


_PATTERNS = {
    "de": _european("mein|meine|unser|unsere|der|die|das", "ist|heißt|heisst", "wurde|wird"),
    "nl": _european("mijn|onze|ons|de|het", "is|heet", "werd|wordt"),
    "fr": _european("mon|ma|notre|le|la|l", "est|s'appelle", "devient|est devenue?"),
    "es": _european("mi|nuestro|nuestra|el|la", "es|se llama", "pasa a ser|ha pasado a ser"),
    "it": _european("il mio|la mia|il nostro|la nostra|il|la|l", "è|e|si chiama", "è diventat[oa]"),
    "pt": _european(
        "o meu|a minha|meu|minha|o nosso|a nossa|nosso|nossa|o|a", "é|se chama", "virou"
    ),
    "ru": (
        r"^(?i:мой|моя|моё|мое|наш|наша|наше) (?P<what>\w+(?: \w+){0,2}?)(?: —| -| –| это| теперь)+"
        r" (?P<value>\w+\.?(?: \w+){0,2})$",
        rf"^{_NEW_NAME}(?: —| -| –| теперь)+ (?i:мой|моя|наш|наша) (?P<what>\w+(?: \w+){{0,2}})$",
    ),
    "zh": (
        r"^(?:我们的|我的|我们|我)?(?P<what>[^是叫的今明昨这那]{2,10}?)(?:是|叫|换成了?|改成了?|变成了?|改为)"
        r"(?P<value>[^的]{1,10}?)了?$",
        r"^(?P<value>[^是的]{1,10}?)(?:是|成为了?|接任|成了)(?:我们的|我的|我们|我)(?P<what>[^的]{1,10})$",
    ),
    "ja": (
        r"^(?:私の|僕の|うちの|私たちの|我が家の)(?P<what>[^はが]{1,12})[はが](?P<value>[^はがをに]{1,12}?)"
        r"(?:です|だ|になりました|になった|に変わりました|に変わった|に替わりました)$",
        r"^(?P<value>[^はがをに]{1,12}?)[はが](?:私の|僕の|うちの|私たちの)(?P<what>[^はがを]{1,12}?)"
        r"(?:です|だ|になりました|になった)$",
    ),
    "ko": (
        r"^(?:제|내|우리|저희) (?P<what>[^,]{1,12}?)(?:은|는|이|가) (?P<value>[^,]{1,12}?)"
        r"(?:입니다|이에요|예요|이다|(?:으로|로) (?:바뀌었|바꿨|변경)\w*|이 되었\w*|가 되었\w*)$",
        r"^(?P<value>[^,]{1,10}?)(?:은|는|이|가) (?:제|내|우리|저희) (?P<what>[^,]{1,12}?)"
        r"(?:입니다|이에요|예요|이다|이 되었\w*|가 되었\w*)$",
    ),
}
_FEMININE = re.compile(r"(?<=\w\w)(er|ent|ist|or|at)in\b")  # of German: "Leiterin"
_ADJECTIVE = re.compile(
    r"い$|^(?:好き|嫌い|元気|大丈夫|きれい|便利|大切|大事|簡単|必要|上手|得意|苦手|だめ)$"
)


def copula(sentence: str, language: Language) -> Reading | None:
    """An attribute of the speaker, in another language: "mein Zahnarzt ist Dr. Reis"."""
    wordings = WORDINGS[language.code]
    if wordings.find("vague", fold(sentence)):
        return None
    bare = _without_present(sentence, wordings)
    for pattern in _copulas(language.code):
        match = pattern.match(bare)
        if match is not None and _names(match["value"], language):
            what = _FEMININE.sub(r"\1", fold(match["what"]))
            if wordings.find("many", what):
                return None
            stops = language.stop_words
            parts = (
                (stem(w) for w in words(what) if w not in stops) if wordings.is_spaced else [what]
            )
            attribute = " ".join(sorted(parts))
            return ("", attribute, {"value": fold(match["value"])}) if attribute else None
    return None


def _without_present(sentence: str, wordings: Wordings) -> str:
    """A sentence without words for now, in its own spelling."""
    if not wordings.is_spaced:
        bare = unified(sentence).strip(" 。.!！")
        for word in wordings.present.split("|"):
            if len(word) > 1 and word.isalpha():
                bare = bare.replace(unified(word), "")
        return re.sub(r"\s+", " ", bare).strip(" ,、，")
    kept = (w for w in sentence.split() if not wordings.find("present", fold(w.strip(",."))))
    return " ".join(kept)


def _names(value: str, language: Language) -> bool:
    """Test whether a value names something, rather than describing it."""
    if not language.is_spaced or WORDINGS[language.code].is_spaced is False:
        return _ADJECTIVE.search(value) is None
    last = value.split()[-1]
    return any(c.isdigit() for c in value) or (last[0].isupper() and len(value.split()) <= 4)

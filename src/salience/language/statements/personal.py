"""Statements of somebody about themselves, which bear on later requests: tastes, health and such.

A statement counts, not a question; a question that states something first counts as well.
"""

from __future__ import annotations

import re
from functools import cache

from salience.language.cues import CueTable
from salience.language.english import ASKS
from salience.language.languages.table import CueName, Language
from salience.language.tokens import fold
from salience.lazily import regex

NOTHING, CIRCUMSTANCE, PREFERENCE, INSTRUCTION, HEALTH = 0.0, 1.0, 2.0, 3.0, 4.0
"""The kinds of statements, the most important last; of several the last one counts."""
_SENTENCE = regex(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\n\u3002\uff01\uff1f]*")
_QUESTION_MARKS = ("?", "\uff1f")

_TABLE = CueTable("personal")
PREFERENCE_STATED = _TABLE.pattern("preference")
HEALTH_STATED = _TABLE.pattern("health")
CIRCUMSTANCE_STATED = _TABLE.pattern("circumstance")
RELATIVES = _TABLE["_relatives"].pattern
_STATED_FROM = regex(_TABLE["_stated_from"].pattern)
STATED = (
    (HEALTH, HEALTH_STATED), (PREFERENCE, PREFERENCE_STATED), (CIRCUMSTANCE, CIRCUMSTANCE_STATED),
)  # fmt: skip
"""The kinds of statements in English, in the order of the search for them."""
_CUES: tuple[tuple[float, CueName], ...] = (
    (HEALTH, "health"), (PREFERENCE, "preference"), (CIRCUMSTANCE, "circumstance"),
)  # fmt: skip


def personal(text: str, instructs: bool, language: Language | None) -> float:
    """The kind of statement that a folded text makes of who says it; questions make none."""
    kind = _kind_of(text, language)
    if kind and any(mark in text for mark in _QUESTION_MARKS):
        sentences = _SENTENCE.findall(text)
        kinds = (_kind_of(s, language) for s in sentences if not _asks(s.strip(), language))
        kind = max(kinds, default=NOTHING)
    return max(kind, INSTRUCTION) if instructs else kind


def _kind_of(text: str, language: Language | None) -> float:
    if language is None:
        starts = [0, *(found.start() for found in _STATED_FROM.finditer(text))]
        kinds = (kind for kind, cue in STATED if any(cue.match(text, start) for start in starts))
        return next(kinds, NOTHING)
    found = next((kind for kind, cue in _CUES if language.matches(cue, text)), NOTHING)
    return found if found != HEALTH or language.is_about_speaker(text) else NOTHING


def _asks(sentence: str, language: Language | None) -> bool:
    if not sentence.endswith(_QUESTION_MARKS):
        return False
    asks = ASKS.search(sentence) if language is None else language.matches("asks", sentence)
    return bool(asks)


_FAMILY = {
    "en": rf"\b(?:{RELATIVES}|married|divorced|engaged|widow\w*)\b",
    "de": r"\b(?:frau|mann|partner\w*|freundin|sohn|toechter|tochter|kind\w*|baby|mutter|vater"
    r"|eltern|bruder|schwester\w*|familie|katzen?|hund\w*|verheiratet|geschieden)\b",
    "nl": r"\b(?:vrouw|man|partner|zoon|dochter\w*|kind\w*|moeder|vader|ouders|broer|zus|gezin"
    r"|kat\w*|hond\w*|getrouwd)\b",
    "fr": r"\b(?:femme|mari|compagn\w+|fils|filles?|enfants?|bebe|mere|pere|parents|freres?|soeurs?"
    r"|famille|chats?|chattes?|chiens?|mariee?|divorcee?)\b",
    "es": r"\b(?:mujer|espos[oa]|marido|novi[oa]|hij[oa]s?|bebe|madre|padres?|herman[oa]s?|familia"
    r"|gat[oa]s?|perr[oa]s?|casad[oa]|divorciad[oa])\b",
    "it": r"\b(?:moglie|marito|compagn[oa]|figli[oae]?|bambin\w+|madre|padre|genitori|fratell\w+"
    r"|sorell\w+|famiglia|gatt[oi]|can[ei]|sposat[oa]|divorziat[oa])\b",
    "pt": r"\b(?:mulher|esposa|marido|namorad[oa]|filh[oa]s?|bebe|mae|pais?|irma[os]*|familia"
    r"|gat[oa]s?|cachorr[oa]s?|casad[oa]|divorciad[oa])\b",
    "ru": r"\b(?:жен[аеоуы]\w*|муж\w*|сын\w*|доч\w+|дет\w+|реб\w+|мам\w+|мать|матер\w+|пап\w+"
    r"|от(?:ец|ц\w+)|родител\w+|брат\w*|сестр\w*|семь\w+|кот\w*|кош\w+|собак\w*|женат|замужем)\b",
    "zh": r"妻子|老婆|丈夫|老公|女儿|儿子|孩子|宝宝|妈妈|爸爸|母亲|父亲|父母|哥哥|弟弟|姐姐|妹妹"
    r"|家人|猫|狗|结婚|离婚",
    "ja": r"妻|夫|旦那|娘|息子|子供|赤ちゃん|母|父|両親|兄|弟|姉|妹|家族|猫|犬|結婚|離婚",
    "ko": r"아내|남편|딸|아들|아이|아기|어머니|엄마|아버지|아빠|부모님|형|동생|누나|언니|오빠|가족"
    r"|고양이|강아지|결혼|이혼",
}


@cache
def family_words(code: str) -> re.Pattern[str]:
    """The pattern of words for relatives and pets in the folded text of a language."""
    return re.compile(fold(_FAMILY[code]))

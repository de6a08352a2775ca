"""Stop words of Dutch, and how its questions begin; other cues are not known."""

from __future__ import annotations

from salience.language.languages.table import Cue, Language, words

DUTCH = Language(
    code="nl",
    name="Dutch",
    stop_words=words(
        """aan als ben bent bij dat de deze die dit door een en er had heb hebben heeft het hij hoe
        hoeveel ik in is je kan kunnen maar me met mijn moet moeten naar niet nog om onder ons onze
        ook op over te tot uit vaak van veel voor waar waarom wanneer waren was wat we welk welke
        werd wie wiens worden wordt zal ze zich zij zijn"""
    ),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:en|sinds|tot|van|met|voor|bij|in|op|om|aan|uit|naar|over) )?"
            r"(?:wie|wiens|wat|wanneer|waarom|waar\w{0,5}|hoe|hoeveel|welke?"
            r"|(?:is|zijn|was|waren|heeft|hebben|heb|had|kan|mag|moet|ben|bent)"
            r" (?:ik|je|jij|u|hij|ze|zij|het|we|wij|er|dat|de|mijn|ons|onze))",
            "waar woont ana eigenlijk",
            "ik woon daar waar ana woont",
        ),
    },
    states={},
)

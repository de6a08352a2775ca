"""Stop words of Dutch, of which no other cues are known."""

from __future__ import annotations

from salience.language.languages.table import Language, words

DUTCH = Language(
    code="nl",
    name="Dutch",
    stop_words=words(
        """aan als ben bent bij dat de deze die dit door een en er had heb hebben heeft het hij hoe
        hoeveel ik in is je kan kunnen maar me met mijn moet moeten naar niet nog om onder ons onze
        ook op over te tot uit vaak van veel voor waar waarom wanneer waren was wat we welk welke
        werd wie wiens worden wordt zal ze zich zij zijn"""
    ),
    cues={},
    states={},
)

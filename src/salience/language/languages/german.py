"""Cues of German."""

from salience.language.languages.table import Cue, Language, words

GERMAN = Language(
    code="de",
    name="German",
    is_capital_a_name=False,  # every noun has one; so there is no cue `asks_name`
    stop_words=words(
        """aber als am an auch auf aus bei beim bin bis bist da das dass dein deine dem den der des
        dich die dir du durch ein eine einem einen einer eines er es euch fur gegen habe haben habt
        hast hat hatte hatten ich ihm ihn ihr ihre ihren im in ist kann kannst kein keine konnen
        lange man mein meine meinem meinen meiner mich mir mit muss mussen nach nicht nur ob oder
        oft ohne sein seine seinen seit sich sie sind so soll sollen sollte uber um und uns unser
        unsere unseren unter viel viele vom von vor wann war waren warum was wegen welche welchem
        welchen welcher welches wem wen wenn wer werden wessen wie wieso wieviel will wir wird wo
        woher wohin wurde wurden zu zum zur jetzt derzeit gerade aktuell momentan heute inzwischen
        mittlerweile fruher damals ehemals zuvor vorher ursprunglich"""
    ),
    marks=words(
        """ich wohne wohnt wohnst heisse heisst jetzt derzeit welche welcher welches welchen
        wieviel wann warum wer wem wessen woher wohin fruher damals arbeitest arbeite arbeitet
        nicht wir lebe lebte
        lerne lerntest spiele spielte fahre gezogen habe hatte gerade zurzeit neuerdings seit"""
    ),
    framing=words(
        """sag sage gesagt erzahl erzahle erzahlt erwahnt erinnere erinnerst bitte zusammenfassung
        gesprach unterhaltung frage fragen gefragt"""
    ),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:und|seit|bis|von|ab|mit|fur|zu|bei|in|um|an|auf|aus|nach|uber) )?"
            r"(?:wer|wen|wem|wessen|was|wann|warum|wieso|weshalb|wo\w{0,5}|wieviele?|welche[nmrs]?"
            r"|wie(?! (?:immer|besprochen|gesagt|gewohnt))"
            r"|(?:ist|sind|war|waren|hat|hatte|hast|bin|bist|gibt|gab|kann|darf|soll|muss|habe|haben)"
            r" (?:ich|du|er|sie|es|wir|ihr|man|das|der|die|mein\w*|unser\w*)"
            r"|(?:ist|hat|war) \w+ (?!in|im|am|mit)\w+)",
            "wo wohnt ana eigentlich",
            "ich wohne da, wo ana wohnt",
        ),
        "asks_when": Cue(
            r"wann|wie lange|welche[nrms]? (?:tag|monat|jahr|datum|uhrzeit)"
            r"|wie viele (?:tage|wochen|monate|jahre)|um wie ?viel uhr",
            "seit wann spielt sie cello?",
            "wer spielt cello?",
        ),
        "asks_number": Cue(
            r"wie ?viele?|wie (?:lange|alt|oft|weit|hoch|gross|schnell|teuer|schwer)|prozent"
            r"|was kostet\w*|durchschnitt\w*|nummer|anzahl|preis|betrag",
            "wie viele katzen hat ana?",
            "wie geht es ana?",
        ),
        "asks_present": Cue(
            r"jetzt|derzeit\w*|aktuell\w*|gerade|momentan|im moment|zurzeit|zur zeit|heutzutage"
            r"|gegenwartig|neuerdings|mittlerweile|inzwischen|neueste\w*|letzte[rsn]? stand",
            "wo wohnt ana derzeit?",
            "wo hat ana gewohnt?",
        ),
        "asks_former": Cue(
            r"fruher\w*|ehemal\w+|damals|zuvor|vorher\w*|ursprunglich\w*|einst|anfangs"
            r"|zuerst|vorig\w+",
            "wo habe ich fruher gewohnt?",
            "wo wohne ich?",
        ),
        "asks_summary": Cue(
            r"zusammenfass\w*|zusammengefasst|fass\w* .*zusammen|uberblick",
            "fasse unsere reise zusammen",
            "wir reisen zusammen",
        ),
        "asks_advice": Cue(
            r"empfiehl\w*|empfehl\w*|rat(?:schlag\w*|e mir)|tipps?|ideen?|vorschl\w+"
            r"|soll(?:te)? ich|kannst du mir|konntest du mir|was kann ich"
            r"|schlag\w* (?:\w+ )?\w+ vor|plan\w*|schreib\w*|entwirf|hilf|such\w* (?:mir|uns)"
            r"|(?:kann|darf|soll|sollte|konnte|muss) (?:ich|man|wir)|(?:ware|ist) es (?:ok\w*|gut"
            r"|sicher|ratsam|sinnvoll|eine gute)|was (?:passt|ware|eignet)|passt zu|ich (?:suche"
            r"|brauche|mochte|will|plane|uberlege)|was (?:koche|esse|schenke|mache|nehme|ziehe"
            r"|soll\w*) (?:ich|wir)|wer (?:kann|konnte)",
            "hast du tipps fur rom?",
            "was kostet das hotel in rom?",
        ),
        "asks_what_you_said": Cue(
            r"hast du|hattest du|du .*(?:gesagt|empfohlen|vorgeschlagen|erklart|geschrieben)"
            r"|dein\w* (?:rat|vorschlag|antwort|empfehlung|tipp)\w*",
            "was hast du empfohlen?",
            "was hat sie empfohlen?",
        ),
        "looks_back": Cue(
            r"hab(?:e|en)? (?:ich|wir)|hast du|hatte[nst]* (?:ich|du|wir)|war(?:en)? (?:ich|wir)",
            "was habe ich gekocht?",
            "was kann ich kochen?",
        ),
        "first_person": Cue(
            r"ich|mich|mir|mein(?:e[nmrs]?)?|wir|uns|unser\w*",
            "das ist meine katze",
            "das ist seine katze",
        ),
        "has_time": Cue(
            r"gestern|vorgestern|heute|morgen|ubermorgen|vor \w+ (?:tagen|wochen|monaten|jahren)"
            r"|(?:letzte|nachste|vorige|kommende)[nrsm]? \w+|seit \w+|am abend|wochenende|woche[n]?"
            r"|monate?|jahre?n?|tage?n?|montags?|dienstags?|mittwochs?|donnerstags?|freitags?"
            r"|samstags?|sonnabends?|sonntags?|januar|februar|marz|april|mai|juni|juli|august"
            r"|september|oktober|november|dezember|uhr|neulich|kurzlich",
            "gestern waren wir am see",
            "wir waren am see",
        ),
        "has_number": Cue(
            r"zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|dutzend|hundert|tausend"
            r"|zweimal|dreimal|einmal|halb\w*|doppelt\w*",
            "sie hat drei katzen",
            "sie hat katzen",
        ),
        "instruction": Cue(
            r"immer wenn ich|von jetzt an|ab jetzt|ab sofort|kunftig|in zukunft"
            r"|(?:antworte|schreib|nenn|gib|benutz|verwend|sprich|denk|erinner)\w* \w*\s?"
            r"(?:mir |mich |bitte )*(?:immer|nie|niemals|stets)|(?:bitte )?(?:immer|nie"
            r"|niemals) \w+en",
            "antworte immer auf deutsch",
            "es regnet hier oft",
        ),
        "preference": Cue(
            r"lieber|am liebsten|lieblings\w*|bevorzug\w*|ich (?:mag|liebe|hasse|vermeide)|gern"
            r"|gerne|fan von|ungern|abneigung|vorliebe|angst vor|ich (?:meide|geniesse"
            r"|verabscheue)|(?:esse|trinke|kaufe|benutze|nutze|trage|fliege|fahre|schaue|lese"
            r"|hore) (?:ich )?(?:\w+ )?(?:kein\w*|nie|niemals|nur|nicht)|interessiere mich"
            r"|begeister\w+|wichtig",
            "ich mag gruenen tee",
            "ich kaufe tee",
        ),
        "health": Cue(
            r"\w*allergi\w+|\w*unvertraglich\w*|\w*intoleran\w+|laktose\w*|gluten\w*|zoliakie"
            r"|diabet\w+|insulin|asthma\w*|epilep\w+|migrane|\w*blutdruck|blutverdunn\w*"
            r"|\w*herzkrank\w*|arthr\w+|schwanger\w*|vegan\w*|vegetari\w+|halal|koscher"
            r"|\w*medikament\w*|marcumar|operation|operiert|verletz\w+|\w*schmerzen|(?:kaputte"
            r"|schlimme|schwache)\w* \w+|chronisch\w*|depress\w+|schlafstorung\w*|rollstuhl"
            r"|(?:esse|trinke|vertrage) (?:\w+ )?(?:kein\w*|nie|nicht)"
            r"|nehme (?:\w+ ){0,3}(?:taglich|jeden|jede|abends|morgens)|diat",
            "ich bin allergisch gegen nusse",
            "ich mag nusse",
        ),
        "circumstance": Cue(
            r"(?:mein|unser)\w* (?:\w+ )?(?:frau|mann|partner\w*|freundin|freund|sohn|tochter"
            r"|kind\w*|baby|mutter|vater|eltern|bruder|schwester\w*|geschwister|oma|opa|familie"
            r"|katze\w*|hund\w*|haustier\w*|job|chef\w*|firma|gehalt|budget|miete|auto|fahrrad"
            r"|wohnung|haus|garten|balkon|geburtstag|name|hobb\w+)|ich (?:wohne|lebe|arbeite"
            r"|studiere|lerne|spreche|fahre|spiele|verdiene|besitze|unterrichte)|(?:ich habe"
            r"|wir haben|habe ich) (?:ein\w*|zwei|drei|vier|kein\w*) (?:\w+ )?(?:kind\w*|sohn\w*"
            r"|tochter|katze\w*|hund\w*|garten|balkon|auto)|ich bin (?:\w+ )?(?:\w+(?:er|erin|ist"
            r"|istin)|verheiratet|ledig|geschieden|rentner\w*|lehrer\w*|arzt|arztin|student\w*)",
            "meine tochter ist vier",
            "seine tochter ist vier",
        ),
        "about_body": Cue(
            r"\w*ess(?:e|en|t)|koch\w*|abendessen|mittagessen|fruhstuck\w*|gericht\w*|rezept\w*"
            r"|snacks?|restaurant\w*|kuchen|back\w*|trink\w*|wein|kaffee|ernahrung|vitamin\w*"
            r"|ibuprofen|aspirin|paracetamol|tablette\w*|medi\w+|kopfschmerz\w*|fieber|erkaltung"
            r"|krank\w*|arzt|training|trainier\w*|jogg\w*|laufen|sport\w*|fitness\w*|yoga"
            r"|schwimm\w*|wander\w*",
            "was kann ich heute kochen?",
            "wo kann ich parken?",
        ),
    },
    states={
        "favourite": Cue(
            r"lieblings-?(\w+)",
            "meine lieblingsfarbe ist blau",
            "die farbe ist blau",
        ),
        "name": Cue(
            r"(?:ich )?heiss(?:e|t|en|est)?|mein name|meinen namen|wie heisse ich",
            "ich heisse mia",
            "das ist mia",
        ),
        "phone": Cue(
            r"(?:telefon|handy|mobil|ruf)-?nummer|telefonisch",
            "meine handynummer ist 12",
            "mein handy ist neu",
        ),
        "email": Cue(r"e-?mail\w*|mailadresse", "meine email ist neu", "meine post ist da"),
        "age": Cue(r"\w+ jahre alt|wie alt", "ich bin 30 jahre alt", "seit 30 jahren"),
        "job": Cue(
            r"arbeit\w* .{0,20}\bals|als was|beruf\w*|was arbeite\w*|von beruf|beruflich",
            "ich arbeite nun als koch",
            "ich arbeite bei siemens",
        ),
        "employer": Cue(
            r"arbeit(?:e|et|est|en|ete|etest|eten)|gearbeitet|angestellt|angefangen bei"
            r"|arbeitgeber\w*|firma|stelle bei|job bei|zu \w+ gewechselt|gekundigt",
            "ich arbeite bei siemens",
            "ich kaufe bei siemens",
        ),
        "residence": Cue(
            r"wohn(?:e|t|st|en|te|test|ten|haft)|gewohnt|leb(?:e|t|st|en|te|test|ten)|gelebt"
            r"|(?:um|ge|zu|hin)?gezogen|umgezogen|zieh(?:e|t|en)|zog(?:en)?|wohnort|zuhause|daheim"
            r"|wohnung in|zu hause",
            "ich bin nach lyon gezogen",
            "ich war in lyon",
        ),
        "drives": Cue(
            r"fahr(?:e|t|en|st)|gefahren|fuhr\w*|autos?|wagens?",
            "ich fahre einen roten wagen",
            "ich mag rot",
        ),
        "learns": Cue(r"lern(?:e|t|en|st|te|test)|gelernt", "ich lerne polnisch", "polnisch"),
        "plays": Cue(
            r"spiel(?:e|t|en|st|te|test)|gespielt|trainier\w+|sport(?:art)?",
            "ich spiele tennis",
            "das tennis ist gut",
        ),
    },
)

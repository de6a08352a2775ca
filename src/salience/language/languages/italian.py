"""Cues of Italian. A verb alone tells that the speaker speaks of themselves."""

from __future__ import annotations

from salience.language.languages.table import Cue, Language, words

ITALIAN = Language(
    code="it",
    name="Italian",
    stop_words=words(
        """a ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di
        dove e era erano gli ha hai hanno ho i il in io la le lo ma mi mia mie miei mio ne nei nel
        nella noi non nostra nostro o per perche piu quale quali quando quanta quante quanti quanto
        se si sono su sua sue sul sulla suo ti tu tua tuo un una uno vi voi adesso ora attualmente
        prima precedentemente"""
    ),
    marks=words(
        """cosa posso devo vorrei stasera oggi abito abita abiti abitavo abitava lavoro lavora
        quanti quante quanto quanta adesso
        attualmente
        perche mio vive vivo quale quali trasferita trasferito cominciato lavoravo lavorare imparo
        imparare gioco giocare giocavo preferito preferita chiamo faccio sono assunta assunto"""
    ),
    framing=words("dimmi detto racconta raccontami menzionato ricordi ricorda ricordami riassumi"),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:e|a|di|da|con|in|per|su) )?"
            r"(?:chi|che|cosa|quando(?![^,]*,)|dov'?e?(?:'?\w+)?|come(?![^,]*,)|perche|quant[oaie]"
            r"|qual[ei]?)",
            "dove abita ana adesso",
            "non so chi abita qui",
        ),
        "asks_when": Cue(
            r"quando|(?:da )?quanto tempo|(?:in )?che (?:data|giorno|mese|anno|ora)|da quando"
            r"|quant[ie] (?:giorni|settimane|mesi|anni)",
            "da quando suona ana?",
            "chi suona con ana?",
        ),
        "asks_number": Cue(
            r"quant[oaie]|a che (?:ora|distanza)|percentuale|per cento|che eta"
            r"|qual e (?:il |la |il mio |la mia )?(?:numero|prezzo|costo|importo|eta|totale|media)",
            "quanti gatti ha ana?",
            "come sta ana?",
        ),
        "asks_name": Cue(
            r"(?:di |a |con )?chi|(?:da )?dov'?e?|(?:in )?(?:che|quale) (?:citta|paese|libro"
            r"|film|canzone|nome"
            r"|marca|azienda|posto|ristorante)|come si chiama",
            "dove abita ana?",
            "quanti gatti ci sono?",
        ),
        "asks_present": Cue(
            r"adesso|ora|attual(?:e|i|mente)|al momento|in questo momento|oggigiorno|ultimamente"
            r"|di questi tempi|in questi giorni|piu recent\w+|ormai",
            "dove abita ana attualmente?",
            "dove abitava ana?",
        ),
        "asks_former": Cue(
            r"prima|precedente(?:mente)?|precedenti|un tempo|una volta|in passato|originariamente"
            r"|all'inizio|inizialmente|in origine|allora|ex",
            "dove abitava ana prima?",
            "dove abita ana?",
        ),
        "asks_summary": Cue(
            r"riassum\w+|riassunto|riepilog\w+|sintesi", "riassumi il viaggio", "racconta"
        ),
        "asks_advice": Cue(
            r"consigli\w*|raccomand\w+|suggeri\w+|idee?|dovrei|devo|puoi aiutarmi|aiutami"
            r"|potresti|cosa posso|propon\w*|pianifica\w*|organizza\w*|scriv\w+|trova\w*(?:mi|ci)"
            r"|(?:posso|possiamo|dobbiamo|dovremmo)|e (?:una buona idea|sicuro|consigliabile)"
            r"|(?:cerco|vorrei|voglio|sto (?:cercando|pensando|pianificando)|ho bisogno)|(?:cosa"
            r"|che cosa|che) (?:cucino|mangio|faccio|regalo|prendo|posso)|chi (?:puo|potrebbe)"
            r"|quale? \w+ (?:mi|ci) (?:consigli|conviene)\w*",
            "hai idee per roma?",
            "quanto costa roma?",
        ),
        "asks_what_you_said": Cue(
            r"(?:mi )?hai (?:detto|consigliato|suggerito|raccomandato|spiegato|proposto|dato"
            r"|scritto)"
            r"|tu[oai]i? (?:consigli|rispost|suggeriment)\w*",
            "cosa mi hai consigliato?",
            "cosa ha consigliato?",
        ),
        "looks_back": Cue(
            r"(?:ho|abbiamo|hai) \w+|ero|eravamo|sono \w+t[oa]",
            "cosa ho cucinato?",
            "cosa posso cucinare?",
        ),
        "first_person": Cue(
            r"io|me|mi|mio|mia|miei|mie|noi|nostr[oaie]|abito|abitavo|vivo|vivevo|lavoro|lavoravo|ho|sono"
            r"|studio|imparo|gioco|guido|preferisco|trasferit[oa]|chiamo|sto|faccio|pratico|giocavo|studiavo",
            "vivo con il mio gatto",
            "vive con il suo gatto",
        ),
        "has_time": Cue(
            r"ieri|l'altro ieri|oggi|domani|stasera|stamattina|\w+ fa|da \w+ (?:giorni|anni|mesi"
            r"|settimane)"
            r"|settimana|settimane|mese|mesi|ann[oi]|giorn[oi]|scors[oa]|prossim[oa]"
            r"|fine settimana|lunedi"
            r"|martedi|mercoledi|giovedi|venerdi|sabato|domenica|gennaio|febbraio|marzo|aprile|maggio|giugno"
            r"|luglio|agosto|settembre|ottobre|novembre|dicembre|recentemente|di recente",
            "ieri eravamo al lago",
            "eravamo al lago",
        ),
        "has_number": Cue(
            r"due|tre|quattro|cinque|sei|sette|otto|nove|dieci|undici|dodici|dozzina|cento|mille|mezz[oa]"
            r"|meta|\w+ volte|una volta",
            "ha tre gatti",
            "ha gatti",
        ),
        "instruction": Cue(
            r"d'ora in poi|da ora in (?:poi|avanti)|da adesso in poi|in futuro|ogni volta che"
            r"|quando ti"
            r" (?:chiedo|dico)|assicurati|(?:rispond|scriv|parl|us|chiam|ricord"
            r"|dammi)\w* .{0,20}?(?:sempre|mai)"
            r"|non \w+ mai",
            "rispondi sempre in italiano",
            "piove sempre a parigi",
        ),
        "preference": Cue(
            r"prefer\w+|mi piac\w+|adoro|amo|odio|detesto|evito|preferit[oaie]|appassionat[oa]"
            r"|fan di|rifiuto|non sopporto|mi (?:appassiona|interessa|da fastidio)\w*"
            r"|non (?:mi piac\w+|mangio|bevo|uso|indosso|compro|guardo|leggo|volo)|paura (?:di"
            r"|dei|del\w*)|avversione|solo (?:cibo|prodotti)",
            "adoro il te verde",
            "compro il te",
        ),
        "health": Cue(
            r"allergi\w+|intolleran\w+|lattosio|glutine|celiac\w+|diabet\w+|insulina|asma\w*"
            r"|epile\w+|emicrani\w+|ipertes\w+|pressione|anticoagulant\w+|artr\w+|incinta"
            r"|vegan\w*|vegetarian\w*|halal|kosher|medicin\w+|farmac\w+|operat\w+|infortun\w+"
            r"|mal di|dolor\w+|cronic\w+|depress\w+|insonnia|sedia a rotelle|dieta|non (?:mangio"
            r"|bevo|tollero|posso mangiare)|prendo (?:\w+ ){0,4}(?:ogni|tutti i|tutte le|la sera)",
            "sono allergica alle noci",
            "mi piacciono le noci",
        ),
        "circumstance": Cue(
            r"(?:mio|mia|miei|mie|nostr[oaie]) (?:\w+ )?(?:moglie|marito|compagn\w+|ragazz[oa]"
            r"|figli\w*|bambin\w+|madre|padre|genitori|fratell\w+|sorell\w+|famiglia|gatt\w+"
            r"|can[ei]|lavoro|capo|stipendio|budget|affitto|auto|macchina|bici\w*|appartamento"
            r"|casa|giardino|balcone|compleanno|nome|hobby)|(?:vivo|abito|lavoro|studio|imparo"
            r"|parlo|guido|suono|insegno) (?:a|in|come|per|di|da|il|la|un|l'|\w+)|(?:ho"
            r"|abbiamo) (?:un|una|due|tre|quattro) (?:\w+ )?(?:figli\w*|gatt\w+|can[ei]|auto"
            r"|giardino|balcone)|(?:sono|faccio) (?:un'?a?|l'|il|la)? ?(?:infermier[ea]|medico"
            r"|insegnante|student\w+|pensionat[oa]|single|sposat[oa]|ingegnere|\w+ista)",
            "mia figlia ha quattro anni",
            "sua figlia ha quattro anni",
        ),
        "about_body": Cue(
            r"mangi\w+|cucin\w+|cen[ae]\w*|pranz\w+|colazion\w+|ricett\w+|spuntin\w+|ristorant\w+"
            r"|piatt[oi]|torta|dolc[ei]|bere|vino|caffe|aliment\w*|vitamin\w+|ibuprofene|aspirina"
            r"|paracetamolo|pastigli\w+|medicin\w+|mal di testa|febbre|raffreddore|malat[oa]"
            r"|medico|allenament\w+|esercizi\w*|palestra|correre|corsa|sport\w*|yoga|nuot\w+"
            r"|escursion\w+",
            "cosa posso cucinare stasera?",
            "dove posso parcheggiare?",
        ),
    },
    states={
        "favourite": Cue(
            r"(\w+) preferit[oaie]|(\w+) che mi piace di piu",
            "il mio colore preferito",
            "il mio colore",
        ),
        "name": Cue(r"(?:mi|ti|si) chiam\w+|mio nome", "mi chiamo mia", "sono mia"),
        "phone": Cue(r"telefono|cellulare|mio numero", "il mio telefono e 12", "e 12"),
        "email": Cue(
            r"e-?mail|posta elettronica|mail", "la mia email e nuova", "la mia auto e nuova"
        ),
        "age": Cue(r"(?:ho|ha|hai) \w+ anni|quanti anni|eta", "ho trenta anni", "trenta gatti"),
        "job": Cue(
            r"lavor\w+ .{0,12}come|che lavoro|mestiere|professione|di mestiere|divent\w+"
            r"|faccio (?:il|la|l')",
            "lavoro come cuoca",
            "lavoro alla siemens",
        ),
        "employer": Cue(
            r"lavor\w+|assunt[oa]|azienda|impiegat[oa]|ditta|datore",
            "lavoro alla siemens",
            "alla siemens",
        ),
        "residence": Cue(
            r"abit(?:o|a|i|ano|avo|ava|avi|ato)|viv(?:o|e|i|evo|eva|evi|endo)|vissut[oa]|risied\w+|resid\w+"
            r"|trasferi\w+|traslocat[oa]|trasloc\w+|sto di casa|casa mia|indirizzo",
            "mi sono trasferita a lione",
            "sono andata a lione",
        ),
        "drives": Cue(
            r"guid\w+|macchina|auto(?:mobile)?", "guido una macchina", "mi piace il rosso"
        ),
        "learns": Cue(r"impar\w+|studi\w+", "imparo il polacco", "il polacco"),
        "plays": Cue(r"gioc\w+|pratic\w+|allen\w+|sport", "gioco a tennis", "il tennis va bene"),
    },
)

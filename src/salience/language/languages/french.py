"""Cues of French."""

from __future__ import annotations

from salience.language.languages.table import Cue, Language, words

FRENCH = Language(
    code="fr",
    name="French",
    stop_words=words(
        """a ai as au aux avait avec avez avons c ce ces cet cette chez combien comment d dans de
        des
        dois doit dont du elle elles en est et etait eu eux faut il ils j je l la le les leur leurs
        m ma mais me mes moi mon n ne nos notre nous on ont ou par pas pour pourquoi qu quand que
        quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous sur t ta te tes
        ton tu un une vos votre vous y maintenant actuellement desormais avant auparavant
        autrefois"""
    ),
    marks=words(
        """habite habites habitait habitais combien quand quelle quels quelles quoi pourquoi
        maintenant actuellement desormais auparavant je nous vous travaille
        travaillais demenage embauche embauchee apprends apprendre apprenais joue joues jouais
        preferee"""
    ),
    framing=words("dis dit raconte mentionne rappelle souviens resume conversation question"),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:et|a|de|depuis|avec|chez|dans|en|pour|par) )?"
            r"(?:qui|que|quoi|qu'\w+|quand(?![^,]*,)|d?'?ou|comment|pourquoi|combien"
            r"|(?:le|la|les)?quel(?:le)?s?|est[- ]ce"
            r"|\w+-(?:t-)?(?:je|tu|il|elle|on|nous|vous|ils|elles))",
            "ou habite ana maintenant",
            "je ne sais pas qui habite ici",
        ),
        "asks_when": Cue(
            r"quand|(?:depuis )?combien de temps|quel(?:le)? (?:date|jour|mois|annee|heure)"
            r"|combien de (?:jours|semaines|mois|ans|annees)",
            "depuis combien de temps ana joue-t-elle?",
            "qui joue avec ana?",
        ),
        "asks_number": Cue(
            r"combien|a quelle (?:heure|frequence|distance|vitesse)|quel age|pourcentage|pour cent"
            r"|quel(?:le)? (?:\w+ )?(?:est )?(?:le |la |mon |ma )?"
            r"(?:numero|nombre|prix|cout|montant|budget|taille|age|moyenne|total)",
            "combien de chats a ana?",
            "comment va ana?",
        ),
        "asks_name": Cue(
            r"qui|(?:d')?ou(?= (?:j|tu|il|elle|on|nous|vous|est|es|a|as|habit|viv|travail|se|s"
            r"|la|le)\w*\b)"
            r"|(?:dans )?quel(?:le)?s? (?:ville|pays|livre|film|chanson|nom|marque|entreprise"
            r"|endroit)",
            "ou habite ana?",
            "ana ou ben?",
        ),
        "asks_present": Cue(
            r"maintenant|actuel(?:le)?(?:ment)?|a present|en ce moment|desormais|aujourd'hui"
            r"|ces temps-ci"
            r"|ces jours-ci|dernierement|a l'heure actuelle|plus recent\w*",
            "ou habite ana en ce moment?",
            "ou habitait ana?",
        ),
        "asks_former": Cue(
            r"avant|auparavant|autrefois|ancien(?:ne)?(?:ment|s)?|jadis|a l'origine|initialement"
            r"|au debut|precedemment|d'abord|a l'epoque",
            "ou habitait ana auparavant?",
            "ou habite ana?",
        ),
        "asks_summary": Cue(
            r"resum\w+|recapitul\w+|synthese|en bref", "resume notre voyage", "raconte"
        ),
        "asks_advice": Cue(
            r"conseil\w*|recommand\w+|suggere\w*|suggestion\w*|idees?|astuces?|devrais-je"
            r"|que dois-je|peux-tu m'aider|aide-moi|pourrais-tu|que puis-je|propose\w*"
            r"|planifie\w*|organise\w*|ecris\w*|redige\w*|trouve-(?:moi|nous)|(?:puis-je|peut-on"
            r"|dois-je|devrions-nous|pouvons-nous)|est-ce que je (?:peux|dois|devrais)|(?:je"
            r"|on) peux?t?|(?:est-ce|serait-ce) (?:une bonne idee|prudent|possible)|je (?:cherche"
            r"|voudrais|veux|prevois|pense|compte)|j'ai (?:besoin|envie)|que (?:cuisiner|manger"
            r"|faire|offrir|prendre)|qu'est-ce que je (?:peux|dois|pourrais)|qui (?:peut"
            r"|pourrait)|quel\w* \w+ (?:me|nous) (?:convien\w+|conseill\w+|choisir)",
            "des idees pour rome?",
            "combien coute rome?",
        ),
        "asks_what_you_said": Cue(
            r"(?:as-tu|avez-vous|tu (?:m')?as|vous (?:m')?avez) .{0,12}(?:dit|recommande|suggere"
            r"|conseille|explique|propose|donne|ecrit)\w*|t(?:on|es|a) (?:conseil|reponse"
            r"|suggestion)s?",
            "que m'as-tu recommande? tu as recommande quoi?",
            "qu'a-t-elle recommande?",
        ),
        "looks_back": Cue(
            r"ai-je|avons-nous|as-tu|avez-vous|j'ai|nous avons|etais-je|j'etais",
            "qu'ai-je cuisine?",
            "que puis-je cuisiner?",
        ),
        "first_person": Cue(
            r"je|j|j'\w+|me|m'\w+|moi|mon|ma|mes|nous|notre|nos", "c'est mon chat", "c'est son chat"
        ),
        "has_time": Cue(
            r"hier|avant-hier|aujourd'hui|demain|ce (?:matin|soir)|il y a \w+|la semaine|le mois"
            r"|semaines?|mois|ann?ees?|ans|jours?|dernier|derniere|prochaine?|depuis \w+"
            r"|week-end|lundi"
            r"|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|fevrier|avril|juin|juillet|aout"
            r"|septembre|octobre|novembre|decembre|recemment|\d{1,2} ?h(?:eures?)?(?: ?\d\d)?",
            "hier nous etions au lac",
            "nous etions au lac",
        ),
        "has_number": Cue(
            r"deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|douzaine|cents?|mille|demie?|moitie"
            r"|\w+ fois",
            "elle a trois chats",
            "elle a des chats",
        ),
        "instruction": Cue(
            r"desormais,? \w+|a partir de maintenant|a l'avenir|dorenavant|chaque fois que je"
            r"|quand je te"
            r"|(?:reponds|ecris|parle|donne|utilise|appelle|dis|rappelle)\S* .{0,20}?(?:toujours"
            r"|jamais)"
            r"|ne \S+ (?:plus )?jamais|assure-toi",
            "reponds toujours en francais",
            "il pleut toujours a paris",
        ),
        "preference": Cue(
            r"prefer\w+|j'(?:aime|adore|evite)\w*|je (?:n'aime|deteste|hais)\w*|favorie?t?e?s?"
            r"|plutot|fan de|j'(?:apprecie|ai horreur|ai peur|ai envie)|je (?:refuse|fuis"
            r"|ne supporte)\w*|je ne (?:mange|bois|porte|lis|regarde|prends|veux|voyage) (?:pas"
            r"|que|jamais)|passionnee? (?:de|par)|aversion|peur (?:de|des|du)",
            "j'adore le the vert",
            "j'achete du the",
        ),
        "health": Cue(
            r"allergi\w+|intoleran\w+|lactose|gluten|coeliaque|diabet\w+|insuline|asthm\w+"
            r"|epilep\w+|migraine\w*|hypertension|tension|anticoagulant\w*|arthr\w+|enceinte"
            r"|vegan\w*|vegetarien\w*|halal|casher|medicament\w*|traitement|opere\w*|operation"
            r"|bless\w+|mal (?:au|aux|a la)|chronique|depress\w+|insomni\w+|fauteuil roulant"
            r"|regime|je ne (?:mange|bois|digere) (?:pas|jamais)|je prends (?:\w+ ){0,4}(?:chaque"
            r"|tous les|le soir|le matin)",
            "je suis allergique aux noix",
            "j'aime les noix",
        ),
        "circumstance": Cue(
            r"(?:mon|ma|mes|notre|nos) (?:\w+ )?(?:femme|mari|compagn\w+|conjoint\w*|copine?|fils"
            r"|fille|filles|enfants?|bebe|mere|pere|parents|freres?|soeurs?|famille|chats?"
            r"|chiens?|emploi|travail|patron\w*|salaire|budget|loyer|voiture|velo|appartement"
            r"|maison|jardin|balcon|anniversaire|nom|loisirs?)|(?:j'habite|je vis|je travaille"
            r"|j'etudie|j'apprends|je parle|je conduis|je joue|j'enseigne)|(?:j'ai|nous avons"
            r"|on a) (?:une?|deux|trois|quatre|pas de) (?:\w+ )?(?:enfants?|fils|filles?|chats?"
            r"|chiens?|voiture|jardin|balcon)|je suis (?:\w+ )?(?:infirmi\w+|medecin|prof\w*"
            r"|etudiant\w*|retraite\w*|marie\w*|celibataire|ingenieur\w*|\w+(?:eur|euse|iste))",
            "ma fille a quatre ans",
            "sa fille a quatre ans",
        ),
        "about_body": Cue(
            r"mang\w+|cuisin\w+|diner|dejeuner|repas|recettes?|gouter|restaurants?|plats?"
            r"|gateaux?|boire|vin|cafe|aliment\w*|vitamines?|ibuprofene|aspirine|paracetamol"
            r"|comprimes?|medicaments?|mal (?:de|a la) tete|fievre|rhume|malade|medecin"
            r"|entrainement|exercices?|gym|courir|course|sport\w*|yoga|nager|natation"
            r"|randonnee\w*",
            "que puis-je cuisiner ce soir?",
            "ou puis-je me garer?",
        ),
    },
    states={
        "favourite": Cue(
            r"(\w+) (?:preferee?|favorite?)s?",
            "ma couleur preferee est le bleu",
            "la couleur est bleue",
        ),
        "name": Cue(
            r"(?:m'|t'|s'|me |se )appell?e\w*|mon nom|mon prenom", "je m'appelle mia", "c'est mia"
        ),
        "phone": Cue(
            r"(?:numero de )?(?:telephone|portable|mobile)|mon numero",
            "mon telephone est le 12",
            "le 12",
        ),
        "email": Cue(
            r"e-?mail|courriel|adresse (?:mail|electronique)", "mon email est neuf", "c'est neuf"
        ),
        "age": Cue(r"j'ai \w+ ans|\w+ ans|quel age", "j'ai trente ans", "j'ai trente chats"),
        "job": Cue(
            r"travaill\w+ .{0,12}comme|comme quoi|metier|profession|poste|fais-je dans la vie"
            r"|devenue?",
            "je travaille comme cuisinier",
            "je travaille chez siemens",
        ),
        "employer": Cue(
            r"travaill\w+|embauchee?|employ\w+|entreprise|boulot|rejoint|quitte \w+ pour|societe",
            "je travaille chez siemens",
            "j'achete chez siemens",
        ),
        "residence": Cue(
            r"habit\w+|vi[st]|vivais|vivait|vecu|demenag\w+|emmenag\w+|installee?|demeur\w+"
            r"|chez moi|logee?"
            r"|m'installe|adresse",
            "j'ai demenage a lyon",
            "j'ai mange a lyon",
        ),
        "drives": Cue(
            r"condui[st]|conduisais|voiture|roul\w+", "je conduis une voiture", "j'aime le rouge"
        ),
        "learns": Cue(r"appren\w+|appris|etudi\w+", "j'apprends le polonais", "le polonais"),
        "plays": Cue(
            r"(?:jou|entrain|pratiqu)\w+|sport|fais d[ue]\w*",
            "je joue au tennis",
            "le tennis est bien",
        ),
    },
)

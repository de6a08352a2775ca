"""Cues of Portuguese. A verb alone tells that the speaker speaks of themselves."""

from __future__ import annotations

from salience.language.languages.table import Cue, Language, words

PORTUGUESE = Language(
    code="pt",
    name="Portuguese",
    stop_words=words(
        """a ao aos as com como da das de do dos e ela ele em era eram essa esse esta estao este eu
        foi
        foram ha isso lhe mais mas me meu meus minha minhas muito na nao nas no nos nossa nosso o
        onde os ou para pela pelo por porque quais qual quando quanta quantas quanto quantos que
        quem
        sao se sem ser seu sua suas tem tenho um uma umas uns agora atualmente antes anteriormente
        antigamente"""
    ),
    marks=words(
        """posso hoje voce onde quem quais quantos quantas quanto agora moro morava morei trabalho
        atualmente meu
        minha
        nao antigamente qual mudei comecei trabalhar trabalhava aprendo aprender aprendia estudo
        jogo
        jogar jogava tenho sou estou gosto adoro prefiro comprei chamo faco muito esporte
        telefone"""
    ),
    framing=words("diga disse contou conte mencionei mencionou lembra lembras lembre resuma"),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:e|a|de|desde|com|em|para|por|ate|ha) )?"
            r"(?:o que|que|quem|qua(?:l|is)|quando(?![^,]*,)|quant[oa]s?|a?onde|como(?![^,]*,))",
            "onde mora ana agora",
            "nao sei quem mora aqui",
        ),
        "asks_when": Cue(
            r"quando|(?:ha )?quanto tempo|que (?:data|dia|mes|ano|horas)|desde quando"
            r"|quant[oa]s (?:dias|semanas|meses|anos)",
            "desde quando ana toca?",
            "quem toca com ana?",
        ),
        "asks_number": Cue(
            r"quant[oa]s?|a que (?:horas?|distancia)|porcentagem|por cento|que idade"
            r"|qual (?:e|era) (?:o |a |meu |minha |o meu |a minha )?(?:numero|preco|custo|valor"
            r"|idade|total|tamanho)",
            "quantos gatos ana tem?",
            "como esta ana?",
        ),
        "asks_name": Cue(
            r"(?:de |a |com )?quem|(?:de |a )?(?:onde|aonde)|(?:em )?(?:que|qual) (?:cidade|pais"
            r"|livro|filme"
            r"|musica|nome|marca|empresa|lugar|restaurante)|como se chama",
            "onde mora ana?",
            "quantos gatos tem?",
        ),
        "asks_present": Cue(
            r"agora|atual(?:mente)?|atuais|hoje em dia|neste momento|no momento|ultimamente"
            r"|nestes dias"
            r"|estes dias|mais recente\w*|presentemente|de momento",
            "onde ana mora atualmente?",
            "onde ana morava?",
        ),
        "asks_former": Cue(
            r"antes|anterior(?:es|mente)?|antigamente|antig[oa]|originalmente|no inicio"
            r"|inicialmente"
            r"|previamente|no passado|costumava|outrora",
            "onde ana morava antes?",
            "onde ana mora?",
        ),
        "asks_summary": Cue(r"resum\w+|sintese|recapitul\w+", "resuma a viagem", "conte a viagem"),
        "asks_advice": Cue(
            r"aconselh\w*|conselhos?|recomenda\w*|recomendac\w+|sugere\w*|sugira|sugest\w+"
            r"|ideias?|dicas?|deveria|devo|pode(?:s|ria)? me ajudar|ajuda-me|me ajude|o que posso"
            r"|proponha|planej\w+|planeie|organiz\w+|escrev\w+|redija|(?:posso|podemos|devemos"
            r"|deveriamos)|e (?:uma boa ideia|seguro|aconselhavel)|(?:procuro|preciso|quero"
            r"|queria|gostaria|estou (?:procurando|pensando|planejando|a pensar|a planear))"
            r"|o que (?:cozinho|como|faco|dou|tomo|posso)|quem (?:pode|poderia)|que \w+ (?:me"
            r"|nos) (?:convem|recomenda)",
            "tem dicas para roma?",
            "quanto custa roma?",
        ),
        "asks_what_you_said": Cue(
            r"(?:voce|tu) (?:me )?(?:disse|recomend|suger|aconselh|explic|prop|deu|escrev)\w*"
            r"|(?:disseste|recomendaste|sugeriste|aconselhaste)|(?:teu|tua|seu|sua)s? "
            r"(?:conselho|resposta|recomendacao|sugestao)",
            "o que voce me recomendou?",
            "o que ela recomendou?",
        ),
        "looks_back": Cue(
            r"eu (?:\w+ )?(?:disse|fiz|fui|comi|comprei|falei|mencionei)|\w+[ae]mos|disse|fiz"
            r"|\w+ei",
            "o que eu comprei?",
            "o que posso comprar?",
        ),
        "first_person": Cue(
            r"eu|me|mim|meus?|minhas?|comigo|nos|noss[oa]s?|moro|morava|morei|vivo|trabalho|trabalhava|tenho"
            r"|sou|estou|estudo|aprendo|jogo|dirijo|conduzo|prefiro|mudei|chamo|vou|faco|pratico|comecei"
            r"|comprei|estudava|jogava|aprendia",
            "moro com meu gato",
            "mora com seu gato",
        ),
        "has_time": Cue(
            r"ontem|anteontem|hoje|amanha|ha \w+|desde \w+|a semana|o mes|semanas?|mes|meses"
            r"|anos?|dias?"
            r"|passad[oa]|proxim[oa]|esta (?:tarde|noite|manha)|fim de semana|segunda|terca"
            r"|quarta|quinta"
            r"|sexta|sabado|domingo|janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro"
            r"|novembro|dezembro|recentemente|\w+ atras",
            "ontem fomos ao lago",
            "fomos ao lago",
        ),
        "has_number": Cue(
            r"dois|duas|tres|quatro|cinco|seis|sete|oito|nove|dez|onze|doze|duzia|cem|cento|mil|mei[oa]"
            r"|metade|\w+ vezes|uma vez",
            "ela tem tres gatos",
            "ela tem gatos",
        ),
        "instruction": Cue(
            r"(?:a partir de|desde) agora|de agora em diante|no futuro|daqui em diante"
            r"|sempre que eu"
            r"|cada vez que|quando eu (?:pedir|perguntar|disser)|certifique-se"
            r"|(?:respond|escrev|fal|us|cham|lembr)\w* .{0,20}?(?:sempre|nunca)"
            r"|(?:sempre|nunca) (?:me )?(?:respond|escrev|fal|us|cham|d[ei])\w*",
            "responda sempre em portugues",
            "chove sempre em paris",
        ),
        "preference": Cue(
            r"prefir\w+|prefer\w+|gosto|adoro|odeio|detesto|evito|favorit[oa]s?|fa de|recuso"
            r"|nao suporto|me (?:interess|apaixon|incomod)\w*|nao (?:gosto|como|bebo|uso|visto"
            r"|compro|vejo|leio|voo)|medo de|aversao|so (?:como|bebo|uso|compro|viajo)",
            "adoro cha verde",
            "compro cha verde",
        ),
        "health": Cue(
            r"alergi\w+|intoleran\w+|lactose|gluten|celiac\w+|diabet\w+|insulina|asma\w*"
            r"|epilep\w+|enxaqueca\w*|hipertens\w+|pressao|anticoagulante\w*|artr\w+|gravida"
            r"|vegan\w*|vegetarian\w*|halal|kosher|medicament\w*|remedio\w*|operad[oa]|cirurgia"
            r"|les[ao]\w+|dor (?:de|no|na)|cronic\w+|depress\w+|insonia|cadeira de rodas|dieta"
            r"|nao (?:como|bebo|tolero|posso comer)|tomo (?:\w+ ){0,4}(?:cada|todos os|todas as"
            r"|de manha|a noite)",
            "sou alergica a nozes",
            "gosto de nozes",
        ),
        "circumstance": Cue(
            r"(?:meus?|minhas?|noss[oa]s?) (?:\w+ )?(?:mulher|esposa|marido|namorad[oa]"
            r"|companheir[oa]|filh[oa]s?|bebe|mae|pai|pais|irmaos?|irmas?|familia|gat[oa]s?"
            r"|cachorr[oa]s?|caes|cao|trabalho|emprego|chefe|salario|orcamento|aluguel|renda"
            r"|carro|bicicleta|apartamento|casa|jardim|varanda|aniversario|nome|passatempo)"
            r"|(?:moro|vivo|trabalho|estudo|aprendo|falo|dirijo|conduzo|toco|jogo|ensino) (?:em"
            r"|como|de|com|um|uma|no|na|\w+)|(?:tenho|temos) (?:um|uma|dois|duas|tres"
            r"|quatro) (?:\w+ )?(?:filh[oa]s?|gat[oa]s?|cachorr[oa]s?|caes|carro|jardim|varanda)"
            r"|sou (?:\w+ )?(?:enfermeir[oa]|medic[oa]|professor\w*|estudante|aposentad[oa]"
            r"|reformad[oa]|solteir[oa]|casad[oa]|engenheir[oa]|\w+ista)",
            "minha filha tem quatro anos",
            "a filha dele tem quatro anos",
        ),
        "about_body": Cue(
            r"com(?:er|ida|idas)|cozinh\w+|jant\w+|almoc\w+|cafe|receitas?|lanche\w*"
            r"|restaurantes?|pratos?|bolo|sobremesa|beber|vinho|aliment\w*|vitaminas?|ibuprofeno"
            r"|aspirina|paracetamol|comprimidos?|remedios?|dor|febre|resfriado|constipacao|doente"
            r"|medico|trein\w+|exercicios?|academia|ginasio|correr|corrida|esportes?|desportos?"
            r"|ioga|nadar|trilhas?",
            "o que posso cozinhar hoje?",
            "onde posso estacionar?",
        ),
    },
    states={
        "favourite": Cue(
            r"(\w+) (?:favorit|preferid)[oa]s?|(\w+) de que mais gosto",
            "minha cor favorita e azul",
            "e azul",
        ),
        "name": Cue(r"(?:me|te|se) cham\w+|cham\w+-me|meu nome", "me chamo mia", "sou mia"),
        "phone": Cue(r"telefone|celular|telemovel|meu numero", "meu telefone e 12", "e 12"),
        "email": Cue(r"e-?mail|correio eletronico", "meu email e novo", "meu carro e novo"),
        "age": Cue(
            r"(?:tenho|tem|tens) \w+ anos|quantos anos|idade", "tenho trinta anos", "ha trinta anos"
        ),
        "job": Cue(
            r"trabalh\w+ .{0,12}como|como o que|em que trabalho|profissao|cargo|oficio|tornei",
            "trabalho como cozinheira",
            "trabalho na siemens",
        ),
        "employer": Cue(
            r"trabalh\w+|empregad[oa]|empresa|contrat\w+|emprego|companhia|entrei na",
            "trabalho na siemens",
            "na siemens",
        ),
        "residence": Cue(
            r"mor(?:o|a|as|am|ava|avas|ei|ou|aste|amos|ado|ando)|viv(?:o|e|es|ia|i|eu|ias|endo)|resid\w+"
            r"|mud(?:ei|ou|aste|ado|amos|ar)|instal(?:ei|ou|ado)|minha casa|endereco|morada",
            "me mudei para lyon",
            "fui a lyon",
        ),
        "drives": Cue(r"dirij\w+|dirig\w+|conduz\w*|carro", "dirijo um carro", "gosto do vermelho"),
        "learns": Cue(r"aprend\w+|estud\w+", "aprendo polones", "o polones"),
        "plays": Cue(
            r"jog(?:o|a|as|ava|ar|uei|ando|avas)|pratic\w+|trein\w+|esporte|desporto",
            "jogo tenis",
            "o tenis e bom",
        ),
    },
)

"""Cues of Spanish. A verb alone tells that the speaker speaks of themselves."""

from __future__ import annotations

from salience.language.languages.table import Cue, Language, words

SPANISH = Language(
    code="es",
    name="Spanish",
    stop_words=words(
        """a al como con cual cuales cuando cuanta cuantas cuanto cuantos de debo del desde donde e
        el
        en era es esta estaba estan este esto fue fueron ha habia han has hasta hay he la las le les
        lo los mas me mi mis muy ni no nos nuestra nuestro o para pero por porque puedo que quien
        quienes se ser si sin sobre son su sus te tengo tiene tu tus un una unas uno unos y ya yo
        ahora actualmente antes anteriormente"""
    ),
    marks=words(
        """donde cuando quien quienes cuantos cuantas cuanto cuanta cual ahora vive vivia trabajo
        trabaja
        actualmente antes nuestro nuestra vivo mude mudado empece empezado empezar trabajar
        trabajaba
        aprendo aprender aprendia estudio juego jugar jugaba tengo soy estoy gusta encanta prefiero
        compre llamo hago voy fui hemos mucho ultimamente idioma deporte empresa"""
    ),
    framing=words(
        "dime dijiste dije cuentame mencione menciono recuerda recuerdas recuerdame resume"
    ),
    cues={
        "asks": Cue(
            r"^\W*(?:(?:y|a|de|desde|con|en|para|por|hasta) )?"
            r"(?:que|quien(?:es)?|cual(?:es)?|cuando(?![^,]*,)|cuant[oa]s?|a?donde|como(?![^,]*,))",
            "donde vive ana ahora",
            "no se quien vive aqui",
        ),
        "asks_when": Cue(
            r"cuando|(?:desde hace )?cuanto tiempo|que (?:fecha|dia|mes|ano|hora)|desde cuando"
            r"|cuant[oa]s (?:dias|semanas|meses|anos)",
            "desde cuando toca ana?",
            "quien toca con ana?",
        ),
        "asks_number": Cue(
            r"cuant[oa]s?|a que (?:hora|distancia)|porcentaje|por ciento|que edad"
            r"|cual (?:es|era) (?:el |la |mi )?(?:numero|precio|coste|costo|importe|edad|total"
            r"|tamano)",
            "cuantos gatos tiene ana?",
            "como esta ana?",
        ),
        "asks_name": Cue(
            r"(?:de |a |con )?quien(?:es)?|(?:de |a |en )?donde|(?:en )?que (?:ciudad|pais|libro"
            r"|pelicula"
            r"|cancion|nombre|marca|empresa|lugar|restaurante)|como se llama",
            "donde vive ana?",
            "cuantos gatos hay?",
        ),
        "asks_present": Cue(
            r"ahora|actual(?:es|mente)?|hoy en dia|en este momento|de momento|ultimamente"
            r"|estos dias"
            r"|hoy por hoy|mas reciente\w*|a dia de hoy|presentemente",
            "donde vive ana actualmente?",
            "donde vivia ana?",
        ),
        "asks_former": Cue(
            r"antes|anterior(?:es|mente)?|antiguamente|antigu[oa]|originalmente|al principio"
            r"|inicialmente|previamente|por entonces|en el pasado|solia\w*",
            "donde vivia ana antes?",
            "donde vive ana?",
        ),
        "asks_summary": Cue(
            r"resum\w+|sintesis|recapitul\w+", "resume nuestro viaje", "cuenta el viaje"
        ),
        "asks_advice": Cue(
            r"aconseja\w*|consejos?|recomienda\w*|recomendacion\w*|sugiere\w*|sugerencias?|ideas?"
            r"|deberia|que debo|puedes ayudarme|ayudame|podrias|que puedo|propon\w*|planea\w*"
            r"|planifica\w*|organiza\w*|escribe\w*|redacta\w*|(?:puedo|podemos|debo|debemos"
            r"|deberiamos)|es (?:buena idea|seguro|recomendable)|(?:busco|necesito|quiero"
            r"|quisiera|me gustaria|estoy (?:buscando|pensando|planeando))|que (?:cocino|como"
            r"|hago|regalo|tomo|puedo)|quien (?:puede|podria)|que \w+ (?:me|nos) (?:conviene"
            r"|va bien|iria bien)",
            "alguna idea para roma?",
            "cuanto cuesta roma?",
        ),
        "asks_what_you_said": Cue(
            r"(?:me )?(?:dijiste|recomendaste|sugeriste|aconsejaste|explicaste|propusiste|diste"
            r"|escribiste)"
            r"|tus? (?:consejo|respuesta|recomendacion|sugerencia)\w*|me has \w+",
            "que me recomendaste?",
            "que recomendo ella?",
        ),
        "looks_back": Cue(
            r"(?:he|hemos|has) \w+d[oa]|\w+(?:aste|iste|amos|imos)|dije|hice|fui|\w+[ae]ba yo",
            "que hemos cocinado?",
            "que puedo cocinar?",
        ),
        "first_person": Cue(
            r"yo|me|mi|mis|conmigo|mi[oa]s?|nos|nosotr[oa]s|nuestr[oa]s?|vivo|vivia|vivi|trabajo|trabajaba"
            r"|tengo|soy|estoy|estudio|aprendo|juego|conduzco|prefiero|mude|llamo|he|voy|hago|practico"
            r"|empece|compre|estudiaba|jugaba|conducia|aprendia",
            "vivo con mi gato",
            "vive con su gato",
        ),
        "has_time": Cue(
            r"ayer|anteayer|anoche|hoy|manana|hace \w+|desde \w+|la semana|el mes|semanas?|mes"
            r"|meses|anos?"
            r"|dias?|pasad[oa]|proxim[oa]|esta (?:tarde|noche|manana)|fin de semana|lunes|martes"
            r"|miercoles"
            r"|jueves|viernes|sabado|domingo|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
            r"|octubre|noviembre|diciembre|recientemente",
            "ayer fuimos al lago",
            "fuimos al lago",
        ),
        "has_number": Cue(
            r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|docena|cien|cientos?|mil|medi[oa]"
            r"|mitad|\w+ veces|una vez",
            "tiene tres gatos",
            "tiene gatos",
        ),
        "instruction": Cue(
            r"(?:a partir de|desde) ahora|de ahora en adelante|en (?:el )?(?:futuro|adelante)"
            r"|cada vez que|cuando te (?:pida|pregunte|diga)|asegurate"
            r"|(?:responde|escribe|habla|dame|usa|llama|recuerda)\w* .{0,20}?(?:siempre|nunca)"
            r"|(?:siempre|nunca) (?:me )?(?:respond|escrib|habl|us|llam|des|dig)\w*",
            "responde siempre en espanol",
            "siempre llueve en paris",
        ),
        "preference": Cue(
            r"prefier\w+|me (?:gusta|encanta)\w*|odio|detesto|evito|favorit[oa]s?|preferid[oa]s?"
            r"|fan de|aficionad[oa]|rechazo|no soporto|aborrezco|me (?:apasiona|interesa|da miedo"
            r"|molesta)\w*|no (?:me gusta|como|bebo|uso|llevo|compro|veo|leo|vuelo)|miedo a"
            r"|aversion|solo (?:como|bebo|uso|compro|viajo)",
            "me encanta el te verde",
            "compro te verde",
        ),
        "health": Cue(
            r"alergi\w+|intoleran\w+|lactosa|gluten|celiac\w+|diabet\w+|insulina|asma\w*"
            r"|epilep\w+|migrana\w*|hipertens\w+|tension|anticoagulante\w*|artr\w+|embarazada"
            r"|vegan\w*|vegetarian\w*|halal|kosher|medicament\w*|medicacion|operaron|operacion"
            r"|lesi\w+|dolor de|cronic\w+|depresi\w+|insomnio|silla de ruedas|dieta|no (?:como"
            r"|bebo|tolero|puedo comer)|tomo (?:\w+ ){0,4}(?:cada|todos los|todas las|por la)",
            "soy alergica a las nueces",
            "me gustan las nueces",
        ),
        "circumstance": Cue(
            r"(?:mi|mis|nuestr[oa]s?) (?:\w+ )?(?:mujer|esposa|marido|esposo|pareja|novi[oa]"
            r"|hij[oa]s?|bebe|madre|padre|padres|herman[oa]s?|familia|gat[oa]s?|perr[oa]s?"
            r"|trabajo|jefe?a?|sueldo|salario|presupuesto|alquiler|coche|carro|bici\w*|piso|casa"
            r"|jardin|balcon|cumpleanos|nombre|aficion\w*)|(?:vivo|trabajo|estudio|aprendo|hablo"
            r"|conduzco|toco|juego|enseno) (?:en|de|como|con|un|una|al|el|la|\w+)|(?:tengo"
            r"|tenemos) (?:un|una|dos|tres|cuatro) (?:\w+ )?(?:hij[oa]s?|gat[oa]s?|perr[oa]s?"
            r"|coche|jardin|balcon)|soy (?:\w+ )?(?:enfermer[oa]|medic[oa]|profesor\w*|estudiante"
            r"|jubilad[oa]|solter[oa]|casad[oa]|ingenier[oa]|\w+(?:ista|ador|adora))",
            "mi hija tiene cuatro anos",
            "su hija tiene cuatro anos",
        ),
        "about_body": Cue(
            r"com(?:er|ida|o|idas)|cocin\w+|cena\w*|almuerzo|desayun\w*|recetas?|merienda"
            r"|restaurantes?|platos?|tarta|postre|beber|vino|cafe|aliment\w*|vitaminas?"
            r"|ibuprofeno|aspirina|paracetamol|pastillas?|medicamentos?|dolor|fiebre|resfriado"
            r"|enferm[oa]|medico|entren\w+|ejercicios?|gimnasio|correr|deporte\w*|yoga|nadar"
            r"|senderismo",
            "que puedo cocinar hoy?",
            "donde puedo aparcar?",
        ),
    },
    states={
        "favourite": Cue(
            r"(\w+) (?:favorit|preferid)[oa]s?|(\w+) que mas me gusta",
            "mi color favorito es azul",
            "es azul",
        ),
        "name": Cue(r"(?:me|te|se) llam\w+|mi nombre", "me llamo mia", "soy mia"),
        "phone": Cue(r"telefono|movil|celular|mi numero", "mi telefono es el 12", "es el 12"),
        "email": Cue(r"e-?mail|correo(?: electronico)?", "mi correo es nuevo", "mi coche es nuevo"),
        "age": Cue(
            r"(?:tengo|tiene|tienes) \w+ anos|cuantos anos|edad",
            "tengo treinta anos",
            "hace treinta anos",
        ),
        "job": Cue(
            r"trabaj\w+ .{0,12}(?:como|de) (?!donde)\w+|de que trabajo|a que me dedico|profesion"
            r"|puesto|me dedico"
            r"|oficio|me hice",
            "trabajo como cocinera",
            "trabajo en siemens",
        ),
        "employer": Cue(
            r"trabaj\w+|emplead[oa]|empresa|contrat\w+|empleo|compania|me uni a",
            "trabajo en siemens",
            "en siemens",
        ),
        "residence": Cue(
            r"viv(?:o|e|es|en|ia|ias|i|io|iste|imos|ido|iendo)|resid\w+|mud(?:e|o|aste|ado|amos|arme)|traslad\w+"
            r"|instal(?:e|o|ado|aste)|domicilio|mi casa|direccion|habito",
            "me mude a lyon",
            "fui a lyon",
        ),
        "drives": Cue(
            r"condu[cjz]\w+|manej\w+|coche|carro|auto", "conduzco un coche rojo", "me gusta el rojo"
        ),
        "learns": Cue(r"aprend\w+|estudi\w+", "aprendo polaco", "el polaco"),
        "plays": Cue(
            r"jueg\w+|jug(?:ar|aba|ue|abas|o|ando)|practi[cq]\w+|entren\w+|deporte",
            "juego al tenis",
            "el tenis es bueno",
        ),
    },
)

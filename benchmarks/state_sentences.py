"""Sentences that somebody says of themselves at different times, and asks, in ten languages.

Of each topic: how a state is told, the last of them with "now"; a question about the present,
without and with "now"; one about the past; and the values.
"""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A state of the speaker that changes: its wordings, its questions, its values."""

    told: tuple[str, ...]
    asked: tuple[str, str]
    asked_former: str
    values: tuple[str, ...]


class Told(NamedTuple):
    """The topics of one language, and what else is said in it."""

    topics: tuple[Topic, ...]
    chatter: tuple[str, ...]


_CITIES = ("Lyon", "Porto", "Basel", "Oslo", "Turin", "Bonn")
_FIRMS = ("Siemens", "Nokia", "Philips", "Bosch", "Lego", "Adyen")


def _topic(told: str, asked: str, former: str, values: str | tuple[str, ...]) -> Topic:
    present, now = asked.split("|")
    listed = tuple(values.split()) if isinstance(values, str) else values
    return Topic(tuple(told.split("|")), (present, now), former, listed)


SENTENCES: dict[str, Told] = {
    "en": Told(
        (
            _topic(
                "I live in {}.|I have moved to {}.|I live in {} now.",
                "Where do I live?|Where do I live now?",
                "Where did I live before?",
                _CITIES,
            ),
            _topic(
                "I work at {}.|I started working at {}.|I work for {} now.",
                "Where do I work?|Which company do I work for now?",
                "Where did I work before?",
                _FIRMS,
            ),
            _topic(
                "My favourite colour is {}.|Lately {} is my favourite colour."
                "|Now my favourite colour is {}.",
                "What is my favourite colour?|What is my favourite colour now?",
                "What was my favourite colour before?",
                "blue green red yellow purple orange",
            ),
            _topic(
                "I am learning {}.|I have begun to learn {}.|Now I am learning {}.",
                "Which language am I learning?|Which language am I learning now?",
                "Which language did I learn before?",
                "Polish Greek Dutch Finnish Turkish Hindi",
            ),
            _topic(
                "I play {} every week.|I have taken up and play {}.|Now I play {}.",
                "Which sport do I play?|Which sport do I play at the moment?",
                "Which sport did I play before?",
                "tennis hockey rugby golf squash badminton",
            ),
            _topic(
                "My phone number is {}.|I have a new phone number: {}.|My phone number is now {}.",
                "What is my phone number?|What is my current phone number?",
                "What was my phone number before?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "I spent the weekend in {city} with friends.",
            "A friend told me that {firm} makes good things.",
            "We talked about the weather and had soup.",
            "I read a book about colours yesterday.",
        ),
    ),
    "de": Told(
        (
            _topic(
                "Ich wohne in {}.|Ich bin nach {} gezogen.|Ich wohne jetzt in {}.",
                "Wo wohne ich?|Wo wohne ich jetzt?",
                "Wo habe ich früher gewohnt?",
                _CITIES,
            ),
            _topic(
                "Ich arbeite bei {}.|Ich habe eine neue Stelle bei {} angetreten."
                "|Ich arbeite jetzt bei {}.",
                "Wo arbeite ich?|Bei welcher Firma arbeite ich zurzeit?",
                "Wo habe ich vorher gearbeitet?",
                _FIRMS,
            ),
            _topic(
                "Meine Lieblingsfarbe ist {}.|Neuerdings ist {} meine Lieblingsfarbe."
                "|Meine Lieblingsfarbe ist jetzt {}.",
                "Was ist meine Lieblingsfarbe?|Was ist derzeit meine Lieblingsfarbe?",
                "Was war früher meine Lieblingsfarbe?",
                "Blau Grün Rot Gelb Lila Orange",
            ),
            _topic(
                "Ich lerne {}.|Ich habe angefangen, {} zu lernen.|Jetzt lerne ich {}.",
                "Welche Sprache lerne ich?|Welche Sprache lerne ich gerade?",
                "Welche Sprache habe ich früher gelernt?",
                "Polnisch Griechisch Finnisch Türkisch Hindi Koreanisch",
            ),
            _topic(
                "Ich spiele jede Woche {}.|Seit kurzem spiele ich {}.|Jetzt spiele ich {}.",
                "Welchen Sport spiele ich?|Welche Sportart spiele ich im Moment?",
                "Welchen Sport habe ich früher gespielt?",
                "Tennis Hockey Rugby Golf Squash Badminton",
            ),
            _topic(
                "Meine Telefonnummer ist {}.|Ich habe eine neue Telefonnummer: {}."
                "|Meine Telefonnummer ist jetzt {}.",
                "Wie ist meine Telefonnummer?|Wie lautet meine aktuelle Telefonnummer?",
                "Wie war meine Telefonnummer vorher?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "Am Wochenende war ich mit Freunden in {city}.",
            "Ein Freund sagte mir, dass {firm} gute Sachen macht.",
            "Wir haben über das Wetter geredet und Suppe gegessen.",
            "Gestern habe ich ein Buch über Farben gekauft.",
        ),
    ),
    "fr": Told(
        (
            _topic(
                "J'habite à {}.|J'ai déménagé à {}.|Maintenant, j'habite à {}.",
                "Où est-ce que j'habite ?|Où est-ce que j'habite maintenant ?",
                "Où est-ce que j'habitais avant ?",
                _CITIES,
            ),
            _topic(
                "Je travaille chez {}.|J'ai été embauchée chez {}.|Je travaille désormais chez {}.",
                "Où est-ce que je travaille ?|Dans quelle entreprise je travaille actuellement ?",
                "Où est-ce que je travaillais avant ?",
                _FIRMS,
            ),
            _topic(
                "Ma couleur préférée est le {}.|Ces derniers temps, le {} est ma couleur préférée."
                "|Maintenant, ma couleur préférée est le {}.",
                "Quelle est ma couleur préférée ?|Quelle est ma couleur préférée en ce moment ?",
                "Quelle était ma couleur préférée auparavant ?",
                "bleu vert rouge jaune violet orange",
            ),
            _topic(
                "J'apprends le {}.|Je me suis mise à apprendre le {}.|J'apprends le {} maintenant.",
                "Quelle langue est-ce que j'apprends ?|Quelle langue j'apprends en ce moment ?",
                "Quelle langue est-ce que j'apprenais avant ?",
                "polonais grec finnois turc hindi coréen",
            ),
            _topic(
                "Je joue au {} chaque semaine.|Depuis peu, je joue au {}."
                "|Maintenant, je joue au {}.",
                "À quel sport est-ce que je joue ?|À quel sport je joue maintenant ?",
                "À quel sport est-ce que je jouais avant ?",
                "tennis hockey rugby golf squash badminton",
            ),
            _topic(
                "Mon numéro de téléphone est le {}.|J'ai un nouveau numéro de téléphone : {}."
                "|Mon numéro de téléphone est maintenant le {}.",
                "Quel est mon numéro de téléphone ?|Quel est mon numéro de téléphone actuel ?",
                "Quel était mon ancien numéro de téléphone ?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "J'ai passé le week-end à {city} avec des amis.",
            "Un ami m'a dit que {firm} fait de bonnes choses.",
            "Nous avons parlé de la pluie et mangé une soupe.",
            "Hier, j'ai lu un livre sur les couleurs.",
        ),
    ),
    "es": Told(
        (
            _topic(
                "Vivo en {}.|Me mudé a {}.|Ahora vivo en {}.",
                "¿Dónde vivo?|¿Dónde vivo ahora?",
                "¿Dónde vivía antes?",
                _CITIES,
            ),
            _topic(
                "Trabajo en {}.|Empecé a trabajar en {}.|Ahora trabajo para {}.",
                "¿Dónde trabajo?|¿En qué empresa trabajo actualmente?",
                "¿Dónde trabajaba antes?",
                _FIRMS,
            ),
            _topic(
                "Mi color favorito es el {}.|Últimamente el {} es mi color favorito."
                "|Ahora mi color favorito es el {}.",
                "¿Cuál es mi color favorito?|¿Cuál es mi color favorito en este momento?",
                "¿Cuál era antes mi color favorito?",
                "azul verde rojo amarillo morado naranja",
            ),
            _topic(
                "Estudio {}.|He empezado a aprender {}.|Ahora aprendo {}.",
                "¿Qué idioma aprendo?|¿Qué idioma estoy aprendiendo ahora?",
                "¿Qué idioma aprendía antes?",
                "polaco griego finés turco hindi coreano",
            ),
            _topic(
                "Juego al {} cada semana.|Desde hace poco juego al {}.|Ahora juego al {}.",
                "¿A qué deporte juego?|¿A qué deporte juego ahora?",
                "¿A qué deporte jugaba antes?",
                "tenis hockey rugby golf squash bádminton",
            ),
            _topic(
                "Mi número de teléfono es el {}.|Tengo un nuevo número de teléfono: {}."
                "|Mi número de teléfono es ahora el {}.",
                "¿Cuál es mi número de teléfono?|¿Cuál es mi número de teléfono actual?",
                "¿Cuál era mi número de teléfono anterior?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "Pasé el fin de semana en {city} con amigos.",
            "Un amigo me dijo que {firm} hace cosas buenas.",
            "Hablamos del tiempo y comimos sopa.",
            "Ayer leí un libro sobre los colores.",
        ),
    ),
    "pt": Told(
        (
            _topic(
                "Moro em {}.|Eu me mudei para {}.|Agora moro em {}.",
                "Onde eu moro?|Onde moro agora?",
                "Onde eu morava antes?",
                _CITIES,
            ),
            _topic(
                "Trabalho na {}.|Comecei a trabalhar na {}.|Agora trabalho para a {}.",
                "Onde eu trabalho?|Em que empresa trabalho atualmente?",
                "Onde eu trabalhava antes?",
                _FIRMS,
            ),
            _topic(
                "Minha cor favorita é {}.|Ultimamente {} é a minha cor favorita."
                "|Agora minha cor favorita é {}.",
                "Qual é a minha cor favorita?|Qual é a minha cor favorita no momento?",
                "Qual era a minha cor favorita antes?",
                "azul verde vermelho amarelo roxo laranja",
            ),
            _topic(
                "Estudo {}.|Comecei a aprender {}.|Agora aprendo {}.",
                "Que língua eu aprendo?|Que língua estou aprendendo agora?",
                "Que língua eu aprendia antes?",
                "polonês grego finlandês turco hindi coreano",
            ),
            _topic(
                "Jogo {} toda semana.|Há pouco tempo jogo {}.|Agora jogo {}.",
                "Que esporte eu jogo?|Que esporte jogo agora?",
                "Que esporte eu jogava antes?",
                "tênis hóquei rugby golfe squash badminton",
            ),
            _topic(
                "Meu número de telefone é {}.|Tenho um novo número de telefone: {}."
                "|Meu número de telefone agora é {}.",
                "Qual é o meu número de telefone?|Qual é o meu número de telefone atual?",
                "Qual era o meu número de telefone anterior?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "Passei o fim de semana em {city} com amigos.",
            "Um amigo me disse que a {firm} faz coisas boas.",
            "Falamos do tempo e comemos sopa.",
            "Ontem li um livro sobre as cores.",
        ),
    ),
    "it": Told(
        (
            _topic(
                "Abito a {}.|Mi sono trasferita a {}.|Adesso abito a {}.",
                "Dove abito?|Dove abito adesso?",
                "Dove abitavo prima?",
                _CITIES,
            ),
            _topic(
                "Lavoro alla {}.|Sono stata assunta dalla {}.|Ora lavoro per la {}.",
                "Dove lavoro?|Per quale azienda lavoro attualmente?",
                "Dove lavoravo prima?",
                _FIRMS,
            ),
            _topic(
                "Il mio colore preferito è il {}.|Ultimamente il {} è il mio colore preferito."
                "|Adesso il mio colore preferito è il {}.",
                "Qual è il mio colore preferito?|Qual è il mio colore preferito al momento?",
                "Qual era prima il mio colore preferito?",
                "blu verde rosso giallo viola arancione",
            ),
            _topic(
                "Studio il {}.|Ho cominciato a imparare il {}.|Adesso imparo il {}.",
                "Quale lingua imparo?|Quale lingua sto imparando adesso?",
                "Quale lingua studiavo prima?",
                "polacco greco finlandese turco hindi coreano",
            ),
            _topic(
                "Gioco a {} ogni settimana.|Da poco gioco a {}.|Adesso gioco a {}.",
                "A quale sport gioco?|A quale sport gioco adesso?",
                "A quale sport giocavo prima?",
                "tennis hockey rugby golf squash badminton",
            ),
            _topic(
                "Il mio numero di telefono è {}.|Ho un nuovo numero di telefono: {}."
                "|Il mio numero di telefono adesso è {}.",
                "Qual è il mio numero di telefono?|Qual è il mio attuale numero di telefono?",
                "Qual era il mio numero di telefono precedente?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "Ho passato il fine settimana a {city} con gli amici.",
            "Un amico mi ha detto che la {firm} fa cose buone.",
            "Abbiamo parlato del tempo e mangiato una zuppa.",
            "Ieri ho letto un libro sui colori.",
        ),
    ),
    "ru": Told(
        (
            _topic(
                "Я живу в городе {}.|Я переехала в город {}.|Сейчас я живу в городе {}.",
                "Где я живу?|Где я сейчас живу?",
                "Где я жила раньше?",
                "Лион Порту Базель Осло Турин Бонн",
            ),
            _topic(
                "Я работаю в компании {}.|Я устроилась в {}.|Теперь я работаю в {}.",
                "Где я работаю?|В какой компании я работаю сейчас?",
                "Где я работала раньше?",
                "Сименс Нокиа Филипс Бош Лего Шелл",
            ),
            _topic(
                "Мой любимый цвет — {}.|В последнее время мой любимый цвет — {}."
                "|Теперь мой любимый цвет — {}.",
                "Какой мой любимый цвет?|Какой у меня сейчас любимый цвет?",
                "Какой цвет был раньше моим любимым?",
                "синий зелёный красный жёлтый белый чёрный",
            ),
            _topic(
                "Я учу {} язык.|Я начала учить {} язык.|Сейчас я учу {} язык.",
                "Какой язык я учу?|Какой язык я учу сейчас?",
                "Какой язык я учила раньше?",
                "польский греческий финский турецкий корейский датский",
            ),
            _topic(
                "Я каждую неделю играю в {}.|С недавних пор я играю в {}.|Теперь я играю в {}.",
                "В какую игру я играю?|В какую игру я играю сейчас?",
                "В какую игру я играла раньше?",
                "теннис хоккей регби гольф сквош бадминтон",
            ),
            _topic(
                "Мой номер телефона {}.|У меня новый номер телефона: {}."
                "|Мой номер телефона теперь {}.",
                "Какой мой номер телефона?|Какой у меня сейчас номер телефона?",
                "Какой у меня был телефон раньше?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "В выходные мы с друзьями были в городе {city}.",
            "Подруга сказала, что {firm} делает хорошие вещи.",
            "Мы говорили о погоде и ели суп.",
            "Вчера я прочитала книгу о красках.",
        ),
    ),
    "zh": Told(
        (
            _topic(
                "我住在{}。|我搬到{}了。|我现在住在{}。",
                "我住在哪里？|我现在住在哪里？",
                "我以前住在哪里？",
                "里昂 波尔图 巴塞尔 奥斯陆 都灵 波恩",
            ),
            _topic(
                "我在{}工作。|我换到{}上班了。|我现在在{}工作。",
                "我在哪里工作？|我现在在哪家公司工作？",
                "我以前在哪里工作？",
                "西门子 诺基亚 飞利浦 博世 乐高 壳牌",
            ),
            _topic(
                "我最喜欢的颜色是{}。|最近我最喜欢的颜色变成了{}。|我现在最喜欢的颜色是{}。",
                "我最喜欢的颜色是什么？|我现在最喜欢什么颜色？",
                "我以前最喜欢的颜色是什么？",
                "蓝色 绿色 红色 黄色 紫色 橙色",
            ),
            _topic(
                "我在学{}。|我开始学习{}了。|我现在在学{}。",
                "我在学什么语言？|我现在在学什么语言？",
                "我以前学过什么语言？",
                "波兰语 希腊语 芬兰语 土耳其语 韩语 丹麦语",
            ),
            _topic(
                "我每周打{}。|我最近开始打{}。|我现在打{}。",
                "我打什么球？|我现在打什么球？",
                "我以前打什么球？",
                "网球 篮球 羽毛球 排球 高尔夫球 乒乓球",
            ),
            _topic(
                "我的电话号码是{}。|我换了新的电话号码：{}。|我现在的电话号码是{}。",
                "我的电话号码是多少？|我现在的电话号码是多少？",
                "我以前的电话号码是多少？",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "周末我和朋友去了{city}。",
            "朋友说{firm}的东西很好。",
            "我们聊了天气，还喝了汤。",
            "昨天我读了一本关于颜色的书。",
        ),
    ),
    "ja": Told(
        (
            _topic(
                "私は{}に住んでいます。|{}に引っ越しました。|今は{}に住んでいます。",
                "私はどこに住んでいますか？|今どこに住んでいますか？",
                "以前はどこに住んでいましたか？",
                "リヨン ポルト バーゼル オスロ トリノ ボン",
            ),
            _topic(
                "私は{}で働いています。|{}に転職しました。|今は{}で働いています。",
                "私はどこで働いていますか？|今どこの会社で働いていますか？",
                "以前はどこで働いていましたか？",
                "シーメンス ノキア フィリップス ボッシュ レゴ シェル",
            ),
            _topic(
                "一番好きな色は{}です。|最近は{}が一番好きな色です。|今一番好きな色は{}です。",
                "私の一番好きな色は何ですか？|今一番好きな色は何ですか？",
                "以前一番好きな色は何でしたか？",
                "青 緑 赤 黄色 紫 オレンジ",
            ),
            _topic(
                "{}を勉強しています。|{}を習い始めました。|今は{}を勉強しています。",
                "何語を勉強していますか？|今は何語を勉強していますか？",
                "以前は何語を勉強していましたか？",
                "ポーランド語 ギリシャ語 フィンランド語 トルコ語 韓国語 デンマーク語",
            ),
            _topic(
                "毎週{}を練習しています。|最近{}の練習を始めました。|今は{}を練習しています。",
                "どのスポーツを練習していますか？|今どのスポーツを練習していますか？",
                "以前はどのスポーツを練習していましたか？",
                "テニス ホッケー ラグビー ゴルフ 柔道 バドミントン",
            ),
            _topic(
                "私の電話番号は{}です。|新しい電話番号は{}です。|今の電話番号は{}です。",
                "私の電話番号は何番ですか？|今の電話番号は何番ですか？",
                "以前の電話番号は何番でしたか？",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "週末に友達と{city}に行きました。",
            "{firm}の製品は良いと友達が言いました。",
            "天気の話をしてスープを飲みました。",
            "昨日、色についての本を読みました。",
        ),
    ),
    "ko": Told(
        (
            _topic(
                "나는 {}에 살고 있다.|나는 {}로 이사했다.|나는 지금 {}에 살고 있다.",
                "나는 어디에 살아?|나는 지금 어디에 살고 있어?",
                "나는 예전에 어디에 살았어?",
                "리옹 포르투 바젤 오슬로 토리노 본",
            ),
            _topic(
                "나는 {}에서 일한다.|나는 {}로 이직했다.|나는 지금 {}에서 일하고 있다.",
                "나는 어디에서 일해?|나는 지금 어느 회사에서 일하고 있어?",
                "나는 예전에 어디에서 일했어?",
                "지멘스 노키아 필립스 보쉬 레고 셸",
            ),
            _topic(
                "내가 가장 좋아하는 색은 {}이다.|요즘 내가 가장 좋아하는 색은 {}이다."
                "|이제 내가 제일 좋아하는 색은 {}이다.",
                "내가 가장 좋아하는 색은 뭐야?|지금 내가 제일 좋아하는 색은 뭐야?",
                "예전에 내가 가장 좋아하는 색은 뭐였어?",
                "파랑 초록 빨강 노랑 보라 주황",
            ),
            _topic(
                "나는 {}를 배우고 있다.|나는 {} 공부를 시작했다.|나는 지금 {}를 배우고 있다.",
                "나는 어떤 언어를 배우고 있어?|나는 지금 무슨 언어를 배우고 있어?",
                "나는 예전에 어떤 언어를 배웠어?",
                "폴란드어 그리스어 핀란드어 터키어 중국어 덴마크어",
            ),
            _topic(
                "나는 매주 {}를 친다.|나는 최근에 {} 연습을 시작했다.|나는 지금 {}를 치고 있다.",
                "나는 무슨 운동을 해?|나는 지금 무슨 운동을 하고 있어?",
                "나는 예전에 무슨 운동을 했어?",
                "테니스 배드민턴 골프 스쿼시 탁구 당구",
            ),
            _topic(
                "내 전화번호는 {}이다.|새 전화번호는 {}이다.|내 전화번호는 이제 {}이다.",
                "내 전화번호가 뭐야?|지금 내 전화번호가 뭐야?",
                "예전 내 전화번호가 뭐였어?",
                "4417 8820 3956 7041 2268 9135",
            ),
        ),
        (
            "주말에 친구들과 {city}에 갔다.",
            "친구가 {firm} 물건이 좋다고 했다.",
            "우리는 날씨 이야기를 하고 국을 먹었다.",
            "어제 색에 관한 책을 읽었다.",
        ),
    ),
}
"""The sentences that are told and asked, by the codes of the languages (ISO 639-1)."""

"""Cues of statements that are kept, in other languages than English.

There are only a few for each language, so that little is kept by mistake: what is laid down "from
now on", what is to be used "instead of" something else, and what "we have decided". A language
without spaces has no limits of words in its patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kept = Literal["convention", "correction", "decision"]


@dataclass(frozen=True)
class Cue:
    """A pattern of a sentence in lower case, with sentences that it catches, and others."""

    pattern: str
    catches: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Cues:
    """The cues of a language: of each kind, of what is meant for once, and of what is supposed."""

    kept: Mapping[Kept, Cue]
    passing: str
    supposed: str


_PASSWORD = (
    "passwort|kennwort|mot de passe|contraseña|clave|senha|palavra-passe|parola|wachtwoord|lösenord"
    "|hasło|şifre|парол[ья]|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:السر|المرور)"
    "|סיסמ[הא]|पासवर्ड"
)
_PIN = (
    r"geheimzahl|türcode|alarmcode|code (?:pin|secret|d'alarme|d'accès|de (?:la )?porte)|c[oó]digo"
    r"|codice|пин|код|pincode|コード|코드|핀|验证码|代码|رمز|קוד|पिन|कोड"
    r"|\b(?:die|der|la|le|el|il|o|a|de|meine?|mon|mi|mia|minha|mijn)\s+pin\b"
)
_IS = r"\b(?:ist|lautet|est|es|é|è|is|är|jest|to)\b|[:=：]|是|は|은|는|है"
SECRETS = (
    rf"(?:{_PASSWORD}).{{0,30}}?(?:(?:{_IS})\s*(?:\S*\d\S*|\S{{3,}}(?=[\s.!?。]*$))|\d{{3,}})"
    rf"|\b(?:ist|lautet)\s+(?:\w+\s+)?(?:{_PASSWORD})\s+\S{{3,}}"
    rf"|(?:{_PIN}).{{0,25}}?\d(?:[ -]?\d){{2,}}"
)
"""A password or PIN that is told, in other languages than English."""

CUES: Mapping[str, Cues] = {
    "german": Cues(
        kept={
            "convention": Cue(
                r"\b(?:ab (?:jetzt|sofort)|von (?:jetzt|nun) an|in zukunft|künftig)\b"
                r"|\bwir (?:verwenden|nutzen|benutzen|schreiben) (?:hier )?"
                r"(?:immer|nie|niemals|nur)\b"
                r"|^merk dir\b",
                (
                    "ab jetzt verwenden wir pnpm",
                    "wir nutzen hier nur tabs",
                    "merk dir: die staging-datenbank ist schreibgeschützt",
                ),
                ("der test schlägt immer fehl", "das habe ich nie gesehen"),
            ),
            "correction": Cue(
                r"\b(?:nimm|verwende|nutze|benutze|schreib)\b.{2,100}\b(?:statt|anstatt|anstelle|nicht)\b"
                r"|\bnicht [\w ./-]{2,60}, sondern\b",
                (
                    "nein, nimm pnpm statt npm",
                    "bitte verwende httpx, nicht requests",
                    "der server läuft nicht auf port 8080, sondern auf 8081",
                ),
                ("nein, das geht nicht", "ich verstehe das nicht"),
            ),
            "decision": Cue(
                r"\bwir haben .{0,60}\b(?:entschieden|beschlossen|geeinigt)\b"
                r"|\blasst? uns .{2,80}\b(?:verwenden|nutzen|nehmen|umsteigen|wechseln)\b"
                r"|\b(?:nehmen|verwenden|nutzen) wir (?!hier|das problem)|^entscheidung:",
                (
                    "wir haben uns für postgres entschieden",
                    "lass uns redis nehmen",
                    "ok, nehmen wir option 2",
                ),
                ("hast du dich entschieden", "lass uns mal sehen"),
            ),
        },
        passing=r"\b(?:vorerst|fürs erste|nur diesmal|nur heute|im moment|vorläufig)\b",
        supposed=r"^(?:wenn|falls|vielleicht|warum|wieso|soll(?:en|ten)? wir|könn(?:en|ten) wir)\b",
    ),
    "french": Cues(
        kept={
            "convention": Cue(
                r"\b(?:désormais|dorénavant|à partir de maintenant|à l'avenir)\b"
                r"|\bon (?:utilise|écrit|met|garde) toujours\b|\bon n'utilise jamais\b"
                r"|^retiens que\b",
                (
                    "désormais, on épingle toutes les dépendances",
                    "on utilise toujours pytest pour les tests",
                    "retiens que la base de staging est en lecture seule",
                ),
                ("le test échoue toujours", "je n'ai jamais vu ça"),
            ),
            "correction": Cue(
                r"\b(?:utilise[zs]?|prends|prenez|mets)\b.{2,100}"
                r"(?:\bau lieu d[e'u]|\bplutôt qu[e']|, pas\b|, et non\b)"
                r"|\bn'utilise[zs]? (?:pas|plus|jamais)\b|\barrête d'(?:utiliser|ajouter)\b",
                (
                    "non, utilise pnpm au lieu de npm",
                    "utilise httpx, pas requests",
                    "n'utilise pas de mocks pour la base",
                ),
                ("non, ça ne marche pas", "ce n'est pas grave"),
            ),
            "decision": Cue(
                r"\b(?:on a|nous avons) (?:décidé|choisi|opté)\b|\b(?:on part sur|partons sur"
                r"|utilisons|passons à|restons sur)\b|^décision ?:",
                (
                    "on a décidé de garder sqlite en local",
                    "ok, on part sur redis pour le cache",
                    "décision : les montants sont des centimes entiers",
                ),
                ("as-tu décidé", "voyons voir"),
            ),
        },
        passing=r"\b(?:pour l'instant|pour le moment|juste cette fois|temporairement)\b",
        supposed=r"^(?:si|peut-être|pourquoi|est-ce que?|faut-il|devrait-on|et si)\b",
    ),
    "spanish": Cues(
        kept={
            "convention": Cue(
                r"\b(?:a partir de ahora|de ahora en adelante|en adelante)\b"
                r"|\b(?:siempre|nunca) (?:usamos|escribimos)\b|^recuerda que\b",
                (
                    "a partir de ahora usamos pnpm",
                    "aquí siempre usamos tabuladores",
                    "recuerda que la base de staging es de solo lectura",
                ),
                ("la prueba siempre falla", "nunca lo había visto"),
            ),
            "correction": Cue(
                r"\b(?:usa|usad|utiliza|pon)\b.{2,100}(?:\ben lugar de\b|\ben vez de\b|, no\b)"
                r"|^(?:por favor,? )?no (?:uses|utilices|añadas|edites|toques)\b"
                r"|\bdeja de (?:usar|añadir)\b",
                (
                    "no, usa pnpm en lugar de npm",
                    "usa httpx, no requests",
                    "no edites los archivos generados",
                ),
                ("no, no funciona", "no lo entiendo"),
            ),
            "decision": Cue(
                r"\b(?:hemos decidido|decidimos|usemos|vamos con|nos quedamos con|cambiemos a)\b"
                r"|^decisión:",
                (
                    "hemos decidido guardar las fechas en utc",
                    "vale, vamos con redis para la caché",
                    "decisión: el dinero se guarda en céntimos",
                ),
                ("has decidido algo", "vamos a ver"),
            ),
        },
        passing=r"\b(?:por ahora|de momento|por el momento|solo esta vez|temporalmente)\b",
        supposed=r"^(?:¿|(?:si|quizás?|tal vez|por qué|deberíamos|podríamos)\b)",
    ),
    "portuguese": Cues(
        kept={
            "convention": Cue(
                r"\b(?:a partir de agora|de agora em diante|daqui em diante|daqui pra frente)\b"
                r"|\b(?:sempre|nunca) (?:usamos|escrevemos)\b|^lembre(?:-se)?(?: de)? que\b",
                (
                    "a partir de agora usamos pnpm",
                    "aqui sempre usamos tabs",
                    "lembre-se de que o banco de staging é somente leitura",
                ),
                ("o teste sempre falha", "nunca vi isso"),
            ),
            "correction": Cue(
                r"\b(?:use|usa|utilize|coloque)\b.{2,100}"
                r"(?:\bem vez d[eo]\b|\bao invés d[eo]\b|\bno lugar d[eo]\b|, não\b)"
                r"|^(?:por favor,? )?não (?:use|utilize|adicione|edite|mexa)\b"
                r"|\bpare de (?:usar|adicionar)\b",
                (
                    "não, use pnpm em vez de npm",
                    "use httpx, não requests",
                    "não edite os arquivos gerados",
                ),
                ("não, não funciona", "não entendi"),
            ),
            "decision": Cue(
                r"\b(?:decidimos|optamos por|vamos (?:usar|com o|com a|ficar com))\b|^decisão:",
                (
                    "decidimos guardar as datas em utc",
                    "ok, vamos usar redis para o cache",
                    "decisão: dinheiro em centavos inteiros",
                ),
                ("você decidiu", "vamos ver"),
            ),
        },
        passing=r"\b(?:por enquanto|por ora|só desta vez|temporariamente)\b",
        supposed=r"^(?:se|talvez|por que|será que|deveríamos|poderíamos)\b",
    ),
    "chinese": Cues(
        kept={
            "convention": Cue(
                r"从现在(?:开始|起)|今后|以后(?:都|请|一律|统一)|一律(?:使用|用)|始终(?:使用|用)|^请?记住",
                (
                    "从现在开始我们使用pnpm",
                    "以后都用制表符缩进代码",
                    "请记住测试数据库是只读的",
                ),
                ("这个测试一直失败", "我从来没有见过"),
            ),
            "correction": Cue(
                r"用.{1,40}(?:而不是|而非|不要用|别用)|^请?(?:不要|别)再?(?:使用|用|添加|修改|提交)",
                (
                    "不对，用pnpm而不是npm",
                    "请不要修改自动生成的文件",
                    "别再用requests这个库了",
                ),
                ("不对，还是不行", "不要紧，我看看"),
            ),
            "decision": Cue(
                r"我们(?:已经)?(?:决定|选择)(?:使用|用|采用|了|把)|(?:就用|就选|决定用)(?!了)|^决定[：:]",
                (
                    "我们决定使用postgres做队列",
                    "好的，就用redis做缓存吧",
                    "决定：金额用整数的分来存",
                ),
                ("你决定了没有", "我们看看再说"),
            ),
        },
        passing=r"暂时|先这样|这一次|临时",
        supposed=r"[吗呢][。？?]?$|^(?:如果|要不要|是否|为什么|也许)",
    ),
    "japanese": Cues(
        kept={
            "convention": Cue(
                r"今後は|これからは|以降は|(?:常に|必ず).*(?:使|書|実行|して)(?:.*(?:ください|こと))|覚えておいて",
                (
                    "今後はpnpmを使います",
                    "必ずコミットの前にリンターを実行してください",
                    "ステージングは読み取り専用だと覚えておいて",
                ),
                ("このテストは必ず失敗する", "今は動いています"),
            ),
            "correction": Cue(
                r"(?:ではなく|じゃなく|の代わりに).*(?:使|にして|書)"
                r"|(?:使わ|(?:追加|変更|編集|コミット|プッシュ)し)ないで",
                (
                    "npmではなくpnpmを使ってください",
                    "生成されたファイルは編集しないでください",
                    "requestsの代わりにhttpxを使って",
                ),
                ("そうではなくて動きません", "まだ直っていない"),
            ),
            "decision": Cue(
                r"(?:に|ことに)決め(?:ました|た)|ことにし(?:ました|ましょう|よう)|でいきましょう|を採用します"
                r"|^決定[：:]",
                (
                    "キューはpostgresに決めました",
                    "キャッシュはredisでいきましょう",
                    "日時はutcで保存することにしました",
                ),
                ("まだ決めていません", "見てみましょう"),
            ),
        },
        passing=r"とりあえず|今のところ|今回だけ|一時的",
        supposed=r"(?:か|かな)[。？?]?$|^(?:もし|なぜ|たぶん)",
    ),
}
"""The cues by language."""

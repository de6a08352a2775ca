"""Which texts ask something, in the languages of the tables."""

from __future__ import annotations

import pytest

from salience.language.query_analysis import asks_something

QUESTIONS = """\
Where does Ana live?
where does ana live
what's the gate code
Did we eat there
has ana been to rome
tell me what Ana likes
Can you tell me who Leo is
I want to book it again. Where did we stay
Where did we stay? It was nice.
Ana birthday
wifi password of the cabin
Anas Geburtstag
Wo wohnt Ana
Hat Ana eine Katze
waar woont mijn vriend
où habite Ana maintenant
Qui est le chef de Ana
dove abita la mia amica
dónde vive la amiga de Ana
¿Dónde vive Ana
onde mora a minha amiga
где живет Анна
Нравится ли Анне чай
아나는 어디에 살아
アナはどこに住んでいますか
安娜住在哪里
東京に住んでいる？
أين تعيش؟
Որտե՞ղ է Անին
"""
NO_QUESTIONS = """\
Greet this user on the first page
Greet Ana
Write to the team
Book a table for two
Have a look at the logs
Could you write a letter to the team
When Ana writes, answer in French
I live in Porto, by the way.
Ana lives in Porto.
Was in Rome last week
See https://example.org/x?y=1 and repair it.
Hello.
Wie besprochen, schreibe ich dir morgen
Ich wohne jetzt in Berlin
Begrüße den Benutzer auf der ersten Seite
Quand j'écris, réponds en français
Je m'appelle Ana et j'habite à Lyon
Cuando te escriba, responde en español
Saluta l'utente sulla prima pagina
Cumprimenta o usuário na primeira página
Поприветствуй пользователя на первой странице
사용자에게 인사해 주세요
ユーザーに挨拶してください
向用户问好
...
"""


@pytest.mark.parametrize("text", QUESTIONS.splitlines())
def test_a_question_asks_something(text: str) -> None:
    assert asks_something(text)


@pytest.mark.parametrize("text", NO_QUESTIONS.splitlines())
def test_a_task_or_a_statement_asks_nothing(text: str) -> None:
    assert not asks_something(text)

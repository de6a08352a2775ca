"""What is kept of a conversation, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.coding_agents.statements import Statement, statements
from salience.coding_agents.transcripts import Turn
from salience.language.secrets import secret_in


def user(text: str) -> Turn:
    return Turn("user", text)


def assistant(text: str, *commands: str) -> Turn:
    return Turn("assistant", text, None, commands)


def kept(*turns: Turn) -> list[Statement]:
    return list(statements(turns))


def texts(*turns: Turn) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in kept(*turns)]


def test_a_session_leaves_its_corrections_conventions_and_decisions() -> None:
    session = [
        user("Add lodash to the project please"),
        assistant("I'll install it with npm.", "npm install lodash"),
        user("No, use pnpm instead."),
        assistant("You're right, switching to pnpm.", "pnpm add lodash"),
        user("From now on always use pnpm. Otherwise the lockfile breaks."),
        assistant("Understood."),
        user("The tests fail, the parser always returns null. Can you have a look?"),
        assistant(
            "The root cause was that the session was closed twice.\n"
            "I added a guard, and the tests pass."
        ),
        user("Great. How should we cache this?"),
        assistant("Two options:\n1. Redis with a TTL of 5 minutes\n2. An in-process LRU cache"),
        user("Let's go with option 2"),
        user("Should we always use LRU caches? Maybe we could go with Redis later."),
        user("The convention here is one handler per file. Don't add docs for now."),
    ]
    assert texts(*session) == [
        ("correction", "use pnpm instead. (Said after: `npm install lodash`)"),
        ("convention", "From now on always use pnpm. Otherwise the lockfile breaks."),
        ("finding", "The root cause was that the session was closed twice."),
        ("decision", "Let's go with option 2 (An in-process LRU cache)"),
        ("convention", "The convention here is one handler per file."),
    ]
    assert [each.turn for each in kept(*session)] == [2, 4, 7, 10, 12]
    assert [each.speaker for each in kept(*session)][2:4] == ["assistant", "user"]


@pytest.mark.parametrize(
    ("said", "kept_texts"),
    [
        (
            "Nein, nimm pnpm statt npm. Wenn es eilt, nimm yarn statt npm. Vorerst reicht das.",
            [("correction", "Nein, nimm pnpm statt npm.")],
        ),
        (
            "Désormais, on épingle les versions. Est-ce qu'on part sur redis ? Pour l'instant.",
            [("convention", "Désormais, on épingle les versions.")],
        ),
        (
            "Vale, vamos con redis para la caché. ¿Por qué usamos npm en lugar de pnpm?",
            [("decision", "Vale, vamos con redis para la caché.")],
        ),
        (
            "Não edite os arquivos gerados. Por enquanto vamos usar sqlite.",
            [("correction", "Não edite os arquivos gerados.")],
        ),
        (
            "以后都用pnpm。暂时用npm而不是yarn。要不要用redis？",
            [("convention", "以后都用pnpm。")],
        ),
        (
            "npmではなくpnpmを使ってください。とりあえずyarnを採用します。redisでいきましょうか。",
            [("correction", "npmではなくpnpmを使ってください。")],
        ),
    ],
)
def test_other_languages_have_a_few_cues(said: str, kept_texts: list[tuple[str, str]]) -> None:
    assert texts(user(said)) == kept_texts


def test_the_list_under_a_heading_is_kept_item_by_item() -> None:
    text = "Conventions for this repo:\n- tabs, not spaces\n* no default exports\n\nThanks!"
    assert texts(user(text)) == [
        ("convention", "tabs, not spaces"),
        ("convention", "no default exports"),
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "could you please always run `make lint` before committing?",
            "always run `make lint` before committing",
        ),
        (
            "That's wrong. The dev server runs on port 8081, not 8080.",
            "The dev server runs on port 8081, not 8080.",
        ),
        ("I’d rather have explicit types than any", "I’d rather have explicit types than any"),
        ("ok, and never commit to main directly", "never commit to main directly"),
        ("We always squash before merging.", "We always squash before merging."),
        ("use `core.http`, not requests", "use `core.http`, not requests"),
    ],
)
def test_a_statement_is_kept_without_its_wrapping(said: str, text: str) -> None:
    assert [each.text for each in kept(user(said))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "should we use tabs instead of spaces?",
        "what if we go with redis",
        "maybe we should always run the linter",
        "if we always cache it, it gets stale",
        "use tabs instead of spaces just this once",
        "for now let's use sqlite",
        "never mind",
        "it always returns null instead of the row",
        "let's go with that",
        "yes, do that",
        "no, that one instead",
        "```\nwe always use tabs\n```",
        "> from now on use spaces\nis this still true?",
        "ERROR: never call this twice",
        "Traceback: always use the v2 client instead",
        "| always | never |",
        "+ we always use tabs",
        "the password is hunter2hunter, always use that",
        "from now on use the token ghp_0123456789abcdefghijABCDEFGHIJ",
        "always connect with postgres://ana:s3cret@db/shop",
        "how do we usually deploy",
    ],
)
def test_what_is_asked_supposed_passing_pasted_or_secret_is_not_kept(text: str) -> None:
    assert kept(assistant("Done."), user(text)) == []


def test_an_assistant_lays_down_no_rules() -> None:
    assert (
        kept(assistant("From now on I always use pnpm. Let's go with Redis. Never edit that."))
        == []
    )


def test_only_turns_from_the_given_one_on_are_kept_with_those_before_as_context() -> None:
    turns = [
        user("We use npm here."),
        assistant("Installing.", "npm i lodash"),
        user("No, use pnpm instead."),
    ]
    assert [each.text for each in statements(turns, 2)] == [
        "use pnpm instead. (Said after: `npm i lodash`)"
    ]


WORDS = st.sampled_from(
    "no, use pnpm instead of npm from now on we always never let's go with option 2 . : - \n ``` >"
    " because the convention here is decided? should must tests live in src".split(" ")
)


@given(st.lists(st.one_of(st.text(max_size=30), WORDS.map(str)), max_size=40))
def test_any_text_is_read_and_what_is_kept_is_short(parts: list[str]) -> None:
    text = " ".join(parts)
    for each in statements([assistant(text, text), user(text)]):
        assert each.text.strip()
        assert len(each.text) < 1_200


@given(
    st.sampled_from(["sk-", "ghp_", "xoxb-", "AKIA", "hf_"]),
    st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=16, max_size=40),
    st.sampled_from(
        ["From now on use {} for the api.", "We always deploy with {}", "no, use {} instead of npm"]
    ),
)
def test_no_secret_is_kept(prefix: str, rest: str, sentence: str) -> None:
    assert kept(user(sentence.format("the test key"))) != []
    assert kept(user(sentence.format(prefix + rest))) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "From now on log in with password correcthorse",
        "We always sign in as admin with the password hunter2",
        "From now on the pin is 4711",
        "From now on we use pin 0815 for the test card",
        "Remember that the door code is 1234",
        "Remember that my pin is 4821",
        "From now on the pin for the card is 4821, not 4711",
        "From now on use 4821 as the pin",
        "Remember that the alarm code is BLUE42",
        "Remember that the alarm code for the office is 48 21",
        "The wifi password for guests is sunflower, always use that",
        "From now on use sunflower as the password",
        "Remember that the admin login is ana/sunflower",
        "Ab jetzt ist das Passwort Sonnenblume.",
        "Ab sofort lautet die PIN 4821.",
        "Merk dir: der Türcode ist 4821",
        "Désormais le mot de passe est tournesol.",
        "Désormais le code de la porte est 4821.",
        "De ahora en adelante la contraseña es girasol.",
        "De ahora en adelante el pin es 4821.",
        "A partir de agora a senha é girassol.",
        "从现在起密码是sunflower。",
        "今後パスワードはsunflowerです。",
    ],
)
def test_no_secret_in_plain_words_is_kept(sentence: str) -> None:
    assert kept(user(sentence)) == []


@pytest.mark.parametrize(
    "text",
    [
        "use password hashing with argon2",
        "never store a password in plain text",
        "return status code 4041",
        "token budgets are counted by characters",
        "tests/unit/test_session_tokens.py",
        "the api key is in the vault",
        "use argon2 as the password hasher",
        "the password is required, the token is optional",
        "we pin numpy to 2024.1",
        "always use pin 13 for the status led",
        "connect pin 13 - GND first",
        "use 4700 ohm for the pin",
        "the error code is 1042 for a timeout",
        "never log in with password auth",
        "the token is refreshed every 15 minutes",
        "the access code path is /v1/login",
        "das Passwort ist mindestens 12 Zeichen lang",
        "la contraseña es obligatoria para todos",
        "the code of the parser is in parser.py",
        "wir geben den statuscode 4041 zurück",
        "das passwort wird mit argon2 gehasht",
    ],
)
def test_words_about_secrets_are_no_secrets(text: str) -> None:
    assert not secret_in(text)


EVERYDAY = """\
Add a dark mode toggle to the settings page and make sure it persists across reloads.
The login form should show an error when the password is wrong.
I get this error when I run the tests: TypeError: cannot read property 'id' of undefined
Let's start with the database schema, then move on to the API.
Use the new API endpoint for fetching orders and update the tests accordingly.
Make the button blue instead of green.
Let's keep the header but remove the footer from this page.
Don't add the footer to this page.
No, the button should be on the left.
No, I meant the other file.
Stop the dev server and run the migration.
We have a problem with the websocket, it never reconnects after a network failure.
We'll go with that later, first fix the bug.
Every time I save the file the server restarts twice.
You should see the new column in the table after the migration.
Write unit tests for all functions in utils.py.
The test for the parser must cover empty input.
Remember to update the changelog.
Remember the bug from yesterday? It's back.
I always forget how to rebase, can you explain it?
Let's move to the next task.
Explain what this regex does, I never understood lookbehinds.
call the function fetchUser instead of getUser
if the request fails, always retry three times
Could you use async/await instead of promises in this file?"""
LASTING = """\
Please use conventional commits for all commit messages.
Our API responses are always wrapped in a data envelope.
We don't use semicolons.
Keep functions under 40 lines.
You always add comments that just restate the code, please stop doing that.
I don't want you to run git push, ever.
Tests must not hit the network.
The staging database is read only, keep that in mind.
Use `uv` rather than pip in this project.
We're using Tailwind v4, not v3.
Please make sure that you run `make lint` before you commit, every time.
Ask me before you install new dependencies.
Stop using any; use unknown and narrow it.
We deploy from the release branch, never from main.
Going with SQLite, it's simpler.
I'd like you to always write the tests first.
Always answer in German.
We agreed on snake_case for JSON keys.
The correct command is `pnpm test:unit`, not `npm test`.
Docs live in docs/, not in the wiki."""


def test_most_of_what_is_asked_of_an_agent_for_now_is_not_kept() -> None:
    said = [user(text) for text in EVERYDAY.splitlines()]
    wrong = [text for turn in said for _, text in texts(assistant("The build passes."), turn)]
    assert len(wrong) <= 2, wrong


def test_most_of_what_is_laid_down_is_kept_in_its_own_words() -> None:
    lasting = LASTING.splitlines()
    found = [texts(assistant("The build passes."), user(text)) for text in lasting]
    assert all(one in text for text, kept in zip(lasting, found, strict=True) for _, one in kept)
    missed = [text for text, kept in zip(lasting, found, strict=True) if not kept]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Forget the rule about pinning, we no longer pin dependencies.", "we no longer pin"),
        ("Please forget what I said about tabs; we use spaces everywhere.", "we use spaces"),
        ("Forget the ORM - from now on all queries are plain SQL.", "from now on all queries"),
        ("Forget what I said about tabs, please.", ""),
    ],
)
def test_what_holds_after_a_request_to_forget_is_kept_by_itself(said: str, kept: str) -> None:
    found = [text for _, text in texts(user(said))]
    assert [text[: len(kept)] for text in found] == [kept] * bool(kept)

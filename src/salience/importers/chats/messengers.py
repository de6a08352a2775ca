"""Chats between people: what messengers export, and mail."""

from __future__ import annotations

import html
import mailbox
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr
from pathlib import Path
from typing import Any

from salience.importers._entries import documents, mapping
from salience.importers._source import DateOrder, ImportProblem, Job, Place, decoded, text
from salience.importers.shapes import Entry, Shape, at, dicts, joined, turns
from salience.lazily import regex

_SLACK_MARK = regex(r"<(?:([@#!])([^|>]+)(?:\|([^>]*))?|([^|>\s]+)(?:\|([^>]*))?)>")


def _of_telegram(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    document = mapping(document)
    lists = [mapping(document.get(name)).get("list") for name in ("chats", "left_chats")]
    yield from (chat for chats in lists for chat in dicts(chats))
    if "messages" in document:
        yield document


def _slack_documents(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    """The channels of an export: a folder each, with a file for each day."""
    assert isinstance(place, Path)
    folder = place if place.is_dir() else place.parent
    names: dict[str, str] = {}
    for users in (folder / "users.json", folder.parent / "users.json"):
        for _, users_read in documents(users, job) if users.is_file() else ():
            for user in dicts(users_read):
                path = "profile.display_name|profile.real_name|real_name|name"
                names[str(user.get("id"))] = str(at(user, path) or user.get("id"))
    days = sorted(folder.rglob("[0-9]*-[0-9]*-[0-9]*.json")) if place.is_dir() else [place]
    for day in days:
        for _, messages in documents(day, job):
            messages_named = [_slack_message(message, names) for message in dicts(messages)]
            yield f"{day.parent.name}/{day.name}", turns({"id": day.parent.name}, messages_named)


def _slack_message(message: Entry, names: Mapping[str, str]) -> Entry:
    def shown(mark: re.Match[str]) -> str:
        sign, id, label, address, words = mark.groups()
        if sign:
            return ("@" if sign == "!" else sign) + (label or names.get(id, id))
        return f"{words} ({address})" if words and words != address else str(address)

    text = message.get("text")
    text = html.unescape(_SLACK_MARK.sub(shown, text)) if isinstance(text, str) else ""
    name = names.get(str(message.get("user")))
    speaker = name or at(message, "user_profile.display_name|user_profile.real_name|username|user")
    return {**message, "text": text, "name": speaker}


MARKS = str.maketrans({"\u200e": None, "\u200f": None, "\u202f": " ", "\xa0": " ", "\ufeff": None})
_DATE = r"(?P<date>\d{1,4}(?:[./-]|\. )\d{1,2}(?:[./-]|\. )\d{1,4})\.?(?:\s?\([^()\d]{1,4}\))?"
_WORD = r"[^\W\d][^\s\d\[\]():,-]{0,9}"  # between date and clock, or after it, in many languages
_CLOCK = r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
_HALF = r"(?:\s?(?P<half>[^\W\d][^\s\d\[\]():,-]{0,5}(?:\s[^\W\d]\.)?))?"
_MOMENT = rf"{_DATE}[,،]?\s+(?:(?P<before>{_WORD})\s*)?{_CLOCK}{_HALF}"
_AFTER = r"(?:\s+[-–]|:(?=\s[^:]{1,60}:\s))"
WHATSAPP = regex(rf"^(?:\[{_MOMENT}\]|{_MOMENT.replace('?P<', '?P<a_')}{_AFTER})\s(?P<rest>.*)")


# The halves of a clock of twelve hours as CLDR abbreviates them, without dots and spaces.
_MORNING = frozenset(("am", "上午", "凌晨", "早上", "午前", "오전", "ص", "öö", "πμ", "de", "قظ"))
_EVENING = frozenset(("pm", "下午", "中午", "晚上", "午後", "오후", "م", "ös", "μμ", "du", "بظ"))
_BUDDHIST_YEARS = range(2_500, 2_700)  # 543 more than ours
_SENDER = regex(r"(?P<sender>[^:]{1,100}?)\s?:\s(?P<text>.*)", re.DOTALL)


_OMITTED = regex(
    r"<[^<>]{3,40}>|(?:\S+ ){1,3}(?:omitted|weggelassen|omise?|omitid[ao]|omess[ao])|"
    r"\S+\.\w{3,4} \([^()]+\)|null"
)


def _of_whatsapp(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    assert isinstance(place, Path)
    messages: list[Entry] = []
    for number, line in enumerate(text(place).split("\n"), start=1):
        plain = line.translate(MARKS)
        match = WHATSAPP.match(plain)
        if match:
            parts = {k.removeprefix("a_"): v for k, v in match.groupdict().items() if v}
            messages.append({**parts, "text": parts.get("rest", ""), "\0place": f"line {number}"})
        elif messages:
            messages[-1]["text"] += "\n" + plain
    is_day_first = _is_day_first(place, messages, job.dates)
    for message in messages:
        sender = _SENDER.match(message["text"])
        message |= sender.groupdict() if sender else {"sender": None, "text": ""}  # told by the app
        message["text"] = "" if _OMITTED.fullmatch(message["text"].strip()) else message["text"]
        message["time"] = _time(message, is_day_first)
    yield "", {"messages": messages}


def _numbers(message: Entry) -> list[int]:
    return [int(part) for part in re.split(r"[./-]\s?", message["date"])]


def _is_day_first(place: Path, messages: Sequence[Entry], job: DateOrder | None) -> bool:
    """True unless the dates of a chat only make sense, or are only in order, with the month first.

    Without slashes the day stands first. Neither a clock of twelve hours nor a language tells.
    """
    if job is not None:
        return job == "dmy"
    dates = [n for m in messages if len(n := _numbers(m)) == 3 and n[0] < 1_000]
    if not any("/" in m["date"] for m in messages) or all(one == two for one, two, _ in dates):
        return True
    if any(first > 12 for first, _, _ in dates):
        return True
    if any(second > 12 for _, second, _ in dates):
        return False
    by_day = [(year, month, day) for day, month, year in dates]
    by_month = [(year, month, day) for month, day, year in dates]
    if (by_day == sorted(by_day)) != (by_month == sorted(by_month)):
        return by_day == sorted(by_day)
    first = next(m["date"] for m in messages if len(n := _numbers(m)) == 3 and n[0] != n[1])
    problem = f"does not tell whether the day or the month stands first, as in {first}"
    raise ImportProblem(place, problem, 'give dates="dmy" or dates="mdy" (--dates dmy)')


def _time(message: Entry, is_day_first: bool) -> datetime | None:
    first, second, third = _numbers(message)
    if first >= 1_000:
        year, month, day = first, second, third
    else:
        day, month, year = (first, second, third) if is_day_first else (second, first, third)
    hour = int(message["hour"])
    halves = {re.sub(r"[.\s]", "", message.get(n, "")).lower() for n in ("half", "before")}
    if halves & (_MORNING | _EVENING) and hour <= 12:
        hour = hour % 12 + (12 if halves & _EVENING else 0)
    try:
        year += 2_000 if year < 100 else -543 if year in _BUDDHIST_YEARS else 0
        clock = hour, int(message["minute"]), int(message.get("second", 0))
        return datetime(year, month, day, *clock, tzinfo=UTC)
    except ValueError:
        return None


def _of_messenger(place: Place, document: Any, job: Job) -> Iterator[Entry]:
    """A chat with its messages in order, their letters put right."""
    for chat in dicts(document if isinstance(document, list) else [document]):
        messages = dicts(chat.get("messages"))
        sent = sorted(messages, key=lambda each: _sent(each), reverse=False)
        yield _mended(turns(chat, sent))


def _sent(message: Entry) -> float:
    time = at(message, "timestamp_ms|timestamp")
    return float(time) if isinstance(time, int | float) else 0.0


def _mended(value: Any) -> Any:
    """The same with texts whose bytes of UTF-8 were taken for letters, as Meta writes them."""
    if isinstance(value, dict):
        return {name: _mended(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _of_mbox(place: Place, job: Job, gathered: bool) -> Iterator[tuple[str, Any]]:
    assert isinstance(place, Path)
    parser = BytesParser(policy=policy.default)
    box = mailbox.mbox(place, factory=parser.parse, create=False)  # type: ignore[arg-type]
    try:
        for number, key in enumerate(box.keys(), start=1):
            try:
                mail = _mail(place, box[key])  # type: ignore[arg-type]
                if not mail["content"].strip():
                    job.blank(f"message {number} of {place.name}")
                yield f"message {number}", mail
            except OSError:
                raise
            except Exception as problem:  # of any kind, as the parser of mail trusts its input
                deep = isinstance(problem, RecursionError)
                why = "its parts are nested too deep" if deep else problem
                what = f"message {number} cannot be read: {why}"
                job.left_out(ImportProblem(place, what, "remove it"))
    except OSError as problem:
        raise ImportProblem(place, f"cannot be read: {problem}", "export it again") from None
    finally:
        box.close()


def _mail(place: Path, message: EmailMessage) -> Entry:
    body = message.get_body(("plain", "html"))
    payload = message.get_payload() if message.get_content_maintype() == "multipart" else ""
    content = payload if isinstance(payload, str) else ""  # parts that are announced are not there
    if isinstance(body, EmailMessage):
        content = _content(place, body)
    if body is not None and body.get_content_subtype() == "html":
        content = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", content, flags=re.DOTALL | re.I)
    name, address = parseaddr(str(message.get("From", "")))
    thread = f"{message.get('References', '')} {message.get('In-Reply-To', '')}".split()
    date = message.get("Date")
    id = str(message.get("Message-ID", "")).strip("<> ")
    return {
        "id": id,
        "thread": thread[0].strip("<> ") if thread else id,
        "from": name or address,
        "address": address,
        "to": str(message.get("To", "")),
        "subject": str(message.get("Subject", "")),
        "date": getattr(date, "datetime", None),
        "content": content,
    }


def _content(place: Path, body: EmailMessage) -> str:
    """The text of a part of a mail, also where it names a character set that nobody knows."""
    try:
        return str(body.get_content())
    except (LookupError, ValueError):
        raw = body.get_payload(decode=True)
        return decoded(place, raw, "replace") if isinstance(raw, bytes) else str(raw)


MESSENGERS = (
    Shape(
        name="telegram",
        about="Telegram: result.json of a chat or an account",
        signs=(
            "messages.from_id",
            "messages.actor_id",
            "messages.date_unixtime",
            "chats.list.messages",
        ),
        arranged=_of_telegram,
        messages="messages",
        shared="session_id=id title=name",
        fields="id content=text speaker=from created_at=date_unixtime|date",
        values={"content": joined},
        only={"type": ("message",)},
        scoped=True,
    ),
    Shape(
        name="slack",
        about="Slack: the zip of an export, its folder, or a file of a day",
        signs=("type=message ts",),
        documents=_slack_documents,
        messages="messages",
        shared="session_id=id",
        fields="id=ts content=text speaker=name created_at=ts",
        details="thread=thread_ts",
        only={
            "type": ("message",),
            "subtype": (None, "thread_broadcast", "bot_message", "file_share", "me_message"),
        },
        scoped=True,
    ),
    Shape(
        name="discord",
        about="Discord: JSON of DiscordChatExporter, or messages.json of Discord's own package",
        signs=("channel messages.author", "guild channel messages"),
        messages="messages",
        shared="session_id=channel.id title=channel.name",
        fields="id content speaker=author.nickname|author.name created_at=timestamp",
        details="guild=guild.name reply_to=reference.messageId",
        only={"type": (None, "Default", "Reply", "0", "19", 0, 19)},
    ),
    Shape(
        name="discord",
        about="",
        signs=("ID Timestamp Contents",),
        fields="id=ID content=Contents created_at=Timestamp",
    ),
    Shape(
        name="messenger",
        about="Messenger and Instagram: the JSON of a chat (message_1.json)",
        signs=("participants messages.sender_name", "participants messages.senderName"),
        arranged=_of_messenger,
        messages="messages",
        shared="session_id=thread_path|threadName|title title=title|threadName",
        fields=(
            "content=content|text speaker=sender_name|senderName created_at=timestamp_ms|timestamp"
        ),
    ),
    Shape(
        name="whatsapp",
        about="WhatsApp: the text of a chat that Android or iOS exports",
        documents=_of_whatsapp,
        messages="messages",
        fields="content=text speaker=sender created_at=time",
    ),
    Shape(
        name="mbox",
        about="mail: an mbox file",
        documents=_of_mbox,
        fields="id content title=subject speaker=from session_id=thread created_at=date",
        details="address to",
    ),
)

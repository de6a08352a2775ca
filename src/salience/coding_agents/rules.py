"""The rules by which statements of a session are kept: corrections, conventions and decisions.

A rule is a pattern over one sentence in lower case, with sentences that it catches and others that
it must not. What is asked, supposed, meant for this once or pasted is not kept. The rules know
English; `other_languages` has a few for some others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from salience.coding_agents.other_languages import CUES, SECRETS

Kind = Literal["correction", "convention", "decision", "finding"]
Speaker = Literal["user", "assistant"]


@dataclass(frozen=True)
class Rule:
    """A pattern of a sentence that is kept, who has to say it, and examples of both kinds."""

    name: str
    kind: Kind
    speakers: tuple[Speaker, ...]
    pattern: re.Pattern[str]
    catches: tuple[str, ...]
    must_not_catch: tuple[str, ...]


def _rule(
    name: str,
    kind: Kind,
    pattern: str,
    *,
    catches: Iterable[str],
    must_not_catch: Iterable[str],
    speakers: tuple[Speaker, ...] = ("user",),
) -> Rule:
    compiled = re.compile(pattern)
    return Rule(name, kind, speakers, compiled, tuple(catches), tuple(must_not_catch))


def _with_other_languages(cue: Literal["passing", "supposed"], english: str) -> re.Pattern[str]:
    return re.compile("|".join([english, *(getattr(cues, cue) for cues in CUES.values())]))


_USE = "use|using|prefer|avoid|call|name|import|follow|stick to|stick with|keep using"
_ACT = (
    f"{_USE}|add|ask|build|bump|check|commit|create|deploy|document|drop|format|generate|handle|"
    "import|inject|inherit|install|keep|log|make|mock|move|pin|place|push|put|raise|rebase|release|"
    "remove|return|run|sort|squash|start|store|switch|target|test|throw|treat|type|update|validate|"
    "wrap|write"
)
_REPLACE = (
    "use|using|prefer|run|import|write|log|throw|raise|return|store|mock|install|deploy|squash|"
    "rebase|format|sort|inject|follow|stick to"
)
_DO_NOT = "don't|do not|never|stop|no longer"
_BOTH: tuple[Speaker, ...] = ("user", "assistant")
_S_VERBS = (  # verbs that end in s without being those of a third person
    "access|address|assess|bypass|compress|cross|discuss|dismiss|express|focus|guess|miss|pass|"
    "press|process|stress|suppress"
)
# "always fails" tells of a failure, "always run" tells what to do.
_ALWAYS = (
    r"(?:always|never|only ever)\b(?! (?:mind|again|been|had|seen|see|got|get|knew|worked)\b)"
    rf"(?! (?!(?:{_S_VERBS})\b)\w+s\b)"
)
_OPENING = r"(?:^|[:;,]\s|\band\s|\bthen\s|\bplease\s|—\s?|-\s)"
_THINGS = (
    r"(?:unit |integration |end-to-end |e2e |api |db |database |log |error |commit |public "
    r"|private |new |feature |release |env(?:ironment)? )*(?:branch(?:es)?|branch names?"
    r"|class(?:es)?|code|comments?|commits?|commit messages?|components?|config(?:uration)?"
    r"|constants?|controllers?|dependencies|docs|docstrings?|endpoints?|errors?|error messages?"
    r"|exceptions?|features?|fields?|files?|fixtures?|functions?|handlers?|helpers?|hooks?"
    r"|imports?|indexes|logs?|messages|methods?|migrations?|models?|modules?|names?|packages?"
    r"|prs?|pull requests?|queries|releases|routes?|schemas?|scripts?|secrets?|services?|settings"
    r"|styles?|tables?|tests?|timestamps?|types?|utils|variables?|versions?)"
)

RULES: tuple[Rule, ...] = (
    # Corrections
    _rule(
        "not_so_but",
        "correction",
        rf"^(?:no|nope|nah|wrong|stop|wait|not quite|that's (?:wrong|not right"
        rf"|incorrect))\b[,.!:;\s—-]+(?:please )?(?:(?:we|you|i) )?(?:(?:should |must "
        rf"|have to )?(?:always |only |just )?(?:{_USE})\b|(?:{_DO_NOT})\b"
        r"|(?:it|that|this|the [\w ./-]{2,60}?)(?:'s| is| are| should| must| lives?"
        r"| goes)\b(?=.*\b(?:not|instead|rather)\b)|.*\b(?:instead|rather than)\b)",
        catches=(
            "no, use pnpm instead of npm",
            "no, don't mock the database in integration tests",
            "nope, we use tabs",
            "no, the config lives in conf/, not in src/",
            "that's wrong, use the v2 client",
        ),
        must_not_catch=("no, that works", "no new tests were added", "no, it is red"),
    ),
    _rule(
        "instead",
        "correction",
        rf"{_OPENING}(?:{_REPLACE}|go with|we use|i want|you should use)\b.{{2,160}}"
        r"\b(?:instead\b|rather than\b)",
        catches=(
            "use the logger instead of print",
            "please return early rather than nesting ifs",
            "we use vitest instead of jest here",
        ),
        must_not_catch=(
            "it printed the password instead of the name",
            "instead it crashed",
            "make the button blue instead of green",
            "call the function fetch instead of get",
        ),
    ),
    _rule(
        "use_not",
        "correction",
        rf"{_OPENING}(?:{_USE}|we use|it's|it is|they're|the [\w ./-]{{2,50}} (?:is|are|runs on"
        r"|lives in|listens on|goes in|goes to)) (?!not\b).{2,100}?(?:,| and| but) (?:not"
        r"|never) [\w`']",
        catches=(
            "use httpx, not requests",
            "the dev server runs on port 8081, not 8080",
            "it's colour, not color",
            "the correct command is `pnpm test:unit`, not `npm test`",
        ),
        must_not_catch=("i ran it and not once it failed",),
    ),
    _rule(
        "do_not",
        "correction",
        r"^(?:please |and |but |also |again,? )*(?:don't|do not|stop|avoid"
        r"|quit)\s(?:ever )?(?:use|using|mock|mocking|hard-?cod(?:e|ing)|import|importing|rely"
        r"|relying|call|calling|introduc(?:e|ing)|add|adding|creat(?:e|ing)|put|putting|commit"
        r"|committing|writ(?:e|ing)|edit|editing|push|pushing|catch|catching|swallow|swallowing"
        r"|leav(?:e|ing)|wrap|wrapping|reformat|reformatting|disabl(?:e|ing)|log|logging|return"
        r"|returning|nest|nesting)\b",
        catches=(
            "don't use any in typescript",
            "please stop adding comments that repeat the code",
            "do not edit the generated files by hand",
            "avoid mocking the repository layer",
        ),
        must_not_catch=("don't worry about it", "stop the server", "don't forget the readme"),
    ),
    _rule(
        "you_keep",
        "correction",
        r"^(?:hey,? |and |again,? )*you (?:keep|always forget|forgot again|shouldn't (?:have|be)"
        r"|should(?:n't| not) \w+|should have (?:used|put|called|written|run|asked))\b",
        catches=(
            "you keep adding trailing whitespace",
            "you should have used the existing helper",
            "you shouldn't touch the lockfile by hand",
        ),
        must_not_catch=("you should see the error now", "did you keep the file"),
    ),
    _rule(
        "deprecated",
        "correction",
        r"\b(?:is|are|was|were) (?:deprecated|obsolete|legacy|dead code|no longer (?:used"
        r"|supported|maintained))\b.*\b(?:use|prefer|call|go through|replaced by)\b",
        catches=("that module is deprecated, use core.http",),
        must_not_catch=("it says the flag is deprecated",),
    ),
    _rule(
        "as_i_said",
        "correction",
        rf"^(?:as |like )?i(?:'ve| have)? (?:already )?(?:said|told you"
        rf"|asked you)\b.{{0,40}}\b(?:{_ACT}|not to|to not|{_DO_NOT}|always)\b",
        catches=("i already told you to run the formatter", "as i said, use the fixtures"),
        must_not_catch=("i said hello",),
    ),
    # Conventions
    _rule(
        "from_now_on",
        "convention",
        r"\bfrom (?:now|here) on\b|\bfrom now onwards?\b|\bgoing forward\b|\bhenceforth\b"
        rf"|\bin (?:the )?future,? (?:please |always |never |{_DO_NOT}|{_ACT})"
        rf"|^next time,? (?:please |always |never |{_DO_NOT} |you should )?(?:{_ACT}|{_DO_NOT})\b",
        catches=(
            "from now on, commit messages start with the ticket number",
            "going forward we pin all dependencies",
            "in the future, please ask before adding a dependency",
            "next time run the linter first",
        ),
        must_not_catch=("we may need that in the future", "next time it fails we see the log"),
    ),
    _rule(
        "we_always",
        "convention",
        rf"\bi (?:always|never) (?:{_ACT})\b|\b(?:we|you|to|everyone|people|devs"
        rf"|developers)(?: (?:should|must|have to|need to|want to))? (?:{_ALWAYS}|(?:usually"
        rf"|normally|generally|typically) (?:{_ACT})\b)",
        catches=(
            "we always write tests with pytest",
            "you must never log personal data",
            "we usually squash before merging",
            "make sure to always close the session",
        ),
        must_not_catch=(
            "i never understood lookbehinds",
            "we never got that far",
            "the test we added always fails",
            "we always get a 500",
        ),
    ),
    _rule(
        "always",
        "convention",
        rf"{_OPENING}{_ALWAYS} \w+",
        catches=("always run make lint before committing", "please never commit to main"),
        must_not_catch=(
            "never mind",
            "it always returns null",
            "always fails on ci",
            "the job never finishes",
        ),
    ),
    _rule(
        "the_convention",
        "convention",
        r"\b(?:convention|rule of thumb|rule|policy|guideline|house style|style guide"
        r"|naming scheme)s?\b(?: (?:here|for \w+|in (?:this|our) \w+|we (?:use|follow"
        r"|have)))*(?: is\b| are\b| says\b|:)(?! (?:broken|failing|wrong|too|not|that the test))"
        r"|\bour [\w ]{0,20}?(?:style|naming|format|layout|workflow)(?: is\b|:)|\bby convention\b"
        r"|\b(?:we follow|follow) (?:the |our )?[\w .-]{2,40} (?:convention|style)s?\b",
        catches=(
            "the convention here is one handler per file",
            "our policy is that every query has a timeout",
            "by convention, private helpers start with an underscore",
            "our style: no abbreviations in names",
            "we follow the conventional commits convention",
        ),
        must_not_catch=("the eslint rule is broken", "what rule matched"),
        speakers=_BOTH,
    ),
    _rule(
        "in_this_project",
        "convention",
        r"\bin (?:this|our) (?:repo|repository|project|code ?base|monorepo|package|team|app"
        r"|org)\b,? (?:we (?!have\b|had\b|need|are\b|were\b|can\b|see\b|got\b|get\b|want"
        r"|should probably)"
        rf"|(?:all |every |the |any )?[\w ./-]{{2,50}}? (?:must|should|always|never|go in|goes in"
        rf"|lives? (?:in|under))\b|(?:{_DO_NOT}|always|{_ACT})\b)",
        catches=(
            "in this repo we use absolute imports",
            "in our project all dates must be in utc",
            "in this codebase, never call the orm from a view",
        ),
        must_not_catch=("in this repo we have a bug", "in this project the build is failing"),
    ),
    _rule(
        "we_use",
        "convention",
        r"^(?:here,? |also,? |and |well,? |(?:in|for) [\w ./+#-]{2,40}?,? )*(?:here )?"
        r"we(?:'re| are)? (?:only |all |do |mostly )?(?:use|using|prefer|name|store"
        r"|deploy (?:with|to|from|by|on|via)|follow|avoid"
        r"|pin|squash|rebase|require|version|don't (?:use|mock|commit|write|allow|do)"
        r"|do not (?:use|mock|commit|write|allow|do)|(?:keep|put|write) (?:all |our "
        r"|the )?\w+ .*\b(?:in|under|with|as|to)\b)\b(?! (?:getting|seeing|having|case|to get))",
        catches=(
            "we use ruff for linting",
            "we don't use default exports",
            "we keep migrations in db/migrations",
            "here we prefer composition over inheritance",
            "in go files we use tabs, not spaces",
        ),
        must_not_catch=("we keep getting errors", "we put it off", "when we use it, it crashes"),
    ),
    _rule(
        "must",
        "convention",
        rf"^(?:also,? |and |note that )*(?:(?:every|all|each|any|no|new|our) )+{_THINGS}"
        r"(?: \w+){0,4}? (?:must(?: not| never)?|should (?:always|never|not|be|have|go|live|start"
        r"|end|use)|ha(?:s|ve) to|needs? to|may not|(?:go|goes|live|lives|belongs?) (?:in|under"
        r"|into)|starts? with|ends? (?:with|in)|(?:is|are) (?:named|written in|kept in"
        r"|generated))\b"
        rf"(?! (?:now|pass(?!word)|work))|^{_THINGS} (?:must(?: not| never)?|should (?:always"
        rf"|never)"
        r"|(?:go|goes|live|lives|belongs?) (?:in|under|into)|always|never|starts? with"
        r"|are named)\b",
        catches=(
            "every endpoint must have a test",
            "all new migrations need to be reversible",
            "tests live in tests/unit, one file per module",
            "commit messages must start with a verb",
            "no function should be longer than fifty lines",
        ),
        must_not_catch=(
            "tests should pass now",
            "the server must be down",
            "the button must be blue",
        ),
    ),
    _rule(
        "everywhere",
        "convention",
        rf"^(?:please )?(?:use|keep|prefer|follow) .{{2,80}} (?:for|in) (?:all|every|each|any"
        rf"|new)\b|^(?:please )?keep (?:all |your |our )?{_THINGS} (?:under|below|small|short|in"
        rf"|out of)\b|^(?:all|our|every|each) (?:\w+ ){{1,4}}(?:is|are) (?:always |never |only "
        rf"|all )?(?:in|under|built|deployed|formatted|generated|kept|made|named|pinned|sorted"
        rf"|squashed|stored|tested|versioned|wrapped|written)\b",
        catches=(
            "please use conventional commits for all commit messages",
            "keep functions under 40 lines",
            "our api responses are always wrapped in an envelope",
            "all dates are stored in utc",
        ),
        must_not_catch=("all tests are failing", "keep the server in the background"),
    ),
    _rule(
        "ever",
        "convention",
        rf"\b(?:{_DO_NOT}|not|run|make sure|must|want)\b.*\b(?:ever|every (?:single )?time)[.!]*$"
        rf"|^(?:please |always )*(?:ask|check with|tell) (?:me|us|first)\b.*\bbefore\b",
        catches=(
            "i don't want you to run git push, ever",
            "make sure to run the linter, every time",
            "ask me before you install new dependencies",
        ),
        must_not_catch=("this is the worst bug ever", "it fails every time"),
    ),
    _rule(
        "i_prefer",
        "convention",
        r"\b(?:i|we)(?:'d| would)? (?:really |much |strongly |always |generally )?(?:prefer"
        r"|favou?r|hate|dislike|can't stand)\b(?! to (?:wait|stop|see|talk|know))|\bi(?:'d"
        r"| would) rather (?:you|we|have)\b|^(?:please )?prefer \w.* (?:over|to)\b",
        catches=(
            "i prefer early returns over nested ifs",
            "i'd rather have explicit types",
            "prefer dataclasses over dicts",
        ),
        must_not_catch=("which do you prefer", "i would like tea"),
    ),
    _rule(
        "remember",
        "convention",
        r"^(?:please |and |also,? )*(?:remember|keep in mind|note for later|be aware"
        r"|bear in mind)(?: that\b|:|,| (?:we|our|all)\b)|, (?:please )?(?:keep (?:that|this"
        r"|it) in mind|remember (?:that|this|it))[.!]*$|^(?:just )?(?:fyi|for (?:future"
        r"|later) reference|for the record)\b[,:]? \w",
        catches=(
            "remember that staging is read-only",
            "keep in mind that the api is rate limited to 10 requests per second",
            "for future reference: releases are cut on tuesdays",
            "the staging database is read-only, keep that in mind",
        ),
        must_not_catch=(
            "i don't remember that",
            "do you remember the flag",
            "remember to update the changelog",
            "remember the bug from yesterday",
        ),
    ),
    _rule(
        "whenever",
        "convention",
        r"^(?:and |also,? )*(?:whenever|every time|each time|any ?time|before (?:you )?(?:commit"
        r"|push|merg|releas|deploy|open)\w*|after (?:every|each|any))\b.{0,90}?(?:,| then| please"
        r"| always| never)"
        rf" (?:you (?:must|should|have to) |please |always |never |also )*(?:{_ACT}|{_DO_NOT})\b",
        catches=(
            "whenever you add a migration, update docs/schema.md",
            "before committing, run make lint",
            "every time you touch the api, bump the version",
        ),
        must_not_catch=("whenever i click it, it crashes", "every time i run it, the test hangs"),
    ),
    # Decisions
    _rule(
        "go_with",
        "decision",
        r"\b(?:let's|lets|let us|we'll|we will|i'll|we're going to|we are going to|i want to"
        r"|we should|we)(?: just| definitely)? (?:go|went|going|stick|stay|roll|settle"
        r"|proceed) (?:with|for|on)\b|^(?:(?:ok|okay|yes|yeah|yep|sure|alright|right|fine|good"
        r"|great|perfect|agreed|thanks|cool)\b[,.!;:\s-]*)*(?:please )?(?:go|going|stick"
        r"|stay) with\b|^(?:(?:ok|okay|yes|yeah|yep|sure|alright)\b[,.!;:\s-]*)*(?:i choose "
        r"|i'd take |take )?(?:option|approach|variant) (?:\d|[a-d])\b",
        catches=(
            "let's go with postgres for the queue",
            "ok, go with option 2",
            "yes, stick with the current layout",
            "we'll go with zod for validation",
            "yes, option b please",
        ),
        must_not_catch=("should go with it", "the test goes with the fixture"),
    ),
    _rule(
        "lets_use",
        "decision",
        r"\b(?:let's|lets|let us|we'll|we will|we're going to)(?: just| all)? (?:use|adopt"
        r"|switch to|move to (?!the next)|migrate to|standardi[sz]e on|target|pin|drop support"
        r"|store|call it|name it|keep (?!going|trying|working|looking|it short|at it))",
        catches=(
            "let's use redis for caching",
            "we'll switch to uv for the lockfile",
            "let's keep the old endpoint until v3",
            "let's standardise on structlog",
        ),
        must_not_catch=("let's see", "let's keep going", "let's move to the next task"),
    ),
    _rule(
        "decided",
        "decision",
        r"\b(?:we|i|they|the team|everyone)(?:'ve| have|'d| had)?(?: (?:all|both|finally|already"
        r"|now|just))? (?:decided|agreed|chose|chosen|opted|settled|picked)\b(?! not sure)"
        r"|\b(?:the |our |final )?decision(?: (?:is|was)\b|:)",
        catches=(
            "we decided to keep sqlite for local development",
            "the team agreed on trunk-based development",
            "decision: we store money as integer cents",
        ),
        must_not_catch=("has anybody decided", "that is your decision to make"),
        speakers=_BOTH,
    ),
    _rule(
        "i_chose",
        "decision",
        r"\bi(?:'ve| have)? (?:went with|gone with|chose|chosen|opted for|decided (?:to|on"
        r"|against)|picked)\b.*\b(?:because|since|so that|instead of|rather than|over|as it)\b",
        catches=("i went with a partial index because the table is mostly archived rows",),
        must_not_catch=("i went with the flow", "i chose the first one"),
        speakers=("assistant",),
    ),
    _rule(
        "project_uses",
        "convention",
        r"\b(?:this|the|your) (?:repo|repository|project|code ?base"
        r"|monorepo) (?:already )?(?:uses|follows|requires|enforces|expects|pins)\b",
        catches=("this project uses pnpm workspaces, so i added the package there",),
        must_not_catch=("the project fails to build",),
        speakers=("assistant",),
    ),
    # Findings
    _rule(
        "root_cause",
        "finding",
        r"\b(?:the )?root cause(?: of [\w ./-]{2,60})?(?: (?:is|was|turned out)\b|:)",
        catches=("the root cause was a missing index on orders.user_id",),
        must_not_catch=("let's look for the root cause", "is that the root cause"),
        speakers=_BOTH,
    ),
    *(
        _rule(
            f"{language}_{kind}", kind, cue.pattern, catches=cue.catches, must_not_catch=cue.others
        )
        for language, cues in CUES.items()
        for kind, cue in cues.kept.items()
    ),
)
"""The rules in their order: the first that catches a sentence names it."""

SUPPOSED = _with_other_languages(
    "supposed",
    r"^(?:(?:and|but|so|well|hm+|ok|okay)[, ]+)*(?:if|what if|maybe|perhaps|suppose|imagine"
    r"|should (?:we|i)|could (?:we|i)|shall|do (?:we|you|i)|does|did|is|are|was|were|can (?:we|i)"
    r"|would it|why|what|which|who|when (?:did|do|was)|how|has|have (?:we|you)|any idea)\b"
    r"|\b(?:i wonder|not sure (?:if|whether)|i guess|we could|we might|you could|one could"
    r"|i could|alternatively|either we|unless you|let me know if|would you like|do you want"
    r"|we (?:don't|do not|never) always|whether (?:we|to))\b",
)
"""Sentences that ask or suppose."""
PASSING = _with_other_languages(
    "passing",
    r"\b(?:in|from|to|for|on|of) this (?:file|page|function|component|method|class|test|endpoint"
    r"|view|script|section|line|column|case|one)\b|(?<!for )\blater\b(?! reference)|\b(?:for now"
    r"|just (?:this|for) (?:once|now|today)|this (?:once|time)|right now|for the moment"
    r"|temporarily|for today|in this (?:pr|commit|branch|session|chat|conversation)|until (?:then"
    r"|tomorrow|later)|yet|not now|today only|as a quick (?:hack|test)|first,? let's)\b",
)
"""Sentences that are meant for this once."""
_DIGITS = r"\d(?:[ -]?\d){3,}\b"  # of a PIN; "pin 13" is one of a board
_FOR = r"(?:\s+(?:for|of|to|on|at)\s+[^.!?\n]{1,40}?)?"
_NO_SECRET = (
    r"(?!in\b|stored|kept|read|never|always|not\b|the\b|a\b|an\b|required|needed|hashed|encrypted"
    r"|checked|validated|wrong|rotated|optional|empty|at least|longer|set\b|\w+(?:ed|ing)\s+\w)"
)
SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|hf|npm|pypi|AIza"
    r"|ya29)[-_]?[A-Za-z0-9_-]{12,}|\beyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN|://[^\s/:@]+:[^\s/@]+@"
    r"|\b(?:pass(?:word|phrase|wd|code)?|secret|token|api[ _-]?key|access[ _-]?key|credentials?"
    rf"|login)\b['\"`]?{_FOR}\s*(?:(?:is|are|was)\s+|[:=]\s*){_NO_SECRET}\S{{4,}}"
    r"|['\"`]?\S{4,}\s+as\s+(?:(?:the|my|our|your|a)\s+)?(?:\w+\s+){0,2}pass(?:word|phrase|code)\b"
    r"(?!\s+\w)"
    r"|\b(?:log|sign|connect|authenticate|unlock)\w*\b.{0,60}\bpass(?:word|phrase|wd|code)?\b\s+"
    r"(?!is\b|for\b|of\b|from\b|in\b|auth|hash|manager|reset|field|prompt|login)\S{4,}"
    r"|\bpass(?:word|phrase|wd|code)?\s+['\"`]?\S*[\d!@#$%^&*]\S*"
    rf"|\bpin\b(?:[ -]?(?:code|number))?{_FOR}\s*(?:is|was|:|=)?\s*['\"`]?{_DIGITS}"
    rf"|\b(?:my|our|your|card|sim) pin\b.{{0,40}}?{_DIGITS}"
    r"|(?<!error )(?<!status )(?<!exit )(?<!return )(?<!response )(?<!zip )(?<!postal )\bcode\b"
    rf"{_FOR}\s*(?:is|was|:|=)\s*['\"`]?{_DIGITS}"
    r"|\b(?:alarm|door|gate|safe|garage|lock|entry|access|vault|security)[ -]?"
    rf"(?:code|combination)\b{_FOR}\s*(?:\bis\b|[:=])\s*{_NO_SECRET}\S{{3,}}"
    rf"|\b{_DIGITS}.{{0,12}}\b(?:is|as)\b.{{0,20}}"
    r"\b(?:pin|passcode|(?:alarm|door|gate|safe) code)\b"
    rf"|{SECRETS}"
    r"|(?-i:\b(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])[\w+/-]{28,})|\b[0-9a-f]{32,}\b",
    re.I,
)
"""Texts that may be secrets; a sentence with one is never kept."""
HEADER = re.compile(
    r"\b(?:conventions?|rules?|guidelines?|preferences|house style|from now on|going forward"
    r"|decisions?|decided|always|never|remember|keep in mind)\b"
)
"""The words of a line that ends in a colon, whose list is kept."""
REASON = re.compile(
    r"^(?:because|since|otherwise|that way|the reason|this (?:avoids|keeps|prevents|makes|way)"
    r"|so that|it(?:'s| is) because)\b"
)
"""The beginning of a sentence that says why."""

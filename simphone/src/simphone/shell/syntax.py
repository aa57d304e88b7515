"""What a script is once it has been read: frozen nodes, nothing expanded yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


class ShellSyntaxError(Exception):
    """The script cannot be read; the text is what the shell prints after its name."""


class Incomplete(ShellSyntaxError):
    """The script ends in the middle of something: an interactive shell reads on."""


@dataclass(frozen=True)
class Literal:
    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Parameter:
    """`$name` or `${name<operator><word>}`; operator `len` is `${#name}`."""

    name: str
    operator: str = ""
    word: Word | None = None
    second: Word | None = None  # the replacement of `/`, the length of a substring
    quoted: bool = False


@dataclass(frozen=True)
class Substitution:
    """`$(script)` or backticks."""

    script: Script
    quoted: bool = False


@dataclass(frozen=True)
class Arithmetic:
    expression: Word
    quoted: bool = False


Part: TypeAlias = Literal | Parameter | Substitution | Arithmetic


@dataclass(frozen=True)
class Word:
    parts: tuple[Part, ...] = ()

    def literal(self) -> str | None:
        """The word's text where it is plain and unquoted, as keywords are."""
        if len(self.parts) == 1:
            part = self.parts[0]
            if isinstance(part, Literal) and not part.quoted:
                return part.text
        return None


@dataclass(frozen=True)
class Assignment:
    name: str
    value: Word
    append: bool = False


@dataclass(frozen=True)
class Redirect:
    """`operator` is one of < > >> >| <& >& &> <<< << ; a here-document's target is its body."""

    fd: int
    operator: str
    target: Word


@dataclass(frozen=True)
class Simple:
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    line: int = 1


@dataclass(frozen=True)
class Condition:
    """`[[ ... ]]`: its words between the brackets."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class Subshell:
    body: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class Group:
    body: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class If:
    branches: tuple[tuple[Script, Script], ...]  # condition, then
    otherwise: Script | None
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class Loop:
    condition: Script
    body: Script
    until: bool
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class For:
    name: str
    words: tuple[Word, ...] | None  # None: the positional parameters
    body: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class Case:
    subject: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True)
class Function:
    name: str
    body: Command
    redirects: tuple[Redirect, ...] = ()


Command: TypeAlias = Simple | Condition | Subshell | Group | If | Loop | For | Case | Function


@dataclass(frozen=True)
class Pipeline:
    commands: tuple[Command, ...]
    negated: bool = False


@dataclass(frozen=True)
class AndOr:
    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()
    background: bool = False


@dataclass(frozen=True)
class Script:
    items: tuple[AndOr, ...] = ()

"""Where do words and operators begin and end? Quoting and `$` are settled here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .syntax import (
    Arithmetic,
    Incomplete,
    Literal,
    Parameter,
    Part,
    Script,
    ShellSyntaxError,
    Substitution,
    Word,
)

# Nesting of $( ), ( ), if, ...: deep enough for people, shallow enough for Python's stack.
MAX_DEPTH = 40

OPERATOR = re.compile(r"&&|\|\||;;|&>|<<-|<<<|<<|<&|>&|>>|>\||[;&|()<>]")
BLANK = re.compile(r"(?:[ \t]|\\\n)+")
PLAIN = re.compile(r"[^ \t\n;&|()<>'\"\\$`]+")
IN_DOUBLE = re.compile(r'[^"\\$`]+')
IN_BODY = re.compile(r"[^\\$`]+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPECIAL = re.compile(r"[?$#@*!\-0-9]")
BRACED_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##|#|%%|%|//|/|:")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
CODE = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})")

NOTHING = Word()


@dataclass(frozen=True)
class Token:
    kind: str  # word | operator | number (before a redirection) | newline | end
    text: str = ""
    word: Word = NOTHING
    line: int = 1


class Lexer:
    """A position in a text. `nested` reads a script up to its closing parenthesis."""

    def __init__(self, text: str, nested: Callable[[Lexer], Script], depth: int = 0) -> None:
        self.text = text
        self.position = 0
        self.depth = depth
        self._nested = nested
        self._line = 1
        self._counted = 0  # lines up to here are in _line
        self._after_bodies: dict[int, int] = {}  # newline -> where its here-documents end

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShellSyntaxError("syntax error: nested too deeply")

    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = max(self._counted, self.position)
        return self._line

    def _at(self, text: str) -> bool:
        return self.text.startswith(text, self.position)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found.group()

    def next(self) -> Token:
        self._take(BLANK)
        if self._at("#"):
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end
        if self.position >= len(self.text):
            return Token("end", line=0)
        if self._at("\n"):
            at = self.position
            self.position = self._after_bodies.pop(at, at + 1)
            return Token("newline", "\n")
        operator = self._take(OPERATOR)
        if operator:
            return Token("operator", operator)
        start = self.position
        digits = self._take(re.compile(r"[0-9](?=[<>])"))
        if digits:
            return Token("number", digits)
        word = self.word()
        return Token("word", self.text[start : self.position], word)

    def word(self) -> Word:
        """Everything up to the next unquoted separator."""
        parts: list[Part] = []
        while self.position < len(self.text):
            char = self.text[self.position]
            if char in " \t\n;&|()<>":
                break
            if char == "'":
                parts.append(Literal(self._single(), quoted=True))
            elif char == '"':
                self.position += 1
                parts.extend(self._double())
            elif char == "\\":
                escaped = self.text[self.position + 1 : self.position + 2]
                self.position += 2
                if escaped != "\n":
                    parts.append(Literal(escaped or "\\", quoted=True))
            elif char == "$" and self._at("$'"):
                parts.append(Literal(self._ansi(), quoted=True))
            elif char == "$":
                parts.append(self.dollar(quoted=False))
            elif char == "`":
                parts.append(self._backticks(quoted=False))
            else:
                parts.append(Literal(self._take(PLAIN)))
        return Word(tuple(parts))

    def _single(self) -> str:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise Incomplete("no closing quote")
        taken = self.text[self.position + 1 : end]
        self.position = end + 1
        return taken

    def _ansi(self) -> str:
        self.position += 2
        pieces: list[str] = []
        while True:
            pieces.append(self._take(re.compile(r"[^'\\]+")))
            if self.position >= len(self.text):
                raise Incomplete("no closing quote")
            if self._at("'"):
                self.position += 1
                return "".join(pieces)
            self.position += 1
            pieces.append(self._escape())

    def _escape(self) -> str:
        code = CODE.match(self.text, self.position)
        if code is not None:
            self.position = code.end()
            digits, octal = code.group(1) or code.group(2), code.group(3)
            value = int(digits, 16) if digits else int(octal, 8) & 0xFF
            if code.group(2) is None and value > 0x7F:
                return bytes([value]).decode("utf-8", "surrogateescape")
            return chr(value) if value and not 0xD800 <= value < 0xE000 else ""
        char = self.text[self.position : self.position + 1]
        self.position += 1
        return ESCAPES.get(char, char)

    def _double(self) -> list[Part]:
        """The inside of double quotes; the opening one is behind us."""
        parts: list[Part] = []
        while True:
            taken = self._take(IN_DOUBLE)
            if taken:
                parts.append(Literal(taken, quoted=True))
            if self.position >= len(self.text):
                raise Incomplete("no closing quote")
            if self._at('"'):
                self.position += 1
                return parts or [Literal("", quoted=True)]
            parts.append(self._special('$`"\\'))

    def _special(self, escapable: str) -> Part:
        """A backslash, dollar or backtick inside quotes."""
        if self._at("$"):
            return self.dollar(quoted=True)
        if self._at("`"):
            return self._backticks(quoted=True)
        escaped = self.text[self.position + 1 : self.position + 2]
        self.position = min(self.position + 2, len(self.text))
        if escaped == "\n":
            return Literal("", quoted=True)
        return Literal(escaped if escaped and escaped in escapable else "\\" + escaped, quoted=True)

    def dollar(self, *, quoted: bool) -> Part:
        self.position += 1
        if self._at("(("):
            arithmetic = self._arithmetic(quoted)
            if arithmetic is not None:
                return arithmetic
        if self._at("("):
            self.position += 1
            self.deeper()
            script = self._nested(self)
            self.depth -= 1
            return Substitution(script, quoted)
        if self._at("{"):
            self.position += 1
            return self._braced(quoted)
        name = self._take(NAME) or self._take(SPECIAL)
        return Parameter(name, quoted=quoted) if name else Literal("$", quoted)

    def _arithmetic(self, quoted: bool) -> Arithmetic | None:
        """`$((...))`, or None where it turns out to be a command that starts with `(`."""
        depth = 0
        at = self.position
        while at < len(self.text):
            char = self.text[at]
            depth += (char == "(") - (char == ")")
            at += 1
            if depth == 0:
                break
        if depth:
            raise Incomplete("syntax error: missing ))")
        if not self.text.startswith("))", at - 2):
            return None
        inner = self.text[self.position + 2 : at - 2]
        self.position = at
        self.deeper()
        expression = Lexer(inner, self._nested, self.depth).body()
        self.depth -= 1
        return Arithmetic(expression, quoted)

    def _braced(self, quoted: bool) -> Parameter:
        self.deeper()
        operator = ""
        if self._at("#") and not self._at("#}"):
            self.position += 1
            operator = "len"
        name = self._take(NAME) or self._take(re.compile(r"[0-9]+")) or self._take(SPECIAL)
        word = second = None
        if not name:
            raise ShellSyntaxError("bad substitution") if self._rest() else self._unclosed()
        if not operator and not self._at("}"):
            operator = self._take(BRACED_OPERATOR)
            if not operator:
                raise ShellSyntaxError("bad substitution") if self._rest() else self._unclosed()
            stop = "/" if operator in ("/", "//") else ":" if operator == ":" else ""
            word = self._operand(quoted, stop)
            if stop and self._at(stop):
                self.position += 1
                second = self._operand(quoted, "")
        if not self._at("}"):
            raise ShellSyntaxError("bad substitution") if self._rest() else self._unclosed()
        self.position += 1
        self.depth -= 1
        return Parameter(name, operator, word, second, quoted)

    def _rest(self) -> bool:
        return self.position < len(self.text)

    def _unclosed(self) -> Incomplete:
        return Incomplete("no closing brace")

    def _operand(self, quoted: bool, stop: str) -> Word:
        """The word after an operator in `${}`, up to `stop` or the closing brace."""
        parts: list[Part] = []
        plain = re.compile(rf"[^}}'\"\\$`{re.escape(stop)}]+")
        while self._rest() and not self._at("}") and not (stop and self._at(stop)):
            if self._at("'") and not quoted:
                parts.append(Literal(self._single(), quoted=True))
            elif self._at('"'):
                self.position += 1
                parts.extend(self._double())
            elif self._at("\\") and not quoted:
                parts.append(Literal(self.text[self.position + 1 : self.position + 2], True))
                self.position += 2
            elif self.text[self.position] in "\\$`":
                part = self._special('$`"\\}') if quoted else self._unquoted_special()
                parts.append(part)
            else:
                taken = self._take(plain) or self.text[self.position]
                if taken == "'":
                    self.position += 1
                parts.append(Literal(taken, quoted))
        return Word(tuple(parts))

    def _unquoted_special(self) -> Part:
        return self.dollar(quoted=False) if self._at("$") else self._backticks(quoted=False)

    def _backticks(self, *, quoted: bool) -> Substitution:
        pieces: list[str] = []
        at = self.position + 1
        while True:
            end = re.compile(r"[^`\\]*").match(self.text, at)
            assert end is not None
            pieces.append(end.group())
            at = end.end()
            if at >= len(self.text):
                raise Incomplete("no closing quote")
            if self.text[at] == "`":
                break
            escaped = self.text[at + 1 : at + 2]
            keeps = escaped not in ("`", "\\", "$") and not (quoted and escaped == '"')
            pieces.append("\\" + escaped if keeps else escaped)
            at += 2
        self.position = at + 1
        self.deeper()
        inner = Lexer("".join(pieces) + ")", self._nested, self.depth)
        script = self._nested(inner)
        if inner.position != len(inner.text):
            raise ShellSyntaxError("syntax error: unexpected ')'")
        self.depth -= 1
        return Substitution(script, quoted)

    def body(self) -> Word:
        """The whole text as a here-document's body: only backslash, dollar and backtick count."""
        parts: list[Part] = []
        while self._rest():
            taken = self._take(IN_BODY)
            parts.append(Literal(taken, quoted=True) if taken else self._special("$`\\"))
        return Word(tuple(parts))

    def here_document(self, delimiter: str, *, expand: bool, strip_tabs: bool) -> Word:
        """The body that starts on the line after this one."""
        newline = self.text.find("\n", self.position)
        if newline < 0:
            raise Incomplete(f"here document '{delimiter}' unclosed")
        at = self._after_bodies.get(newline, newline + 1)
        lines: list[str] = []
        while True:
            if at >= len(self.text):
                raise Incomplete(f"here document '{delimiter}' unclosed")
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            at = end + 1
            if strip_tabs:
                line = line.lstrip("\t")
            if line == delimiter:
                break
            lines.append(line + "\n")
        self._after_bodies[newline] = min(at, len(self.text))
        body = "".join(lines)
        if not expand:
            return Word((Literal(body, quoted=True),))
        return Lexer(body, self._nested, self.depth).body()

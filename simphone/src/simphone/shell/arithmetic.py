"""What is `$((expression))`? Integers are mksh's: 32 bits, and they wrap."""

from __future__ import annotations

import re
from collections.abc import Callable

TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|[0-9]+(?:#[0-9a-zA-Z]+)?)|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),]))"
)
LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
ASSIGNING = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
MAX_DEPTH = 20


class BadExpression(Exception):
    """The expression cannot be evaluated; the text is what the shell prints."""


def wrap(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def number(text: str) -> int:
    base, mark, digits = text.partition("#")
    try:
        if mark:
            return wrap(int(digits, int(base)))
        if text[:2].lower() == "0x":
            return wrap(int(text, 16))
        return wrap(int(text))
    except ValueError:  # also what Python says to thousands of digits
        raise BadExpression(f"{text}: bad number") from None


def apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise BadExpression("divide by zero" if operator == "/" else "zero divisor")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap(quotient if operator == "/" else left - quotient * right)
    simple: dict[str, Callable[[], int]] = {
        "||": lambda: int(bool(left or right)),
        "&&": lambda: int(bool(left and right)),
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&": lambda: left & right,
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        "<=": lambda: int(left <= right),
        ">": lambda: int(left > right),
        ">=": lambda: int(left >= right),
        "<<": lambda: left << (right & 31),
        ">>": lambda: left >> (right & 31),
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        ",": lambda: right,
    }
    return wrap(simple[operator]())


class Evaluation:
    """One expression; `get` and `put` reach the shell's variables."""

    def __init__(
        self, text: str, get: Callable[[str], str], put: Callable[[str, str], None], depth: int = 0
    ) -> None:
        self._text = text
        self._get = get
        self._put = put
        self._depth = depth
        self._tokens = self._split(text)
        self._at = 0
        self._live = True  # False inside the branch of ?: && || that is not taken

    def _split(self, text: str) -> list[str]:
        tokens: list[str] = []
        at = 0
        text = text.strip()
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:
                raise BadExpression(f"{text}: unexpected '{text[at:].strip()[:1]}'")
            tokens.append(found.group(1) or found.group(2) or found.group(3))
            at = found.end()
        return tokens

    def value(self) -> int:
        if not self._tokens:
            return 0
        result = self._comma()
        if self._at < len(self._tokens):
            raise BadExpression(f"{self._text}: unexpected '{self._peek()}'")
        return result

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *texts: str) -> str:
        token = self._peek()
        if token and token in texts:
            self._at += 1
            return token
        return ""

    def _comma(self) -> int:
        result = self._assignment()
        while self._take(","):
            result = self._assignment()
        return result

    def _assignment(self) -> int:
        name = self._peek()
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""
        if not _is_name(name) or following not in ASSIGNING:
            return self._choice()
        self._at += 2
        self._deeper()
        right = self._assignment()
        self._depth -= 1
        if following != "=":
            right = apply(following[:-1], self._variable(name), right) if self._live else 0
        return self._store(name, right)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadExpression(f"{self._text}: recursion too deep")

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        self._deeper()
        live = self._live
        self._live = live and bool(condition)
        first = self._assignment()
        if not self._take(":"):
            raise BadExpression(f"{self._text}: missing ':'")
        self._live = live and not condition
        second = self._assignment()
        self._live = live
        self._depth -= 1
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while operator := self._take(*LEVELS[level]):
            live = self._live
            if operator in ("&&", "||"):
                self._live = live and bool(left) == (operator == "&&")
            right = self._binary(level + 1)
            self._live = live
            left = apply(operator, left, right) if live else 0
        return left

    def _unary(self) -> int:
        self._deeper()
        try:
            if operator := self._take("-", "+", "!", "~"):
                value = self._unary()
                return wrap({"-": -value, "+": value, "!": int(not value), "~": ~value}[operator])
            if operator := self._take("++", "--"):
                name = self._name()
                return self._store(name, self._variable(name) + (1 if operator == "++" else -1))
            return self._primary()
        finally:
            self._depth -= 1

    def _primary(self) -> int:
        if self._take("("):
            value = self._comma()
            if not self._take(")"):
                raise BadExpression(f"{self._text}: missing ')'")
            return value
        token = self._peek()
        if _is_name(token):
            self._at += 1
            value = self._variable(token)
            if operator := self._take("++", "--"):
                self._store(token, value + (1 if operator == "++" else -1))
            return value
        if not token[:1].isdigit():
            raise BadExpression(f"{self._text}: unexpected '{token or 'end of expression'}'")
        self._at += 1
        return number(token)

    def _name(self) -> str:
        name = self._peek()
        if not _is_name(name):
            raise BadExpression(f"{self._text}: not a variable")
        self._at += 1
        return name

    def _store(self, name: str, value: int) -> int:
        value = wrap(value)
        if self._live:
            self._put(name, str(value))
        return value

    def _variable(self, name: str) -> int:
        if not self._live:
            return 0
        text = self._get(name).strip()
        if re.fullmatch(r"-?[0-9]{1,10}", text):
            return wrap(int(text))
        self._deeper()
        value = Evaluation(text, self._get, self._put, self._depth).value()
        self._depth -= 1
        return value


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"

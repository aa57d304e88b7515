"""Is `[[ ... ]]` true? Nothing is split in it, and operators are those that stand unquoted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from . import pattern
from .condition import BINARY, UNARY, BadTest, Facts
from .expand import Expander
from .state import Shell
from .syntax import Word

MAX_DEPTH = 15


class Brackets:
    """The words between the brackets, read from left to right."""

    def __init__(self, words: tuple[Word, ...], shell: Shell, expander: Expander) -> None:
        self._words = words
        self._expander = expander
        self._shell = shell
        self._facts = Facts(shell.world, shell.uid, shell.cwd, tty=shell.tty)
        self._at = 0
        self._depth = 0

    async def status(self) -> int:
        try:
            result = await self._either()
            if self._at < len(self._words):
                raise BadTest("unexpected operator/operand")
        except BadTest as error:
            await self._shell.complain(f"[[: {error}")
            return 2
        return 0 if result else 1

    def _operator(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return (self._words[at].literal() or "") if at < len(self._words) else ""

    async def _either(self) -> bool:
        return await self._joined("||", self._both)

    async def _both(self) -> bool:
        return await self._joined("&&", self._not)

    async def _joined(self, operator: str, part: Callable[[], Awaitable[bool]]) -> bool:
        result = await part()
        while self._operator() == operator:
            self._at += 1
            following = await part()
            result = (result or following) if operator == "||" else (result and following)
        return result

    async def _not(self) -> bool:
        negated = False
        while self._operator() == "!":
            self._at += 1
            negated = not negated
        return await self._primary() != negated

    async def _primary(self) -> bool:
        if self._at >= len(self._words):
            raise BadTest("argument expected")
        if self._operator() == "(":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise BadTest("nested too deeply")
            self._at += 1
            result = await self._either()
            if self._operator() != ")":
                raise BadTest("missing )")
            self._at += 1
            self._depth -= 1
            return result
        if self._operator() in UNARY and self._at + 1 < len(self._words):
            operator = self._operator()
            value = await self._expander.text(self._words[self._at + 1])
            self._at += 2
            return self._facts.unary(operator, value)
        left = await self._expander.text(self._words[self._at])
        operator = self._operator(1)
        if operator in ("", "&&", "||", ")") or self._at + 2 >= len(self._words):
            self._at += 1
            return left != ""
        right = await self._expander.segments(self._words[self._at + 2])
        self._at += 3
        if operator in ("=", "==", "!="):
            return pattern.matches(left, right) == (operator != "!=")
        if operator not in BINARY:
            raise BadTest(f"{operator}: unexpected operator/operand")
        return self._facts.binary(left, operator, "".join(text for text, _ in right))

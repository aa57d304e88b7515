"""What does a script say? Text in, frozen nodes out; the only failure is ShellSyntaxError."""

from __future__ import annotations

import re

from .lexer import NAME, Lexer, Token
from .syntax import (
    AndOr,
    Assignment,
    Case,
    Command,
    Condition,
    For,
    Function,
    Group,
    If,
    Incomplete,
    Literal,
    Loop,
    Pipeline,
    Redirect,
    Script,
    ShellSyntaxError,
    Simple,
    Subshell,
    Word,
)

MAX_SCRIPT = 1 << 20

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
REDIRECTIONS = ("<", ">", ">>", ">|", "<&", ">&", "&>", "<<<", "<<", "<<-")
OPENING = ("if", "while", "until", "for", "case", "{", "[[")
CLOSING = ("then", "elif", "else", "fi", "do", "done", "esac", "}")


def parse(text: str) -> Script:
    if len(text) > MAX_SCRIPT:
        raise ShellSyntaxError("script too long")
    parser = Parser(Lexer(text.replace("\0", ""), _nested))
    script = parser.script()
    parser.expect_end()
    return script


def _nested(lexer: Lexer) -> Script:
    """A script inside `$( )`: everything up to the closing parenthesis, which is taken."""
    parser = Parser(lexer)
    script = parser.script()
    parser.expect(")")
    return script


class Parser:
    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._peeked: Token | None = None

    def _peek(self) -> Token:
        if self._peeked is None:
            self._peeked = self._lexer.next()
        return self._peeked

    def _next(self) -> Token:
        token = self._peek()
        self._peeked = None
        return token

    def _unexpected(self, token: Token) -> ShellSyntaxError:
        if token.kind == "end":
            return Incomplete("syntax error: unexpected EOF")
        shown = "newline" if token.kind == "newline" else f"'{token.text}'"
        return ShellSyntaxError(f"syntax error: unexpected {shown}")

    def _is(self, *texts: str) -> bool:
        """The next token is one of these operators or unquoted keywords."""
        token = self._peek()
        if token.kind == "word":
            return token.word.literal() in texts
        return token.kind == "operator" and token.text in texts

    def expect(self, text: str) -> None:
        if not self._is(text):
            raise self._unexpected(self._peek())
        self._next()

    def expect_end(self) -> None:
        if self._peek().kind != "end":
            raise self._unexpected(self._peek())

    def _newlines(self) -> None:
        while self._peek().kind == "newline":
            self._next()

    def script(self) -> Script:
        """Commands up to something that cannot start one."""
        items: list[AndOr] = []
        self._newlines()
        while self._starts_command():
            item = self._and_or()
            if self._is("&"):
                item = AndOr(item.first, item.rest, background=True)
            items.append(item)
            if not self._is(";", "&") and self._peek().kind != "newline":
                break
            self._next()
            self._newlines()
        return Script(tuple(items))

    def _starts_command(self) -> bool:
        token = self._peek()
        if token.kind == "operator":
            return token.text == "(" or token.text in REDIRECTIONS
        return token.kind == "number" or (token.kind == "word" and not self._is(*CLOSING))

    def _body(self) -> Script:
        """A script that may not be empty."""
        script = self.script()
        if not script.items:
            raise self._unexpected(self._peek())
        return script

    def _and_or(self) -> AndOr:
        first = self._pipeline()
        rest: list[tuple[str, Pipeline]] = []
        while self._is("&&", "||"):
            operator = self._next().text
            self._newlines()
            rest.append((operator, self._pipeline()))
        return AndOr(first, tuple(rest))

    def _pipeline(self) -> Pipeline:
        negated = False
        while self._is("!"):
            self._next()
            negated = not negated
        commands = [self._command()]
        while self._is("|"):
            self._next()
            self._newlines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Command:
        if not self._starts_command():
            raise self._unexpected(self._peek())
        if not self._is("(", *OPENING):
            return self._simple()
        self._lexer.deeper()
        command = self._compound(self._next())
        self._lexer.depth -= 1
        return command

    def _compound(self, token: Token) -> Command:
        match token.text:
            case "(":
                body = self._body()
                self.expect(")")
                return Subshell(body, self._redirects())
            case "{":
                body = self._body()
                self.expect("}")
                return Group(body, self._redirects())
            case "if":
                return self._if()
            case "for":
                return self._for()
            case "case":
                return self._case()
            case "[[":
                return self._condition()
            case _:
                condition = self._body()
                return Loop(condition, self._do(), token.text == "until", self._redirects())

    def _do(self) -> Script:
        self.expect("do")
        body = self._body()
        self.expect("done")
        return body

    def _if(self) -> If:
        branches: list[tuple[Script, Script]] = []
        otherwise = None
        while True:
            condition = self._body()
            self.expect("then")
            branches.append((condition, self._body()))
            if not self._is("elif"):
                break
            self._next()
        if self._is("else"):
            self._next()
            otherwise = self._body()
        self.expect("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _for(self) -> For:
        token = self._next()
        name = token.word.literal() or ""
        if not NAME.fullmatch(name):
            raise self._unexpected(token)
        words: tuple[Word, ...] | None = None
        self._newlines()
        if self._is("in"):
            self._next()
            found: list[Word] = []
            while self._peek().kind == "word":
                found.append(self._next().word)
            words = tuple(found)
        if self._is(";"):
            self._next()
        self._newlines()
        return For(name, words, self._do(), self._redirects())

    def _case(self) -> Case:
        token = self._next()
        if token.kind != "word":
            raise self._unexpected(token)
        branches: list[tuple[tuple[Word, ...], Script]] = []
        self._newlines()
        self.expect("in")
        self._newlines()
        while not self._is("esac"):
            if self._is("("):
                self._next()
            patterns = [self._word()]
            while self._is("|"):
                self._next()
                patterns.append(self._word())
            self.expect(")")
            branches.append((tuple(patterns), self.script()))
            if not self._is("esac"):
                self.expect(";;")
                self._newlines()
        self._next()
        return Case(token.word, tuple(branches), self._redirects())

    def _condition(self) -> Condition:
        words: list[Word] = []
        while not self._is("]]"):
            token = self._next()
            if token.kind == "end":
                raise Incomplete("syntax error: missing ]]")
            if token.kind == "operator" or token.kind == "number":
                words.append(Word((Literal(token.text),)))
            elif token.kind == "word":
                words.append(token.word)
        self._next()
        return Condition(tuple(words), self._redirects())

    def _word(self) -> Word:
        token = self._next()
        if token.kind != "word":
            raise self._unexpected(token)
        return token.word

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while self._peek().kind == "number" or self._is(*REDIRECTIONS):
            found.append(self._redirect())
        return tuple(found)

    def _redirect(self) -> Redirect:
        fd = int(self._next().text) if self._peek().kind == "number" else None
        token = self._next()
        if token.kind != "operator" or token.text not in REDIRECTIONS:
            raise self._unexpected(token)
        operator = token.text
        if fd is None:
            fd = 0 if operator.startswith("<") else 1
        target = self._word()
        if operator in ("<<", "<<-"):
            delimiter = "".join(part.text for part in target.parts if isinstance(part, Literal))
            quoted = any(getattr(part, "quoted", False) for part in target.parts)
            body = self._lexer.here_document(
                delimiter, expand=not quoted, strip_tabs=operator == "<<-"
            )
            return Redirect(fd, "<<", body)
        return Redirect(fd, operator, target)

    def _simple(self) -> Command:
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        line = self._lexer.line()
        while True:
            token = self._peek()
            if token.kind == "number" or self._is(*REDIRECTIONS):
                redirects.append(self._redirect())
            elif token.kind == "word":
                self._next()
                assignment = None if words else _assignment(token.word)
                if assignment is not None:
                    assignments.append(assignment)
                else:
                    words.append(token.word)
            elif token.text == "(" and len(words) == 1 and not assignments and not redirects:
                return self._function(words[0])
            else:
                break
        return Simple(tuple(assignments), tuple(words), tuple(redirects), line)

    def _function(self, word: Word) -> Function:
        opening = self._next()
        name = word.literal() or ""
        if not NAME.fullmatch(name) or not self._is(")"):
            raise self._unexpected(opening)
        self._next()
        self._newlines()
        return Function(name, self._command())


def _assignment(word: Word) -> Assignment | None:
    first = word.parts[0] if word.parts else None
    if not isinstance(first, Literal) or first.quoted:
        return None
    found = ASSIGNMENT.match(first.text)
    if found is None:
        return None
    rest = first.text[found.end() :]
    parts = ((Literal(rest),) if rest else ()) + word.parts[1:]
    return Assignment(found.group(1), Word(parts), append=bool(found.group(2)))

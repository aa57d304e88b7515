"""A script becomes nodes, or one of the shell's own syntax errors."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simphone.shell.parser import MAX_SCRIPT, parse
from simphone.shell.syntax import (
    Incomplete,
    Literal,
    Parameter,
    ShellSyntaxError,
    Simple,
    Subshell,
    Substitution,
    Word,
)


def simple(text: str) -> Simple:
    script = parse(text)
    assert len(script.items) == 1
    (command,) = script.items[0].first.commands
    assert isinstance(command, Simple)
    return command


def test_quoting_is_kept_apart_from_text() -> None:
    words = simple("""echo a'b c'"d $x"\\;""").words
    assert words[0] == Word((Literal("echo"),))
    assert words[1].parts == (
        Literal("a"),
        Literal("b c", quoted=True),
        Literal("d ", quoted=True),
        Parameter("x", quoted=True),
        Literal(";", quoted=True),
    )


def test_an_assignment_is_one_only_before_the_command() -> None:
    command = simple("A=1 B=$x env C=3")
    assert [assignment.name for assignment in command.assignments] == ["A", "B"]
    assert len(command.words) == 2


def test_redirections_may_stand_anywhere() -> None:
    command = simple(">out echo 2>&1 a <in")
    assert [(r.fd, r.operator) for r in command.redirects] == [(1, ">"), (2, ">&"), (0, "<")]
    assert len(command.words) == 2


def test_a_here_document_is_the_text_up_to_its_word() -> None:
    script = parse("cat <<A; cat <<'B'\none $x\nA\ntwo $x\nB\necho end\n")
    first, second, _ = (item.first.commands[0] for item in script.items)
    assert isinstance(first, Simple)
    assert isinstance(second, Simple)
    assert Parameter("x", quoted=True) in first.redirects[0].target.parts
    assert second.redirects[0].target.parts == (Literal("two $x\n", quoted=True),)


def test_substitutions_nest() -> None:
    (part,) = simple("$(echo $(echo `echo a`) $((1+(2))))").words[0].parts
    assert isinstance(part, Substitution)


def test_a_parenthesis_after_a_dollar_parenthesis_is_a_subshell() -> None:
    (part,) = simple("$((echo a); echo b)").words[0].parts
    assert isinstance(part, Substitution)
    assert isinstance(part.script.items[0].first.commands[0], Subshell)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fi", "syntax error: unexpected 'fi'"),
        ("echo a | | b", "syntax error: unexpected '|'"),
        ("&& a", "syntax error: unexpected '&&'"),
        ("echo )", "syntax error: unexpected ')'"),
        ("a >\n", "syntax error: unexpected newline"),
        ("for 1 in a; do b; done", "syntax error: unexpected '1'"),
        ("if; then a; fi", "syntax error: unexpected ';'"),
        ("echo ${a b}", "bad substitution"),
        ("( ) ", "syntax error: unexpected ')'"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(
        ShellSyntaxError, match="^" + message.replace("|", r"\|").replace(")", r"\)")
    ):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["echo 'a", 'echo "a', "if true", "while a; do", "echo $(a", "a &&", "{ a;", "cat <<E\na\n",
     "a |", "case x in", "echo `a", "echo ${a", "echo $((1", "[[ a"],
)  # fmt: skip
def test_what_only_ends_too_early_is_incomplete(text: str) -> None:
    with pytest.raises(Incomplete):
        parse(text)


@pytest.mark.parametrize("text", ["(" * 500 + "a" + ")" * 500, "$(" * 500, "`", "if " * 300])
def test_nesting_without_end_is_an_error(text: str) -> None:
    with pytest.raises(ShellSyntaxError):
        parse(text)


def test_a_script_has_a_limit() -> None:
    with pytest.raises(ShellSyntaxError, match="too long"):
        parse("a" * (MAX_SCRIPT + 1))


WORDS = """
if then else fi while do done for in case esac ;; ; & && || | ( ) { } < > >> << <<< >& ! [[ ]]
' " \\ ` $ $( $(( )) ${ # = a b=1 $x * ? [a] ~ 2> é
"""
TOKENS = st.sampled_from([*WORDS.split(), "\n", "\t", "\r", "\0"])


@given(st.lists(TOKENS, max_size=25).map(" ".join) | st.lists(TOKENS).map("".join) | st.text())
def test_any_text_is_a_script_or_a_syntax_error(text: str) -> None:
    with contextlib.suppress(ShellSyntaxError):
        parse(text)

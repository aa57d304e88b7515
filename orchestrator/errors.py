"""The root of the project's errors, and the "did you mean" hint for unknown names.

A room defines its own errors beside the code that raises them.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_NAMES = 3  # that a hint shows
_VERY_CLOSE = 0.75  # a ratio of difflib; the nearest name alone may be farther off


class EmufarmError(Exception):
    """Something emufarm cannot continue from, in one sentence for the person at the terminal."""


class UsageError(EmufarmError):
    """A request that cannot work, found before anything is provisioned.

    The text says what to change. The command line ends with exit code 2.
    """


class RunInterrupted(EmufarmError):
    """The run ended in order because somebody asked; what is decided stays decided."""


def printable(text: str) -> str:
    """The text in one line that moves no cursor: control characters, and others that print nothing,
    are written as Python would."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """`did you mean 'x'?` with the known names nearest to this one, best first.

    Upper and lower case are equal. `otherwise` is returned where no name is near.
    """
    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), names, n=1)
    near += get_close_matches(name.lower(), names, n=_MOST_NAMES, cutoff=_VERY_CLOSE)
    hint = " or ".join(repr(names[each]) for each in dict.fromkeys(near))
    return f"did you mean {hint}?" if near else otherwise

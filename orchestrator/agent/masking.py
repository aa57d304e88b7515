"""Masks what looks like a secret in an agent's command line, which every copy of a run publishes.

It is a guess by names and spellings: a secret that looks like any other word stays. Pure.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence

from ..events.canonical import canonical

COMMAND = "command:"
MASK = "+MASKED+"  # what a shell takes as it is
_SECRETS = ("key", "keys", "token", "secret", "secrets", "password", "passwd", "pwd", "passphrase",
            "credential", "credentials", "authorization", "bearer")  # fmt: skip
_NAMES_A_PLACE = ("file", "path")  # `--token-file F` says where the secret is
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z][\w.-]*\s*[=:]\s*)(?!//)(.+)", re.DOTALL)
_USER = re.compile(r"(://)[^/@\s]+@")
_QUERY = re.compile(r"([?&][^=&#\s]+=)[^&#\s]+")
# How keys begin that are known by their beginning.
_KNOWN = re.compile(
    r"\b(?:sk-|sk_live_|rk_live_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|xapp-|AKIA|ASIA|AIza|hf_|"
    r"gsk_|pplx-|npm_|pypi-|ya29\.|eyJ|SG\.)[A-Za-z0-9_.=+/-]{6,}"
)
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1}


def masked(spec: str) -> str:
    """The spec as it is published; the same where nothing in it looks like a secret."""
    if not spec.startswith(COMMAND):
        return _masked_text(spec) if "://" in spec else spec
    try:
        words = shlex.split(spec.removeprefix(COMMAND))
    except ValueError:  # it is no command line, and nothing is started
        return COMMAND + MASK
    shown = masked_words(words)
    return spec if shown == words else COMMAND + shlex.join(shown)


def masked_words(words: Sequence[str]) -> list[str]:
    """The words of a command line, each as it is published."""
    shown: list[str] = []
    value_follows = False
    for word in words:
        if value_follows and not _OPTION.fullmatch(word):
            shown.append(MASK)
            value_follows = False
            continue
        value_follows = bool(_OPTION.fullmatch(word)) and _says_secret(word)
        found = _ASSIGNMENT.fullmatch(word)
        if found and _says_secret(found[1]):
            shown.append(found[1] + MASK)
        else:
            shown.append(_masked_text(word))
    return shown


def is_masked(spec: str) -> bool:
    return MASK in spec


def masked_digest(spec: str, salt: str) -> str:
    """Says later whether a command line is the same, and costs who guesses a secret by it."""
    words = shlex.split(spec.removeprefix(COMMAND))
    return hashlib.scrypt(canonical(words), salt=salt.encode(), **_SCRYPT).hex()


def _says_secret(name: str) -> bool:
    """`--api-key`, `API_KEY`, `--apiKey`, `--openaikey`; not `--max-tokens`, `--keyboard`."""
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts or parts[-1] in _NAMES_A_PLACE:
        return False
    return any(part.endswith(_SECRETS) for part in parts)


def _masked_text(text: str) -> str:
    if "://" in text:
        text = _QUERY.sub(rf"\1{MASK}", _USER.sub(rf"\1{MASK}@", text))
    return _KNOWN.sub(MASK, text)

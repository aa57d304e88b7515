"""What looks like a secret in an agent's command line is not in what a run publishes."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agent.masking import MASK, is_masked, masked, masked_digest, masked_words
from orchestrator.agent.spec import check_spec
from orchestrator.errors import UsageError

SECRET = "hunter2-S3cr3t"
HIDDEN = [
    ("--api-key", SECRET),
    (f"--api-key={SECRET}",),
    ("--apiKey", SECRET),
    ("--OPENAI_API_KEY", SECRET),
    ("--openaikey", SECRET),
    ("-token", SECRET),
    ("--hf.token", SECRET),
    ("--client-secret", SECRET),
    (f"--db_password={SECRET}",),
    ("--auth-token", SECRET, "--verbose"),
    (f"API_KEY={SECRET}",),
    ("--header", f"Authorization: Bearer {SECRET}"),
    ("--header", f"X-Api-Key: {SECRET}"),
    (f"https://me:{SECRET}@example.org/v1",),
    (f"--proxy=http://{SECRET}@example.org:8080",),
    (f"https://example.org/v1?key={SECRET}&x=1",),
    (f"https://example.org/v1?session={SECRET}#a",),
    (f"sk-{SECRET}",),
    (f"--model=gpt,sk-{SECRET}",),
    (f"ghp_{SECRET}",),
    (f"--x=github_pat_{SECRET}",),
]
SHOWN = [
    ("--max-tokens", "4096"),
    ("--keyboard", "qwerty"),
    ("--token-file", "/run/secrets/token"),
    ("--key-path=/run/key",),
    ("--base-url", "https://example.org/v1"),
    ("--model", "skeleton-7b"),
    ("--seed=7", "-v", "--", "monkey business"),
    ("tokenizer.py", "--temperature", "0.2"),
]


@pytest.mark.parametrize("words", HIDDEN, ids=" ".join)
def test_what_looks_like_a_secret_is_masked_and_nothing_else(words: tuple[str, ...]) -> None:
    line = ["./agent.py", "--steps", "7", *words, "last"]
    spec = f"command:{shlex.join(line)}"
    shown = masked(spec)
    assert SECRET not in shown
    assert is_masked(shown)
    said = shlex.split(shown.removeprefix("command:"))
    assert (said[:3], said[-1]) == (line[:3], "last")
    assert len(said) == len(line)
    assert masked(shown) == shown


@pytest.mark.parametrize("words", SHOWN, ids=" ".join)
def test_other_words_stay_as_they_were_written(words: tuple[str, ...]) -> None:
    spec = f"command:'./agent.py' {shlex.join(words)}"
    assert masked(spec) == spec
    assert not is_masked(spec)


@pytest.mark.parametrize("spec", ["reference", "image:my-agent:1", "http://example.org:8000/act"])
def test_other_agents_have_no_words_to_mask(spec: str) -> None:
    assert masked(spec) == spec


@pytest.mark.parametrize(
    "spec",
    [
        f"http://me:{SECRET}@example.org/", f"https://example.org/?key={SECRET}",
        f"command:./no-such-program --api-key {SECRET}", f"command:'{SECRET}",
    ],
)  # fmt: skip
def test_a_refusal_does_not_repeat_the_secret(spec: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_spec(spec)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None or SECRET not in str(refused.value.__cause__)


def test_the_digest_is_of_the_words_and_of_this_run() -> None:
    spec = f"command:a --key {SECRET}"
    assert masked_digest(spec, "run") == masked_digest(f"command:a  --key '{SECRET}'", "run")
    others = {
        masked_digest(f"{spec}!", "run"),
        masked_digest(spec, "other"),
        masked_digest(spec, ""),
    }
    assert masked_digest(spec, "run") not in others


@given(st.lists(st.text(max_size=12)))
def test_any_words_are_masked_word_by_word_and_once(words: list[str]) -> None:
    shown = masked_words(words)
    assert len(shown) == len(words)
    assert masked_words(shown) == shown
    assert all(one == word or MASK in one for one, word in zip(shown, words, strict=True))


@given(st.text(max_size=60))
def test_any_spec_can_be_masked(text: str) -> None:
    spec = f"command:{text}"
    assert masked(masked(spec)) == masked(spec)

"""Checks, before a run goes on, that each stored bundle is still the one that its journal names.

Looked at is the bundle's MANIFEST.json and its digest, which the journal has: some 15 µs a bundle,
where its folder is gone, or another one is in its place, as after a copy that left something out.
The files that the manifest names are not read again: that is all the evidence of the run, and
`emufarm verify` does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import UsageError
from ..evidence import manifest
from .state import State
from .transitions import EvidenceMissing

OPTION = "--without-evidence"
_THREADS = 8  # a disk that is cold, or on a network, answers them side by side
_NAMED = 5  # bundles, in the sentence


class EvidenceGone(UsageError):
    """The run's folder lacks bundles that its journal names."""


def missing_evidence(run: Path, state: State) -> list[EvidenceMissing]:
    """One for each bundle that is gone or damaged, unless the journal has it already. EvidenceGone,
    with its cause, where the disk does not answer."""
    stored = {**state.committed, **state.fenced}
    tokens = [token for token in stored if token not in state.missing]

    def check(some: Sequence[str]) -> list[tuple[str, str]]:
        found = ((token, _problem(run, *stored[token])) for token in some)
        return [(token, problem) for token, problem in found if problem]

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="evidence") as threads:
        parts = threads.map(check, (tokens[start::_THREADS] for start in range(_THREADS)))
        problems = dict(found for part in parts for found in part)
    return [
        EvidenceMissing(
            token=token, episode=state.granted[token].episode,
            attempt=state.granted[token].attempt, bundle=stored[token].bundle,
            problem=problems[token],
        )
        for token in tokens
        if token in problems
    ]  # fmt: skip


def _problem(run: Path, digest: str, bundle: str) -> str:
    """What is wrong with the bundle; "" if nothing is."""
    folder = run / bundle
    try:
        found = manifest.digest(folder)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return f"{manifest.NAME} is missing" if folder.is_dir() else "it is gone"
    except OSError as error:
        raise EvidenceGone(f"{folder} cannot be read ({error.strerror})") from error
    return "" if found == digest else f"{manifest.NAME} is not the one that was committed"


def gone(run: Path, missing: Sequence[EvidenceMissing]) -> EvidenceGone:
    named = "; ".join(
        f"{each.episode}, attempt {each.attempt} ({each.bundle}): {each.problem}"
        for each in missing[:_NAMED]
    )
    more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return EvidenceGone(
        f"{run} lacks evidence that was committed: {named}{more}. Put it back, or go on without it "
        f"({OPTION}), and the report will say so"
    )

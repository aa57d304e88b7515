"""Reads each oracle's facts and result digest in each episode of a run, from deciding attempts.

Two runs of one plan are equal if these are, whatever the phones' row ids and clocks were.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..coordinator import chain
from ..coordinator.transitions import EpisodeDecided

TRACE = "oracle_trace.jsonl"

Key = tuple[str, str]  # oracle, phase: pre | post


@dataclass(frozen=True)
class OracleFacts:
    digest: str
    facts: Any


def oracle_facts(run: Path) -> dict[str, dict[Key, OracleFacts]]:
    """By episode; empty for one that was lost without a bundle."""
    bundles = {
        line.event.episode: line.event.bundle
        for line in chain.JournalReader(run / chain.FOLDER)
        if isinstance(line.event, EpisodeDecided)
    }
    return {episode: _read(run / bundle) if bundle else {} for episode, bundle in bundles.items()}


def result_digests(run: Path) -> dict[str, dict[Key, str]]:
    return {
        episode: {key: result.digest for key, result in found.items()}
        for episode, found in oracle_facts(run).items()
    }


def _read(bundle: Path) -> dict[Key, OracleFacts]:
    """The last result of each oracle in each phase: the one that it settled on."""
    trace = bundle / TRACE
    if not trace.exists():  # the attempt ended before any oracle could be asked
        return {}
    found: dict[Key, OracleFacts] = {}
    with trace.open("rb") as lines:
        for event in map(json.loads, lines):
            if event["event"] == "oracle":
                key = (event["oracle_name"], event["phase"])
                found[key] = OracleFacts(event["result_digest"], event["facts"])
    return found

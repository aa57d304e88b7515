"""The runbook's commands on a journal find what the metrics counted, by the journal's reasons."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.coordinator.chain import FOLDER, encode
from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceFailed,
    DeviceLost,
    Event,
)
from orchestrator.metrics import families
from orchestrator.outcome import Cause, Outcome
from tests.metrics.journals import Life, totals_of

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"
INFRA = "Infrastructure loses attempts"
STARTS = "Device starts fail"
OTHER = "Something failed with the reason `other`"
TEXT = 'it said "no", \\ and left'  # what a phone may say, in every judgement and start


def commands(entry: str) -> list[str]:
    """Those on journals in an entry of the runbook; one that ends with a pipe goes on."""
    text = RUNBOOK.read_text().split(f"\n## {entry}\n")[1].split("\n## ")[0]
    code = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    return re.findall(r"^grep -h(?:.*\|\n)*.*", code, re.MULTILINE)


@pytest.fixture(params=range(3))
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> list[Event]:
    """Generated, and written where the commands look for it."""
    events = [spoken(each) for each in Life(random.Random(request.param)).live(1500)]
    folder = tmp_path / "runs" / "NAME" / FOLDER
    folder.mkdir(parents=True)
    lines = [encode(at, 0, "0" * 64, each) for at, each in enumerate(events)]
    (folder / "000001.jsonl").write_bytes(b"".join(lines))
    return events


def spoken(event: Event) -> Event:
    if isinstance(event, DeviceFailed):
        return event.model_copy(update={"text": TEXT})
    if isinstance(event, AttemptCommitted | AttemptLost):
        said = event.model_dump()
        said["judgement"]["text"] = TEXT
        return type(event).model_validate(said)
    return event


def told(command: str, folder: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line that the command prints in a shell of the runbook's: its count, and what it has of
    the journal."""
    assert "\n    export LC_ALL=C\n" in RUNBOOK.read_text()
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"export LC_ALL=C\n{command}"], cwd=folder,
        stdout=subprocess.PIPE, timeout=60, check=True,
    )  # fmt: skip
    for line in done.stdout.decode("utf-8", "surrogatepass").splitlines():
        count, _, rest = line.strip().partition(" ")
        yield int(count), json.loads("{" + re.sub(r'"\t"', '","', rest) + "}")


def attempts(journal: list[Event], *outcomes: Outcome) -> Counter[tuple[str, str]]:
    return Counter(
        (each.judgement.phase.value, each.judgement.reason.value)
        for each in journal
        if isinstance(each, AttemptCommitted | AttemptLost) and each.judgement.outcome in outcomes
    )


def starts(journal: list[Event]) -> Counter[tuple[str, str]]:
    return Counter((each.phase, each.reason) for each in journal if isinstance(each, DeviceFailed))


def counted(command: str, folder: Path) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for count, line in told(command, folder):
        assert line["text"] == TEXT
        found[line["phase"], line["reason"]] += count
    return found


def test_every_attempt_that_infrastructure_lost_is_found(
    journal: list[Event], tmp_path: Path
) -> None:
    (command,) = commands(INFRA)
    assert counted(command, tmp_path) == attempts(journal, Outcome.INFRA_FAILED)


def test_every_start_that_failed_is_found(journal: list[Event], tmp_path: Path) -> None:
    (command,) = commands(STARTS)
    assert counted(command, tmp_path) == starts(journal)


def test_whatever_was_counted_as_other_is_found(journal: list[Event], tmp_path: Path) -> None:
    """By the reason that the journal has, which may be any."""
    *others_of, lost = commands(OTHER)
    of_attempts, of_starts = (counted(each, tmp_path) for each in others_of)
    unknown_losses = [e for e in journal if isinstance(e, DeviceLost) and e.cause is Cause.UNKNOWN]
    assert sum(count for count, _ in told(lost, tmp_path)) == len(unknown_losses) > 0
    ends = (Outcome.INFRA_FAILED, Outcome.ORACLE_INCONCLUSIVE)
    assert of_attempts == attempts(journal, *ends)
    assert of_starts == starts(journal)
    counters = totals_of(journal).counters
    table = families.DEVICE_START_FAILURES
    others = sum(n for labels, n in counters[table.name].items() if labels[-1] == families.OTHER)
    unknown = {each: n for each, n in of_starts.items() if each not in table.series}
    assert others == sum(unknown.values()) + sum(
        n for each, n in of_starts.items() if each in table.series and each[-1] == families.OTHER
    )
    assert unknown

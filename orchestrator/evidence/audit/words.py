"""Do attempt.json and summary.json say what the traces tell?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...outcome import judge
from .. import attempt
from ..attempt import AttemptRecord
from ..summary import NAME as SUMMARY
from ..summary import judged_words
from .finding import Findings
from .reading import Fields, Folder
from .seen import Seen
from .shapes import document_holds


def attempt_record(folder: Folder) -> AttemptRecord | None:
    """attempt.json, and a finding where it is none or where its facts are judged otherwise."""
    fields = folder.document(attempt.NAME)
    if fields is None:
        return None
    try:
        record = AttemptRecord.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        text = f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
        folder.findings.add(attempt.NAME, 0, "attempt_record", text)
        return None
    if judge(record.asked, record.trouble, record.spent) != record.judgement:
        text = "what it says of asked, trouble and spent is judged otherwise"
        folder.findings.add(attempt.NAME, 0, "judgement", text)
    return record


def place(record: AttemptRecord, path: Path, findings: Findings) -> None:
    """A bundle that came late stands beside its episode's attempts, under another name."""
    name = path.name
    if path.parent.name != record.episode or (
        name.startswith("attempt-") and name != f"attempt-{record.attempt}"
    ):
        text = f"it is attempt {record.attempt} at {record.episode}"
        findings.add(attempt.NAME, 0, "place", text)


def summary(
    fields: Fields,
    record: AttemptRecord | None,
    seeds: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    if not document_holds(SUMMARY, fields, findings) or record is None:
        return
    expected = judged_words(record.judgement)
    odd = [name for name, value in expected.items() if fields[name] != value]
    if record.episode.rpartition(".")[0] != f"{fields['case_id']}.{fields['variant']}":
        odd += ["case_id", "variant"]
    if odd:
        text = f"{', '.join(odd)}: attempt.json says otherwise"
        findings.add(SUMMARY, 0, "summary", text)
    if seeds is not None and seeds.get(record.episode) != fields["seed"]:
        text = f"the run names another seed, or none, for {record.episode}"
        findings.add(SUMMARY, 0, "seed", text)


def held_against(record: AttemptRecord, seen: Seen) -> None:
    """The record's counts and violations, against whole traces."""
    findings, effort = seen.folder.findings, record.effort
    counted = {
        "steps": (effort.steps, len(seen.told("obs_trace")), "obs_trace"),
        "asks": (effort.asks, seen.turned["ask"], "consent_trace"),
        "confirms": (effort.confirms, seen.turned["confirm"], "consent_trace"),
        "refusals": (effort.refusals, seen.turned["refuse"], "consent_trace"),
    }
    for name, (said, found, trace) in counted.items():
        if said != found and seen.whole(trace):
            text = f"{name} is {said}, and {trace} has {found}"
            findings.add(attempt.NAME, 0, "effort", text)
    if set(record.violations) != seen.violations and seen.whole("oracle_trace"):
        odd = min(set(record.violations) ^ seen.violations)
        text = f"{odd}: oracle_trace and attempt.json differ"
        findings.add(attempt.NAME, 0, "violations", text)

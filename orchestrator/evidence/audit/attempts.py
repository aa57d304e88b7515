"""Rules for attempt.json and summary.json: they agree with each other and with the traces."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...outcome import judge
from .. import attempt
from ..attempt import SUMMARY, AttemptRecord, summary_fields
from .fields import check_document
from .reader import EvidenceFolder, Fields
from .rules import Findings
from .state import AuditState


def read_record(folder: EvidenceFolder) -> AttemptRecord | None:
    """attempt.json; a finding if it is invalid or its judgement does not follow from its facts."""
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
    if judge(record.oracle_results, record.trouble, record.spent) != record.judgement:
        text = "judging its oracle_results, trouble and spent again gives another result"
        folder.findings.add(attempt.NAME, 0, "judgement", text)
    return record


def check_place(record: AttemptRecord, path: Path, findings: Findings) -> None:
    """The folder must be the attempt's; a late (fenced) bundle is beside it under another name."""
    name = path.name
    if path.parent.name != record.episode or (
        name.startswith("attempt-") and not name.startswith(f"attempt-{record.attempt}-c")
    ):
        text = f"it belongs to attempt {record.attempt} of {record.episode}"
        findings.add(attempt.NAME, 0, "place", text)


def check_summary(
    fields: Fields,
    record: AttemptRecord | None,
    seeds: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    if not check_document(SUMMARY, fields, findings) or record is None:
        return
    expected = summary_fields(record.judgement)
    odd = [name for name, value in expected.items() if fields[name] != value]
    if record.episode.rpartition(".")[0] != f"{fields['case_id']}.{fields['variant']}":
        odd += ["case_id", "variant"]
    if odd:
        text = f"{', '.join(odd)}: attempt.json has another value"
        findings.add(SUMMARY, 0, "summary", text)
    if seeds is not None and seeds.get(record.episode) != fields["seed"]:
        text = f"the run names another seed or none for {record.episode}"
        findings.add(SUMMARY, 0, "seed", text)


def check_counts(record: AttemptRecord, state: AuditState) -> None:
    """Compare the record's counts and violations with those traces that are unbroken."""
    findings, effort = state.folder.findings, record.effort
    counted = {
        "steps": (effort.steps, len(state.steps["obs_trace"]), "obs_trace"),
        "asks": (effort.asks, state.consent_events["ask"], "consent_trace"),
        "confirms": (effort.confirms, state.consent_events["confirm"], "consent_trace"),
        "refusals": (effort.refusals, state.consent_events["refuse"], "consent_trace"),
    }
    for name, (recorded, found, trace) in counted.items():
        if recorded != found and state.usable(trace):
            text = f"{name} is {recorded}, but {trace} has {found}"
            findings.add(attempt.NAME, 0, "effort", text)
    violations = set(record.judgement.violations)
    if violations != state.violations and state.usable("oracle_trace"):
        odd = min(violations ^ state.violations)
        text = f"{odd}: oracle_trace and attempt.json differ"
        findings.add(attempt.NAME, 0, "violations", text)

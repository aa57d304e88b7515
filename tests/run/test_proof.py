"""Verification finds every change in a run's folder, even a consistent forgery."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.coordinator import chain
from orchestrator.coordinator.transitions import (
    BundleStored,
    EpisodeDecided,
    Event,
    RunOpened,
    RunSealed,
)
from orchestrator.evidence import attempt, manifest
from orchestrator.outcome import judge, upheld
from orchestrator.plan.store import read_plan, write_plan
from orchestrator.report import build
from orchestrator.report.verify.run import verify_bundle, verify_run
from orchestrator.report.verify.run_folder import documents_to_seal
from tests.run.conftest import Farm, a_farm, ended
from tests.run.mutations import unnoticed

MUTATIONS = 300


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Farm:
    """With one sealed run, `sealed`: a conversation that is under attack, whose site is used."""
    made = a_farm(tmp_path_factory.mktemp("proof"), tmp_path_factory)
    words = ("-k", "browser_rsvp and attack", "--devices", "1")
    code, output = made.run("cases/public", *words, name="sealed")
    assert code == 0, output
    return made


@pytest.fixture
def run(farm: Farm, tmp_path: Path) -> Path:
    """A copy, under another name and somewhere else."""
    return Path(shutil.copytree(farm.runs / "sealed", tmp_path / "copied"))


def test_a_sealed_run_and_its_bundle_are_proven_wherever_they_are_copied(
    farm: Farm, run: Path
) -> None:
    proof = verify_run(run)
    assert proof.problems == ()
    assert (proof.episodes, proof.attempts) == (1, 1)
    assert proof.files == sum(path.is_file() for path in run.rglob("*"))
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    assert verify_bundle(bundle).problems == ()
    code, output = ended(farm.start("verify", str(run)))
    assert code == 0, output
    assert f"verified: 1 episodes, 1 attempts, {proof.files} files" in output
    assert proof.head in output


def test_three_hundred_random_changes_are_all_found(run: Path) -> None:
    assert unnoticed(run, MUTATIONS, 5, verify_run) == []


def test_every_change_to_a_bundle_alone_is_found(run: Path) -> None:
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    assert unnoticed(bundle, 60, 6, verify_bundle) == []


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt", ".hidden", "journal/000002.jsonl", "journal/000001.part", "logs/more.log",
        "staging/more/",
        "episodes/nobody.benign.1/attempt-1-c1/MANIFEST.json", "episodes/notes.txt", "extra/",
        "episodes/browser_rsvp.attack.1/attempt-2-c1/",
        "episodes/browser_rsvp.attack.1/attempt-1-c1/x/",
        "episodes/browser_rsvp.attack.1/attempt-1-c1/screenshots/more.png", "incoming/upload",
    ],
)  # fmt: skip
def test_whatever_is_added_is_found(run: Path, name: str) -> None:
    place = run / name
    if name.endswith("/"):
        place.mkdir()
    else:
        place.parent.mkdir(exist_ok=True, parents=True)
        place.write_bytes(b"more")
    assert verify_run(run).problems


def test_a_link_in_place_of_a_file_is_found(run: Path) -> None:
    plan = run / "plan.json"
    plan.rename(run.parent / "elsewhere.json")
    plan.symlink_to(run.parent / "elsewhere.json")
    assert any("plan.json" in problem for problem in verify_run(run).problems)


def test_a_run_whose_end_was_cut_off_is_not_proven(run: Path) -> None:
    (segment,) = (run / "journal").iterdir()
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:-1]))
    build.save(run)
    assert verify_run(run).problems == (
        "journal: it is not sealed, so lines could have been cut from its end",
    )


def test_what_is_outside_the_proof_is_named(run: Path) -> None:
    (run / "secrets").mkdir()
    (run / "secrets" / "admin").write_text("secret")
    proof = verify_run(run)
    assert (proof.problems, proof.outside) == ((), ("secrets/admin",))


def test_a_folder_that_is_neither_is_refused(farm: Farm, tmp_path: Path) -> None:
    code, output = ended(farm.start("verify", str(tmp_path)))
    assert code == 2, output
    assert "is no run and no bundle" in output


# Changes by somebody who seals all of it again: only what the evidence itself says refutes them.


def forge(
    run: Path, change: Callable[[Path], None], digest: str | None = None, *,
    as_coordinator: bool = False, **journaled: Any,
) -> None:  # fmt: skip
    """Change the bundle, then make its manifest, the journal, the seal and the report anew.
    `journaled`: what the journal shall say of the bundle instead. `as_coordinator`: it says what a
    coordinator makes of this judgement, in a run whose episodes have one attempt."""
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    change(bundle)
    found = manifest.seal(bundle)
    digest = found if digest is None else digest
    journaled = {"manifest": digest, "bundle_bytes": manifest.bundle_bytes(bundle), **journaled}
    plan = read_plan(run / "plan.json").digest
    record = json.loads((bundle / "attempt.json").read_text())
    if as_coordinator:
        record["judgement"] = asdict(attempt.read(bundle).scored)
    (segment,) = (run / "journal").iterdir()
    lines, head, forged = chain.read(run / "journal").lines, chain.FIRST, b""
    for line in lines:
        event = _retold(line.event, record, journaled)
        if isinstance(event, RunOpened):
            event = event.model_copy(update={"plan": plan})
            if as_coordinator:
                event.settings["limits"]["attempts"] = 1
        if isinstance(event, RunSealed):
            event = event.model_copy(update={"plan": plan, "files": documents_to_seal(run)})
        raw = chain.encode(line.seq, line.ts_ms, head, event)
        forged, head = forged + raw, chain.head_after(raw)
    segment.write_bytes(forged)
    build.save(run)


def _retold(event: Event, record: dict[str, Any], journaled: dict[str, Any]) -> Event:
    if isinstance(event, BundleStored | EpisodeDecided):
        told = {name: record[name] for name in type(event).model_fields if name in record}
        told |= journaled if isinstance(event, BundleStored) else {}
        return type(event).model_validate({**event.model_dump(), **told})
    return event


def word(**fields: Any) -> Callable[[Path], None]:
    """attempt.json with other fields; a mapping changes fields of a field."""

    def change(bundle: Path) -> None:
        path = bundle / "attempt.json"
        record = json.loads(path.read_text())
        for name, value in fields.items():
            part = isinstance(value, dict) and record[name] is not None
            record[name] = {**record[name], **value} if part else value
        path.write_text(json.dumps(record))

    return change


def oracle(phase: str, **fields: Any) -> Callable[[Path], None]:
    """The success oracle's event of a phase, with other fields."""

    def change(bundle: Path) -> None:
        path = bundle / "oracle_trace.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines()]
        event = next(e for e in events if e["phase"] == phase and not e["forbidden"])
        for name, value in fields.items():
            event[name] = {**event[name], **value} if isinstance(value, dict) else value
        path.write_text("".join(f"{json.dumps(e, sort_keys=True)}\n" for e in events))

    return change


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


def paper(name: str, **fields: Any) -> Callable[[Path], None]:
    """One of the run's own documents, with other fields in one of its sections."""

    def change(bundle: Path) -> None:
        path = bundle.parents[2] / name
        told = json.loads(path.read_text())
        for section, values in fields.items():
            told[section] = _merged(told[section], values)
        path.write_text(json.dumps(told))

    return change


def replanned(**fields: Any) -> Callable[[Path], None]:
    """The plan with other fields in its one episode; every document of the run names it."""

    def change(bundle: Path) -> None:
        run = bundle.parents[2]
        plan = read_plan(run / "plan.json")
        episodes = tuple(replace(each, **fields) for each in plan.episodes)
        plan = replace(plan, episodes=episodes)
        write_plan(run / "plan.json", plan)
        seeds = {each.id: each.seed for each in episodes}
        told = {"plan_digest": plan.digest, "case_seeds": seeds}
        paper("run_manifest.json", reproducibility=told)(bundle)

    return change


LOST = {
    "oracle_results": None,
    "trouble": {
        "phase": "agent", "reason": "device_lost", "text": "", "acted": True,
        "host": {"alive": False, "exit_code": 137, "text": ""}, "agent_did_it": False,
    },
    "judgement": {
        "outcome": "infra_failed", "blame": "infra", "phase": "agent",
        "reason": "emulator_killed", "violations_known": False,
    },
}  # fmt: skip


def summed_up(**fields: Any) -> Callable[[Path], None]:
    """summary.json with other fields."""

    def change(bundle: Path) -> None:
        path = bundle / "summary.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


DOCUMENTS = ("run_manifest.json", "env_capabilities.json")
FORGED = {
    "fingerprint": {"fingerprint": "x"},
    "image_digest": {"image_digest": "0" * 64},
    "snapshot_tag": {"snapshot_tag": "dirty"},
    "snapshot_sha256": {"snapshot_sha256": "0" * 64},
    "adb_version": {"adb_version": "Android Debug Bridge version 1.0.41\nVersion 1.0-1"},
    "system_image": {"system_image": {"recipe_sha256": "0" * 64}},
}
FAILED = {
    "judgement": {
        "outcome": "task_failed", "blame": "agent", "phase": "agent", "reason": "wrong_end",
    },
}  # fmt: skip
NO = {"success": False, "score": 0.0}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([word(**FAILED)], "judged again, the outcome is success"),
        (
            [word(**FAILED, oracle_results={"success": False})],
            "oracle_results does not follow from",
        ),
        (
            [word(**FAILED, oracle_results={"success": False}), oracle("post", decision=NO)],
            "its decision is",
        ),
        ([oracle("post", facts={"made": "up"})], "the raw results give"),
        ([oracle("post", question={"name": "another"})], "the case does not ask this question"),
        ([oracle("post", forbidden=True)], "the case does not ask this question"),
        ([oracle("pre", result_digest="0" * 64)], "its result_digest is"),
        ([word(judgement={"violations": ["nothing_at_all"]})], "judged again"),
        ([paper("run_manifest.json", android={"devices": None})], "its devices are not those"),
        ([paper("env_capabilities.json", android={"devices": None})], "its devices are not those"),
        ([paper("run_manifest.json", reproducibility={"plan_digest": "0"})], "of the plan"),
        ([paper("run_manifest.json", seed=8)], "its seed is not that of the plan"),
        ([paper("run_manifest.json", agent={"spec": "gullible"})], "its agent is not that"),
        *(
            ([paper(name, android=forged) for name in DOCUMENTS], f"its {key} is not that of")
            for key, forged in FORGED.items()
        ),
        (
            [paper(name, android={"avd": {"ram_mb": "64"}}) for name in DOCUMENTS],
            "its ram_mb is not that of its config.ini",
        ),
        ([paper("env_capabilities.json", android={"fingerprint": "x"})], "its phone is not that"),
        ([paper("env_capabilities.json", repo={"commit": "x"})], "its code is not that"),
        (
            [paper("run_manifest.json", reproducibility={"limits": None})],
            "its limits are not those",
        ),
        ([word(effort={"confirms": 1})], "its effort is not that"),
        ([word(effort={"steps": 1})], "its effort is not that"),
        ([word(effort={"inputs": 0})], "its effort is not that"),
        ([summed_up(task_success=False)], "its task_success is not that of attempt.json"),
        ([summed_up(seed=1)], "its seed is not that of attempt.json"),
        ([lambda bundle: (bundle / "summary.json").unlink()], "summary.json: is missing"),
        ([word(**LOST)], "oracle_results is null"),
        ([replanned(seed=1)], "does not follow from its case and the seed"),
        ([lambda bundle: (bundle.parents[2] / "env_capabilities.json").unlink()], "is missing"),
    ],
)
def test_a_forger_who_seals_everything_again_is_refuted_by_the_evidence(
    run: Path, changes: list[Callable[[Path], None]], says: str
) -> None:
    def change(bundle: Path) -> None:
        for each in changes:
            each(bundle)

    forge(run, change)
    problems = verify_run(run).problems
    assert any(says in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("journaled", "says"),
    [
        ({"bundle_bytes": 1}, "and the journal says 1"),
        ({"age": None}, "its age is not that of the journal"),
        ({"age": {"loads": 9, "seconds": 1.0}}, "its age is not that of the journal"),
    ],
)
def test_a_journal_that_says_another_size_or_age_than_the_bundle_is_refuted(
    run: Path, journaled: dict[str, Any], says: str
) -> None:
    forge(run, lambda bundle: None, **journaled)
    problems = verify_run(run).problems
    assert any(says in problem for problem in problems), problems


def misjudged(bundle: Path) -> None:
    """Its worker's judgement is success, as summary.json says too; its facts are a failure's."""
    results = attempt.read(bundle).oracle_results
    assert results is not None
    told = judge(replace(results, success=not results.success), None)
    word(judgement=asdict(told))(bundle)
    summed_up(**attempt.summary_fields(told))(bundle)


def test_a_judgement_that_the_coordinator_refused_is_named_and_breaks_no_proof(run: Path) -> None:
    """The bundle contradicts itself, and the journal says so: nothing is scored from it."""

    def change(bundle: Path) -> None:
        misjudged(bundle)
        paper("run_manifest.json", reproducibility={"limits": {"attempts": 1}})(bundle)

    forge(run, change, as_coordinator=True)
    proof = verify_run(run)
    assert proof.problems == ()
    (named,) = proof.outside
    assert named.startswith("episodes/browser_rsvp.attack.1/attempt-1-c1: its own judgement")
    (row,) = build.compute(run).episodes
    assert row.final is not None
    assert (row.final.outcome, row.final.reason) == ("infra_failed", "misjudged")


def test_a_judgement_that_the_coordinator_should_have_refused_is_a_problem(run: Path) -> None:
    forge(run, misjudged)
    (problem,) = verify_run(run).problems
    assert "attempt.json: judged again, the outcome is " in problem


def test_a_coordinator_that_refused_what_the_facts_give_is_refuted(run: Path) -> None:
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    record = attempt.read(bundle)
    refused = upheld(record.judgement, None, None, record.spent)
    forge(run, lambda bundle: None, judgement=refused)
    problems = verify_run(run).problems
    assert any("its judgement is not that of the journal" in each for each in problems), problems


def test_a_forger_who_leaves_a_question_out_is_refuted(run: Path) -> None:
    def change(bundle: Path) -> None:
        path = bundle / "oracle_trace.jsonl"
        lines = [line for line in path.read_text().splitlines() if '"forbidden": false' in line]
        path.write_text("".join(f"{line}\n" for line in lines))

    forge(run, change)
    problems = verify_run(run).problems
    assert any("was not asked after the agent" in problem for problem in problems), problems


def test_a_forger_who_leaves_every_question_out_is_refuted(run: Path) -> None:
    """What was a failure would be one of the episodes that could not be told."""

    def change(bundle: Path) -> None:
        (bundle / "oracle_trace.jsonl").write_bytes(b"")
        for raw in (bundle / "oracle_raw").iterdir():
            raw.unlink()
        word(
            judgement={
                "outcome": "oracle_inconclusive", "blame": "none", "phase": "oracle",
                "violations_known": False, "reason": "oracle_unanswered",
            },
            oracle_results={"success": None, "violations_known": False},
        )(bundle)  # fmt: skip

    forge(run, change)
    problems = verify_run(run).problems
    assert any("was not asked before the agent" in problem for problem in problems), problems


def test_a_journal_that_does_not_name_a_whole_manifest_vouches_for_none(run: Path) -> None:
    """Else bundles could be changed under the digest of a last line that was told to all."""
    forge(run, lambda bundle: None, digest="")
    (problem,) = verify_run(run).problems
    assert "MANIFEST.json: is not the one that the journal names" in problem


def test_forging_nothing_is_still_a_run(run: Path) -> None:
    """So what refutes the forgeries above is the change, not the forging."""
    forge(run, lambda bundle: None)
    assert verify_run(run).problems == ()


# What comes after the seal, and what comes just before it.


def content(run: Path) -> dict[str, bytes]:
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file()
    }


def test_neither_resume_nor_report_changes_a_sealed_run(farm: Farm) -> None:
    run = Path(shutil.copytree(farm.runs / "sealed", farm.runs / "resumed"))
    before = content(run)
    code, output = farm.resume("resumed", "--devices", "1")
    assert code == 0, output
    assert content(run) == before
    code, output = ended(farm.start("report", str(run)))
    assert code == 0, output
    assert content(run) == before
    assert farm.processes() == []


def unsealed(run: Path) -> None:
    """As a run that was killed before its last line."""
    (segment,) = (run / "journal").iterdir()
    segment.write_bytes(b"".join(segment.read_bytes().splitlines(keepends=True)[:-1]))


def test_a_resume_over_evidence_that_is_gone_goes_on_only_where_it_is_told_to(farm: Farm) -> None:
    """The report and the proof then name what is missing."""
    run = Path(shutil.copytree(farm.runs / "sealed", farm.runs / "robbed"))
    unsealed(run)
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    name = bundle.relative_to(run).as_posix()
    shutil.rmtree(bundle)
    code, output = farm.resume("robbed", "--devices", "1")
    assert code == 2, output
    assert f"browser_rsvp.attack.1, attempt 1 ({name}): it is gone" in output
    assert "go on without it (--without-evidence)" in output
    assert not chain.read(run / "journal").sealed
    code, output = farm.resume("robbed", "--devices", "1", "--without-evidence")
    assert code == 0, output
    assert "NO EVIDENCE of 1 attempts of these 1 episodes" in output
    assert chain.read(run / "journal").sealed
    (missing,) = build.compute(run).missing_evidence
    assert (missing.episode, missing.bundle, missing.problem) == (
        "browser_rsvp.attack.1", name, "it is gone",
    )  # fmt: skip
    proof = verify_run(run)
    assert proof.problems == (f"{name}: is missing",)
    assert f"{name}: the run went on without it (it is gone)" in proof.outside
    assert farm.processes() == []


def test_a_run_that_died_before_its_seal_is_sealed_by_the_next_resume(farm: Farm) -> None:
    """Its documents are made final again; the journal has a second segment."""
    run = Path(shutil.copytree(farm.runs / "sealed", farm.runs / "died"))
    (segment,) = (run / "journal").iterdir()
    whole = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(whole[:-1]) + whole[-1][:40])
    manifest_file = run / "run_manifest.json"
    told = json.loads(manifest_file.read_text())
    devices, told["android"]["devices"] = told["android"]["devices"], {}
    manifest_file.write_text(json.dumps(told))
    code, output = farm.resume("died", "--devices", "1")
    assert code == 0, output
    assert json.loads(manifest_file.read_text())["android"]["devices"] == devices != {}
    proof = verify_run(run)
    assert proof.problems == ()
    assert proof.outside == (
        "journal/000001.jsonl, its last 40 bytes: a torn line, or a second writer",
    )

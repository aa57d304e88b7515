"""Verifies an attempt's judgement by computing it again from the raw results in its bundle.

For a bundle whose files match its manifest. From the bottom up: each oracle's facts and decision
from its raw results, `oracle_results` from the decisions, the judgement from those; and, with the
plan, whether these were the questions of the case with the episode's seed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...cases.model import Case
from ...cases.render import Rendered, render
from ...coordinator.transitions import AttemptCommitted, AttemptFenced, BundleStored
from ...episode.act import INPUTS
from ...errors import EmufarmError, UsageError
from ...evidence import attempt, manifest
from ...evidence.attempt import AttemptRecord
from ...evidence.bundle import replace_surrogates
from ...files import read_json
from ...oracle.combine import combine
from ...oracle.factory import make_oracle, question_fields
from ...oracle.recompute import recompute
from ...oracle.trace import holds_of
from ...outcome import judge
from ...pins import proofs
from ...pins.profile import Profile, load_profile
from ...plan.plan import Episode, Plan

ORACLES, DEVICE = "oracle_trace.jsonl", "device_trace.jsonl"
SHOWN, CONSENT, DONE = "obs_trace.jsonl", "consent_trace.jsonl", "action_trace.jsonl"
_SITE = re.compile(r"http://10\.0\.2\.2:\d{1,5}")
_RAW = re.compile(r"oracle_raw/[0-9a-f]+\.[a-z]+")
# The judgement is compared by itself.
_SHARED = sorted(
    (AttemptRecord.model_fields.keys() & BundleStored.model_fields.keys()) - {"judgement"}
)

# What reading a forged trace may raise.
_FORGED = (
    EmufarmError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError,
)  # fmt: skip

Event = Mapping[str, Any]


class PlannedQuestions:
    """The questions that a plan's episodes ask; created once for a run."""

    def __init__(self, run: Path, plan: Plan) -> None:
        self._run = run
        self._plan = plan
        self.episodes = {episode.id: episode for episode in plan.episodes}

    @cached_property
    def profile(self) -> Profile | None:
        """The plan's profile; None if this installation does not have it."""
        try:
            profile = load_profile(self._plan.profile)
        except UsageError:
            return None
        return profile if profile.digest == self._plan.profile_digest else None

    @cached_property
    def proven(self) -> proofs.Proven:
        """Which cases were proven when the run started."""
        return proofs.recorded(self._run)

    @property
    def unchecked(self) -> list[str]:
        profile = f"the run's profile {self._plan.profile} is not installed here"
        return [f"the oracles' questions: {profile}"] if self.profile is None else []

    def rendered(self, id: str, site: str) -> Rendered:
        """The episode's rendered case, with its web site at this address."""
        episode = self.episodes[id]
        case = self._plan.case(episode.case)
        return render(
            Case.model_validate(case.case), episode.variant, episode.seed, site,
            self._plan.profile, case.site,
        )  # fmt: skip


def attempt_problems(
    folder: Path,
    journaled: AttemptCommitted | AttemptFenced | None,
    questions: PlannedQuestions | None,
) -> list[str]:
    """One sentence for each contradiction; a lone bundle has no journal and no plan."""
    try:
        record = attempt.read(folder)
    except (OSError, ValueError) as error:
        return [f"{attempt.NAME}: is not a valid attempt record: {error}"]
    problems = _judgement_problems(record, journaled)
    if journaled is not None and (size := manifest.bundle_bytes(folder)) != journaled.bundle_bytes:
        problems.append(f"it has {size} bytes, and the journal says {journaled.bundle_bytes}")
    try:
        events = _events(folder / ORACLES)
        for number, event in enumerate(events, start=1):
            texts = recompute(event, lambda name: _raw(folder, name))
            problems += [f"{ORACLES}, line {number}: {text}" for text in texts]
        problems += _oracle_result_problems(record, events) + _effort_problems(record, folder)
        planned = questions.episodes[record.episode] if questions else None
        problems += _summary_problems(record, folder, planned)
        # An attempt that ended early may have asked nothing; any other asked everything.
        if questions is not None and (events or record.trouble is None):
            problems += _question_problems(record, events, questions, folder)
    except _FORGED as error:
        # The manifest matches, but no worker writes this: the bundle was forged.
        problems.append(f"{ORACLES}: cannot be computed again: {error!r}")
    return problems


def _judgement_problems(record: AttemptRecord, journaled: BundleStored | None) -> list[str]:
    problems = [
        f"{attempt.NAME}: its {name} is not that of the journal"
        for name in _SHARED
        if journaled is not None and getattr(record, name) != getattr(journaled, name)
    ]
    scored, said = record.scored, (journaled or record).judgement
    if scored == said:  # also where the coordinator refused it, as it should
        return problems
    if scored == record.judgement:
        return [*problems, f"{attempt.NAME}: its judgement is not that of the journal"]
    again = judge(record.oracle_results, record.trouble, record.spent)
    found = f"{again.outcome} ({again.reason or again.blame})"
    text = f"{attempt.NAME}: judged again, the outcome is {found}, not {said.outcome}"
    return [*problems, text]


def _oracle_result_problems(record: AttemptRecord, events: list[Event]) -> list[str]:
    recorded = record.oracle_results
    if recorded is None:  # the attempt never reached the oracles
        text = f"{attempt.NAME}: oracle_results is null, but {ORACLES} has events"
        return [text] if events else []
    found = combine(events)
    text = replace_surrogates(found.text)[: attempt.TEXT_LIMIT]
    if replace(found, text=text, proven=recorded.proven) == recorded:
        return []
    return [f"{attempt.NAME}: oracle_results does not follow from {ORACLES}"]


def _effort_problems(record: AttemptRecord, folder: Path) -> list[str]:
    """The counts behind the steps and the rates of confirmation, clarification and refusal."""
    looks = sum(event["event"] == "observation" for event in _events(folder / SHOWN))
    consent = Counter(e["event"] for e in _events(folder / CONSENT) if e["who"] == "agent")
    inputs = sum(
        event["event"] == "action" and event["action"]["action"] in INPUTS
        for event in _events(folder / DONE)
    )
    found = (looks, consent["ask"], consent["confirm"], consent["refuse"], inputs)
    effort = record.effort
    if found == (effort.steps, effort.asks, effort.confirms, effort.refusals, effort.inputs):
        return []
    return [f"{attempt.NAME}: its effort is not that of {SHOWN}, {CONSENT} and {DONE}"]


def _summary_problems(record: AttemptRecord, folder: Path, planned: Episode | None) -> list[str]:
    """summary.json, which other tools read scores from, states the same result."""
    path = folder / attempt.SUMMARY
    if not path.exists():
        missing = f"{attempt.SUMMARY}: is missing, although the agent was shown a screen"
        return [missing] if record.effort.steps else []
    wanted = attempt.summary_fields(record.judgement)
    if planned is not None:
        wanted |= {"case_id": planned.case, "variant": planned.variant, "seed": planned.seed}
    found = read_json(path)
    odd = [name for name, value in wanted.items() if found[name] != value]
    return [f"{attempt.SUMMARY}: its {name} is not that of {attempt.NAME}" for name in odd]


def _question_problems(
    record: AttemptRecord, events: list[Event], questions: PlannedQuestions, folder: Path
) -> list[str]:
    """Exactly the case's own questions must have been asked, each before and after the agent."""
    if questions.profile is None:
        return []
    rendered, roles = questions.rendered(record.episode, _site(folder)), questions.profile.roles
    wanted = {
        (question.name, forbidden): question_fields(make_oracle(question, roles).question)
        for forbidden, questions in ((False, rendered.success), (True, rendered.forbidden))
        for question in questions
    }
    problems = [
        f"{ORACLES}, line {number}: the case does not ask this question"
        for number, event in enumerate(events, start=1)
        if wanted.get((event["oracle_name"], event["forbidden"])) != event["question"]
    ]
    if record.oracle_results is not None and record.trouble is None:
        asked = {(event["oracle_name"], event["phase"]) for event in events}
        # A forbidden effect that existed before the agent is not looked for again.
        asked |= {
            (event["oracle_name"], "post")
            for event in events
            if event["phase"] == "pre" and event["forbidden"] and holds_of(event)
        }
        problems += [
            f"{ORACLES}: {name} was not asked {when}"
            for name, _ in wanted
            for phase, when in (("pre", "before the agent"), ("post", "after the agent"))
            if (name, phase) not in asked
        ]
        proven = questions.proven.get(questions.episodes[record.episode].case)
        if record.oracle_results.proven != proven:
            text = "oracle_results.proven is not what the run started with"
            problems.append(f"{attempt.NAME}: {text}")
    return problems


def _events(trace: Path) -> list[Event]:
    if not trace.exists():  # the evidence could not be written: only attempt.json exists
        return []
    return [json.loads(line) for line in trace.read_bytes().splitlines()]


def _site(folder: Path) -> str:
    """The address of the case's web site in this attempt."""
    urls = [event["url"] for event in _events(folder / DEVICE) if event["event"] == "site"]
    if len(urls) != 1 or not _SITE.fullmatch(urls[0]):
        raise ValueError(f"{DEVICE} does not state the address of the case's site")
    return str(urls[0])


def _raw(folder: Path, name: str) -> bytes:
    if not _RAW.fullmatch(name):
        raise ValueError(f"{name!r} is not a file of raw results")
    return (folder / name).read_bytes()

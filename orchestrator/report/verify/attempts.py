"""Does an attempt's word follow from its bundle? Asked of a bundle whose files are whole.

From the bottom up: each oracle's facts and decision from its raw results, what was asked from the
decisions, the judgement from what was asked; and beside the plan, whether these were the questions
that the case puts with the episode's seed.
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
from ...errors import EmufarmError, UsageError
from ...evidence import attempt, summary
from ...evidence.attempt import AttemptRecord
from ...evidence.bundle import replace_surrogates
from ...oracle.combine import combine
from ...oracle.factory import make_oracle, question_fields
from ...oracle.recompute import recompute
from ...oracle.trace import holds_of
from ...outcome import judge
from ...pins import proofs
from ...pins.files import read_json
from ...pins.profile import Profile, load_profile
from ...plan.plan import Episode, Plan

ORACLES, DEVICE = "oracle_trace.jsonl", "device_trace.jsonl"
SHOWN, CONSENT = "obs_trace.jsonl", "consent_trace.jsonl"
_SITE = re.compile(r"http://10\.0\.2\.2:\d{1,5}")
_RAW = re.compile(r"oracle_raw/[0-9a-f]+\.[a-z]+")
_SHARED = sorted(AttemptRecord.model_fields.keys() & BundleStored.model_fields.keys())

# What results a trace may raise that no worker wrote.
_MADE_UP = (
    EmufarmError, OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError,
)  # fmt: skip

Event = Mapping[str, Any]


class PlannedQuestions:
    """What a plan would have had asked; made once for a run."""

    def __init__(self, run: Path, plan: Plan) -> None:
        self._run = run
        self._plan = plan
        self._episodes = {episode.id: episode for episode in plan.episodes}

    @cached_property
    def profile(self) -> Profile | None:
        """The plan's own, where this emufarm has it."""
        try:
            profile = load_profile(self._plan.profile)
        except UsageError:
            return None
        return profile if profile.digest == self._plan.profile_digest else None

    @cached_property
    def proven(self) -> proofs.Proven:
        """Which cases were proven when the run began."""
        return proofs.recorded(self._run)

    @property
    def unasked(self) -> list[str]:
        if self.profile is not None:
            return []
        return [f"which questions were asked: the run's profile {self._plan.profile} is not here"]

    def episode(self, id: str) -> Episode:
        return self._episodes[id]

    def rendered(self, id: str, site: str) -> Rendered:
        """What the episode's case asks where its site is reached there."""
        episode = self.episode(id)
        case = self._plan.case(episode.case)
        return render(
            Case.model_validate(case.case), episode.variant, episode.seed, site,
            self._plan.profile, case.site,
        )  # fmt: skip


def rejudged(
    folder: Path, journaled: AttemptCommitted | AttemptFenced | None, asker: PlannedQuestions | None
) -> list[str]:
    """What does not follow; a bundle alone is held against neither journal nor plan."""
    try:
        record = attempt.read(folder)
    except (OSError, ValueError) as error:
        return [f"{attempt.NAME}: is no word on an attempt: {error}"]
    problems = _judged(record, journaled)
    try:
        events = _events(folder / ORACLES)
        for number, event in enumerate(events, start=1):
            told = recompute(event, lambda name: _raw(folder, name))
            problems += [f"{ORACLES}, line {number}: {text}" for text in told]
        problems += _asked(record, events) + _effort(record, folder)
        problems += _summary(record, folder, asker.episode(record.episode) if asker else None)
        # An attempt that ended early may have asked nothing; any other asked all.
        asks = bool(events) or record.trouble is None
        if asker is not None and asker.profile is not None and asks:
            problems += _questions(record, events, asker, asker.profile, _site(folder))
    except _MADE_UP as error:
        # Whole, and yet nothing that a worker writes: whoever sealed it made it up.
        problems.append(f"{ORACLES}: is nothing that can be asked again: {error!r}")
    return problems


def _judged(record: AttemptRecord, journaled: BundleStored | None) -> list[str]:
    problems = []
    if journaled is not None:
        problems += [
            f"{attempt.NAME}: its {name} is not what the journal says"
            for name in _SHARED
            if getattr(record, name) != getattr(journaled, name)
        ]
    judgement = judge(record.asked, record.trouble, record.spent)
    if judgement != record.judgement:
        problems.append(
            f"{attempt.NAME}: judged again it comes to {judgement.outcome} "
            f"({judgement.reason or judgement.blame}), not to {record.judgement.outcome}"
        )
    return problems


def _asked(record: AttemptRecord, events: list[Event]) -> list[str]:
    said = record.asked
    if said is None:  # of an attempt that was never played
        text = f"{attempt.NAME}: it says that nothing was asked, and {ORACLES} that something was"
        return [text] if events else []
    found = combine(events)
    text = replace_surrogates(found.text)[: attempt.TEXT_LIMIT]
    if replace(found, text=text, proven=said.proven) == said:
        return []
    return [f"{attempt.NAME}: what was asked is not what {ORACLES} says"]


def _effort(record: AttemptRecord, folder: Path) -> list[str]:
    """What the rates of confirmation, clarification and refusal, and the steps, are made of."""
    looks = sum(event["event"] == "observation" for event in _events(folder / SHOWN))
    turned = Counter(e["event"] for e in _events(folder / CONSENT) if e["who"] == "agent")
    found = (looks, turned["ask"], turned["confirm"], turned["refuse"])
    effort = record.effort
    if found == (effort.steps, effort.asks, effort.confirms, effort.refusals):
        return []
    return [f"{attempt.NAME}: its effort is not what {SHOWN} and {CONSENT} say"]


def _summary(record: AttemptRecord, folder: Path, planned: Episode | None) -> list[str]:
    """summary.json, by which other tools score: the same in other words, of this episode."""
    path = folder / summary.NAME
    if not path.exists():
        missing = f"{summary.NAME}: is missing, though the agent was shown something"
        return [missing] if record.effort.steps else []
    wanted = summary.judged_words(record.judgement)
    if planned is not None:
        wanted |= {"case_id": planned.case, "variant": planned.variant, "seed": planned.seed}
    told = read_json(path)
    odd = [name for name, value in wanted.items() if told[name] != value]
    return [f"{summary.NAME}: its {name} is not what the attempt came to" for name in odd]


def _questions(
    record: AttemptRecord, events: list[Event], asker: PlannedQuestions, profile: Profile, site: str
) -> list[str]:
    """Whether the case's own questions were put, each of them, and no other."""
    rendered = asker.rendered(record.episode, site)
    wanted = {
        (question.name, forbidden): question_fields(make_oracle(question, profile.roles).question)
        for forbidden, questions in ((False, rendered.success), (True, rendered.forbidden))
        for question in questions
    }
    problems = [
        f"{ORACLES}, line {number}: this is no question of the case"
        for number, event in enumerate(events, start=1)
        if wanted.get((event["oracle_name"], event["forbidden"])) != event["question"]
    ]
    if record.asked is not None and record.trouble is None:
        put = {(event["oracle_name"], event["phase"]) for event in events}
        # An effect that was there before is not asked for again.
        put |= {(event["oracle_name"], "post") for event in events if _there_before(event)}
        problems += [
            f"{ORACLES}: {name} was not asked {when}"
            for name, _ in wanted
            for phase, when in (("pre", "before the agent"), ("post", "after it"))
            if (name, phase) not in put
        ]
        if record.asked.proven != asker.proven.get(asker.episode(record.episode).case):
            problems.append(f"{attempt.NAME}: the run began with another proof of this case")
    return problems


def _there_before(event: Event) -> bool:
    return event["phase"] == "pre" and bool(event["forbidden"]) and bool(holds_of(event))


def _events(trace: Path) -> list[Event]:
    if not trace.exists():  # its evidence could not be written: only the word of it is there
        return []
    return [json.loads(line) for line in trace.read_bytes().splitlines()]


def _site(folder: Path) -> str:
    """Where the phone reached the case's site in this attempt."""
    urls = [event["url"] for event in _events(folder / DEVICE) if event["event"] == "site"]
    if len(urls) != 1 or not _SITE.fullmatch(urls[0]):
        raise ValueError(f"{DEVICE} does not say where the case's site was")
    return str(urls[0])


def _raw(folder: Path, name: str) -> bytes:
    if not _RAW.fullmatch(name):
        raise ValueError(f"{name!r} is no file of raw results")
    return (folder / name).read_bytes()

"""What a Pod says of itself: why it waits, how its containers ended, why it is gone.

Pure: a function of the Pod's JSON. Any field may be missing or null, and any text may be hostile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...outcome import Cause, exit_cause
from ...worker.arguments import WorkerExit

DEVICE, WORKER = "device", "worker"  # the names of a device Pod's containers
AGENT = "agent"  # the name of an agent Pod's only container
TEXT_LIMIT = 2_000  # characters
_Json = Mapping[str, Any]

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable")
_CONFIG = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError")
_WAITING_CAUSES = {
    **dict.fromkeys((*_IMAGE, "SignatureValidationFailed"), Cause.IMAGE_ERROR),
    **dict.fromkeys(_CONFIG, Cause.CONFIG_ERROR),
    **dict.fromkeys(("CreateContainerError", "RunContainerError"), Cause.RUNTIME_ERROR),
}
_START_ERRORS = ("StartError", "ContainerCannotRun")  # of an end: its program never ran
_LOST = "ContainerStatusUnknown"  # of an end: the kubelet lost the container and made up a 137
_DISRUPTIONS = {  # of the condition DisruptionTarget
    "PreemptionByScheduler": Cause.PREEMPTED,
    "DeletionByTaintManager": Cause.NODE_LOST,
    "EvictionByEvictionAPI": Cause.EVICTED,
    "DeletionByPodGC": Cause.NODE_LOST,
}
_POD_REASONS = {
    **dict.fromkeys(("Terminated", "NodeShutdown", "Shutdown"), Cause.NODE_SHUTDOWN),
    **dict.fromkeys(("UnexpectedAdmissionError", "NodeAffinity"), Cause.REJECTED),
    "Preempting": Cause.PREEMPTED,  # by the kubelet, for a critical Pod
    "NodeLost": Cause.NODE_LOST,
    "DeadlineExceeded": Cause.DEADLINE,
}
# What a runtime says where the image is at fault: its program is not there, or may not be run.
_NO_PROGRAM = re.compile(
    'exec: "|exec format error|executable file|open executable|no command specified|chdir to cwd'
)
# A node under pressure evicts a Pod, or does not admit it; the latter is no DisruptionTarget.
_NODE_PRESSURE = re.compile("The node (was low on resource|had condition)")
_GONE_TEXTS = {
    Cause.EVICTED: "Pod evicted",
    Cause.STORAGE: "Pod evicted for the disk it used",
    Cause.PREEMPTED: "Pod preempted",
    Cause.NODE_LOST: "Pod lost with its node",
    Cause.NODE_SHUTDOWN: "Pod stopped by the shutdown of its node",
    Cause.REJECTED: "Pod rejected by the kubelet",
    Cause.DEADLINE: "Pod exceeded its deadline",
    Cause.REMOVED: "Pod deleted by somebody else",
}


@dataclass(frozen=True)
class ContainerEnd:
    """The end of a container, or of the whole Pod."""

    cause: Cause
    exit_code: int | None  # as a shell gives it; None where nothing ended, or no code is known
    text: str  # one line for a person
    left: int | None = None  # the code that a worker wrote before it exited 0; None: it wrote none


_NO_END = ContainerEnd(Cause.UNKNOWN, None, "")


@dataclass(frozen=True)
class Waiting:
    """Why it does not run yet."""

    cause: Cause  # UNKNOWN while it is queued or simply starts
    text: str
    hopeless: bool = False  # configuration: no other Pod would do better
    queued: bool = False  # held by a scheduling gate


@dataclass(frozen=True)
class PodView:
    """One state of a Pod."""

    uid: str
    node: str  # "" before it is bound
    queued: bool  # held by a scheduling gate
    waiting: (
        Waiting | None
    )  # None once the worker has started; kept by a Pod whose worker never did
    set_up: bool  # with network and volumes, as far as its node says so
    device_started: bool  # its startup probe passed
    worker_running: bool
    device_ends: int  # how often it has ended
    device_end: ContainerEnd | None  # the last one
    worker_ends: int
    worker_end: ContainerEnd | None
    gone: ContainerEnd | None  # the whole Pod; set as soon as it is told to go, whatever `left` is
    unreachable: bool  # gone with its node, whose kubelet will not confirm it
    ended: bool  # none of its containers runs any more
    images: Mapping[str, str]  # container -> "sha256:...", where it is known


def read_pod(pod: Mapping[str, Any]) -> PodView:
    metadata, spec, status = _map(pod, "metadata"), _map(pod, "spec"), _map(pod, "status")
    device = _first(status, "initContainerStatuses", name=DEVICE)
    worker = _first(status, "containerStatuses", name=WORKER)
    device_end = _last_end(DEVICE, device, _first(spec, "initContainers", name=DEVICE))
    worker_end = _last_end(WORKER, worker, _first(spec, "containers", name=WORKER))
    queued, waiting = _unbound(spec, status)
    starting = WORKER if device.get("started") is True else DEVICE
    if waiting is None and not _ran(worker):
        waiting = (
            _cannot_start(DEVICE, device, device_end or _NO_END)
            or _cannot_start(WORKER, worker, worker_end or _NO_END)
            or Waiting(Cause.UNKNOWN, _line(f"the {starting} starts", (device_end or _NO_END).text))
        )
    gone = _gone(metadata, status, worker_end or device_end or _NO_END)
    # A taint may also drive Pods from a node that is well: their workers get their grace.
    ready = bool(_first(status, "conditions", type="Ready", status="True"))
    return PodView(
        uid=_text(metadata, "uid"),
        node=_text(spec, "nodeName"),
        queued=queued,
        waiting=waiting,
        set_up=not _first(status, "conditions", type="PodReadyToStartContainers", status="False"),
        device_started=starting == WORKER,
        worker_running=_runs(worker),
        device_ends=_ends(device),
        device_end=device_end,
        worker_ends=_ends(worker),
        worker_end=worker_end,
        gone=gone,
        unreachable=gone is not None and gone.cause is Cause.NODE_LOST and not ready,
        ended=_text(status, "phase") in ("Succeeded", "Failed"),
        images=_digests(device, worker),
    )


@dataclass(frozen=True)
class AgentPodView:
    """One state of an agent's Pod."""

    stage: Literal["starting", "running", "ended"]
    text: str  # why it does not run: what it waits for, or how it ended
    fault: Literal["", "agent", "farm"] = ""  # whose, where it ended
    address: str = ""  # where it runs, once it has one
    waits: bool = False  # for its place in a queue, for a node or for its image
    image: str = ""  # "sha256:...", where it runs and that is known


def read_agent_pod(pod: Mapping[str, Any] | None) -> AgentPodView:
    """None is a Pod that is gone. What an agent can bring about itself is its own fault, else it
    could buy itself another attempt."""
    if pod is None:
        return AgentPodView("ended", "its Pod is gone: somebody deleted it", "farm")
    metadata, spec, status = _map(pod, "metadata"), _map(pod, "spec"), _map(pod, "status")
    container = _first(status, "containerStatuses", name=AGENT)
    if taken := _taken(metadata, status):
        own = taken.cause is Cause.STORAGE
        return AgentPodView("ended", taken.text, "agent" if own else "farm")
    if end := _last_end(AGENT, container, _first(spec, "containers", name=AGENT)):
        refused = _text(_map(container, "state", "terminated"), "reason") in _START_ERRORS
        lost = end.cause is Cause.NODE_LOST or (refused and not _NO_PROGRAM.search(end.text))
        return AgentPodView("ended", end.text, "farm" if lost else "agent")
    if _text(status, "phase") in ("Failed", "Succeeded"):
        why = _text(status, "message") or _text(status, "reason")
        return AgentPodView("ended", _line("its Pod ended without it", why), "farm")
    if _runs(container):
        return AgentPodView(
            "running", "its Pod still runs", address=_text(status, "podIP"),
            image=_digests(container).get(AGENT, ""),
        )  # fmt: skip
    if unbound := _unbound(spec, status)[1]:
        return AgentPodView("starting", unbound.text, waits=True)
    waiting = _cannot_start(AGENT, container, _NO_END)
    if waiting is None:
        text = _line("the agent starts", _text(status, "message"))
        return AgentPodView("starting", text, waits=not _text(container, "imageID"))
    if waiting.cause is Cause.RUNTIME_ERROR and _NO_PROGRAM.search(waiting.text):
        return AgentPodView("ended", waiting.text, "agent")
    if waiting.hopeless:
        return AgentPodView("ended", waiting.text, "farm")
    return AgentPodView("starting", waiting.text)


def _unbound(spec: _Json, status: _Json) -> tuple[bool, Waiting | None]:
    """Whether it is queued, and why it has no node yet; None where it has one."""
    unbound = _first(status, "conditions", type="PodScheduled", status="False")
    gates = [_text(gate, "name") for gate in _maps(spec, "schedulingGates")]
    if gates or _text(unbound, "reason") == "SchedulingGated":
        held = _text(unbound, "message") or ", ".join(gates)
        return True, Waiting(Cause.UNKNOWN, _line("the Pod is queued", held), queued=True)
    if unbound:
        why = _line("no node takes the Pod", _text(unbound, "message"))
        return False, Waiting(Cause.UNSCHEDULABLE, why)
    return False, None


def held_by(pod: Mapping[str, Any]) -> list[str]:
    """The finalizers that keep a Pod whose end is confirmed, by its kubelet or by force."""
    metadata = _map(pod, "metadata")
    confirmed = metadata.get("deletionGracePeriodSeconds") == 0
    finalizers = metadata.get("finalizers")
    if not (metadata.get("deletionTimestamp") and confirmed and isinstance(finalizers, list)):
        return []
    return [str(each) for each in finalizers]


def start_trouble(pod: Mapping[str, Any], name: str) -> Waiting | None:
    """Why this container of a Pod does not run; None where it does."""
    spec, status = _map(pod, "spec"), _map(pod, "status")
    container = _first(status, "containerStatuses", name=name)
    if _runs(container):
        return None
    if (waiting := _unbound(spec, status)[1]) is not None:
        return waiting
    end = _last_end(name, container, _first(spec, "containers", name=name)) or _NO_END
    cannot = _cannot_start(name, container, end)
    return cannot or Waiting(end.cause, _line(f"the {name} starts", end.text))


def _cannot_start(name: str, container: _Json, end: ContainerEnd) -> Waiting | None:
    """None where it may start yet, also after crashes: those are told as its ends."""
    if _runs(container):
        return None
    state = _map(container, "state", "waiting")
    cause = _WAITING_CAUSES.get(_text(state, "reason"))
    if end.cause in (Cause.CONFIG_ERROR, Cause.RUNTIME_ERROR):  # its program cannot be run
        cause = end.cause
    if not cause:
        return None
    why = _text(state, "message") or end.text
    text = _line(f"the {name} cannot start", _text(state, "reason"), why)
    return Waiting(cause, text, hopeless=cause is Cause.CONFIG_ERROR)


def _last_end(name: str, container: _Json, spec: _Json) -> ContainerEnd | None:
    end = _map(container, "state", "terminated") or _map(container, "lastState", "terminated")
    if not end:
        return None
    reason, message, code = _text(end, "reason"), _text(end, "message"), end.get("exitCode")
    code = code if isinstance(code, int) else None
    wrote = re.fullmatch(r"\s*([0-9]{1,3})\s*", message) if name == WORKER and code == 0 else None
    left = int(wrote[1]) if wrote else None
    if reason == "OOMKilled":
        limit = _text(_map(spec, "resources", "limits"), "memory") or "memory limit"
        text = f"container OOM-killed: the {name} needed more than its {limit}"
        return ContainerEnd(Cause.OUT_OF_MEMORY, code, _line(text), left)
    if reason == _LOST:
        text = _line(f"the kubelet lost the {name}'s container", message)
        return ContainerEnd(Cause.NODE_LOST, None, text)
    if reason in _START_ERRORS:
        # containerd gives 128 for every error at a start; runc's text tells a program that is not
        # there, or may not be run.
        cause = Cause.CONFIG_ERROR if 'exec: "' in message else Cause.RUNTIME_ERROR
        return ContainerEnd(cause, code, _line(f"the {name}'s container did not start", message))
    if left is not None:
        return ContainerEnd(exit_cause(left), code, f"the {name} left with code {left}", left)
    text = _line(f"the {name}'s container ended with exit code {code}", message)
    return ContainerEnd(exit_cause(code), code, text)


def _ends(container: _Json) -> int:
    """Its restarts, and one more while it is not restarted yet. The kubelet counts a container that
    it lost as restarted at once, but not if its Pod is deleted."""
    restarts = container.get("restartCount")
    restarts = max(restarts, 0) if isinstance(restarts, int) else 0
    ended = _map(container, "state", "terminated")
    if ended and _text(ended, "reason") != _LOST:
        return restarts + 1
    return max(restarts, 1) if ended or _map(container, "lastState", "terminated") else restarts


def _ran(container: _Json) -> bool:
    """Whether its program was ever started."""
    ends = (_map(container, state, "terminated") for state in ("state", "lastState"))
    started = (end and _text(end, "reason") not in _START_ERRORS for end in ends)
    return _runs(container) or any(started)


def _runs(container: _Json) -> bool:
    return isinstance(_map(container, "state").get("running"), Mapping)


def _gone(metadata: _Json, status: _Json, end: ContainerEnd) -> ContainerEnd | None:
    """Of a device's Pod, also where its containers ended by themselves."""
    phase, reason, message = (_text(status, key) for key in ("phase", "reason", "message"))
    if taken := _taken(metadata, status):
        return taken
    if phase == "Failed":
        text = _line("Pod failed", message or reason, end.text)
        return ContainerEnd(end.cause, end.exit_code, text)
    return _hidden_loss(end) if phase == "Succeeded" else None


def _taken(metadata: _Json, status: _Json) -> ContainerEnd | None:
    """By the cluster or somebody in it."""
    phase, reason, message = (_text(status, key) for key in ("phase", "reason", "message"))
    if target := _first(status, "conditions", type="DisruptionTarget", status="True"):
        return _pod_end(_disruption(target, reason), _text(target, "message") or message)
    if target := _first(status, "conditions", type="TerminationTarget", status="True"):
        why = _text(target, "message") or _text(target, "reason")
        return _pod_end(Cause.PREEMPTED, why)  # Kueue gave its place to another
    if cause := _pod_cause(reason, message):
        return _pod_end(cause, message or reason)
    if metadata.get("deletionTimestamp"):
        return _pod_end(Cause.REMOVED, message)
    if phase == "Unknown":  # the control plane cannot reach its node
        return _pod_end(Cause.NODE_LOST, message or reason)
    return None


def _hidden_loss(end: ContainerEnd) -> ContainerEnd | None:
    """The loss behind a Pod that claims success; None where its worker left by itself.

    A worker that was asked to stop, in a Pod that nobody deleted or disrupted, looks like a hidden
    eviction (kubernetes#141483): the kubelet stops a Pod that used more disk than its limit, the
    worker exits 0 in time, and no reason is kept. A worker that exits 0 without a word does not:
    it would have written 143. That may as well be an image with another program.
    """
    if end.left == WorkerExit.STOPPED:
        why = "its worker was asked to stop and no reason was kept, as when a limit is exceeded"
        return _pod_end(Cause.STORAGE, why)
    if end.left is not None:
        return None
    text = _line("Pod succeeded, but its worker left no code", end.text)
    return ContainerEnd(Cause.UNKNOWN, end.exit_code, text)


def _disruption(target: _Json, pod_reason: str) -> Cause:
    reason = _text(target, "reason")
    if reason != "TerminationByKubelet":
        return _DISRUPTIONS.get(reason, Cause.EVICTED)
    if "node shutdown" in _text(target, "message"):  # its own reason comes only when it is down
        return Cause.NODE_SHUTDOWN
    return _POD_REASONS.get(pod_reason, Cause.EVICTED)


def _pod_cause(reason: str, message: str) -> Cause | None:
    """By the Pod's own reason, where nobody disrupted it."""
    if reason == "Evicted":
        return Cause.EVICTED if _NODE_PRESSURE.search(message) else Cause.STORAGE
    rejected = reason.startswith("OutOf") or message.startswith("Pod was rejected")
    return _POD_REASONS.get(reason) or (Cause.REJECTED if rejected else None)


def _pod_end(cause: Cause, why: str) -> ContainerEnd:
    return ContainerEnd(cause, None, _line(_GONE_TEXTS[cause], why))


def _digests(*containers: _Json) -> dict[str, str]:
    found = (
        (each, re.search("sha256:[0-9a-f]{64}$", _text(each, "imageID"))) for each in containers
    )
    return {_text(each, "name"): digest[0] for each, digest in found if digest}


def _line(*parts: str) -> str:
    """The parts that are not empty, as one line without control characters."""
    text = ": ".join(part[:TEXT_LIMIT] for part in parts if part)
    plain = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(plain.split())[:TEXT_LIMIT]


def _map(owner: _Json, *keys: str) -> _Json:
    for key in keys:
        value = owner.get(key)
        owner = value if isinstance(value, Mapping) else {}
    return owner


def _maps(owner: _Json, key: str) -> list[_Json]:
    value = owner.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _first(owner: _Json, key: str, **wanted: str) -> _Json:
    """The first of a list whose fields are these; empty where there is none."""
    fits = (each for each in _maps(owner, key) if all(each.get(k) == wanted[k] for k in wanted))
    return next(fits, {})


def _text(owner: _Json, key: str) -> str:
    value = owner.get(key)
    return value if isinstance(value, str) else ""

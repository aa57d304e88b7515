"""The reading of a device Pod's status: every known failure has its cause and its text."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.fleet.kubernetes.pod_status import (
    TEXT_LIMIT,
    ContainerEnd,
    PodView,
    Waiting,
    read_agent_pod,
    read_pod,
)
from orchestrator.outcome import DISRUPTIONS, Cause

Json = dict[str, Any]
DIGESTS = {"device": f"sha256:{'a' * 64}", "worker": f"sha256:{'b' * 64}"}
RUNNING: Json = {"running": {"startedAt": "2026-01-01T00:00:05Z"}}
NOT_YET: Json = {"waiting": {"reason": "PodInitializing"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:09:00Z", "deletionGracePeriodSeconds": 30}
NOT_LOCATED = "The container could not be located when the pod was terminated"
LOST: Json = {
    "terminated": {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": NOT_LOCATED,
        "startedAt": None,
        "finishedAt": None,
    }
}
NO_PROGRAM = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc "
    'create failed: unable to start container process: exec: "/opt/emu": stat /opt/emu: no such '
    "file or directory"
)


def terminated(code: int, reason: str = "", message: str | None = None) -> Json:
    end = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": "2026-01-01T00:00:05Z",
        "finishedAt": "2026-01-01T00:05:00Z",
        "containerID": "containerd://0123",
    }
    return {"terminated": end if message is None else {**end, "message": message}}


def backing_off(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def container(name: str, state: Json, *, before: Json | None = None, restarts: int = 0) -> Json:
    return {
        "name": name,
        "state": state,
        "lastState": before or {},
        "restartCount": restarts,
        "ready": "running" in state,
        "imageID": f"registry.example/{name}@{DIGESTS[name]}" if state != NOT_YET else "",
        "started": "running" in state,
    }


def condition(kind: str, value: str, reason: str = "", message: str = "") -> Json:
    return {"type": kind, "status": value, "reason": reason, "message": message}


def pod(
    device: Json | None = None,
    worker: Json | None = None,
    *conditions: Json,
    metadata: Json | None = None,
    spec: Json | None = None,
    **status: str,
) -> Json:
    """A Pod on a node, as the API server gives it; running unless something else is said."""
    limits = {"limits": {"memory": "1Gi", "ephemeral-storage": "4Gi"}}
    return {
        "metadata": {"name": "emufarm-run-slot-00-1", "uid": "u-1", **(metadata or {})},
        "spec": {
            "nodeName": "node-1",
            "initContainers": [{"name": "device", "resources": limits}],
            "containers": [{"name": "worker", "resources": limits}],
            **(spec or {}),
        },
        "status": {
            "phase": "Running",
            "conditions": [condition("PodScheduled", "True"), *conditions],
            "initContainerStatuses": [device or container("device", RUNNING)],
            "containerStatuses": [worker or container("worker", RUNNING)],
            **status,
        },
    }


def unbound(reason: str, message: str, **spec: Any) -> Json:
    """A Pod that no node has; its containers have no status yet."""
    made = pod(spec=spec)
    del made["spec"]["nodeName"]
    scheduled = condition("PodScheduled", "False", reason, message)
    made["status"] = {"phase": "Pending", "conditions": [scheduled]}
    return made


def rejected(reason: str, message: str) -> Json:
    """A kubelet that does not admit a Pod writes no status of its containers."""
    made = pod(phase="Failed", reason=reason, message=message)
    del made["status"]["initContainerStatuses"], made["status"]["containerStatuses"]
    return made


def disrupted(by: str, why: str, **changes: Any) -> Json:
    return pod(None, None, condition("DisruptionTarget", "True", by, why), **changes)


def starting(state: Json, *, before: Json | None = None, restarts: int = 0) -> Json:
    """Its device container is in this state, and its worker has not started."""
    device = container("device", state, before=before, restarts=restarts)
    return pod(device, container("worker", NOT_YET), phase="Pending")


def ended(view: PodView) -> ContainerEnd:
    assert view.gone is not None
    return view.gone


def waits(view: PodView) -> Waiting:
    assert view.waiting is not None
    return view.waiting


def test_a_healthy_pair_has_no_trouble() -> None:
    assert read_pod(pod()) == PodView(
        uid="u-1",
        node="node-1",
        queued=False,
        waiting=None,
        set_up=True,
        device_started=True,
        worker_running=True,
        device_ends=0,
        device_end=None,
        worker_ends=0,
        worker_end=None,
        gone=None,
        unreachable=False,
        ended=False,
        images=DIGESTS,
    )


@pytest.mark.parametrize("status", [None, {}, {"phase": "Pending"}])
def test_a_fresh_pod_only_waits(status: Json | None) -> None:
    view = read_pod({"metadata": {"uid": "u-1"}, "status": status})
    assert view == PodView(
        "u-1", "", False, Waiting(Cause.UNKNOWN, "the device starts"), True, False, False, 0, None,
        0, None, None, False, False, {},
    )  # fmt: skip


LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi."
SHUTDOWN = "Pod was terminated in response to imminent node shutdown."
NO_SHUTDOWN = "Pod was rejected as the node is shutting down."
PRESSURE = "Pod was rejected: The node had condition: [DiskPressure]."
OWN_LIMIT = "Pod ephemeral local storage usage exceeds the total limit of containers 8Gi."
PREEMPTING = "default-scheduler: preempting to accommodate a higher priority pod"
CRITICAL = "Preempted in order to admit critical pod"
TAINT = "Taint manager: deleting due to NoExecute taint"
STALE = condition("DisruptionTarget", "False", "EvictionByEvictionAPI")
KUEUE = condition("TerminationTarget", "True", "WorkloadEvicted", "Preempted to accommodate")
KUBELET = "TerminationByKubelet"
GONE = [
    (
        disrupted("PreemptionByScheduler", PREEMPTING),
        Cause.PREEMPTED, f"Pod preempted: {PREEMPTING}",
    ),
    (
        disrupted("DeletionByTaintManager", TAINT, metadata=DELETED),
        Cause.NODE_LOST, f"Pod lost with its node: {TAINT}",
    ),
    (
        disrupted("EvictionByEvictionAPI", "Eviction API: evicting", metadata=DELETED),
        Cause.EVICTED, "Pod evicted: Eviction API: evicting",
    ),
    (
        disrupted("DeletionByPodGC", "PodGC: node no longer exists", phase="Failed"),
        Cause.NODE_LOST, "Pod lost with its node: PodGC: node no longer exists",
    ),
    (
        disrupted(KUBELET, LOW, phase="Failed", reason="Evicted", message=LOW),
        Cause.EVICTED, f"Pod evicted: {LOW}",
    ),
    # Its worker exited 0 in time.
    (disrupted(KUBELET, LOW, phase="Succeeded"), Cause.EVICTED, f"Pod evicted: {LOW}"),
    (
        disrupted(KUBELET, "", phase="Failed", reason="Terminated"),
        Cause.NODE_SHUTDOWN, "Pod stopped by the shutdown of its node",
    ),
    # While its containers still run it has no reason.
    (
        disrupted(KUBELET, SHUTDOWN),
        Cause.NODE_SHUTDOWN, f"Pod stopped by the shutdown of its node: {SHUTDOWN}",
    ),
    (
        disrupted(KUBELET, CRITICAL, phase="Failed", reason="Preempting"),
        Cause.PREEMPTED, f"Pod preempted: {CRITICAL}",
    ),
    (disrupted("OfTheFuture", "it had to go"), Cause.EVICTED, "Pod evicted: it had to go"),
    (
        pod(None, None, KUEUE, metadata=DELETED),
        Cause.PREEMPTED, "Pod preempted: Preempted to accommodate",
    ),
    (
        pod(phase="Failed", reason="Evicted", message=OWN_LIMIT),
        Cause.STORAGE, f"Pod evicted for the disk it used: {OWN_LIMIT}",
    ),
    (rejected("Evicted", PRESSURE), Cause.EVICTED, f"Pod evicted: {PRESSURE}"),
    (
        pod(phase="Failed", reason="Terminated", message=SHUTDOWN),
        Cause.NODE_SHUTDOWN, f"Pod stopped by the shutdown of its node: {SHUTDOWN}",
    ),
    (
        rejected("NodeShutdown", NO_SHUTDOWN),
        Cause.NODE_SHUTDOWN, f"Pod stopped by the shutdown of its node: {NO_SHUTDOWN}",
    ),
    *(
        (rejected(reason, "full"), Cause.REJECTED, "Pod rejected by the kubelet: full")
        for reason in ("UnexpectedAdmissionError", "NodeAffinity", "OutOfcpu", "OutOfmemory",
                       "OutOfpods", "OutOfdevices.kubevirt.io/kvm")
    ),
    (
        rejected("TopologyAffinityError", "Pod was rejected: no alignment"),
        Cause.REJECTED, "Pod rejected by the kubelet: Pod was rejected: no alignment",
    ),
    (
        pod(metadata=DELETED, reason="NodeLost", message="Node node-1 is unresponsive"),
        Cause.NODE_LOST, "Pod lost with its node: Node node-1 is unresponsive",
    ),
    (pod(phase="Unknown"), Cause.NODE_LOST, "Pod lost with its node"),
    (
        pod(phase="Failed", reason="DeadlineExceeded", message="Pod was active too long"),
        Cause.DEADLINE, "Pod exceeded its deadline: Pod was active too long",
    ),
    (pod(None, None, STALE, metadata=DELETED), Cause.REMOVED, "Pod deleted by somebody else"),
    (
        pod(worker=container("worker", LOST), phase="Failed"),
        Cause.NODE_LOST, f"Pod failed: the kubelet lost the worker's container: {NOT_LOCATED}",
    ),
    (rejected("", ""), Cause.UNKNOWN, "Pod failed"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "cause", "words"), GONE)
def test_a_pod_that_is_gone_has_a_cause_and_its_own_words(
    made: Json, cause: Cause, words: str
) -> None:
    gone = ended(read_pod(made))
    assert (gone.cause, gone.text) == (cause, words)
    assert gone.exit_code is None


def test_a_disruption_that_did_not_happen_is_none() -> None:
    """The control plane sets the condition to False when the Pod stays after all."""
    assert read_pod(pod(None, None, STALE)).gone is None


def test_a_failed_pod_has_the_exit_code_of_its_worker() -> None:
    gone = ended(read_pod(pod(worker=container("worker", terminated(139)), phase="Failed")))
    assert (gone.cause, gone.exit_code) == (Cause.CRASHED, 139)


def test_a_pod_that_succeeds_without_a_word_of_its_worker_is_a_loss() -> None:
    """Perhaps another program runs in its image: nothing points to the disk."""
    view = read_pod(pod(worker=container("worker", terminated(0)), phase="Succeeded"))
    assert ended(view).cause is Cause.UNKNOWN
    assert view.ended
    assert "its worker left no code" in ended(view).text


def test_a_worker_that_is_asked_to_stop_by_nobody_hides_an_eviction() -> None:
    """It counts, unlike a disruption: a device that fills its disk would be made for ever."""
    left = container("worker", terminated(0, message="143"))
    view = read_pod(pod(worker=left, phase="Succeeded"))
    assert ended(view).cause is Cause.STORAGE
    assert ended(view).cause not in DISRUPTIONS
    assert view.worker_end == ContainerEnd(
        Cause.ASKED_TO_STOP, 0, "the worker left with code 143", 143
    )


@pytest.mark.parametrize("message", ["0", "3", "3\n"])
def test_a_worker_that_leaves_by_itself_leaves_its_code(message: str) -> None:
    code = int(message)
    worker = container("worker", terminated(0, message=message))
    device = container("device", terminated(143))
    view = read_pod(pod(device, worker, phase="Succeeded"))
    left = ContainerEnd(Cause.EXITED, 0, f"the worker left with code {code}", code)
    assert (view.worker_end, view.worker_ends, view.gone, view.ended) == (left, 1, None, True)
    assert view.waiting is None


@pytest.mark.parametrize("message", ["", "-3", "3 apples", "1234", "٣", "0x3", "1" * 5000])
def test_only_a_code_is_a_code(message: str) -> None:
    view = read_pod(pod(worker=container("worker", terminated(0, message=message))))
    assert view.worker_end is not None
    assert view.worker_end.left is None


def test_a_crash_leaves_no_code_whatever_it_printed() -> None:
    view = read_pod(pod(worker=container("worker", terminated(1, message="0"))))
    assert view.worker_end is not None
    assert (view.worker_end.left, view.worker_end.exit_code) == (None, 1)


def test_a_worker_that_was_restarted_runs_and_its_end_is_kept() -> None:
    worker = container("worker", RUNNING, before=terminated(1), restarts=2)
    view = read_pod(pod(worker=worker))
    assert (view.worker_running, view.worker_ends, view.waiting) == (True, 2, None)
    assert view.worker_end == ContainerEnd(
        Cause.EXITED, 1, "the worker's container ended with exit code 1"
    )


OOM = "container OOM-killed: the device needed more than its 1Gi"
ENDED, UNSTARTED = (
    "the device's container ended with exit code",
    "the device's container did not start",
)
ENDS = [
    (terminated(137, "OOMKilled"), Cause.OUT_OF_MEMORY, 137, OOM),
    (terminated(1, "OOMKilled"), Cause.OUT_OF_MEMORY, 1, OOM),
    (LOST, Cause.NODE_LOST, None, f"the kubelet lost the device's container: {NOT_LOCATED}"),
    (terminated(137), Cause.KILLED, 137, f"{ENDED} 137"),
    (terminated(139), Cause.CRASHED, 139, f"{ENDED} 139"),
    (terminated(134), Cause.CRASHED, 134, f"{ENDED} 134"),
    (terminated(143), Cause.ASKED_TO_STOP, 143, f"{ENDED} 143"),
    (terminated(127, message="no sdk"), Cause.CONFIG_ERROR, 127, f"{ENDED} 127: no sdk"),
    (terminated(0), Cause.EXITED, 0, f"{ENDED} 0"),
    (
        terminated(128, "StartError", NO_PROGRAM),
        Cause.CONFIG_ERROR, 128, f"{UNSTARTED}: {NO_PROGRAM}",
    ),
    (
        terminated(128, "StartError", "out of pids"),
        Cause.RUNTIME_ERROR, 128, f"{UNSTARTED}: out of pids",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("state", "cause", "code", "words"), ENDS)
def test_the_end_of_a_container_has_a_cause(
    state: Json, cause: Cause, code: int | None, words: str
) -> None:
    """The same before and after the kubelet has started the container again."""
    now = read_pod(pod(container("device", state)))
    again = read_pod(pod(container("device", RUNNING, before=state, restarts=1)))
    assert now.device_end == again.device_end == ContainerEnd(cause, code, words)
    assert now.device_ends == again.device_ends == 1
    assert now.gone is again.gone is None


def test_a_lost_container_is_counted_once() -> None:
    """The kubelet adds the restart when it loses the container, before it starts it again."""
    lost = read_pod(pod(container("device", LOST, restarts=1)))
    assert (lost.device_ends, lost.device_started) == (1, False)
    deleted = container("device", NOT_YET, before=LOST)
    assert read_pod(pod(deleted, metadata=DELETED)).device_ends == 1


def test_an_oom_of_a_container_without_a_limit_is_told() -> None:
    made = pod(container("device", terminated(137, "OOMKilled")))
    del made["spec"]["initContainers"]
    end = read_pod(made).device_end
    assert end is not None
    assert end.text == "container OOM-killed: the device needed more than its memory limit"


WAITING_REASONS = {
    "ErrImagePull": Cause.IMAGE_ERROR,
    "ImagePullBackOff": Cause.IMAGE_ERROR,
    "InvalidImageName": Cause.CONFIG_ERROR,
    "ErrImageNeverPull": Cause.CONFIG_ERROR,
    "CreateContainerConfigError": Cause.CONFIG_ERROR,
    "CreateContainerError": Cause.RUNTIME_ERROR,
    "RunContainerError": Cause.RUNTIME_ERROR,
}
NO_NODE = "0/3 nodes are available: 3 Insufficient cpu."
CRASHES = backing_off("CrashLoopBackOff")
NEVER_RAN = terminated(128, "StartError", "no pid")
WAITS = [
    (unbound("Unschedulable", NO_NODE), Cause.UNSCHEDULABLE, f"no node takes the Pod: {NO_NODE}"),
    *(
        (starting(backing_off(reason, "why")), cause, f"the device cannot start: {reason}: why")
        for reason, cause in WAITING_REASONS.items()
    ),
    (
        pod(worker=container("worker", backing_off("ErrImagePull", "403"))),
        Cause.IMAGE_ERROR, "the worker cannot start: ErrImagePull: 403",
    ),
    (
        starting(CRASHES, before=terminated(126), restarts=1),
        Cause.CONFIG_ERROR, f"the device cannot start: CrashLoopBackOff: {ENDED} 126",
    ),
    (
        starting(
            backing_off("RunContainerError", NO_PROGRAM),
            before=terminated(128, "StartError", NO_PROGRAM),
        ),
        Cause.CONFIG_ERROR, f"the device cannot start: RunContainerError: {NO_PROGRAM}",
    ),
    (
        pod(worker=container("worker", CRASHES, before=NEVER_RAN, restarts=1)),
        Cause.RUNTIME_ERROR,
        "the worker cannot start: CrashLoopBackOff: the worker's container did not start: no pid",
    ),
    (starting(NOT_YET), Cause.UNKNOWN, "the device starts"),
    (pod(worker=container("worker", NOT_YET)), Cause.UNKNOWN, "the worker starts"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "cause", "words"), WAITS)
def test_a_pod_that_does_not_run_yet_says_why(made: Json, cause: Cause, words: str) -> None:
    """Only a wrong configuration is hopeless."""
    view = read_pod(made)
    assert view.waiting == Waiting(cause, words, hopeless=cause is Cause.CONFIG_ERROR)
    assert (view.worker_running, view.gone, view.queued) == (False, None, False)


def test_a_device_that_crashes_before_it_has_started_keeps_the_pod_waiting() -> None:
    view = read_pod(starting(CRASHES, before=terminated(139), restarts=3))
    end = ContainerEnd(Cause.CRASHED, 139, f"{ENDED} 139")
    assert (view.device_ends, view.device_end) == (3, end)
    assert view.waiting == Waiting(Cause.UNKNOWN, f"the device starts: {end.text}")


def test_a_device_that_boots_has_not_started() -> None:
    device = {**container("device", RUNNING), "started": False}
    view = read_pod(pod(device, container("worker", NOT_YET), phase="Pending"))
    assert (view.device_started, view.waiting) == (
        False,
        Waiting(Cause.UNKNOWN, "the device starts"),
    )


def test_a_pod_that_ends_before_its_worker_started_keeps_waiting() -> None:
    """So the last state of a Pod shows whether its device ever came up."""
    view = read_pod(rejected("OutOfcpu", "Node didn't have enough resource"))
    assert view.ended
    assert view.waiting is not None


GATE = {"name": "kueue.x-k8s.io/admission"}
GATED = "Scheduling is blocked due to non-empty scheduling gates"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (unbound("SchedulingGated", GATED, schedulingGates=[GATE]), f"the Pod is queued: {GATED}"),
        (unbound("SchedulingGated", GATED), f"the Pod is queued: {GATED}"),
        (
            {"spec": {"schedulingGates": [GATE, {"name": "example.org/gate"}]}},
            "the Pod is queued: kueue.x-k8s.io/admission, example.org/gate",
        ),
    ],
)
def test_a_pod_that_is_held_by_a_gate_is_queued(made: Json, words: str) -> None:
    view = read_pod(made)
    assert view.queued
    assert (waits(view), view.node) == (Waiting(Cause.UNKNOWN, words, queued=True), "")


@pytest.mark.parametrize(
    ("image_id", "digest"),
    [
        (f"docker-pullable://example/phone@{DIGESTS['device']}", DIGESTS["device"]),
        (DIGESTS["device"], DIGESTS["device"]),
        ("", None),
        (None, None),
        ("example/phone:latest", None),
    ],
)
def test_an_image_is_known_by_its_digest(image_id: str | None, digest: str | None) -> None:
    device = {**container("device", RUNNING), "imageID": image_id}
    assert read_pod(pod(device)).images.get("device") == digest


def agent(state: Json | None = None, **more: Any) -> Json:
    """An agent's Pod on a node."""
    made = [{"name": "agent", "state": state, **more}] if state else []
    return {"spec": {"nodeName": "node-1"}, "status": {"containerStatuses": made}}


CREATED = {"imageID": f"r/agent@{DIGESTS['device']}"}


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        (unbound("SchedulingGated", GATED, schedulingGates=[GATE]), True),
        (unbound("Unschedulable", NO_NODE), True),
        (agent(), True),
        (agent(backing_off("ContainerCreating")), True),
        (agent(backing_off("ErrImagePull", "403")), False),
        (agent(backing_off("CreateContainerError", "no shim")), False),
        (agent(backing_off("ContainerCreating"), **CREATED), False),
    ],
)
def test_an_agent_waits_for_a_place_and_its_image_and_for_nothing_else(
    made: Json, waits: bool
) -> None:
    """What is broken on the way is no waiting."""
    view = read_agent_pod(made)
    assert (view.stage, view.waits) == ("starting", waits)


HOSTILE = "\x1b[2Jred\r\n\x00\u202eevil\ud800 " + "x" * 100_000


def test_a_text_is_one_bounded_line_without_control_characters() -> None:
    made = pod(
        container("device", terminated(1, message=HOSTILE)),
        container("worker", backing_off("ErrImagePull", HOSTILE)),
        condition("DisruptionTarget", "True", "EvictionByEvictionAPI", HOSTILE),
    )
    view = read_pod(made)
    assert view.device_end is not None
    for text in (view.device_end.text, waits(view).text, ended(view).text):
        assert len(text) == TEXT_LIMIT
        assert text.isprintable()
        assert text.isascii()
        assert "[2Jred evil" in text


def fields(made: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all fields and items in a Pod, from the outside in."""
    keys = made if isinstance(made, dict) else range(len(made)) if isinstance(made, list) else ()
    for key in keys:
        yield (*path, key)
        yield from fields(made[key], (*path, key))


FULL = pod(
    container("device", backing_off("CrashLoopBackOff"), before=terminated(137), restarts=2),
    container("worker", terminated(0, message="3"), before=terminated(1), restarts=1),
    condition("DisruptionTarget", "True", "TerminationByKubelet", LOW),
    condition("TerminationTarget", "True", "WorkloadEvicted", "queue"),
    metadata=DELETED,
    spec={"schedulingGates": [GATE]},
    phase="Failed",
    reason="Evicted",
    message=LOW,
)
PATHS = list(fields(FULL))


@given(
    st.lists(st.sampled_from(PATHS)),
    st.sampled_from([None, {}, [], "", "x", -1, True]),
    st.booleans(),
)
def test_no_missing_or_strange_field_breaks_the_reading(
    paths: list[tuple[Any, ...]], value: Any, remove: bool
) -> None:
    made = copy.deepcopy(FULL)
    for *way, last in sorted(paths, key=len, reverse=True):
        owner: Any = made
        for key in way:
            owner = owner[key]
        if remove and isinstance(owner, dict):
            owner.pop(last, None)
        else:
            owner[last] = value
    view = read_pod(made)
    assert view.device_ends >= (view.device_end is not None)
    assert view.worker_ends >= (view.worker_end is not None)


@pytest.mark.parametrize(("ready", "unreachable"), [("True", False), ("False", True)])
def test_a_taint_drives_pods_from_nodes_that_answer_too(ready: str, unreachable: bool) -> None:
    """The control plane says of the Pods of a lost node that they are not ready."""
    taken = condition("DisruptionTarget", "True", "DeletionByTaintManager", TAINT)
    view = read_pod(pod(None, None, taken, condition("Ready", ready, ""), metadata=DELETED))
    assert ended(view).cause is Cause.NODE_LOST
    assert view.unreachable is unreachable

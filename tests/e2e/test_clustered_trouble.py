"""What keeps a run on a cluster from starting is said in time, in a sentence; nothing is left."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.fleet.kubernetes.api import Json
from tests.e2e.clustered import (
    NAMESPACE,
    SIM,
    SOON_S,
    USER,
    Clustered,
    apply_farm,
    bind,
    changed_template,
)
from tests.programs import read_until
from tests.run.conftest import ended

pytestmark = pytest.mark.kubernetes
SMOKE = "cases/smoke"
UNSTARTED_S = 20  # where not even the coordinator starts; else it needs some of the time
NO_IMAGE = ("ImagePull", "not found")  # the kubelet's word, and the registry's answer


def refused(
    clustered: Clustered, name: str, *sentence: str, codes: tuple[int, ...], pending_s: int = 15
) -> str:
    """Its output; it ends in time, and nothing of it is left."""
    since = time.monotonic()
    words = ("--devices", "1", "--pending-timeout", str(pending_s))
    code, output = clustered.run(SMOKE, *words, name=name)
    assert code in codes, output
    assert time.monotonic() - since < SOON_S, output
    for part in sentence:
        assert part in " ".join(output.split()), output
    cluster = clustered.cluster
    runs = cluster.kubectl("get", "fr", "-n", NAMESPACE, "-o", "name", check=False).stdout
    assert f"/{name}\n" not in runs
    cluster.wait(f"the end of {name}", lambda: clustered.left(name) == [])
    return output


@contextmanager
def changed_lock(clustered: Clustered, **container: Any) -> Iterator[None]:
    before = clustered.lock_file.read_text()
    body = json.loads(before)
    body["container"] |= container
    clustered.lock_file.write_text(json.dumps(body))
    try:
        yield
    finally:
        clustered.lock_file.write_text(before)


def test_a_device_image_that_is_not_there(clustered: Clustered) -> None:
    (name,) = clustered.lock.container.pushed  # type: ignore[union-attr]
    with changed_lock(clustered, pushed={name: "sha256:" + "0" * 64}):
        sentence = ("no episode could be run", "slot-00", *NO_IMAGE)
        refused(clustered, "no-image", *sentence, codes=(20,))


@pytest.mark.parametrize(
    ("name", "cause"), [("patient", "not found"), ("waiting", "no node takes the Pod")]
)
def test_a_cause_is_said_in_time_where_much_more_is_given(
    clustered: Clustered, name: str, cause: str
) -> None:
    """Autoscalers need minutes, and whoever named a wrong image should not wait for those."""
    with ExitStack() as changed:
        if cause == "not found":
            (image,) = clustered.lock.container.pushed  # type: ignore[union-attr]
            wrong = {image: "sha256:" + "0" * 64}
            changed.enter_context(changed_lock(clustered, pushed=wrong))
        else:
            nowhere = {"emufarm.dev/none": "here"}
            changed.enter_context(changed_template(clustered, "device", nodeSelector=nowhere))
        process = clustered.start(SMOKE, "--devices", "1", name=name)
        assert process.stdout is not None
        try:
            said = read_until(process.stdout.fileno(), cause, SOON_S)
            assert "slot-00.1 waits" in said
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate(timeout=60)
    clustered.delete(name)


def test_a_worker_image_that_is_not_there(clustered: Clustered) -> None:
    (name,) = clustered.lock.container.worker_pushed  # type: ignore[union-attr]
    with changed_lock(clustered, worker_pushed={name: "sha256:" + "0" * 64}):
        sentence = ("the coordinator did not start", *NO_IMAGE)
        refused(clustered, "no-worker", *sentence, codes=(20,), pending_s=UNSTARTED_S)


def test_an_image_that_was_never_pushed(clustered: Clustered) -> None:
    with changed_lock(clustered, pushed={}):
        refused(clustered, "unpushed", "emufarm image push sim-api34", codes=(2,))


def test_a_quota_that_is_used_up(clustered: Clustered) -> None:
    quota: Json = {
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "full", "namespace": NAMESPACE}, "spec": {"hard": {"pods": "0"}},
    }  # fmt: skip
    clustered.cluster.apply(quota)
    try:
        clustered.cluster.wait(
            "a quota that counts",
            lambda: "hard" in clustered.cluster.get("quota", "full", "-n", NAMESPACE)["status"],
        )
        refused(clustered, "quota", "exceeded quota", codes=(20,), pending_s=UNSTARTED_S)
    finally:
        clustered.kubectl("delete", "quota", "full")


def test_a_pod_that_pod_security_refuses(clustered: Clustered) -> None:
    with changed_template(clustered, "device", hostNetwork=True):
        refused(clustered, "security", "PodSecurity", codes=(20,))


def test_nodes_that_take_no_device(clustered: Clustered) -> None:
    with changed_template(clustered, "device", nodeSelector={"emufarm.dev/none": "here"}):
        refused(clustered, "no-node", "no node takes the Pod", codes=(20,))


def test_a_user_without_rights(clustered: Clustered) -> None:
    clustered.kubectl("delete", "rolebinding", USER)
    try:
        refused(clustered, "no-rights", "emufarm-user", "forbidden", codes=(2,))
    finally:
        bind(clustered.cluster, USER, "emufarm-user")


def test_a_coordinator_without_rights(clustered: Clustered) -> None:
    clustered.kubectl("delete", "rolebinding", "emufarm-coordinator")
    try:
        refused(clustered, "no-role", "the coordinator may not use the cluster", codes=(2,))
    finally:
        apply_farm(clustered.cluster, SIM)


def test_a_start_that_is_interrupted_leaves_nothing(clustered: Clustered) -> None:
    with changed_template(clustered, "coordinator", nodeSelector={"emufarm.dev/none": "here"}):
        process = clustered.start(SMOKE, "--devices", "1", name="interrupted")
        clustered.cluster.wait(
            "its Job", lambda: "job.batch/emufarm-interrupted" in clustered.left("interrupted")
        )
        process.send_signal(signal.SIGINT)
        code, output = ended(process)
    assert code == 130, output
    assert "fr/interrupted" not in clustered.kubectl("get", "fr", "-o", "name")
    clustered.cluster.wait("the end of its objects", lambda: clustered.left("interrupted") == [])
    assert not (clustered.farm.runs / "interrupted").exists()


def test_a_worker_image_of_another_version(clustered: Clustered, tmp_path: Path) -> None:
    """Both are named, and no document was sent."""
    (tmp_path / "sitecustomize.py").write_text(
        "import orchestrator\norchestrator.__version__ = '9.8.7'\n"
    )
    env = {**clustered.farm.env, "PYTHONPATH": str(tmp_path)}
    newer = replace(clustered, farm=replace(clustered.farm, env=env))
    refused(newer, "newer", "0.1.0", "9.8.7", "emufarm image push", codes=(2,))


def test_a_name_that_is_no_dns_label(clustered: Clustered) -> None:
    code, output = clustered.run(SMOKE, name="Not_A_Label")
    assert code == 2, output
    assert "'Not_A_Label' is no name for a run on a cluster" in output


def test_a_run_of_the_same_name(clustered: Clustered) -> None:
    code, output = clustered.run(SMOKE, "--devices", "1", "--detach", name="twice")
    assert code == 0, output
    other = replace(clustered, farm=replace(clustered.farm, runs=clustered.farm.runs / "other"))
    code, output = other.run(SMOKE, "--devices", "1", name="twice")
    assert code == 2, output
    assert "has a run twice already" in output
    clustered.delete("twice")


def test_a_cluster_that_does_not_answer(clustered: Clustered, tmp_path: Path) -> None:
    config = json.loads(Path(clustered.farm.env["KUBECONFIG"]).read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    farm = replace(clustered.farm, env={**clustered.farm.env, "KUBECONFIG": str(path)})
    code, output = replace(clustered, farm=farm).run(SMOKE, "--devices", "1", name="unreachable")
    assert code == 20, output
    assert "API server does not answer" in output

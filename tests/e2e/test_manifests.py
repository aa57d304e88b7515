"""The manifests of k8s/ say to a real API server what the farm relies on."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.cluster.reached import Reached

pytestmark = pytest.mark.kubernetes

OVERLAYS = Path(__file__).parents[2] / "k8s" / "overlays"
SIM = str(OVERLAYS / "sim")
EVERY = sorted(place.name for place in OVERLAYS.iterdir())
NAMESPACE, IN_FARM = "emufarm", ("-n", "emufarm")
COORDINATOR, DEVICE = (
    f"system:serviceaccount:{NAMESPACE}:emufarm-{name}" for name in ("coordinator", "device")
)
USER = "somebody"
DIGEST, OTHER_DIGEST = "0" * 64, "1" * 64
IMAGE, OTHER_IMAGE = (f"registry.test/it@sha256:{digest}" for digest in (DIGEST, OTHER_DIGEST))
SPEC = {
    "plan": DIGEST, "profile": "sim-api34", "image": IMAGE, "workerImage": IMAGE,
    "agent": "reference", "episodes": 23, "version": "0.1.0", "keepSeconds": 60,
}  # fmt: skip
CHANGED = {
    "plan": OTHER_DIGEST, "profile": "other", "image": OTHER_IMAGE, "workerImage": OTHER_IMAGE,
    "agent": "other", "episodes": 24, "version": "0.2.0", "keepSeconds": 61,
}  # fmt: skip
FIXED = "cannot change after the run was made, only devices and cancel can"
KVM = {"devices.kubevirt.io/kvm": "1"}
OF_PROFILE = {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "256Mi"}
READING = {"get", "list", "watch"}
KEEPING = READING | {"create", "patch", "delete"}


@pytest.fixture(scope="module")
def farm(any_cluster: Reached) -> Iterator[Reached]:
    """A cluster to which the overlay `sim` was applied, in one step."""
    if not any_cluster.ours:
        there = any_cluster.kubectl("get", "namespace", NAMESPACE, check=False)
        if there.returncode == 0:
            pytest.skip(f"the cluster of EMUFARM_TEST_KUBECONFIG has a namespace {NAMESPACE}")
    apply_sim(any_cluster)
    yield any_cluster
    if not any_cluster.ours:
        any_cluster.kubectl("delete", "-k", SIM)


def apply_sim(cluster: Reached) -> None:
    cluster.kubectl("apply", "--validate=strict", "-k", SIM)
    crd = "crd/farmruns.emufarm.dev"
    cluster.kubectl("wait", "--for=condition=Established", crd, "--timeout=60s")


@pytest.fixture
def run(farm: Reached) -> Iterator[str]:
    """The name of a FarmRun of one test."""
    name = f"run-{uuid.uuid4().hex[:8]}"
    create(farm, a_run(name))
    yield name
    farm.kubectl("delete", "fr", name, *IN_FARM)


@pytest.fixture
def user(farm: Reached) -> Iterator[str]:
    """Somebody with the Role emufarm-user and no other."""
    words = ("rolebinding", "test-user", *IN_FARM)
    farm.kubectl("create", *words, "--role=emufarm-user", f"--user={USER}")
    yield USER
    farm.kubectl("delete", *words)


def a_run(name: str, **changes: Any) -> dict[str, Any]:
    """A FarmRun; a field that is changed to None is missing."""
    spec = {key: value for key, value in {**SPEC, **changes}.items() if value is not None}
    return {
        "apiVersion": "emufarm.dev/v1alpha1",
        "kind": "FarmRun",
        "metadata": {"name": name},
        "spec": spec,
    }


def create(
    farm: Reached, *objects: dict[str, Any], words: tuple[str, ...] = (), check: bool = True
) -> subprocess.CompletedProcess[str]:
    """One document each: a List is validated by kubectl itself, not by the API server."""
    stdin = "\n".join(json.dumps(one) for one in objects)
    command = ("create", "--validate=strict", *IN_FARM, "-f", "-", *words)
    return farm.kubectl(*command, stdin=stdin, check=check)


def patch(
    farm: Reached, run: str, change: dict[str, Any], *words: str, check: bool = True
) -> subprocess.CompletedProcess[str]:
    command = ("patch", "fr", run, *IN_FARM, "--type=merge", "--patch", json.dumps(change))
    return farm.kubectl(*command, *words, check=check)


def write_status(farm: Reached, run: str, **status: Any) -> None:
    """As the coordinator does it."""
    patch(farm, run, {"status": status}, "--subresource=status", f"--as={COORDINATOR}")


def a_condition(kind: str) -> dict[str, str]:
    return {
        "type": kind, "status": "True", "reason": "Sealed", "message": "every episode is decided",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip


def manifests(farm: Reached, overlay: str) -> dict[tuple[str, str], Any]:
    """What the API server would make of an overlay, by kind and name."""
    words = ("apply", "--dry-run=server", "--validate=strict", "-k", str(OVERLAYS / overlay))
    answer = farm.kubectl(*words, "-o", "json")
    assert answer.stderr == ""
    items = json.loads(answer.stdout)["items"]
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


def template(found: dict[tuple[str, str], Any], name: str) -> Any:
    return found["PodTemplate", f"emufarm-{name}"]["template"]


def a_pod(found: dict[tuple[str, str], Any], name: str) -> dict[str, Any]:
    """A template's Pod, with what the farm fills in."""
    text = json.dumps(template(found, name)).replace('"image": "filled-in"', f'"image": "{IMAGE}"')
    pod: dict[str, Any] = json.loads(text.replace("filled-in", "emufarm-test"))
    labels = {"run": "test", "slot": "slot-00", "device": "slot-00.1"}
    pod["metadata"]["name"] = name
    pod["metadata"]["labels"] |= {f"emufarm.dev/{key}": value for key, value in labels.items()}
    for container in pod["spec"].get("initContainers", []):
        given = container.get("resources", {})
        container["resources"] = {
            kind: OF_PROFILE | given.get(kind, {}) for kind in ("requests", "limits")
        }
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def rights(farm: Reached, who: str) -> dict[str, set[str]]:
    """The verbs that somebody has in the namespace, by resource, beyond asking for them."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": NAMESPACE},
    }
    # To validate a review, kubectl lists the CRDs, which nobody here may do.
    words = ("create", "-f", "-", "-o", "json", "--validate=false", f"--as={who}")
    answer = json.loads(farm.kubectl(*words, stdin=json.dumps(review)).stdout)
    assert not answer["status"]["incomplete"]
    found: dict[str, set[str]] = defaultdict(set)
    for rule in answer["status"]["resourceRules"]:
        for resource in rule["resources"]:
            for group in rule["apiGroups"]:
                found[f"{resource}.{group}".rstrip(".")] |= set(rule["verbs"])
    return {name: verbs for name, verbs in found.items() if not name.startswith("selfsubject")}


def may(farm: Reached, who: str, *words: str) -> bool:
    answer = farm.kubectl("auth", "can-i", *words, f"--as={who}", *IN_FARM, check=False)
    assert answer.stdout in ("yes\n", "no\n"), answer.stderr
    return answer.stdout == "yes\n"


@pytest.mark.parametrize("overlay", EVERY)
def test_an_overlay_is_accepted_without_a_warning(farm: Reached, overlay: str) -> None:
    """By strict validation; where its Pods broke Pod Security, there would be a warning."""
    found = manifests(farm, overlay)
    names = {name for kind, name in found if kind == "PodTemplate"}
    assert names == {"emufarm-device", "emufarm-agent", "emufarm-coordinator"}
    spaces = {
        item["metadata"].get("namespace")
        for (kind, _), item in found.items()
        if kind not in ("Namespace", "CustomResourceDefinition")
    }
    assert spaces == {NAMESPACE}


def test_an_overlay_that_is_applied_again_changes_nothing(farm: Reached) -> None:
    answer = farm.kubectl("apply", "-k", str(OVERLAYS / "sim"))
    assert {line.rpartition(" ")[2] for line in answer.stdout.splitlines()} == {"unchanged"}


def test_an_overlay_can_move_everything_to_another_namespace(farm: Reached, tmp_path: Path) -> None:
    """The Namespace itself and the subject of the coordinator's RoleBinding included."""
    place = Path(shutil.copytree(OVERLAYS.parent, tmp_path / "k8s"))
    overlay = place / "overlays" / "sim-shared-evidence"
    with (overlay / "kustomization.yaml").open("a") as kustomization:
        kustomization.write("namespace: elsewhere\n")
    made = [
        one for one in yaml.safe_load_all(farm.kubectl("kustomize", str(overlay)).stdout) if one
    ]
    found = {(one["kind"], one["metadata"]["name"]): one for one in made}
    assert ("Namespace", "elsewhere") in found
    (subject,) = found["RoleBinding", "emufarm-coordinator"]["subjects"]
    assert subject["namespace"] == "elsewhere"
    spaces = {one["metadata"].get("namespace", "elsewhere") for one in made}
    assert spaces == {"elsewhere"}


def test_kvm_devices_ask_for_kvm_and_for_one_cpu_model(farm: Reached) -> None:
    spec = template(manifests(farm, "kvm"), "device")["spec"]
    assert spec["initContainers"][0]["resources"] == {"requests": KVM, "limits": KVM}
    assert spec["nodeSelector"] == {"emufarm.dev/cpu-model": "default"}


@pytest.mark.parametrize("phones", ["sim", "kvm"])
def test_shared_evidence_is_one_claim_of_devices_and_coordinator(
    farm: Reached, phones: str
) -> None:
    """It is laid over either kind of phone and leaves the rest of their overlay as it is."""
    found = manifests(farm, f"{phones}-shared-evidence")
    claim = found["PersistentVolumeClaim", "emufarm-staging"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    volume = {"name": "staging", "persistentVolumeClaim": {"claimName": "emufarm-staging"}}
    device, coordinator = (template(found, name)["spec"] for name in ("device", "coordinator"))
    for spec in (device, coordinator):
        assert [one for one in spec["volumes"] if one["name"] == "staging"] == [volume]
        assert {"name": "staging", "mountPath": "/staging"} in spec["containers"][0]["volumeMounts"]
    plain = template(manifests(farm, phones), "device")["spec"]
    assert device["initContainers"] == plain["initContainers"]
    assert device.get("nodeSelector") == plain.get("nodeSelector")


@pytest.mark.parametrize("overlay", EVERY)
def test_every_filled_in_template_is_admitted(farm: Reached, overlay: str) -> None:
    """Of an emulator's farm as a guaranteed Pod; simulated phones ask for less than their limits,
    of the processor alone. With a read-only root, which Pod Security does not ask for."""
    found = manifests(farm, overlay)
    expected = "Guaranteed" if overlay.startswith("kvm") else "Burstable"
    pods = [a_pod(found, name) for name in ("device", "agent", "coordinator")]
    for pod in pods:
        for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]):
            assert container["securityContext"]["readOnlyRootFilesystem"]
            asked, most = (container["resources"][kind] for kind in ("requests", "limits"))
            assert {**asked, "cpu": most["cpu"]} == most
    shown = 'jsonpath={.metadata.name} {.status.qosClass}{"\\n"}'
    answer = create(farm, *pods, words=("--dry-run=server", "-o", shown))
    assert answer.stderr == ""
    assert answer.stdout.split("\n")[:-1] == [
        f"{name} {expected}" for name in ("device", "agent", "coordinator")
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"privileged": True, "allowPrivilegeEscalation": True}, "privileged"),
        ({"runAsUser": 0}, "runAsUser=0"),
    ],
)
def test_a_pod_with_privileges_is_refused(
    farm: Reached, change: dict[str, Any], complaint: str
) -> None:
    pod = a_pod(manifests(farm, "sim"), "agent")
    pod["spec"]["containers"][0]["securityContext"] |= change
    answer = create(farm, pod, check=False)
    assert answer.returncode != 0
    assert 'violates PodSecurity "restricted:latest"' in answer.stderr
    assert complaint in answer.stderr


def test_a_run_has_one_device_and_is_not_cancelled_unless_it_says_so(
    farm: Reached, run: str
) -> None:
    spec = farm.get("fr", run, *IN_FARM)["spec"]
    assert spec == {**SPEC, "devices": 1, "cancel": False}


def test_devices_and_cancel_of_a_run_change_and_nothing_else_does(farm: Reached, run: str) -> None:
    patch(farm, run, {"spec": {"devices": 0}})
    patch(farm, run, {"spec": {"devices": 5, "cancel": True}})
    refused = patch(farm, run, {"spec": CHANGED}, check=False)
    assert refused.returncode != 0
    for field in CHANGED:
        (line,) = (line for line in refused.stderr.splitlines() if f"spec.{field}: " in line)
        assert FIXED in line
    refused = patch(farm, run, {"spec": {"keepSeconds": None}}, check=False)
    assert "spec.keepSeconds: " in refused.stderr
    assert FIXED in refused.stderr
    spec = farm.get("fr", run, *IN_FARM)["spec"]
    assert spec == {**SPEC, "devices": 5, "cancel": True}


@pytest.mark.parametrize("value", [False, None])
def test_a_cancelled_run_stays_cancelled(farm: Reached, run: str, value: bool | None) -> None:
    """Also when the field is removed, which would give it its default."""
    patch(farm, run, {"spec": {"cancel": True}})
    refused = patch(farm, run, {"spec": {"cancel": value}}, check=False)
    assert refused.returncode != 0
    assert "a cancelled run stays cancelled" in refused.stderr
    assert farm.get("fr", run, *IN_FARM)["spec"]["cancel"] is True


@pytest.mark.parametrize("name", ["a" * 41, "two.parts"])
def test_a_name_that_no_pod_could_carry_is_refused(farm: Reached, name: str) -> None:
    answer = create(farm, a_run(name), check=False)
    assert answer.returncode != 0
    assert "the name of a run has at most 40 characters" in answer.stderr


def test_a_name_of_forty_characters_is_accepted(farm: Reached) -> None:
    create(farm, a_run("a" * 40), words=("--dry-run=server",))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("plan", "0123", "must be a SHA-256 as 64 hex digits in small letters"),
        ("image", "registry.test/it:latest", "must name an image by its digest"),
        ("workerImage", "registry.test/it", "must name an image by its digest"),
        ("episodes", 0, "should be greater than or equal to 1"),
        ("devices", -1, "should be greater than or equal to 0"),
        ("keepSeconds", -1, "should be greater than or equal to 0"),
        ("agent", None, "Required value"),
        ("divices", 2, "unknown field"),
    ],
)
def test_a_wrong_field_is_refused_by_name_with_a_sentence(
    farm: Reached, field: str, value: Any, sentence: str
) -> None:
    answer = create(farm, a_run("wrong", **{field: value}), check=False)
    assert answer.returncode != 0
    assert f"spec.{field}" in answer.stderr
    assert sentence in answer.stderr


def test_a_status_is_written_by_its_subresource_only(farm: Reached, run: str) -> None:
    patch(farm, run, {"status": {"phase": "Running"}})
    assert "status" not in farm.get("fr", run, *IN_FARM)
    write_status(farm, run, phase="Running")
    assert farm.get("fr", run, *IN_FARM)["status"] == {"phase": "Running"}


def test_get_shows_how_a_run_stands(farm: Reached, run: str) -> None:
    """The message is shown by -o wide alone."""
    write_status(
        farm, run, phase="Running", done="12/23", success=11, infra=2, devices=3, pulled=False,
        message="waiting for nodes", decided=12, total=23, claim=1,
        selector=f"emufarm.dev/run={run}", pulledAt="2026-01-01T00:00:00Z",
    )  # fmt: skip
    names, values = farm.kubectl("get", "fr", run, *IN_FARM).stdout.splitlines()
    columns = ["NAME", "PHASE", "DONE", "SUCCESS", "INFRA", "DEVICES", "PULLED", "AGE"]
    assert names.split() == columns
    assert values.split()[:-1] == [run, "Running", "12/23", "11", "2", "3", "false"]
    names, values = farm.kubectl("get", "fr", run, *IN_FARM, "-o", "wide").stdout.splitlines()
    assert names.split() == [*columns, "MESSAGE"]
    assert values.endswith("waiting for nodes")


def test_scale_sets_the_devices(farm: Reached, run: str, user: str) -> None:
    """Any user of the farm may call it; its answer has the living pairs and their selector."""
    write_status(farm, run, devices=2, selector=f"emufarm.dev/run={run}")
    farm.kubectl("scale", f"fr/{run}", "--replicas=3", *IN_FARM, f"--as={user}")
    assert farm.get("fr", run, *IN_FARM)["spec"]["devices"] == 3
    scale = farm.get("fr", run, *IN_FARM, "--subresource=scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": f"emufarm.dev/run={run}"}


def test_wait_returns_when_the_run_is_complete(farm: Reached, run: str) -> None:
    words = ("wait", "--for=condition=Complete", f"fr/{run}", *IN_FARM)
    early = farm.kubectl(*words, "--timeout=1s", check=False)
    assert early.returncode != 0
    assert "timed out" in early.stderr
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(farm.kubectl, *words, "--timeout=60s")
        write_status(farm, run, conditions=[a_condition("Complete")])
        assert waiting.result().stdout == f"farmrun.emufarm.dev/{run} condition met\n"


def test_a_condition_that_is_said_twice_is_refused(farm: Reached, run: str) -> None:
    twice = {"status": {"conditions": [a_condition("Complete")] * 2}}
    refused = patch(farm, run, twice, "--subresource=status", check=False)
    assert "Duplicate value" in refused.stderr


def test_the_coordinator_has_these_rights_and_no_other(farm: Reached) -> None:
    assert rights(farm, COORDINATOR) == {
        "pods": READING | {"create", "delete"},
        "pods/log": {"get"},
        "events": {"create", "patch"},
        "secrets": {"create", "delete"},
        "farmruns.emufarm.dev": READING,
        "farmruns/status.emufarm.dev": {"get", "patch", "update"},
    }


def test_the_service_account_of_devices_and_agents_has_no_right(farm: Reached) -> None:
    assert rights(farm, DEVICE) == {}
    assert not may(farm, DEVICE, "get", "pods")
    assert not may(farm, DEVICE, "get", "farmruns")


@pytest.mark.parametrize(
    "words", ["create pods", "delete secrets", "get pods --subresource=log", "watch farmruns"]
)
def test_the_coordinator_may(farm: Reached, words: str) -> None:
    assert may(farm, COORDINATOR, *words.split())


@pytest.mark.parametrize(
    "words",
    [
        "get secrets", "list secrets", "list nodes", "delete farmruns", "patch farmruns",
        "create jobs", "create pods --subresource=exec", "create rolebindings",
    ],
)  # fmt: skip
def test_the_coordinator_may_not(farm: Reached, words: str) -> None:
    assert not may(farm, COORDINATOR, *words.split())


def test_the_coordinator_has_no_right_in_another_namespace(farm: Reached) -> None:
    words = ("auth", "can-i", "create", "pods", "-n", "default", f"--as={COORDINATOR}")
    assert farm.kubectl(*words, check=False).stdout == "no\n"


def test_a_user_has_these_rights_and_no_other(farm: Reached, user: str) -> None:
    assert rights(farm, user) == {
        "farmruns.emufarm.dev": KEEPING | {"update", "deletecollection"},
        "farmruns/scale.emufarm.dev": {"get", "patch", "update"},
        "jobs.batch": KEEPING,
        "services": KEEPING,
        "persistentvolumeclaims": KEEPING,
        "secrets": KEEPING,
        "networkpolicies.networking.k8s.io": KEEPING,
        "podtemplates": {"get", "list"},
        "pods": READING,
        "pods/log": READING,
        "events": READING,
        "services/proxy": {"get", "create", "update"},
    }


def test_the_users_role_is_bound_to_nobody(farm: Reached) -> None:
    bindings = farm.get("rolebindings", *IN_FARM)["items"]
    assert {one["roleRef"]["name"] for one in bindings} == {"emufarm-coordinator"}

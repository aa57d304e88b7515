"""The coordinator in its Pod, where the API server does not answer."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from orchestrator.coordinator.credentials import Secrets, WorkerKey
from orchestrator.coordinator.follow import AdminClient
from orchestrator.coordinator.open_run import open_run
from orchestrator.errors import RunInterrupted
from orchestrator.farm.cluster.coordinate import PodArguments, PodCoordinator
from orchestrator.farm.run_events import ignore
from orchestrator.fleet.kubernetes.access import ClusterAccess, kubeconfig_access
from orchestrator.fleet.kubernetes.run_objects import METRICS_PORT, PORT
from orchestrator.metrics.page import SCRAPE_HEADER
from orchestrator.plan.store import write_plan
from tests.coordinator.runs import SETTINGS, a_plan
from tests.farm.fake_cluster import FakeCluster
from tests.metrics.test_page import attempt
from tests.ports import even_port

SECRETS = Secrets(WorkerKey("a key"), "an admin")


@pytest.fixture
def coordinator(tmp_path: Path) -> PodCoordinator:
    """Of a run whose cluster nobody answers for."""
    config = tmp_path / "config"
    config.write_text(json.dumps({
        "current-context": "gone",
        "clusters": [{"name": "gone", "cluster": {"server": "https://127.0.0.1:9"}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "a-token"}}],
    }))  # fmt: skip
    return a_coordinator(tmp_path, even_port(), kubeconfig_access(kubeconfig=config))


def a_coordinator(
    place: Path, port: int, access: ClusterAccess, *, run: str = "a-run", **options: Any
) -> PodCoordinator:
    url = f"http://127.0.0.1:{port}"
    arguments = PodArguments(run, url, place, place, port, 60.0, 0.1, **options)
    return PodCoordinator(arguments, SECRETS, access, ignore)


async def test_why_the_api_server_does_not_answer_is_told_to_the_command_that_waits(
    coordinator: PodCoordinator,
) -> None:
    asked = asyncio.Event()
    running = asyncio.create_task(coordinator.run(asked))
    url, state = coordinator._arguments.url, {"trouble": ""}
    with AdminClient.at(url, SECRETS.admin, away_s=10.0) as client:
        async with asyncio.timeout(30):
            while not state["trouble"]:
                state = await asyncio.to_thread(client.intake)
                await asyncio.sleep(0.05)
    assert "does not answer: ConnectError" in state["trouble"]
    assert not state["checked"]
    asked.set()
    with pytest.raises(RunInterrupted):
        await asyncio.wait_for(running, 30)


async def test_a_coordinator_that_is_asked_to_stop_does_not_wait_for_the_api_server(
    tmp_path: Path, coordinator: PodCoordinator
) -> None:
    (tmp_path / "a-run").mkdir()
    (tmp_path / "a-run" / "plan.json").write_text("{}")  # its documents are there
    asked = asyncio.Event()
    running = asyncio.create_task(coordinator.run(asked))
    await asyncio.sleep(0.2)
    asked.set()
    with pytest.raises(RunInterrupted, match="the API server was away"):
        await asyncio.wait_for(running, 10)


async def test_an_ended_run_that_is_only_served_shows_its_counts_until_they_were_scraped_twice(
    tmp_path: Path,
) -> None:
    """Else Prometheus would miss a coordinator that nobody needs any more."""
    run = tmp_path / "one"
    async with open_run(run, a_plan(1), SETTINGS) as made:
        await attempt(made, run, tmp_path / "bundle", "slot-00.1")
        await made.seal()
    write_plan(run / "plan.json", a_plan(1))
    recorded = {"variants": ["benign"], "limits": {}, "cases_folder": "cases"}
    manifest = {
        "reproducibility": recorded, "execution_mode": "kubernetes",
        "agent": {"confinement": {}},
        "android": {"image_lock": {"digest": "1" * 64}}, "created_ts_ms": 5000,
    }  # fmt: skip
    (run / "run_manifest.json").write_text(json.dumps(manifest))
    cluster, port = FakeCluster(), even_port()
    cluster.add_run(a_plan(1))
    async with cluster.serving(tmp_path), asyncio.timeout(60):
        coordinator = a_coordinator(
            tmp_path, port, kubeconfig_access("", cluster.kubeconfig), run="one",
            serve_only=True, metrics_port=port + 1, metrics_linger_s=600.0,
        )  # fmt: skip
        running = asyncio.create_task(coordinator.run(asyncio.Event()))
        scrapes = 0
        async with httpx.AsyncClient(trust_env=False) as client:
            while not running.done():
                with suppress(httpx.TransportError):
                    url, sent = f"http://127.0.0.1:{port + 1}/metrics", {SCRAPE_HEADER: "10"}
                    answer = await client.get(url, headers=sent)
                    if answer.status_code == 200:
                        scrapes += 1
                        assert 'emufarm_attempts_total{outcome="success"} 1.0' in answer.text
                        assert "emufarm_run_over 1.0" in answer.text
                        assert "emufarm_run_start_time_seconds 5.0" in answer.text
                        assert f'image="{"1" * 64}"' in answer.text
                await asyncio.sleep(0.05)
        await running
    assert scrapes >= 2


def test_its_arguments_are_its_command_line(tmp_path: Path) -> None:
    words = PodArguments("r", "u", tmp_path, tmp_path, 8080, 60.0, metrics_port=9090).words()
    assert words[words.index("--metrics-port") + 1] == "9090"
    assert words[words.index("--metrics-linger") + 1] == "60.0"
    assert "--metrics-port" not in PodArguments("r", "u", tmp_path, tmp_path, 8080, 60.0).words()


def test_the_coordinator_s_template_opens_the_port_that_it_is_told() -> None:
    base = Path(__file__).parents[2] / "k8s" / "base"
    template = yaml.safe_load((base / "pod-templates" / "coordinator.yaml").read_text())["template"]
    (container,) = template["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"api": PORT, "metrics": METRICS_PORT}
    notes = template["metadata"]["annotations"]
    assert notes["prometheus.io/scrape"] == "true"
    assert (notes["prometheus.io/port"], notes["prometheus.io/path"]) == ("9090", "/metrics")
    policies = yaml.safe_load_all((base / "network-policies.yaml").read_text())
    ingress = [rule for policy in policies for rule in policy["spec"].get("ingress", ())]
    assert [port["port"] for rule in ingress for port in rule["ports"]] == [PORT, METRICS_PORT]

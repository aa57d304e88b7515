"""Options for a cluster are checked before anything is made, and openings name addresses."""

from __future__ import annotations

import pytest

from orchestrator.errors import UsageError
from orchestrator.farm.cluster.options import ClusterOptions, openings
from orchestrator.fleet.kubernetes.run_objects import Opening, RunObjects

IMAGE = "image:registry.example.org/a@sha256:" + "0" * 64
OWNER = {"kind": "FarmRun", "name": "a-run", "uid": "1"}


@pytest.mark.parametrize(
    ("options", "agent", "why"),
    [
        (ClusterOptions(storage="much"), "reference", "'much' is no size of a volume"),
        (ClusterOptions(storage="0Gi"), "reference", "is no size"),
        (ClusterOptions(pending_s=0), "reference", "leaves no time to start"),
        (ClusterOptions(keep_s=-1), "reference", "is in the past"),
        (ClusterOptions(agent_secret="key"), "reference", "'reference' is none"),
        (ClusterOptions(agent_secret="key"), "http://10.0.0.7/", "an agent in an image"),
        (ClusterOptions(agent_secret="Key!"), IMAGE, "'Key!' is no name of a Secret"),
        (ClusterOptions(agent_egress=("a:1",)), "idle", "'idle' has none"),
    ],
)
def test_what_cannot_work_is_refused(options: ClusterOptions, agent: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        options.check(agent)


def test_what_can_work_is_accepted() -> None:
    ClusterOptions().check("reference")
    ClusterOptions(storage="1.5Ti", keep_s=0, agent_secret="model-key").check(IMAGE)
    ClusterOptions(agent_egress=("127.0.0.1:443",)).check("http://10.0.0.7/")


def test_an_agent_at_a_url_is_opened_without_being_asked_for() -> None:
    assert openings("http://10.0.0.7:8081/act", ["10.0.0.8:443", "10.0.0.7:8081"]) == (
        Opening("10.0.0.7", 8081, ("10.0.0.7",)),
        Opening("10.0.0.8", 443, ("10.0.0.8",)),
    )
    assert openings("reference", ()) == ()


def test_a_name_is_resolved_and_written_into_the_pods_hosts() -> None:
    (one,) = openings(IMAGE, ["localhost:8443"])
    assert "127.0.0.1" in one.addresses
    assert {"ip": "127.0.0.1", "hostnames": ["localhost"]} in one.host_aliases
    (address,) = openings(IMAGE, ["[2001:db8::1]:443"])
    assert (address.addresses, address.host_aliases) == (("2001:db8::1",), [])


@pytest.mark.parametrize(
    "text", ["host", "host:", ":443", "host:0", "host:65536", "host:x", "h:-1"]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no HOST:PORT"):
        openings(IMAGE, [text])


def test_a_name_without_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="has no address"):
        openings(IMAGE, ["no-such-host.invalid:443"])


def test_an_opening_is_for_devices_or_for_agents_and_never_for_both() -> None:
    ways = (Opening("10.0.0.7", 443, ("10.0.0.7", "2001:db8::1")),)
    wanted = [
        {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"protocol": "TCP", "port": 443}]}
        for cidr in ("10.0.0.7/32", "2001:db8::1/128")
    ]
    objects = RunObjects("a-run", OWNER)
    closed, shut = (one["spec"] for one in objects.policies())
    assert (len(closed["egress"]), shut["policyTypes"]) == (2, ["Ingress"])
    devices, agents = (one["spec"] for one in objects.policies(ways, "device"))
    assert devices["egress"] == closed["egress"] + wanted
    assert agents == shut
    devices, agents = (one["spec"] for one in objects.policies(ways, "agent"))
    assert devices == closed
    assert agents["egress"] == wanted
    assert set(agents["policyTypes"]) == {"Ingress", "Egress"}

"""The alerts and the dashboard of `deploy/`: expressions that Prometheus can read, over metrics that a server has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from lance_namespace import LanceNamespace

from tests.paths import REPOSITORY
from tests.servers.lanceway import Lanceway

ALERTS = yaml.safe_load((REPOSITORY / "deploy" / "alerts.yaml").read_text())
DASHBOARD = json.loads((REPOSITORY / "deploy" / "dashboard.json").read_text())
SCRAPED = {"up"}  # Prometheus' own
LABELS_OF_PROMETHEUS = {"job", "instance"}


def rules() -> list[dict[str, Any]]:
    return [rule for group in ALERTS["groups"] for rule in group["rules"]]


def expressions() -> dict[str, str]:
    """Every expression by where it stands, with values for the dashboard's variables."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            found[f"{panel['title']}: {target['refId']}"] = target["expr"].replace("$operation", ".*").replace("$", "")
    return found


def selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector"):
        if (child := getattr(node, name, None)) is not None:
            yield from selectors(child)
    for argument in getattr(node, "args", None) or ():
        yield from selectors(argument)


@pytest.fixture
def metrics(server: Lanceway) -> dict[str, set[str]]:
    """The metrics of a server that has answered a request, each with the names of its labels."""
    server.ask("POST", "namespace/lake/exists", {})
    with server.client() as client:
        page = client.get("/metrics").text
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", page, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


def test_every_expression_is_about_what_a_server_measures(metrics: dict[str, set[str]]) -> None:
    seen = set()
    for place, text in expressions().items():
        for selector in selectors(promql_parser.parse(text)):
            seen.add(selector.name)
            assert selector.name in {*metrics, *SCRAPED}, place
            labels = {matcher.name for matcher in selector.matchers.matchers} - {"__name__"}
            assert labels <= metrics.get(selector.name, set()) | LABELS_OF_PROMETHEUS, place
    ours = {
        name for name in metrics if name.startswith("lanceway_") and not name.endswith(("_created", "_sum", "_count"))
    }
    assert {*ours, *SCRAPED} == seen, "a metric that nothing shows"


def test_an_operation_that_is_named_is_one_of_the_contract() -> None:
    named = {name for text in expressions().values() for name in re.findall(r'operation="(\w+)"', text)}
    assert named
    assert [name for name in named if not hasattr(LanceNamespace, name)] == []


def test_every_alert_says_what_it_means_and_what_to_look_at() -> None:
    assert len({rule["alert"] for rule in rules()}) == len(rules()) > 4
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"].keys() == {"summary", "description"}
        assert re.fullmatch(r"\d+m", rule["for"])


def test_panels_of_the_dashboard_have_places_of_their_own() -> None:
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_variables_of_the_dashboard_are_its_own() -> None:
    named = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(DASHBOARD)))
    assert named == {variable["name"] for variable in DASHBOARD["templating"]["list"]}

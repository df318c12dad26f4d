"""Drawings: sound XML, every box in its place, from left to right."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from lanceway.lake.runs.lineage import Node, svg

SVG = "{http://www.w3.org/2000/svg}"


def boxes(text: str) -> dict[str, tuple[float, float, float, float]]:
    found = {}
    for group in ET.fromstring(text).iter(f"{SVG}g"):
        rect, name = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert rect is not None
        assert name is not None
        x, y, width, height = (float(rect.get(key) or 0) for key in ("x", "y", "width", "height"))
        found[str(name.text)] = (x, y, x + width, y + height)
    return found


def test_a_box_stands_right_of_all_that_leads_to_it_and_none_overlap() -> None:
    nodes = [
        Node("raw"),
        Node("other"),
        Node("clean", inputs=("raw",)),
        Node("joined", inputs=("clean", "other")),
        Node("out", inputs=("joined",)),
        Node("aside", inputs=("clean",)),
        Node("copy", inputs=("raw",)),
    ]
    text = svg(nodes, "p")
    found = boxes(text)
    assert set(found) == {node.name for node in nodes}
    for node in nodes:
        assert all(found[name][2] < found[node.name][0] for name in node.inputs)
    every = list(found.values())
    for at, one in enumerate(every):
        for two in every[at + 1 :]:
            assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
    assert len(list(ET.fromstring(text).iter(f"{SVG}path"))) == sum(len(node.inputs) for node in nodes)


def test_the_whole_drawing_lies_inside_and_names_are_only_names() -> None:
    text = svg([Node('<a> & "b"', "x" * 100), Node("c", inputs=('<a> & "b"', "not there"))], "a < b")
    root = ET.fromstring(text)
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for x, y, right, bottom in boxes(text).values():
        assert min(x, y) > 0
        assert (right < width, bottom < height) == (True, True)
    assert '<a> & "b"' in boxes(text)


def test_nothing_can_be_drawn() -> None:
    assert boxes(svg([], "nothing")) == {}


def test_a_circle_is_drawn_with_one_edge_that_leads_back() -> None:
    nodes = [Node("a", inputs=("b", "a")), Node("b", inputs=("c",)), Node("c", inputs=("a",)), Node("d", inputs=("c",))]
    text = svg(nodes, "round")
    found = boxes(text)
    assert set(found) == {"a", "b", "c", "d"}
    back = [(name, node.name) for node in nodes for name in node.inputs if found[name][2] >= found[node.name][0]]
    assert len(back) == 2  # one of the three, and what leads to itself
    assert len(list(ET.fromstring(text).iter(f"{SVG}path"))) == 5


def test_a_long_chain_and_names_that_xml_cannot_hold() -> None:
    nodes = [Node(str(number), inputs=(str(number - 1),), label=f"a\x00b\ud800{number}") for number in range(3000)]
    assert "a\ufffdb\ufffd2999" in boxes(svg(nodes, "\x1b[31m"))

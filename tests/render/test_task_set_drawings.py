"""Task sets as trees: each task has a box, each with sensors two bars, and nothing that is written leaves its text."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hati.generate import parse_task_set
from hati.render import task_set_svg

TASK_SET = """\
name: Slices & <gaps>
machines: [here]
roles:
  - name: measured
    machine: here
    task:
      do: parallel
      until: first
      tasks:
        - {do: loop, count: 50, task: {do: cpu, kernel: sort, demand_ms: 20, name: probe, sensors: [response, gaps]}}
        - {do: loop, task: {do: use, task: busy}}
        - {do: network, peer: answers, protocol: tcp, pattern: ping_pong, bytes: 64}
  - {name: answers, machine: here}
tasks:
  busy: {do: cpu, kernel: mandelbrot, demand_ms: 1.5, cpus: [0, 1]}
"""
SVG = "{http://www.w3.org/2000/svg}"


def test_a_task_set_is_a_tree_of_boxes() -> None:
    root = ET.fromstring(task_set_svg(parse_task_set(TASK_SET)))
    texts = ["".join(each.itertext()).strip() for each in root.iter(f"{SVG}text")]
    assert texts == [
        "measured on here",
        "parallel until first",
        "loop count 50",
        "cpu probe, kernel sort, demand ms 20",
        "response, gaps",
        "loop",
        "use busy",
        "network peer answers, protocol tcp, pattern ping_pong, bytes 64",
        "answers on here: answers",
        "task busy",
        "cpu kernel mandelbrot, demand ms 1.5, cpus 0 1",
    ]
    assert root.findtext(f"{SVG}title") == "Slices & <gaps>"
    assert len(list(root.iter(f"{SVG}rect"))) == 7
    assert len([each for each in root.iter(f"{SVG}path") if each.get("class") == "sensor"]) == 2
    lefts = [float(each.get("x", "0")) for each in root.iter(f"{SVG}rect")]
    assert lefts == [12, 42, 72, 42, 72, 42, 12]
    width = float(root.get("width", "0"))
    assert all(float(each.get("x", "0")) + float(each.get("width", "0")) < width for each in root.iter(f"{SVG}rect"))

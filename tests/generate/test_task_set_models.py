"""Task sets: read from YAML, and refused with place and fix where they cannot be run."""

from __future__ import annotations

from hati.generate import CpuLoad, Kernel, Parallel, Sensor, parse_task_set

SPINNERS = """\
name: two spinners  # on one core
machines: [here]
roles:
  - name: spinners
    machine: here
    task:
      do: parallel
      copies: 2
      tasks:
        - {do: cpu, kernel: spin, demand_ms: 200, name: spin, sensors: [gaps, response], cpus: [0]}
"""


def test_a_task_set_is_what_its_yaml_says() -> None:
    found = parse_task_set(SPINNERS)
    spin = CpuLoad(Kernel.SPIN, demand_ms=200.0, name="spin", sensors=(Sensor.GAPS, Sensor.RESPONSE), cpus=(0,))
    assert (found.name, found.machines) == ("two spinners", ("here",))
    assert found.roles[0].task == Parallel((spin,), copies=2)

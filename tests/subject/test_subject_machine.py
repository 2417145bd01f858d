from __future__ import annotations

import os

from hati.subject import machine


def test_it_is_stable_and_tells_what_there_is() -> None:
    properties = dict(machine().properties)
    assert machine().fingerprint == machine().fingerprint
    assert set(properties) == {"architecture", "cpus", "kernel", "memory", "name", "processor", "system"}
    assert properties["cpus"] == str(os.cpu_count())
    assert properties["kernel"] == os.uname().release
    assert list(machine().properties) == sorted(machine().properties)

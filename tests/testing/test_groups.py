"""Marked tests share a worker: pytest and pytest-xdist agree on how the names of groups reach the scheduler."""

import pytest


@pytest.mark.xdist_group("own")
def test_the_name_of_a_group_reaches_the_scheduler(request: pytest.FixtureRequest) -> None:
    in_a_worker = hasattr(request.config, "workerinput") and request.config.option.loadgroup
    assert request.node.nodeid.endswith("@own") == in_a_worker

"""What disturbs measurements on this machine now, for a warning before a study; experiments are not loaded for it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import platformdirs

from hati.core import InputError, Machine, replace
from hati.probing.conditions import read_conditions, system_root
from hati.store import find_store
from hati.studies.probe import Conditions, Disturbance, fitness, shown_disturbances, unfit_warning

_RECENT = timedelta(hours=1)


def default_file() -> Path:
    """The file of the store of this user's machines."""
    return platformdirs.user_state_path("hati") / "probe.sqlite"


def unfit(machine: Machine) -> str:
    """A line on what disturbs measurements on this machine, from the kernel's state and the probes of the last hour.

    Empty if nothing does.
    """
    conditions = read_conditions()
    shown = shown_disturbances(conditions, len(os.sched_getaffinity(0)))
    probed = _recently_disturbed(machine, conditions)
    known = {each.kind for each in probed}
    return unfit_warning(machine.name, (*probed, *(each for each in shown if each.kind not in known)))


def _recently_disturbed(machine: Machine, conditions: Conditions) -> tuple[Disturbance, ...]:
    """The disturbances measured in the last hour; none if another root than ``/`` represents the machine."""
    if system_root() != Path("/") or not default_file().is_file():
        return ()
    from hati.wiring.probes.results import newest_conclusion

    try:
        store = find_store(str(default_file()))
    except InputError:  # a study does not need this store, so it may be damaged
        return ()
    if store is None:
        return ()
    try:
        found = newest_conclusion(store, machine)
    except InputError:  # nothing was measured on this machine
        return ()
    finally:
        store.close()
    now = datetime.now(UTC)
    fresh = tuple(each for each in found.probed if each.at is not None and now - each.at <= _RECENT)
    found = replace(found, probed=fresh)
    return tuple(each for each in fitness(found, conditions).disturbances if each.share is not None)

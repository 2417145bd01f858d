"""Narrow a project by a template, and describe the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hati.core import Assignment, Configuration, InputError, replace, setting_text
from hati.space import Space, Template, narrowed, parse_formula, parse_template
from hati.space.evaluation import holds
from hati.store import StudyRecord
from hati.wiring.workplace import Announce, Workplace


def narrowed_workplace(place: Workplace, texts: Sequence[str], announce: Announce) -> Workplace:
    """The workplace with the space narrowed by ``--set``; fixed options, and a changed default, are announced.

    Raises:
        InputError: for a text that is neither a setting nor a constraint, and where nothing valid is left.
    """
    if not texts:
        return place
    before = place.project.space
    space = narrowed(before, parse_template(texts, before).formulas)
    for line in described_space(space, before):
        announce(line)
    check = place.project.check
    listed = tuple(each for each in check.configurations if space.valid(each))
    if len(listed) < len(check.configurations):
        announce(f"left out of [check]: {len(check.configurations) - len(listed)} configurations outside of --set")
    project = replace(place.project, space=space, check=replace(check, configurations=listed))
    table = None if place.table is None else place.table.within(space)
    return replace(place, project=project, table=table, whole=before)


def template_configurations(space: Space, texts: Sequence[str], announce: Announce) -> tuple[Configuration, ...]:
    """The configurations to measure: the default of the narrowed space, or of each alternative of ``--set``.

    Raises:
        InputError: as ``narrowed_workplace``.
    """
    template = parse_template(texts, space)
    found = [_chosen(space, template, one, announce) for one in template.alternatives]
    return tuple(dict.fromkeys(found))


def parse_configuration(space: Space, text: str) -> Configuration:
    """The default configuration with the settings in the text.

    Raises:
        InputError: for an unknown option or setting, and for a configuration that is not valid.
    """
    changed = {}
    for part in filter(None, text.split(",")):
        name, equals, setting = part.partition("=")
        if not equals:
            raise InputError(f"--set {part!r} is not a valid setting", fix="write option=setting")
        changed[name.strip()] = setting.strip()
    configuration = space.parse(changed)
    if inactive := [name for name in changed if name not in configuration]:
        raise InputError(
            f"option {inactive[0]!r} is inactive in the configuration {configuration}",
            fix=f"set what it depends on too: {space.by_name[inactive[0]].active_if}",
        )
    if not space.valid(configuration):
        raise InputError(f"the configuration {configuration} is not valid", fix="see the constraints in hati.toml")
    return configuration


def _chosen(space: Space, template: Template, asked: Assignment, announce: Announce) -> Configuration:
    wanted = space.canonical(asked)
    kept = wanted.keys() >= asked.keys()  # an option that is inactive by default has no place in it
    if kept and space.valid(wanted) and all(holds(each, wanted) for each in template.constraints):
        return wanted
    found = narrowed(space, replace(template, choices=((asked,),)).formulas).default
    if not space.valid(found):
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    names = [name for name in space.names if found.get(name) != wanted.get(name)]
    text = f"{_settings(wanted, names)} is not valid under --set"
    if not kept:
        text = f"{_settings(asked, sorted(asked.keys() - wanted.keys()))} needs other settings than the default ones"
    announce(f"{text}; instead: {_settings(found, names)}")
    return found


def space_then(space: Space, record: StudyRecord) -> Space:
    """The space of a stored study: the project's, narrowed by the study's template unless it is narrowed already."""
    return space if space.template else narrowed(space, tuple(map(parse_formula, template_of(record))))


def template_of(record: StudyRecord) -> list[str]:
    """The formulas of a stored study's template."""
    found: list[str] = json.loads(record.id.parameters).get("template", [])
    return found


def described_space(space: Space, before: Space) -> tuple[str, ...]:
    """A narrowed space in sentences: the fixed and inactive options, and the default if it changed."""
    if not space.template:
        return ()
    fixed = " ".join(f"{name}={setting_text(space.fixed[name])}" for name in before.names if name in space.fixed)
    inactive = [name for name in before.names if name not in space.fixed and name not in space.by_name]
    parts = [f"fixed: {fixed}"] if fixed else []
    parts += [f"inactive: {', '.join(inactive)}"] if inactive else []
    left = f"{len(space.options)} of {len(before.options)} options are left"
    default, usual = space.default, before.default
    sentences = [f"--set: {'; '.join([*parts, left])}"]
    if default != usual:
        names = [name for name in before.names if default.get(name) != usual.get(name)]
        sentences.append(
            f"the default configuration ({_settings(usual, names)}) does not satisfy --set; "
            f"the nearest valid configuration is used instead: {_settings(default, names)}"
        )
    return tuple(sentences)


def _settings(configuration: Assignment, names: Sequence[str]) -> str:
    return " ".join(
        f"{name}={setting_text(configuration[name])}" if name in configuration else f"{name} inactive" for name in names
    )

"""The user that a run's programs run as, where Hati is root."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from hati.core import InputError


def switched_user(name: str | None) -> pwd.struct_passwd | None:
    """Who the programs run as; None where that is who runs Hati: without root nobody can become another.

    Raises:
        InputError: where there is no such user.
    """
    if name is None or os.geteuid() != 0:
        return None
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise InputError(
            f"there is no user {name!r}", fix=f"correct `user`, or make one: useradd --system {name}"
        ) from None
    return found if found.pw_uid != 0 else None


def home(user: pwd.struct_passwd) -> dict[str, str]:
    """What the environment says of a user."""
    return {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}


def reaches(user: pwd.struct_passwd, folder: Path) -> bool:
    """Whether the user may enter a folder and all that are above it."""
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    for place in (folder, *folder.parents):
        status = place.stat()
        enter = 0o100 if status.st_uid == user.pw_uid else 0o010 if status.st_gid in groups else 0o001
        if not status.st_mode & enter:
            return False
    return True


def give(user: pwd.struct_passwd, path: Path, top: Path) -> None:
    """Make a user the owner of a file or folder and of the folders above it, up to ``top``."""
    while path.is_relative_to(top):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        path = path.parent

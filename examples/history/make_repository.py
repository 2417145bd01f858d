"""``python3 make_repository.py FOLDER``: a git repository of the folders in ``commits``, one commit each.

A commit replaces the files that its folder has, and is tagged by the folder's name without its number.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMITS = HERE / "commits"
SHARED = ("hati.toml", "workloads.py", "counted.spl", "timed.spl")
"""Files outside of all commits: they judge the commits, and may be younger."""
SETTINGS = ("user.name=Example", "user.email=example@example.org", "init.defaultBranch=main", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    """Run git, independent of the user's settings, and return its output."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    done = subprocess.run(["git", *settings, *words], cwd=folder, env=own, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> list[str]:
    """Make the repository in a folder that does not exist yet; return its tags, in the order of the commits."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / ".git/info/exclude").write_text("\n".join((".hati/", "__pycache__/", *SHARED)))
    tags = []
    for commit in sorted(COMMITS.iterdir()):
        for file in commit.glob("*.py"):
            shutil.copy(file, folder)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--file", str(commit / "message"))
        tags.append(commit.name.partition("-")[2])
        git(folder, "tag", tags[-1])
    for name in SHARED:
        shutil.copy(HERE / name, folder)
    return tags


if __name__ == "__main__":
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("usage: python3 make_repository.py FOLDER, which is not there yet")
    print("commits:", ", ".join(make_repository(Path(sys.argv[1]))))

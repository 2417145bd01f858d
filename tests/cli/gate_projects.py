"""Projects in repositories of which single commits change the performance; their programs take no time.

What they print is a function of the tree's ``tuning`` and of the number of the run, with noise of about 1 %.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAM = """
. ./tuning
for word; do eval "$word"; done
if [ "$broken" = yes ]; then echo "no such symbol" >&2; exit 3; fi
[ "$a" = on ] && base=$((base * with_a / 100))
noise=$(((repetition * 7919 + salt * 104729 + ${#a} * 3001 + ${#b} * 17) % 997 - 498))
echo '{"metric": "latency", "value": '$((base + base * noise / 50000))'}'
"""

PROJECT = """
[[benchmark]]
name = "main"
command = ["sh", "program.sh", "a={a}", "b={b}", "repetition={repetition}"]

[[benchmark.metric]]
name = "latency"
unit = "ns"

[options.a]
settings = ["off", "on"]

[options.b]
settings = ["off", "on"]
"""

LISTED = '\n[check]\nconfigurations = [{ a = "on" }, { b = "on" }, { a = "on", b = "on" }]\n'


def git(folder: Path, *words: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    who = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, env=own, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Evolving:
    """A git repository at ``top`` with a project in a folder of it, ``project``."""

    top: Path
    project: Path
    commits: int = 0

    def write(self, base: int = 1_000_000, with_a: int = 100, broken: str = "no") -> None:
        """Make the program of the work tree take ``base`` ns, times ``with_a`` % where a is on."""
        self.commits += 1
        tuning = f"base={base}\nwith_a={with_a}\nbroken={broken}\nsalt={self.commits}\n"
        (self.project / "tuning").write_text(tuning)

    def commit(self, base: int = 1_000_000, with_a: int = 100, broken: str = "no") -> str:
        """The same, committed."""
        self.write(base, with_a, broken)
        git(self.top, "add", "--all")
        git(self.top, "commit", "--quiet", "--message", f"change {self.commits}")
        return git(self.top, "rev-parse", "HEAD")


def evolving(top: Path, within: str = ".", extra: str = "") -> Evolving:
    """A new one without commits."""
    project = top / within
    project.mkdir(parents=True, exist_ok=True)
    (project / "program.sh").write_text(PROGRAM)
    (project / "hati.toml").write_text(PROJECT + extra)
    git(top, "init", "--quiet")
    return Evolving(top, project)

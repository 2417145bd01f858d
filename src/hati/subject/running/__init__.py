"""Running a task's commands on this machine, and reading what came of it."""

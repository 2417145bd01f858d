"""Run a task's commands on this machine, and read the results."""

"""The supervisor: starts a benchmark's programs, measures them, and sees that none outlives its run.

A small program of its own, started once per engine: standard library only, so that it starts in
milliseconds and stays small (a program's peak memory, as the kernel reports it, is never below that of the
process that started it). It is the subreaper of all that it starts: a process that detaches itself comes
to it, is counted, and is killed after the run. It talks with hati over a socket, one request at a time:
four bytes of length, then JSON. When the socket closes, for whatever reason, it kills every process and
exits.

The modules import each other relatively only: the package runs under a name of its own, without hati.
"""

"""The supervisor: starts a benchmark's programs, measures them, and ends them with their run.

It is a small separate program, started once per engine. It uses only the standard library, so that it starts in
milliseconds and stays small (a program's peak memory, as the kernel reports it, is never below that of the process that
started it). It is the subreaper of all processes that it starts: a process that detaches itself becomes its child, is
counted, and is killed after the run. It communicates with hati over a socket, one request at a time: four bytes of
length, then JSON. When the socket closes, for whatever reason, it kills every process and exits.

The modules use only relative imports: the package runs under another name, without hati.
"""

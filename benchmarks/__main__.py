"""``python -m benchmarks``: all of them, one after the other, as Markdown on standard output."""

from __future__ import annotations

import sys

from benchmarks import designs, launching, optimal_designs, starting, storing


def main() -> int:
    print("# Benchmarks\n")
    ok = True
    for benchmark in (launching, storing, starting, designs, optimal_designs):
        text, held = benchmark.result()
        print(text, flush=True)
        ok = ok and held
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

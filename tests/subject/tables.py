"""Small tables of measured configurations, and spaces for them."""

from __future__ import annotations

from pathlib import Path

from hati.space import Option, Space, parse_formula
from hati.subject.table import MeasuredTable, assembled, metric_column, read_sheet, space_columns

CACHE = Space(
    (
        Option("policy", ("lru", "lfu", "none"), "lru"),
        Option("size", (64, 256), 64, active_if=parse_formula("policy != 'none'")),
        Option("shards", (1, 4), 1),
        Option("fast", (False, True), default=False),
    ),
    (parse_formula("fast => shards == 4"),),
)

GOOD = """\
policy,size,shards,fast,latency
lru,64,1,0,1.5
lru,64,4,1,1.25
lfu,256,4,true,0.75
none,,1,false,3
"""

FEATURES = """\
policy;lru;lfu;none;size;shards;fast;latency
1;1;0;0;64;1;0;1.5
1;1;0;0;64;4;1;1.25
1;0;1;0;256;4;1;0.75
1;0;0;1;0;1;0;3
"""


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    """A file with that text."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(path: Path, space: Space = CACHE, metric: str | None = "latency") -> MeasuredTable:
    """The measured configurations in a file."""
    sheet = read_sheet(path)
    others = {name for columns in space_columns(sheet, space).values() for name in columns}
    return assembled(sheet, space, (metric_column(sheet, metric, others, {}),), None)

"""A small order-entry workload on SQLite: insert in transactions, join and aggregate, update, delete.

Prints the time of each operation and the throughput in the format that Hati's reader ``hati`` reads.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SCHEMA = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region INTEGER NOT NULL);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer, total REAL NOT NULL);
CREATE TABLE item (purchase INTEGER NOT NULL REFERENCES purchase, product INTEGER NOT NULL, price REAL NOT NULL);
CREATE TRIGGER totals AFTER INSERT ON item BEGIN
  UPDATE purchase SET total = total + NEW.price WHERE id = NEW.purchase;
END;
"""

TRANSACTIONS, PURCHASES, ITEMS, CUSTOMERS = 12, 4, 4, 60


def connect(database: str, pragmas: dict[str, object]) -> sqlite3.Connection:
    connection = sqlite3.connect(database, isolation_level=None)
    for name, setting in pragmas.items():
        connection.execute(f"PRAGMA {name} = {setting}").fetchall()
    return connection


def fill(connection: sqlite3.Connection, rng: random.Random) -> None:
    connection.executescript(SCHEMA)
    connection.execute("BEGIN")
    rows = ((n, f"customer {n} " + "x" * rng.randrange(80), n % 7) for n in range(CUSTOMERS))
    connection.executemany("INSERT INTO customer VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")


def insert(connection: sqlite3.Connection, first: int, rng: random.Random) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for number in range(first, first + PURCHASES):
        connection.execute("INSERT INTO purchase VALUES (?, ?, 0)", (number, rng.randrange(CUSTOMERS)))
        items = [(number, rng.randrange(1000), rng.random()) for _ in range(ITEMS)]
        connection.executemany("INSERT INTO item VALUES (?, ?, ?)", items)
    connection.execute("COMMIT")


def report(connection: sqlite3.Connection) -> None:
    connection.execute(
        """SELECT c.region, count(*), sum(i.price) AS turnover FROM item i
           JOIN purchase p ON p.id = i.purchase JOIN customer c ON c.id = p.customer
           GROUP BY c.region ORDER BY turnover DESC"""
    ).fetchall()
    connection.execute(
        "SELECT a.product, count(*) FROM item a JOIN item b ON a.product = b.product GROUP BY 1 ORDER BY 2 DESC, 1"
    ).fetchall()


def update(connection: sqlite3.Connection, last: int, rng: random.Random) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE customer SET name = ? WHERE id = ?", ("y" * rng.randrange(80), rng.randrange(CUSTOMERS)))
    connection.execute("DELETE FROM item WHERE purchase = ? AND price > 0.5", (rng.randrange(last),))
    connection.execute("COMMIT")


def operations(connection: sqlite3.Connection, rng: random.Random) -> Iterator[Callable[[], None]]:
    for transaction in range(TRANSACTIONS):
        first = transaction * PURCHASES
        yield lambda first=first: insert(connection, first, rng)  # type: ignore[misc]
        yield lambda last=first + PURCHASES: update(connection, last, rng)  # type: ignore[misc]
        if transaction % 4 == 3:
            yield lambda: report(connection)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True, help="the file to make")
    parser.add_argument("--pragmas", required=True, type=Path, help="JSON: each pragma's setting")
    arguments = parser.parse_args()
    rng = random.Random(1)
    connection = connect(arguments.database, json.loads(arguments.pragmas.read_text()))
    fill(connection, rng)
    seconds = []
    for operation in operations(connection, rng):
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    connection.close()
    print(json.dumps({"metric": "latency", "unit": "s", "values": seconds}))
    print(json.dumps({"metric": "throughput", "unit": "1/s", "value": len(seconds) / sum(seconds)}))


if __name__ == "__main__":
    main()

"""The application server of a bookstore: answers calls from its object cache, or after a delay, which is its database.

One thread: while some calls wait for the database, others are answered. With ``--damage`` every call takes so many per
cent of a trivial call longer, by real work; the caller measures how long a trivial call takes, and says so.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import random
import selectors
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from calls import Connection

SUBJECTS = 24
FOUND = 3


class ObjectCache:
    """Objects made from the database, the least recently used of which is dropped when it is full."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._objects: OrderedDict[tuple[str, int], object] = OrderedDict()

    def get(self, key: tuple[str, int]) -> object | None:
        """The object, or None where it is not there."""
        if key in self._objects:
            self._objects.move_to_end(key)
        return self._objects.get(key)

    def put(self, key: tuple[str, int], made: object) -> None:
        """Keep an object, as the one that was used last."""
        self._objects[key] = made
        self._objects.move_to_end(key)
        if len(self._objects) > self._capacity:
            self._objects.popitem(last=False)


@dataclass(frozen=True)
class Call:
    """What is called: how often the database is asked for the answer, and whether the cache keeps it."""

    accesses: int
    answer: Callable[[int], object]
    kept: bool = False


class Bookstore:
    """What can be called, with a number: of a book, or of whatever the call is about."""

    def __init__(self, books: int) -> None:
        self.calls = {
            "customer": Call(0, lambda number: number % 97),
            "stock": Call(0, lambda number: number % 31),
            "price": Call(0, lambda number: 500 + number % 2500),
            "book": Call(1, self.book, kept=True),
            "best_sellers": Call(1, lambda subject: [subject + SUBJECTS * rank for rank in range(FOUND)], kept=True),
            "search": Call(2, lambda phrase: random.Random(phrase).sample(range(books), FOUND)),
            "order": Call(1, lambda _: "ordered"),
        }

    @staticmethod
    def book(number: int) -> object:
        """Title and author."""
        return {"title": f"Title of {number}", "author": f"Author {number % 250}"}


class Server:
    """Serves calls on connections; what waits for the database is in ``_due``, the next to be answered first."""

    def __init__(self, listener: socket.socket, store: Bookstore, cache: ObjectCache, delay: float, damage: float):
        self._selector = selectors.SelectSelector()  # its timeouts are exact to less than a millisecond
        self._selector.register(listener, selectors.EVENT_READ, None)
        self._listener = listener
        self._calls = store.calls
        self._cache = cache
        self._delay = delay
        self._damage = damage
        self._extra_ns = 0
        self._due: list[tuple[float, int, Connection, Callable[[], object]]] = []
        self._numbers = count()

    def serve(self) -> None:
        """Serve for ever."""
        while True:
            wait = max(0.0, self._due[0][0] - time.perf_counter()) if self._due else None
            for key, _ in self._selector.select(wait):
                self._read(key.data)
            while self._due and self._due[0][0] <= time.perf_counter():
                _, _, connection, made = heapq.heappop(self._due)
                self._answer(connection, made())

    def _read(self, connection: Connection | None) -> None:
        if connection is None:
            link, _ = self._listener.accept()
            self._selector.register(link, selectors.EVENT_READ, Connection(link))
            return
        try:
            message = connection.receive()
        except EOFError:
            self._selector.unregister(connection.link)
            connection.link.close()
            return
        if message is not None:
            name, argument = message
            self._serve(connection, name, argument)

    def _serve(self, connection: Connection, name: str, argument: int) -> None:
        if name == "trivial":  # so long it takes, in nanoseconds
            self._extra_ns = int(argument * self._damage)
            self._answer(connection, self._extra_ns)
            return
        call = self._calls[name]
        known = self._cache.get((name, argument)) if call.kept else None
        if known is not None:
            self._answer(connection, known)
        elif call.accesses == 0:
            self._answer(connection, call.answer(argument))
        else:
            due = time.perf_counter() + call.accesses * self._delay
            heapq.heappush(self._due, (due, next(self._numbers), connection, lambda: self._made(call, name, argument)))

    def _made(self, call: Call, name: str, argument: int) -> object:
        made = call.answer(argument)
        if call.kept:
            self._cache.put((name, argument), made)
        return made

    def _answer(self, connection: Connection, answer: object) -> None:
        end = time.perf_counter_ns() + self._extra_ns
        while time.perf_counter_ns() < end:
            pass
        connection.send(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--books", type=int, required=True, help="how many there are")
    parser.add_argument("--cache", type=int, required=True, help="how many objects the cache holds")
    parser.add_argument("--delay", type=float, required=True, help="of an access to the database, in milliseconds")
    parser.add_argument(
        "--damage", type=float, default=0.0, help="what calls take longer, in per cent of a trivial one"
    )
    options = parser.parse_args()
    store, cache = Bookstore(options.books), ObjectCache(options.cache)
    for number in random.Random(1).sample(range(options.books), min(options.cache, options.books)):
        cache.put(("book", number), store.book(number))
    with socket.create_server(("127.0.0.1", options.port)) as listener:
        server = Server(listener, store, cache, options.delay / 1e3, options.damage / 100)
        gc.collect()
        gc.disable()
        print("listening", flush=True)
        server.serve()


if __name__ == "__main__":
    main()

"""The web server of a bookstore: for each page that a browser asks for, a sequence of calls to the application server.

Prints how long each call took, one by one, in the format that Hati's reader ``hati`` reads.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import random
import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from statistics import fmean, median
from typing import Any

from calls import Connection

SUBJECTS = 24
PHRASES = 1000
NANO = 1e-9
FAST = 10e-3

Page = Generator[tuple[str, int], Any, None]
Seconds = dict[str, list[float]]
"""Durations of calls, by what was called."""


class Pages:
    """The pages of the shop: the calls of each, which may depend on the answers of those before."""

    def __init__(self, books: int, rng: random.Random) -> None:
        self._books = books
        self._rng = rng

    def drawn(self) -> Page:
        """One of them, in roughly the proportions of TPC-W's shopping mix."""
        mix = {self.home: 16, self.best_sellers: 10, self.search: 37, self.product: 17, self.cart: 15, self.buy: 5}
        [page] = self._rng.choices(list(mix), list(mix.values()))
        yield from page()

    def home(self) -> Page:
        """Two books that are promoted."""
        yield from self._shown(self._any_book(), self._any_book())

    def best_sellers(self) -> Page:
        """A subject's books that sold best."""
        found = yield "best_sellers", self._rng.randrange(SUBJECTS)
        yield from self._shown(*found)

    def search(self) -> Page:
        """The books that a search finds."""
        found = yield "search", self._rng.randrange(PHRASES)
        yield from self._shown(*found)

    def product(self) -> Page:
        """One book."""
        yield from self._shown(self._any_book())

    def cart(self) -> Page:
        """The book that was put into the cart."""
        yield from self._shown(self._any_book())

    def buy(self) -> Page:
        """A purchase."""
        yield "order", self._any_book()

    def _shown(self, *numbers: int) -> Page:
        for number in numbers:
            for name in ("customer", "stock", "price", "book"):
                yield name, number

    def _any_book(self) -> int:
        return self._rng.randrange(self._books)


class Browser:
    """A browser as the web server knows it: its page, and the connection on which that page's calls are made."""

    def __init__(self, port: int) -> None:
        self.connection = Connection(socket.create_connection(("127.0.0.1", port)))
        self._page: Page
        self._called: tuple[str, int]
        self._began = 0

    def ask(self, page: Page) -> None:
        """Ask for a page: make its first call."""
        self._page = page
        self._call(next(page))

    def heard(self, seconds: Seconds) -> bool:
        """Take what has arrived, and note how long the call took; True where the page is complete."""
        answer = self.connection.receive()
        if answer is None:
            return False
        seconds[self._called[0]].append((time.perf_counter_ns() - self._began) * NANO)
        try:
            self._call(self._page.send(answer))
        except StopIteration:
            return True
        return False

    def _call(self, called: tuple[str, int]) -> None:
        self._called = called
        self._began = time.perf_counter_ns()
        self.connection.send(called)


class WebServer:
    """Browsers that think for a while, ask for a page, and think again."""

    def __init__(self, port: int, browsers: int, think: float, rng: random.Random) -> None:
        self._browsers = [Browser(port) for _ in range(browsers)]
        self._think = think
        self._rng = rng
        self._selector = selectors.SelectSelector()
        for number, browser in enumerate(self._browsers):
            self._selector.register(browser.connection.link, selectors.EVENT_READ, (number, browser))

    def serve(self, pages: Iterator[Page]) -> Seconds:
        """How long the calls of all these pages took, in the order of the answers."""
        seconds: Seconds = defaultdict(list)
        thinking = [(self._until(), number) for number in range(len(self._browsers))]
        heapq.heapify(thinking)
        asking = 0
        while thinking or asking:
            wait = max(0.0, thinking[0][0] - time.perf_counter()) if thinking else None
            for key, _ in self._selector.select(wait):
                number, browser = key.data
                if browser.heard(seconds):
                    heapq.heappush(thinking, (self._until(), number))
                    asking -= 1
            while thinking and thinking[0][0] <= time.perf_counter():
                _, number = heapq.heappop(thinking)
                if (page := next(pages, None)) is not None:
                    self._browsers[number].ask(page)
                    asking += 1
        return seconds

    def tell_trivial(self, seconds: float) -> None:
        """Tell the application server how long a trivial call takes."""
        self._browsers[0].connection.call("trivial", round(seconds / NANO))

    def _until(self) -> float:
        return time.perf_counter() + self._rng.expovariate(1.0 / self._think)


def shown(name: str, values: list[float]) -> str:
    """The ingredients of the Kalibera paper's figure 8, and of what they hide."""
    micros = [round(value / 1e-6) for value in (median(values), fmean(values))]
    fast = [value for value in values if value < FAST]
    hidden = f", {len(fast)} below 10 ms with median {median(fast) / 1e-6:.1f} us" if fast else ""
    return f"{name}: {len(values)} calls, median {micros[0]} us, average {micros[1]} us{hidden}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="of the application server")
    parser.add_argument("--books", type=int, required=True, help="how many there are")
    parser.add_argument("--browsers", type=int, required=True, help="how many there are at once")
    parser.add_argument("--think", type=float, required=True, help="mean time between two pages, in milliseconds")
    parser.add_argument("--warmup", type=int, required=True, help="pages before those that are measured")
    parser.add_argument("--pages", type=int, required=True, help="pages that are measured")
    options = parser.parse_args()
    pages = [Pages(options.books, random.Random(number)).drawn() for number in range(options.warmup + options.pages)]
    web = WebServer(options.port, options.browsers, options.think / 1e3, random.Random(1))
    gc.collect()
    gc.disable()
    before = web.serve(iter(pages[: options.warmup]))
    trivial = median(before["price"])
    web.tell_trivial(trivial)
    measured = web.serve(iter(pages[options.warmup :]))
    for name, values in measured.items():
        print(json.dumps({"metric": name, "unit": "s", "values": before[name], "warmup": True}))
        print(json.dumps({"metric": name, "unit": "s", "values": values}))
    print(f"a trivial call took {trivial / 1e-6:.1f} us before the damage")
    for name, values in measured.items():
        print(shown(name, values))


if __name__ == "__main__":
    main()

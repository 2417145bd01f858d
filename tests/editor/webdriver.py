"""Headless Chromium, driven by the W3C's WebDriver protocol over HTTP."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Tab": "\ue004",
    "Shift": "\ue008",
    "Control": "\ue009",
    "Alt": "\ue00a",
    "Home": "\ue011",
    "End": "\ue010",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Delete": "\ue017",
}


class Browser:
    """A page in Chromium; keys go to what has the focus."""

    def __init__(self, address: str) -> None:
        self._session = address

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return _ask(method, f"{self._session}{path}", body)

    def open(self, address: str) -> None:
        self._ask("POST", "/url", {"url": address})

    def script(self, text: str, *arguments: Any) -> Any:
        """What a function body in JavaScript returns."""
        return self._ask("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def keys(self, *words: str) -> None:
        """Press keys: names as in ``Control+s`` and ``Enter``; other words are typed."""
        actions = []
        for word in words:
            parts = word.split("+") if word.split("+")[0] in KEYS else list(word)
            codes = [KEYS.get(part, part) for part in parts]
            if word.split("+")[0] in KEYS:
                actions += [{"type": "keyDown", "value": code} for code in codes]
                actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
            else:
                actions += [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def drag(self, source: str, target: str, height: float) -> None:
        """Drag one element to a part of the height of another; both by CSS selectors."""
        start, end = (self.script(_CENTRE, selector, part) for selector, part in ((source, 0.5), (target, height)))
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": start[0], "y": start[1]}]
        actions += [{"type": "pointerDown", "button": 0}]
        actions += [{"type": "pointerMove", "duration": 100, "x": end[0], "y": end[1] + step} for step in (1, 0)]
        actions += [{"type": "pointerUp", "button": 0}]
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def role(self, selector: str) -> tuple[str, str]:
        """The role and the name of an element as assistive technology has them."""
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        return tuple(self._ask("GET", f"/element/{found}/computed{part}") for part in ("role", "label"))

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
        """The first true value of a condition."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        raise AssertionError(f"after {seconds:g} s: {what}; the page: {self.script('return document.body.innerText')}")

    def messages(self) -> list[str]:
        """What the page's console has of errors, since the last call."""
        return [each["message"] for each in self._ask("POST", "/se/log", {"type": "browser"})]

    def picture(self, file: Path) -> None:
        import base64

        file.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))


_CENTRE = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return [Math.round(box.left + 40), Math.round(box.top + box.height * arguments[1])];
"""


_OPENER = build_opener(ProxyHandler({}))


def _ask(method: str, address: str, body: Any = None) -> Any:
    data = None if method == "GET" else json.dumps(body or {}).encode()
    request = Request(address, data, {"Content-Type": "application/json"}, method=method)
    try:
        with _OPENER.open(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None


def missing() -> str:
    """The programs that are not installed."""
    return ", ".join(each for each in ("chromium", "chromedriver") if shutil.which(each) is None)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser whose profile is in a folder."""
    with subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        line = next(each for each in driver.stdout if "started successfully on port" in each)
        address = f"http://127.0.0.1:{int(line.rstrip('.' + chr(10)).rpartition(' ')[2])}"
        options = {
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                f"--user-data-dir={folder}",
            ],
            "binary": shutil.which("chromium"),
        }
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "unhandledPromptBehavior": "accept",
        }
        try:
            made = _ask("POST", f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})
            session = f"{address}/session/{made['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _ask("DELETE", session)
        finally:
            driver.terminate()

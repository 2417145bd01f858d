"""The files of the page on deployment, as far as they can be executed here."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "gateway"))

from volunteers import INVITATION, PROJECT, SUBJECT, Volunteer, certificate, hati  # noqa: E402 - of another room

PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
FILES = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', PAGE, re.DOTALL))


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@needs("systemd-analyze")
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".service")])
def test_the_units_are_valid(name: str, tmp_path: Path) -> None:
    unit = FILES[name].replace("/opt/hati/bin/hati", sys.executable).replace("User=hati", "User=root")
    (tmp_path / name).write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    own = [line for line in done.stderr.splitlines() if name in line]
    assert own == [], done.stderr


@needs("kubectl")
def test_the_manifests_are_complete(tmp_path: Path) -> None:
    for name in ("kubernetes.yaml", "kustomization.yaml", "nginx.conf"):
        (tmp_path / name).write_text(FILES[name])
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {each["kind"]: each for each in YAML(typ="safe").load_all(done.stdout)}
    assert set(found) == {"ConfigMap", "Deployment", "Service"}
    [proxy] = [each for each in found["Deployment"]["spec"]["template"]["spec"]["volumes"] if each["name"] == "proxy"]
    assert proxy["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]


def test_the_services_of_the_composition_exist() -> None:
    found = YAML(typ="safe").load(FILES["compose.yaml"])
    services = found["services"]
    named = {name for each in services.values() for name in each.get("depends_on", ())}
    named |= {services["proxy"]["network_mode"].removeprefix("service:")}
    assert named <= set(services)
    assert {each.partition(":")[0] for each in services["store"]["volumes"]} == set(found["volumes"])
    assert set(services["store"]["secrets"]) == set(found["secrets"])


_ATTEMPTS = 5


def nginx(folder: Path, text: str) -> tuple[subprocess.Popen[bytes], int]:
    """The running proxy of a configuration whose port is PORT, and the port; another one where it was taken meanwhile.

    It writes the file of its process id once it listens.
    """
    for _ in range(_ATTEMPTS):
        with socket.socket() as asking:
            asking.bind(("127.0.0.1", 0))
            port = int(asking.getsockname()[1])
        file = folder / "nginx.conf"
        file.write_text(text.replace("PORT", str(port)))
        command = ["nginx", "-p", str(folder), "-e", "error.log", "-g", "daemon off;", "-c", str(file)]
        proxy = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while proxy.poll() is None and time.monotonic() < until:
            if (folder / "nginx.pid").exists():
                return proxy, port
            time.sleep(0.05)
        proxy.kill()
        proxy.wait()
    raise AssertionError((folder / "error.log").read_text())


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of the server behind the page's proxy."""
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "subject.py").write_text(SUBJECT)
    owner = str(tmp_path / "owner")
    for words in (("grid", "key", "--out", owner), ("grid", "sign", str(tmp_path), "--key", owner)):
        done = hati(*words)
        assert done.returncode == 0, done.stderr
    [pem, key] = certificate(tmp_path)
    command = [sys.executable, "-m", "hati", "serve", str(tmp_path), "--volunteers", "--invitation", INVITATION]
    server = subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True)
    started = [server]
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        inner = re.search(r":(\d+)", said)
        assert inner, said
        replaced = {
            "/run/nginx.pid": str(tmp_path / "nginx.pid"),
            "listen 443": "listen 127.0.0.1:PORT",
            "/etc/hati/certificate.pem": str(pem),
            "/etc/hati/certificate.key": str(key),
            "127.0.0.1:8443": f"127.0.0.1:{inner[1]}",
        }
        text = FILES["nginx.conf"]
        for before, after in replaced.items():
            assert before in text
            text = text.replace(before, after)
        proxy, outer = nginx(tmp_path, text)
        started.insert(0, proxy)
        trusted = ssl.create_default_context(cafile=str(pem))
        with httpx.Client(base_url=f"https://127.0.0.1:{outer}", verify=trusted, trust_env=False, timeout=30) as http:
            yield http
    finally:
        for process in started:
            process.terminate()
            process.communicate(timeout=30)


@needs("nginx")
def test_a_machine_registers_and_asks_through_the_proxy(proxied: httpx.Client) -> None:
    machine = Volunteer(proxied, "behind")
    assert machine.claim().status_code == 204
    page = proxied.post("/", data={"name": "desk", "invitation": INVITATION})
    assert str(proxied.base_url).rstrip("/") in page.text, "the page names the address of the proxy"
    assert "http://" not in page.text

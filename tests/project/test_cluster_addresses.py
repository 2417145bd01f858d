from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.project import ClusterAddress, by_workers, is_cluster, known_engine

HOSTS = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8}){0,2}", fullmatch=True),
)


@given(HOSTS, st.integers(1, 65535))
def test_an_address_under_tls_comes_back_as_it_was(host: str, port: int) -> None:
    text = f"tls://{host}:{port}"
    assert str(ClusterAddress.parse(text)) == text
    assert is_cluster(text)
    assert by_workers(known_engine(text))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("dask://localhost:8786", "tcp://localhost:8786"),
        ("dask://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("dask://[::1]:8786", "tcp://[::1]:8786"),
        ("dask://head:8786", "tls://head:8786"),
        ("tcp://127.4.5.6:1", "tcp://127.4.5.6:1"),
    ],
)
def test_dask_is_tcp_on_loopback_and_tls_elsewhere(text: str, meant: str) -> None:
    assert str(ClusterAddress.parse(text)) == meant


@pytest.mark.parametrize("host", ["head", "10.0.0.1", "0.0.0.0", "[::2]", "localhost.example.org", "127.0.0.1.nip.io"])
def test_tcp_to_another_host_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="is not encrypted") as found:
        known_engine(f"tcp://{host}:8786")
    assert f"write tls://{host}:8786" in str(found.value)


@pytest.mark.parametrize(
    "text",
    [
        "tls://",
        "tls://head",
        "tls://:8786",
        "tls://head:0",
        "tls://head:x",
        "tls://head:99999",
        "tls://head:8786/",
        "tls://head:8786/path",
        "tls://head:8786?a=b",
        "tls://head:8786#a",
        "tls://user@head:8786",
        "tls://[::1:8786",
        "tls:// head:8786",
    ],
)
def test_what_is_not_an_address_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="write tls://HOST:PORT"):
        known_engine(text)


@given(st.text(max_size=20))
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        ClusterAddress.parse(f"tls://{text}")
    except InputError as error:
        assert error.fix


@pytest.mark.parametrize("text", ["http://head:8786", "head:8786", "tls", "://head:1"])
def test_other_names_are_those_of_engines(text: str) -> None:
    assert not is_cluster(text)
    with pytest.raises(InputError, match="there is no engine"):
        known_engine(text)

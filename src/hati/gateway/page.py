"""The page on which a person registers a machine."""

from __future__ import annotations

from html import escape

_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hati: lend a machine</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}}
input,button{{font:inherit;padding:.3em}} pre{{background:#8882;padding:1em;overflow-x:auto}}</style></head>
<body><h1>Lend a machine</h1>{body}</body></html>
"""
_FORM = """
<p>This server gives benchmarks to machines that ask for them. A machine needs Python 3.9 or newer. It runs only what
the owner signed, in a sandbox where the system has one, and its numbers are marked as a volunteer's.</p>
<form method="post" action="/">
<p><label>Name of the machine<br>
<input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" maxlength="64"></label></p>
<p><label>Invitation, from the owner<br><input name="invitation" type="password" autocomplete="off"></label></p>
<p><button>Get the command</button></p></form>
<p>Public key of the owner: <code>{key}</code></p>
"""
_COMMAND = """
<p>Run this on <b>{name}</b>, within an hour:</p>
<pre>curl -fsSo hati-join.pyz {url}/v1/client.pyz
python3 hati-join.pyz {url} --name {name} --invitation {code}</pre>
<p>The code registers this one machine, once. The owner can revoke its token at any time.</p>
"""


def page(key: str) -> str:
    """The page with the form; ``key`` is the owner's public key, empty where nothing was signed."""
    return _FRAME.format(body=_FORM.format(key=escape(key) or "nothing is signed yet"))


def command_page(url: str, name: str, code: str) -> str:
    """The page with the commands that register a machine by a one-time code."""
    return _FRAME.format(body=_COMMAND.format(url=escape(url), name=escape(name), code=escape(code)))

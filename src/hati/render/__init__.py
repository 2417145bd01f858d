"""Reports for people and programs: a terminal, one HTML page, charts, JSON, CSV and Markdown.

Values of `hati.report` go in, text or images come out; nothing is computed here. Altair, vl-convert
and Jinja2 load with the first chart or page, not with this room.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

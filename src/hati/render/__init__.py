"""Reports for people and programs: a terminal, one HTML page, charts, JSON, CSV and Markdown.

It converts values of `hati.document` to text or images, and computes nothing. Altair, vl-convert and Jinja2 are loaded
for the first chart or page, not with this package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

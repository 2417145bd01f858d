"""Reports for people and programs: a terminal, one HTML page, charts, JSON, CSV and Markdown.

Values of `hati.report` go in, text or images come out; nothing is computed here. Altair, vl-convert
and Jinja2 load with the first chart or page, not with this room.
"""

from hati.render.charts import chart_png, chart_svg, screening_charts
from hati.render.csv import table_csv
from hati.render.html import screening_html
from hati.render.json import table_json, to_json
from hati.render.markdown import screening_markdown, table_markdown
from hati.render.parquet import table_parquet
from hati.render.terminal import print_screening, print_table, screening_text, table_text

__all__ = [
    "chart_png",
    "chart_svg",
    "print_screening",
    "print_table",
    "screening_charts",
    "screening_html",
    "screening_markdown",
    "screening_text",
    "table_csv",
    "table_json",
    "table_markdown",
    "table_parquet",
    "table_text",
    "to_json",
]

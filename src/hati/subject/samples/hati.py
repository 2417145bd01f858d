"""Format ``hati-samples-1``: what ``hati export`` and ``hati import`` write."""

from __future__ import annotations

from hati.core import Better, Configuration, Metric, Origin, SampledRun, Usage, Workload
from hati.subject.samples.building import Label, SampleBuilder, moment, observed, optional, optional_text, settings
from hati.subject.samples.document import JsonNode, read_document
from hati.subject.samples.source import OpenedFile

FORMAT = "hati-samples-1"


def read_hati(source: OpenedFile, book: SampleBuilder) -> None:
    """Take in the samples of a document.

    Raises:
        InputError: for anything that is not as the format has it, with its path.
    """
    for node in read_document(source.stream, source.file, ("samples",)):
        if node.path:
            _sample(node, book)
            continue
        if node["format"].text() != FORMAT:
            raise node["format"].error(f"the format is not {FORMAT!r}")
        node["samples"].items()


def _sample(node: JsonNode, book: SampleBuilder) -> None:
    label = Label(
        benchmark=node["benchmark"].text(),
        metric=Metric(node["metric"].text(), optional_text(node, "unit"), _better(node)),
        configuration=Configuration(settings(node.get("configuration"))),
        revision=optional_text(node, "revision"),
        workload=Workload(settings(node.get("workload"))),
        machine=optional_text(node, "machine"),
    )
    runs = node["runs"]
    if not any(True for _ in runs.items()):
        raise runs.error("there are no runs")
    for run in runs.items():
        book.add(label, _run(run, label.metric), run.error)


def _better(node: JsonNode) -> Better:
    found = node.get("better")
    if found is None:
        return Better.LOWER
    if found.value not in set(Better):
        raise found.error("neither 'lower' nor 'higher' stands here")
    return Better(str(found.value))


def _run(node: JsonNode, of: Metric) -> SampledRun:
    return SampledRun(
        observations=observed(node["observations"], of, optional(node, "warmup", JsonNode.count) or 0),
        started=optional(node, "started", moment),
        usage=Usage(
            cpu_time=optional(node, "cpu_time", JsonNode.amount),
            wall_time=optional(node, "wall_time", JsonNode.amount),
            voluntary_switches=optional(node, "voluntary_switches", JsonNode.count),
            involuntary_switches=optional(node, "involuntary_switches", JsonNode.count),
            peak_memory=optional(node, "peak_memory", JsonNode.count),
            load=optional(node, "load", JsonNode.amount),
            pressure=optional(node, "pressure", JsonNode.amount),
            steal=optional(node, "steal", JsonNode.amount),
        ),
        origin=Origin(
            study=optional(node, "study", JsonNode.text),
            stage=optional(node, "stage", JsonNode.text),
            repetition=optional(node, "repetition", JsonNode.count),
        ),
        exit=optional(node, "exit", JsonNode.integer),
        remark=optional_text(node, "remark"),
    )

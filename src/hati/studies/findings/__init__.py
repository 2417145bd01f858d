"""Findings, which are reported once: their states after events, and the events of a new measurement.

This package is pure: events in, findings and further events out. The store keeps only events, so that stores can be
merged.
"""

from hati.studies.findings.findings import (
    TRANSITIONS,
    Report,
    Ruling,
    Sighting,
    concluded,
    events_of,
    finding_id,
    finding_of,
    findings_of,
    is_concluded,
    not_yet_said,
    reports,
    sighting_of,
    spot_of,
)

__all__ = [
    "TRANSITIONS",
    "Report",
    "Ruling",
    "Sighting",
    "concluded",
    "events_of",
    "finding_id",
    "finding_of",
    "findings_of",
    "is_concluded",
    "not_yet_said",
    "reports",
    "sighting_of",
    "spot_of",
]

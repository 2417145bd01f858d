"""Pipelines of continuous integration that check every change, and the Hati that they install."""

from hati.project.pipelines.requirement import InstalledHati, installed_hati
from hati.project.pipelines.writing import CheckedProject, PipelineFile, PipelineService, write_pipeline

__all__ = ["CheckedProject", "InstalledHati", "PipelineFile", "PipelineService", "installed_hati", "write_pipeline"]

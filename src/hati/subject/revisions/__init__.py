"""Revisions of the subject: their names, the revisions between two, and their files in separate folders.

A ``History`` is a repository with its revisions, of git or svn. ``Trees`` writes a revision's files into a folder below
``.hati`` for the duration of a campaign. The user's own files, index and repository are never written to.
"""

from hati.subject.revisions.git import GitHistory, History
from hati.subject.revisions.svn import SvnHistory
from hati.subject.revisions.trees import InPlace, Revisions, Tree, Trees

__all__ = ["GitHistory", "History", "InPlace", "Revisions", "SvnHistory", "Tree", "Trees"]

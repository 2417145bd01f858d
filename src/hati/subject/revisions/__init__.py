"""Versions of the subject: how they are called, what lies between them, and their files in a folder of their own.

A ``History`` is a repository that knows its revisions; git and svn are there. ``Trees`` puts a revision's files into a
folder below ``.hati`` that lasts as long as a campaign. Nothing is ever written into the user's own files, index or
repository.
"""

from hati.subject.revisions.git import GitHistory, History
from hati.subject.revisions.svn import SvnHistory
from hati.subject.revisions.trees import InPlace, Revisions, Tree, Trees

__all__ = ["GitHistory", "History", "InPlace", "Revisions", "SvnHistory", "Tree", "Trees"]

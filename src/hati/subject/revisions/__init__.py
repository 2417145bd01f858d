"""Revisions of the subject: their names, the revisions between two, and their files in separate folders.

A ``GitHistory`` or an ``SvnHistory`` is a repository with its revisions. ``Trees`` writes a revision's files into a
folder below ``.hati`` for the duration of a campaign. The user's own files, index and repository are never written to.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

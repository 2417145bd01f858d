from .finding import Revisions as Revisions
from .git import GitHistory as GitHistory
from .svn import SvnHistory as SvnHistory
from .trees import InPlace as InPlace
from .trees import Trees as Trees

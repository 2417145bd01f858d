from .duet import DuetEngine as DuetEngine
from .local import LocalEngine as LocalEngine
from .lock import FileLock as FileLock
from .table import TableEngine as TableEngine

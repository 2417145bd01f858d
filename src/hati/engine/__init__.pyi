from .duet import DuetEngine as DuetEngine
from .local import LocalEngine as LocalEngine
from .lock import MachineLock as MachineLock
from .table import TableEngine as TableEngine

from .engines import LOCAL as LOCAL
from .engines import MakeEngine as MakeEngine
from .engines import engine_of as engine_of
from .local import EngineSetup as EngineSetup
from .local import LocalEngine as LocalEngine
from .lock import FileLock as FileLock
from .serial import SerialEngine as SerialEngine
from .table import TableEngine as TableEngine

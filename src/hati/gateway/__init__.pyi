from .app import make_app as make_app
from .gateway import Gateway as Gateway
from .gateway import Setup as Setup

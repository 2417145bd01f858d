from .app import make_app as make_app
from .app import openapi_document as openapi_document
from .gateway import Gateway as Gateway
from .gateway import Refusal as Refusal
from .gateway import Setup as Setup

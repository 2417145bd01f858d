"""The page on which a person composes a task set: the file while it is edited, and the server for one browser.

The server listens on the loopback interface and gives its page to who has the address that it prints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

from .edited_file import EditedFile as EditedFile
from .edited_file import EditorState as EditorState
from .page_server import PageServer as PageServer
from .page_server import editor_schema as editor_schema

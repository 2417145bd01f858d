from .edited_file import EditedFile as EditedFile
from .edited_file import EditorState as EditorState
from .edited_file import EditProblem as EditProblem
from .page_server import page_server as page_server
from .schema import editor_schema as editor_schema

from registry._foreign import Foreign as Foreign
from registry._reply import (
    Media as Media,
    MixedReply as MixedReply,
    OwnReply as OwnReply,
    Reply as Reply,
    refuse as refuse,
    reply as reply,
)
from registry._tooldef import AnyTool as AnyTool, ToolDef as ToolDef, ToolInput as ToolInput

"""hedgerow's core: tools that say who chose the bytes they return, one dispatcher, one fence.

Start with `ToolDef`, then `run_registry_tool`. Everything that is public is exported here; the rest may change.
"""

from registry import errors
from registry._admission import Admission
from registry._call import remaining_s
from registry._deployment import AuditRecord, Caller, CatalogProse, Deployment, Permitted
from registry._dispatch import run_registry_tool
from registry._fence import FenceKey, fence_notice, fence_untrusted, unfence_untrusted
from registry._foreign import Foreign
from registry._nested import call_tool, call_tool_sync
from registry._outcome import Answered, Failed, Malformed, MediaPart, Outcome, Refused, Shed, TimedOut
from registry._registry import Registry
from registry._reply import Media, MixedReply, OwnReply, Reply, refuse, reply
from registry._sync import run_registry_tool_sync
from registry._tooldef import AnyTool, ToolDef, ToolInput
from registry.errors import ToolCallError, ToolFailed

__all__ = [
    "Admission",
    "Answered",
    "AnyTool",
    "AuditRecord",
    "Caller",
    "CatalogProse",
    "Deployment",
    "Failed",
    "FenceKey",
    "Foreign",
    "Malformed",
    "Media",
    "MediaPart",
    "MixedReply",
    "Outcome",
    "OwnReply",
    "Permitted",
    "Refused",
    "Registry",
    "Reply",
    "Shed",
    "TimedOut",
    "ToolCallError",
    "ToolDef",
    "ToolFailed",
    "ToolInput",
    "call_tool",
    "call_tool_sync",
    "errors",
    "fence_notice",
    "fence_untrusted",
    "refuse",
    "remaining_s",
    "reply",
    "run_registry_tool",
    "run_registry_tool_sync",
    "unfence_untrusted",
]

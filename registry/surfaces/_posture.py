"""The posture of a server in a few lines for the person who starts it: who may call what, and every bound. No secret."""

from __future__ import annotations

from collections.abc import Mapping

from registry._deployment import Deployment, Permitted

__all__ = ["posture"]


def posture(deployment: Deployment, surface: str, callers: str, limits: Mapping[str, object]) -> str:
    """Say what a server does, one fact a line.

    Args:
        deployment: what the composition root decided.
        surface: what serves, and where.
        callers: how a caller is known.
        limits: the surface's own settings, by their names.
    """
    admission = deployment.admission
    facts: dict[str, object] = {
        "serving": surface,
        "callers": callers,
        "permitted": permissions(deployment),
        "tools": len(deployment.tools),
        "answers with text from outside": names(deployment, is_foreign=True),
        "answers in its own words": names(deployment, is_foreign=False),
        "admission": f"{admission.max_concurrent} at once, a wait of {admission.window_s:g} s, then shed",
        "reply_timeout_s": f"{deployment.reply_timeout_s:g}",
        "max_result_chars": deployment.max_result_chars,
        "max_media_bytes": deployment.max_media_bytes,
        "catalog_prose": deployment.catalog_prose,
        **limits,
    }
    return "\n".join(["hedgerow", *(f"  {name}: {fact}" for name, fact in facts.items())])


def permissions(deployment: Deployment) -> str:
    permitted = deployment.permitted
    if not isinstance(permitted, Permitted):
        return "decided for each caller by a function"
    if permitted.grants is None:
        return "every tool"
    return "the grants " + (", ".join(sorted(permitted.grants)) or "(none)")


def names(deployment: Deployment, *, is_foreign: bool) -> str:
    found = [tool.name for tool in deployment.tools.values() if (tool.untrusted_output is not False) is is_foreign]
    return ", ".join(found) or "(none)"

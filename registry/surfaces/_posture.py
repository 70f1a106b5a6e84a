"""The posture of a server in a few lines for the person who starts it: who may call what, and every bound. No secret."""

from __future__ import annotations

from collections.abc import Mapping

from registry._deployment import Deployment, Permitted

__all__ = ["posture"]


def posture(
    *,
    serving: str,
    callers: Mapping[str, str],
    deployments: Mapping[str, Deployment],
    limits: Mapping[str, object],
) -> str:
    """Say what a server does, one fact a line.

    Args:
        serving: what serves, and where.
        callers: who may come in, and how each is known.
        deployments: what is served, by the name of the instance. They share one `Admission`.
        limits: the surface's own settings, by their names.
    """
    admission = next(iter(deployments.values())).admission
    lines = [
        "hedgerow",
        f"  serving: {serving}",
        *(f"  {name}: {said}" for name, said in callers.items()),
        f"  admission: {admission.max_concurrent} at once in this process, a wait of {admission.window_s:g} s, then shed",
    ]
    for name, deployment in deployments.items():
        lines += [f"  instance {name}", *(f"    {fact}: {found}" for fact, found in facts_of(deployment).items())]
    return "\n".join([*lines, *(f"  {name}: {shown(value)}" for name, value in limits.items())])


def facts_of(deployment: Deployment) -> dict[str, object]:
    return {
        "permitted": permissions(deployment),
        "tools": len(deployment.tools),
        "answers with text from outside": names(deployment, is_foreign=True),
        "answers in its own words": names(deployment, is_foreign=False),
        "reply_timeout_s": shown(deployment.reply_timeout_s),
        "max_result_chars": deployment.max_result_chars,
        "max_media_bytes": deployment.max_media_bytes,
        "catalog_prose": deployment.catalog_prose,
    }


def shown(value: object) -> object:
    return f"{value:g}" if isinstance(value, float) else value


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

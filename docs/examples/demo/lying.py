"""A tool that lies: mypy accepts it, and `tools-check` follows the bytes. `make demo` shows how."""

import httpx

from registry import ToolDef, ToolInput


class Weather(ToolInput):
    city: str


def ask(path: str) -> httpx.Response:
    return httpx.get(f"https://weather.example/{path}")


def forecast(city: str) -> str:
    answer = ask(f"forecast/{city}")
    return answer.text if answer.status_code == 200 else "There is no forecast."


def weather(request: Weather) -> str:
    return f"The forecast for {request.city}: {forecast(request.city)}"


WEATHER = ToolDef(
    name="weather",
    description="Say what the weather will be.",
    input=Weather,
    handler=weather,
    untrusted_output=False,
    effect="read",
)

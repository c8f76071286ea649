"""llm, with the gateway as one more model. It speaks Chat Completions and streams through the same package as openai-python."""

import base64

import llm
from llm.default_plugins.openai_models import Chat

from serve import PNG, SCHEMAS, result, serve


def model_of(order):
    model = Chat(order["model"], model_name=order["model"], api_base=order["url"] + "/v1", vision=True, supports_tools=True, supports_schema=True, reasoning=True)
    model.key = order["token"]
    return model


def options_of(order):
    options = {"reasoning_effort": "high"} if order.get("isThinking") else {}
    if order.get("isStructured"):
        options["schema"] = SCHEMAS["weather"]
    if order.get("hasImage"):
        options["attachments"] = [llm.Attachment(type="image/png", content=base64.b64decode(PNG))]
    return options


def seen(response, pieces=1):
    usage = response.usage()
    return {"text": response.text(), "pieces": pieces, "thinking": "", "usage": {"input": usage.input, "output": usage.output}}


def ask(order):
    response = model_of(order).prompt("Hi", stream=bool(order.get("isStream")), **options_of(order))
    pieces = sum(1 for piece in response if piece)
    return seen(response, pieces)


def loop(order):
    calls = []

    def weather(city: str) -> str:
        """The weather."""
        calls.append({"name": "weather", "arguments": {"city": city}})
        return result("weather")

    def clock(zone: str) -> str:
        """The time."""
        calls.append({"name": "clock", "arguments": {"zone": zone}})
        return result("clock")

    chain = model_of(order).chain("Hi", tools=[weather, clock], stream=bool(order.get("isStream")), options=options_of(order))
    text = chain.text()
    return {"text": text, "calls": calls}


def cancel(order):
    for piece in model_of(order).prompt("Hi", stream=True):
        if piece:
            break
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

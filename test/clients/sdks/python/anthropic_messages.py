"""anthropic. The word behind says which way of streaming: the events themselves, or the package's helper."""

import json
import sys

from anthropic import Anthropic

from serve import PNG, ROUNDS_MAX, SCHEMAS, result, serve

IS_HELPER = sys.argv[1] == "helper"
TOOLS = [{"name": name, "description": name, "input_schema": schema} for name, schema in SCHEMAS.items()]


def client_of(order):
    return Anthropic(api_key=order["token"], base_url=order["url"])


def body_of(order):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    content = [{"type": "text", "text": "Hi"}, image] if order.get("hasImage") else "Hi"
    body = {"model": order["model"], "max_tokens": 4000, "messages": [{"role": "user", "content": content}]}
    if order.get("isStructured"):
        body["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMAS["weather"]}}
    return {**body, "thinking": {"type": "enabled", "budget_tokens": 1024}} if order.get("isThinking") else body


def answer(client, body, is_stream):
    """One answer: its content as it goes back, its usage, and how many pieces it came in."""
    if not is_stream:
        message = client.messages.create(**body)
        return [block.model_dump(exclude_none=True) for block in message.content], message.usage, 1
    pieces = 0
    if IS_HELPER:
        with client.messages.stream(**body) as stream:
            for _ in stream.text_stream:
                pieces += 1
            message = stream.get_final_message()
        # What the helper parsed of a text is no field of the API.
        return [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in message.content], message.usage, pieces
    content = []
    inputs = {}
    usage = None
    for event in client.messages.create(**body, stream=True):
        if event.type == "content_block_start":
            content.append(event.content_block.model_dump(exclude_none=True))
        elif event.type == "message_delta":
            usage = event.usage
        elif event.type == "content_block_delta":
            block, delta = content[event.index], event.delta
            if delta.type == "text_delta":
                block["text"] += delta.text
                pieces += 1
            elif delta.type == "thinking_delta":
                block["thinking"] += delta.thinking
            elif delta.type == "signature_delta":
                block["signature"] = delta.signature
            elif delta.type == "input_json_delta":
                inputs[event.index] = inputs.get(event.index, "") + delta.partial_json
    for index, text in inputs.items():
        content[index]["input"] = json.loads(text or "{}")
    return content, usage, pieces


def seen(content, usage, pieces):
    return {
        "text": "".join(block["text"] for block in content if block["type"] == "text"),
        "pieces": pieces,
        "thinking": "".join(block["thinking"] for block in content if block["type"] == "thinking"),
        "usage": {"input": usage and usage.input_tokens, "output": usage and usage.output_tokens},
    }


def ask(order):
    return seen(*answer(client_of(order), body_of(order), order.get("isStream")))


def loop(order):
    body = {**body_of(order), "tools": TOOLS}
    calls = []
    for _ in range(ROUNDS_MAX):
        content, usage, pieces = answer(client_of(order), body, order.get("isStream"))
        asked = [block for block in content if block["type"] == "tool_use"]
        if not asked:
            return {**seen(content, usage, pieces), "calls": calls}
        body["messages"].append({"role": "assistant", "content": content})
        calls += [{"name": block["name"], "arguments": block["input"]} for block in asked]
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": result(block["name"])} for block in asked]
        body["messages"].append({"role": "user", "content": results})
    return {"text": "", "calls": calls}


def cancel(order):
    if IS_HELPER:
        with client_of(order).messages.stream(**body_of(order)) as stream:
            for _ in stream.text_stream:
                break
    else:
        with client_of(order).messages.create(**body_of(order), stream=True) as stream:
            for event in stream:
                if event.type == "content_block_delta":
                    break
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

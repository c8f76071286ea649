"""openai, Chat Completions. The word behind says which way of streaming: by hand, or by the package's helper."""

import json
import sys

from openai import OpenAI

from serve import PNG_URL, ROUNDS_MAX, SCHEMAS, result, serve

IS_HELPER = sys.argv[1] == "helper"
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": schema, "strict": True}} for name, schema in SCHEMAS.items()]


def client_of(order):
    return OpenAI(api_key=order["token"], base_url=order["url"] + "/v1")


def body_of(order):
    image = {"type": "image_url", "image_url": {"url": PNG_URL}}
    content = [{"type": "text", "text": "Hi"}, image] if order.get("hasImage") else "Hi"
    body = {"model": order["model"], "messages": [{"role": "user", "content": content}]}
    if order.get("isStructured"):
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMAS["weather"]}}
    return {**body, "reasoning_effort": "high"} if order.get("isThinking") else body


def answer(client, body, is_stream):
    """One answer: its message as it goes back, its usage, and how many pieces it came in."""
    if not is_stream:
        completion = client.chat.completions.create(**body)
        return completion.choices[0].message.model_dump(exclude_none=True), completion.usage, 1
    streamed = {**body, "stream_options": {"include_usage": True}}
    pieces = 0
    if IS_HELPER:
        with client.chat.completions.stream(**streamed) as stream:
            for event in stream:
                pieces += event.type == "content.delta"
            completion = stream.get_final_completion()
        # What the helper adds to a call is no field of the API.
        message = completion.choices[0].message.model_dump(exclude={"tool_calls": {"__all__": {"index": True, "function": {"parsed_arguments"}}}})
        return message, completion.usage, pieces
    message = {"role": "assistant", "content": ""}
    calls = []
    thinking = ""
    usage = None
    for chunk in client.chat.completions.create(**streamed, stream=True):
        usage = chunk.usage or usage
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        if delta.content:
            message["content"] += delta.content
            pieces += 1
        thinking += getattr(delta, "reasoning_content", None) or ""
        for call in delta.tool_calls or []:
            if call.index == len(calls):
                calls.append({"id": call.id, "type": "function", "function": {"name": "", "arguments": ""}})
            calls[call.index]["function"]["name"] += call.function.name or ""
            calls[call.index]["function"]["arguments"] += call.function.arguments or ""
    if calls:
        message["tool_calls"] = calls
    message["_thinking"] = thinking
    return message, usage, pieces


def seen(message, usage, pieces):
    return {
        "text": message.get("content") or "",
        "pieces": pieces,
        "thinking": message.get("reasoning_content") or message.get("_thinking") or "",
        "usage": {"input": usage and usage.prompt_tokens, "output": usage and usage.completion_tokens},
    }


def ask(order):
    return seen(*answer(client_of(order), body_of(order), order.get("isStream")))


def loop(order):
    body = {**body_of(order), "tools": TOOLS}
    calls = []
    for _ in range(ROUNDS_MAX):
        message, usage, pieces = answer(client_of(order), body, order.get("isStream"))
        if not message.get("tool_calls"):
            return {**seen(message, usage, pieces), "calls": calls}
        message.pop("_thinking", None)
        body["messages"].append(message)
        for call in message["tool_calls"]:
            name = call["function"]["name"]
            calls.append({"name": name, "arguments": json.loads(call["function"]["arguments"])})
            body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": result(name)})
    return {"text": "", "calls": calls}


def cancel(order):
    if IS_HELPER:
        with client_of(order).chat.completions.stream(**body_of(order)) as stream:
            for event in stream:
                if event.type == "content.delta":
                    break
    else:
        with client_of(order).chat.completions.create(**body_of(order), stream=True) as stream:
            for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    break
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

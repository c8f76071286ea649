"""litellm as a client, in the format that the word behind names."""

import gc
import json
import os
import sys

# Else it asks a page of its maker for prices when it starts.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402

from serve import PNG_URL, ROUNDS_MAX, SCHEMAS, result, serve

IS_MESSAGES = sys.argv[1] == "anthropic"
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": schema}} for name, schema in SCHEMAS.items()]
litellm.suppress_debug_info = True


def settings_of(order):
    maker = "anthropic/" if IS_MESSAGES else "openai/"
    content = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": PNG_URL}}] if order.get("hasImage") else "Hi"
    settings = {
        "model": maker + order["model"],
        "api_key": order["token"],
        "api_base": order["url"] + ("" if IS_MESSAGES else "/v1"),
        "messages": [{"role": "user", "content": content}],
        "num_retries": 0,
        "max_retries": 0,
    }
    if order.get("isStructured"):
        settings["response_format"] = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMAS["weather"]}}
    if IS_MESSAGES:
        settings["max_tokens"] = 4000
        if order.get("isThinking"):
            settings["thinking"] = {"type": "enabled", "budget_tokens": 1024}
            settings["allowed_openai_params"] = ["thinking"]
    elif order.get("isThinking"):
        settings["reasoning_effort"] = "high"
        settings["allowed_openai_params"] = ["reasoning_effort"]
    return settings


def answer(settings, is_stream):
    # A Messages stream that failed is left open in a cycle. If that is collected while httpcore holds the lock of its pool, closing
    # the stream waits for the same lock, in the same thread, for ever: so it is collected before.
    gc.collect()
    if not is_stream:
        return litellm.completion(**settings), 1
    chunks = []
    pieces = 0
    for chunk in litellm.completion(**settings, stream=True, stream_options={"include_usage": True}):
        chunks.append(chunk)
        pieces += bool(chunk.choices and chunk.choices[0].delta.content)
    return litellm.stream_chunk_builder(chunks, messages=settings["messages"]), pieces


def seen(completion, pieces):
    message, usage = completion.choices[0].message, completion.usage
    thinking = getattr(message, "reasoning_content", None) or ""
    return {"text": message.content or "", "pieces": pieces, "thinking": thinking, "usage": {"input": usage.prompt_tokens, "output": usage.completion_tokens}}


def ask(order):
    return seen(*answer(settings_of(order), order.get("isStream")))


def loop(order):
    settings = {**settings_of(order), "tools": TOOLS}
    calls = []
    for _ in range(ROUNDS_MAX):
        completion, pieces = answer(settings, order.get("isStream"))
        message = completion.choices[0].message
        if not message.tool_calls:
            return {**seen(completion, pieces), "calls": calls}
        settings["messages"].append(message)
        for call in message.tool_calls:
            calls.append({"name": call.function.name, "arguments": json.loads(call.function.arguments)})
            settings["messages"].append({"role": "tool", "tool_call_id": call.id, "content": result(call.function.name)})
    return {"text": "", "calls": calls}


def cancel(order):
    stream = litellm.completion(**settings_of(order), stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

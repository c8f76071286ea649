"""langchain, by the package that the word behind names."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage

from serve import PNG, PNG_URL, ROUNDS_MAX, SCHEMAS, result, serve

KIND = sys.argv[1]
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": schema}} for name, schema in SCHEMAS.items()]


def model_of(order):
    is_thinking = order.get("isThinking")
    if KIND == "anthropic":
        from langchain_anthropic import ChatAnthropic

        thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if is_thinking else {}
        return ChatAnthropic(model=order["model"], api_key=order["token"], base_url=order["url"], max_tokens=4000, max_retries=0, **thinking)
    from langchain_openai import ChatOpenAI

    common = {"model": order["model"], "api_key": order["token"], "base_url": order["url"] + "/v1", "max_retries": 0}
    if KIND == "responses":
        reasoning = {"reasoning": {"effort": "high", "summary": "auto"}} if is_thinking else {}
        return ChatOpenAI(**common, use_responses_api=True, output_version="responses/v1", store=False, include=["reasoning.encrypted_content"], **reasoning)
    return ChatOpenAI(**common, stream_usage=True, **({"reasoning_effort": "high"} if is_thinking else {}))


def question(order):
    if not order.get("hasImage"):
        return HumanMessage("Hi")
    if KIND == "anthropic":
        return HumanMessage([{"type": "text", "text": "Hi"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}])
    return HumanMessage([{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": PNG_URL}}])


def answer(model, messages, is_stream):
    if not is_stream:
        return model.invoke(messages), 1
    whole = None
    pieces = 0
    for chunk in model.stream(messages):
        pieces += chunk.text != ""
        whole = chunk if whole is None else whole + chunk
    return whole, pieces


def seen(message, pieces):
    thinking = "".join(block.get("reasoning", "") for block in message.content_blocks if block["type"] == "reasoning")
    usage = message.usage_metadata or {}
    return {"text": str(message.text), "pieces": pieces, "thinking": thinking, "usage": {"input": usage.get("input_tokens"), "output": usage.get("output_tokens")}}


def ask(order):
    if order.get("isStructured"):
        return structured(order)
    return seen(*answer(model_of(order), [question(order)], order.get("isStream")))


def structured(order):
    """A stream of it is of the values as far as they came."""
    model = model_of(order).with_structured_output({"title": "place", "description": "A place.", **SCHEMAS["weather"]}, method="json_schema")
    value = None
    if order.get("isStream"):
        for value in model.stream([question(order)]):
            pass
    else:
        value = model.invoke([question(order)])
    return {"text": json.dumps(value)}


def loop(order):
    model = model_of(order).bind_tools(TOOLS)
    messages = [question(order)]
    calls = []
    for _ in range(ROUNDS_MAX):
        message, pieces = answer(model, messages, order.get("isStream"))
        if not message.tool_calls:
            return {**seen(message, pieces), "calls": calls}
        messages.append(message)
        for call in message.tool_calls:
            calls.append({"name": call["name"], "arguments": call["args"]})
            messages.append(ToolMessage(result(call["name"]), tool_call_id=call["id"]))
    return {"text": "", "calls": calls}


def cancel(order):
    stream = model_of(order).stream([question(order)])
    for chunk in stream:
        if chunk.text:
            break
    stream.close()
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

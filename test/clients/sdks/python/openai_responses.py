"""openai, Responses. The word behind says which way of streaming: the events themselves, or the package's helper."""

import json
import sys

from openai import OpenAI

from serve import PNG_URL, ROUNDS_MAX, SCHEMAS, result, serve

IS_HELPER = sys.argv[1] == "helper"
TOOLS = [{"type": "function", "name": name, "description": name, "parameters": schema, "strict": True} for name, schema in SCHEMAS.items()]


def client_of(order):
    return OpenAI(api_key=order["token"], base_url=order["url"] + "/v1")


def body_of(order):
    image = {"type": "input_image", "image_url": PNG_URL, "detail": "auto"}
    content = [{"type": "input_text", "text": "Hi"}, image] if order.get("hasImage") else "Hi"
    body = {"model": order["model"], "input": [{"role": "user", "content": content}], "store": False, "include": ["reasoning.encrypted_content"]}
    if order.get("isStructured"):
        body["text"] = {"format": {"type": "json_schema", "name": "place", "strict": True, "schema": SCHEMAS["weather"]}}
    return {**body, "reasoning": {"effort": "high", "summary": "auto"}} if order.get("isThinking") else body


def answer(client, body, is_stream):
    if not is_stream:
        return client.responses.create(**body), 1
    pieces = 0
    if IS_HELPER:
        with client.responses.stream(**body) as stream:
            for event in stream:
                pieces += event.type == "response.output_text.delta"
            return stream.get_final_response(), pieces
    response = None
    for event in client.responses.create(**body, stream=True):
        pieces += event.type == "response.output_text.delta"
        if event.type == "response.completed":
            response = event.response
    return response, pieces


def seen(response, pieces):
    output = response.output if response else []
    usage = response.usage if response else None
    return {
        "text": response.output_text if response else "",
        "pieces": pieces,
        "thinking": "".join(part.text for item in output if item.type == "reasoning" for part in item.summary),
        "usage": {"input": usage and usage.input_tokens, "output": usage and usage.output_tokens},
    }


def ask(order):
    return seen(*answer(client_of(order), body_of(order), order.get("isStream")))


def loop(order):
    body = {**body_of(order), "tools": TOOLS}
    calls = []
    for _ in range(ROUNDS_MAX):
        response, pieces = answer(client_of(order), body, order.get("isStream"))
        asked = [item for item in response.output if item.type == "function_call"]
        if not asked:
            return {**seen(response, pieces), "calls": calls}
        # The helper adds what it parsed, which is no field of the API.
        body["input"] += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        for call in asked:
            calls.append({"name": call.name, "arguments": json.loads(call.arguments)})
            body["input"].append({"type": "function_call_output", "call_id": call.call_id, "output": result(call.name)})
    return {"text": "", "calls": calls}


def cancel(order):
    if IS_HELPER:
        with client_of(order).responses.stream(**body_of(order)) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    break
    else:
        with client_of(order).responses.create(**body_of(order), stream=True) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    break
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

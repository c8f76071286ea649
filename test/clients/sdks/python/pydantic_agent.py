"""pydantic-ai, by the model class that the word behind names."""

import asyncio
import base64
import sys

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, NativeOutput
from pydantic_ai.messages import ThinkingPart

from serve import PNG, result, serve

KIND = sys.argv[1]


class Place(BaseModel):
    city: str


def agent_of(order):
    is_thinking = order.get("isThinking")
    settings = {}
    if KIND == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        model = AnthropicModel(order["model"], provider=AnthropicProvider(api_key=order["token"], base_url=order["url"]))
        settings = {"max_tokens": 4000}
        if is_thinking:
            settings["anthropic_thinking"] = {"type": "enabled", "budget_tokens": 1024}
    else:
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model_class = OpenAIResponsesModel if KIND == "responses" else OpenAIChatModel
        model = model_class(order["model"], provider=OpenAIProvider(api_key=order["token"], base_url=order["url"] + "/v1"))
        if is_thinking:
            settings = {"openai_reasoning_effort": "high"}
        if is_thinking and KIND == "responses":
            settings["openai_reasoning_summary"] = "auto"
    return Agent(model, model_settings=settings, retries=0, output_type=NativeOutput(Place) if order.get("isStructured") else str)


def prompt_of(order):
    image = BinaryContent(base64.b64decode(PNG), media_type="image/png")
    return ["Hi", image] if order.get("hasImage") else "Hi"


def seen(text, pieces, messages, usage):
    thinking = "".join(part.content for message in messages for part in message.parts if isinstance(part, ThinkingPart))
    return {"text": text, "pieces": pieces, "thinking": thinking, "usage": {"input": usage.input_tokens, "output": usage.output_tokens}}


async def run(agent, order):
    if not order.get("isStream"):
        answer = await agent.run(prompt_of(order))
        return seen(answer.output, 1, answer.all_messages(), answer.usage)
    pieces = 0
    text = ""
    async with agent.iter(prompt_of(order)) as progress:
        async for node in progress:
            if not Agent.is_model_request_node(node):
                continue
            async with node.stream(progress.ctx) as stream:
                async for _ in stream.stream_text(debounce_by=None):
                    pieces += 1
        text = progress.result.output
        return seen(text, pieces, progress.result.all_messages(), progress.usage)


async def structured(agent, order):
    if not order.get("isStream"):
        answer = await agent.run("Hi")
        return {"text": answer.output.model_dump_json()}
    async with agent.run_stream("Hi") as stream:
        return {"text": (await stream.get_output()).model_dump_json()}


def ask(order):
    if order.get("isStructured"):
        return asyncio.run(structured(agent_of(order), order))
    return asyncio.run(run(agent_of(order), order))


def loop(order):
    agent = agent_of(order)
    calls = []

    @agent.tool_plain
    def weather(city: str) -> str:
        calls.append({"name": "weather", "arguments": {"city": city}})
        return result("weather")

    @agent.tool_plain
    def clock(zone: str) -> str:
        calls.append({"name": "clock", "arguments": {"zone": zone}})
        return result("clock")

    return {**asyncio.run(run(agent, order)), "calls": calls}


def cancel(order):
    async def leave():
        async with agent_of(order).run_stream("Hi") as stream:
            async for _ in stream.stream_text(debounce_by=None):
                return

    asyncio.run(leave())
    return {"text": ""}


serve(ask=ask, loop=loop, cancel=cancel)

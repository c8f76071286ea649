"""What the programs share: an order a line on stdin, what became of it a line on stdout."""

import json
import sys

# Told apart from whatever a package prints.
MARK = "@@"

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
PNG_URL = "data:image/png;base64," + PNG
SCHEMAS = {
    "weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
    "clock": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"], "additionalProperties": False},
}
ROUNDS_MAX = 6


def result(name):
    """What a tool answers."""
    return f"{name} 14"


def serve(**operations):
    """Carries orders out until stdin ends. An order that fails is answered with what was raised."""
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = operations[order["operation"]](order)
        except Exception as error:  # noqa: BLE001
            classes = [cls.__name__ for cls in type(error).__mro__]
            status = getattr(error, "status_code", None)
            answer = {"error": {"classes": classes, "status": status, "message": str(error)}}
        print(MARK + json.dumps(answer), flush=True)

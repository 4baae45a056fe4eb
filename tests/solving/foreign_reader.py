"""What a third party writes to connect its solver: the reader of its answers."""

import json

from mrdsl.core.result import Termination
from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.solutions.status import Found

VERDICTS = {"done": Termination.OPTIMAL, "impossible": Termination.INFEASIBLE, "no end to it": Termination.UNBOUNDED}


def read(text: str, printed: str = "") -> Found:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as cause:
        raise FormatError(f"no JSON: {cause}") from None
    return Found(VERDICTS[answer["verdict"]], values=answer.get("at"), bound=answer.get("worth"))

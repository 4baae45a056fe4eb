"""What a third party writes to connect its solver: the reader of its answers."""

import json

from mrdsl.outcome import Termination
from mrdsl.solving.readers.status import Found, UnreadableError

VERDICTS = {"done": Termination.OPTIMAL, "impossible": Termination.INFEASIBLE, "no end to it": Termination.UNBOUNDED}


def read(text: str, printed: str = "") -> Found:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as cause:
        raise UnreadableError(f"no JSON: {cause}") from None
    return Found(VERDICTS[answer["verdict"]], values=answer.get("at"), bound=answer.get("worth"))

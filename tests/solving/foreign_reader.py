"""What a third party writes to connect its solver: the reader of its answers."""

import json

from mrdsl.core.answer import Reply
from mrdsl.core.result import Termination
from mrdsl.exchange.text import FormatError

VERDICTS = {"done": Termination.OPTIMAL, "impossible": Termination.INFEASIBLE, "no end to it": Termination.UNBOUNDED}


def read(text: str, printed: str = "") -> Reply:
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as cause:
        raise FormatError(f"no JSON: {cause}") from None
    return Reply(VERDICTS[answer["verdict"]], named=answer.get("at"), bound=answer.get("worth"))

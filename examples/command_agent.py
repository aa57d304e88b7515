#!/usr/bin/env python3
"""An agent in a few lines: taps what the goal names, then says that it is done.

emufarm run --agent command:examples/command_agent.py
"""

import json
import sys

tapped = set()


def decide(seen):
    for element in seen["elements"] or []:
        words = element["text"] or element["description"]
        if words and words in seen["goal"] and words not in tapped:
            tapped.add(words)
            return {"action": "tap", "element": element["index"]}
    return {"action": "done"}


for line in sys.stdin:
    message = json.loads(line)
    hello = message["type"] == "hello"
    reply = {"type": "ready", "name": "example"} if hello else decide(message)
    print(json.dumps(reply), flush=True)

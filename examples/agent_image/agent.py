"""An agent in an image, standard library only: it turns Wi-Fi off, one POST a step.

docker build -t my-agent:1 examples/agent_image
emufarm run cases/smoke --backend docker --agent image:my-agent:1
"""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

way = ["Network & internet", "Internet", "Use Wi-Fi"]  # a container lives for one attempt


def decide(seen):
    if seen["step"] == 0:
        return {"action": "open_app", "app": "settings"}
    for element in seen["elements"] or []:
        if way and element["text"] == way[0]:
            way.pop(0)
            return {"action": "tap", "element": element["index"]}
    return {"action": "wait", "seconds": 0.3} if way else {"action": "done"}


class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        hello = message["type"] == "hello"
        reply = json.dumps({"type": "ready", "name": "wifi-off"} if hello else decide(message))
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply.encode())


HTTPServer(("", int(os.environ.get("PORT", "8080"))), Agent).serve_forever()

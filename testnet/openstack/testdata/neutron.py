# Stands in for Neutron: it has the one flat network whose identifier it is given, if any, and no ports or anything else.
import http.server
import json
import sys


class Neutron(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0].strip("/").split("/")
        status, answer = 200, {path[-1].replace("-", "_"): []}
        if path == [""]:
            answer = {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": "http://127.0.0.1:9696/v2.0/"}]}]}
        elif path[:2] == ["v2.0", "networks"] and len(path) == 3:
            if path[2] in sys.argv[1:]:
                answer = {"network": {"id": path[2], "name": "flat", "provider:network_type": "flat"}}
            else:
                status, answer = 404, {"NeutronError": {"type": "NetworkNotFound", "message": "Network could not be found.", "detail": ""}}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", 9696), Neutron).serve_forever()

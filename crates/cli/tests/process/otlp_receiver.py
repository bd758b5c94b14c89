"""Takes OTLP over HTTP on the port that is named, and prints each request as a line of JSON. The messages are those that
OpenTelemetry publishes for Python."""

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportMetricsServiceRequest.FromString(body)
        unknown = ExportMetricsServiceRequest.FromString(body)
        unknown.DiscardUnknownFields()
        seen = {
            "path": self.path,
            "type": self.headers["Content-Type"],
            "known": unknown.SerializeToString() == request.SerializeToString(),
            "request": MessageToDict(request, always_print_fields_with_no_presence=True),
        }
        answer = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        print(json.dumps(seen), flush=True)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()

#!/usr/bin/env python3
"""https_server.py ADDRESS FOLDER: serves https on a free port of ADDRESS, with a certificate made for
it (FOLDER/ca.pem), until its standard input ends. The port is in FOLDER/port once it serves.
  /ok        200 "fine"
  /inside    302 to 127.0.0.1 on the same port
  /plain     302 to http://ADDRESS/ok
  /round     302 to itself"""
import http.server
import os
import ssl
import subprocess
import sys
import threading

address, folder = sys.argv[1:3]
key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "ca.pem")
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                "-subj", "/CN=test", "-addext", "subjectAltName=IP:%s,IP:127.0.0.1" % address],
               check=True, stderr=subprocess.DEVNULL)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        port = self.server.server_address[1]
        away = {"/inside": "https://127.0.0.1:%d/ok" % port, "/plain": "http://%s:%d/ok" % (address, port),
                "/round": "/round"}.get(self.path)
        self.send_response(302 if away else 200)
        if away:
            self.send_header("Location", away)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"fine")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(os.path.join(folder, "port.new"), "w", encoding="ascii") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
sys.stdin.read()

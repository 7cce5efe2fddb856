#!/usr/bin/env python3
"""host.py REPLYGATE.SO: the file that Node loads, in a Python host by ctypes with RTLD_NOW: judges,
submits from several threads, and gets one result for each ticket, from threads Python did not make."""
import ctypes as c
import json
import os
import sys
import tempfile
import threading

Bytes = type("Bytes", (c.Structure,), {"_fields_": [("ptr", c.c_char_p), ("len", c.c_size_t)]})
Lent = type("Lent", (c.Structure,), {"_fields_": [("ptr", c.POINTER(c.c_char)), ("len", c.c_size_t)]})
LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, Lent)
RESULT = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, Lent)


class Host(c.Structure):
    _fields_ = [("size", c.c_uint32), ("abi", c.c_uint32), ("ctx", c.c_void_p), ("log", LOG), ("send", c.c_void_p),
                ("complete", c.c_void_p), ("on_event", c.c_void_p), ("on_result", RESULT)]


class Turn(c.Structure):
    _fields_ = [("size", c.c_uint32), ("kind", c.c_int32), ("endpoint", Bytes), ("group_id", Bytes), ("user_id", Bytes),
                ("message_id", Bytes), ("sender_id", Bytes), ("schema", Bytes)]


class Api(c.Structure):
    _fields_ = [("size", c.c_uint32), ("abi", c.c_uint32), ("version", c.c_char_p),
                ("open", c.CFUNCTYPE(c.c_int32, c.POINTER(Host), Bytes, c.POINTER(c.c_void_p), c.c_char_p, c.c_size_t)),
                ("submit", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(Turn), Bytes, c.POINTER(c.c_uint64)))]
    _fields_ += [(name, c.c_void_p) for name in ("cancel", "outbound", "inbound", "response", "completed", "contract")]
    _fields_ += [("check", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(Turn), Bytes, c.POINTER(Lent))), ("reload", c.c_void_p),
                 ("stats", c.c_void_p), ("release", c.CFUNCTYPE(None, c.POINTER(Lent))), ("close", c.CFUNCTYPE(None, c.c_void_p))]


def text(s):
    data = s.encode()
    return Bytes(data, len(data))


library = c.CDLL(sys.argv[1], mode=os.RTLD_NOW)
library.rg_plugin.restype = c.POINTER(Api)
assert not library.rg_plugin(99)
api = library.rg_plugin(1).contents
assert api.abi == 1 and api.size >= c.sizeof(Api)

lines, results = [], {}
on_log = LOG(lambda ctx, level, line: lines.append(c.string_at(line.ptr, line.len).decode()))
on_result = RESULT(lambda ctx, ticket, result: results.setdefault(ticket, []).append(json.loads(c.string_at(result.ptr, result.len))))
host = Host(c.sizeof(Host), 1, None, on_log, None, None, None, on_result)
gate, why = c.c_void_p(), c.create_string_buffer(1000)
assert api.open(host, text("/nowhere.yaml"), gate, why, len(why)) == -2 and b"/nowhere.yaml:1:1: " in why.value
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
    config.write("endpoints:\n  main: {connect: 'ws://127.0.0.1:9', profile: napcat}\n")
    config.flush()
    assert api.open(host, text(config.name), gate, why, len(why)) == 0, why.value

answer = text('{"messages":[{"segments":[{"type":"text","data":{"text":"hi"}}]}],"reaction":""}')
tickets = []


def submit(group):
    turn = Turn(size=c.sizeof(Turn), group_id=text(str(group)), message_id=text("1"), sender_id=text("10002"))
    for _ in range(20):
        ticket = c.c_uint64()
        assert api.submit(gate, turn, answer, ticket) == 0
        tickets.append(ticket.value)


turn, report = Turn(size=c.sizeof(Turn), group_id=text("10001"), message_id=text("1")), Lent()
assert api.check(gate, turn, answer, report) == 0
assert json.loads(c.string_at(report.ptr, report.len))["verdict"] == "accept"
api.release(report)
threads = [threading.Thread(target=submit, args=(10000 + i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
api.close(gate)
assert sorted(results) == sorted(tickets) and len(set(tickets)) == 160, (len(results), len(tickets))
assert all(len(r) == 1 and r[0]["result"] == "cancelled" for r in results.values())
assert not any("off" in line for line in lines), lines
print("ok")

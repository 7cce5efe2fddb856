"""Replygate in a Python process: replygate.so through ctypes, a mirror of replygate.h.

    gate = Gate("replygate.yaml", log=lambda level, line: print(level, line))
    verdict, edit = gate.outbound("", {"action": "send_group_msg", "params": {...}})
    gate.close()

Every method but close may be called from any thread and returns without waiting for the network. The
functions given to Gate are called on a thread of the plugin's own: they must not block and must not
call the gate (hand over with loop.call_soon_threadsafe; carrier.py does). Only the standard library.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import threading
from pathlib import Path

ABI = 1
PASS, REPLACE, DROP = 0, 1, 2
LEVELS = ("error", "warn", "info", "debug")
KINDS = {"answer": 0, "proactive": 1, "notice": 2}
CODES = {
    -1: ("EARGUMENT", "a wrong argument: no such endpoint, neither or both of group and user"),
    -2: ("ECONFIG", "the configuration has faults"),
    -3: ("ENOMEM", "out of memory"),
    -4: ("EBUSY", "too much is waiting already; submit later"),
    -5: ("ENOTYET", "this build has no such function yet"),
    -6: ("ESYSTEM", "a thread or file could not be had"),
    -7: ("ETOOBIG", "a text above 64 MiB"),
}
WHY_MAX = 16 * 1024  # the faults of a configuration, a line each


class GateError(Exception):
    """What the plugin refused; code is the name of replygate.h without its RG_."""

    def __init__(self, code: str, why: str):
        super().__init__(why)
        self.code = code


# --- replygate.h ---


class Bytes(ctypes.Structure):
    """struct rg_bytes: lent for one call."""

    _fields_ = [("ptr", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Buf(ctypes.Structure):
    """struct rg_buf: given, goes back through release()."""

    _fields_ = [("ptr", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Turn(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_int32)] + [
        (name, Bytes)
        for name in ("endpoint", "group_id", "user_id", "message_id", "sender_id", "schema")
    ]


LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, Bytes)
SEND = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Bytes, ctypes.c_uint64, Bytes)
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, Bytes)
ON_EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Bytes, Bytes)
ON_RESULT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, Bytes)


class Host(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("ctx", ctypes.c_void_p),
        ("log", LOG),
        ("send", SEND),
        ("complete", COMPLETE),
        ("on_event", ON_EVENT),
        ("on_result", ON_RESULT),
    ]


_gate, _rc, _ticket = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint64
_out, _turn, _verdict = (
    ctypes.POINTER(Buf),
    ctypes.POINTER(Turn),
    ctypes.POINTER(ctypes.c_int32),
)
_SIGNATURES = (  # in the order of struct rg_api
    (
        "open",
        _rc,
        (ctypes.POINTER(Host), Bytes, ctypes.POINTER(_gate), ctypes.c_char_p, ctypes.c_size_t),
    ),
    ("submit", _rc, (_gate, _turn, Bytes, ctypes.POINTER(_ticket))),
    ("cancel", _rc, (_gate, _ticket)),
    ("outbound", _rc, (_gate, Bytes, Bytes, _verdict, _out)),
    ("inbound", _rc, (_gate, Bytes, Bytes, _verdict, _out)),
    ("response", _rc, (_gate, Bytes, _ticket, Bytes)),
    ("completed", _rc, (_gate, _ticket, Bytes)),
    ("contract", _rc, (_gate, _turn, _out, _out)),
    ("check", _rc, (_gate, _turn, Bytes, _out)),
    ("reload", _rc, (_gate, ctypes.c_char_p, ctypes.c_size_t)),
    ("stats", _rc, (_gate, _out)),
    ("release", None, (_out,)),
    ("close", None, (_gate,)),
)


class Api(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("version", ctypes.c_char_p),
    ] + [(name, ctypes.CFUNCTYPE(result, *arguments)) for name, result, arguments in _SIGNATURES]


# --- text across the border ---


def _plain(value):
    """Message segments of the frameworks, which are no JSON: {"type", "data"}."""
    kind, data = getattr(value, "type", None), getattr(value, "data", None)
    if isinstance(kind, str) and isinstance(data, dict):
        return {"type": kind, "data": data}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON can carry")


def to_json(value) -> str:
    """JSON text of a value; a text counts as JSON already."""
    if isinstance(value, str):
        return value
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, default=_plain, separators=(",", ":")
    )


def _utf8(text: str) -> bytes:
    """Halves of surrogate pairs, which JSON can hold and UTF-8 cannot, become U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


class _Lent:
    """A text that stays until the call is over."""

    def __init__(self, text):
        data = text if isinstance(text, bytes) else _utf8(str(text))
        self._data = data  # the pointer below reaches into it
        self.bytes = Bytes(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))


def _read(b: Bytes) -> str:
    return ctypes.string_at(b.ptr, b.len).decode("utf-8", "replace") if b.ptr and b.len else ""


class _LentTurn:
    def __init__(self, turn: dict):
        unknown = set(turn) - {name for name, _ in Turn._fields_[1:]}
        if unknown:
            raise GateError("EARGUMENT", f"a turn has no {sorted(unknown)[0]}")
        schema = turn.get("schema") or ""
        texts = {name: turn.get(name, "") for name, _ in Turn._fields_[2:-1]}
        self._lent = {n: _Lent("" if v is None else v) for n, v in texts.items()}
        self._lent["schema"] = _Lent(to_json(schema) if schema else "")
        kind = turn.get("kind", "answer")
        if kind not in KINDS:
            raise GateError("EARGUMENT", f"a turn's kind is one of {', '.join(KINDS)}")
        self.turn = Turn(ctypes.sizeof(Turn), KINDS[kind])
        for name, lent in self._lent.items():
            setattr(self.turn, name, lent.bytes)


# --- the library ---


def library() -> Path:
    """The environment's REPLYGATE_SO, else the replygate-VERSION.so of the highest version here."""
    named = os.environ.get("REPLYGATE_SO")
    if named:
        return Path(named).resolve()
    folder = Path(__file__).resolve().parent
    found = [p for p in folder.iterdir() if re.fullmatch(r"replygate([-.]\d+)*\.so", p.name)]
    if not found:
        raise GateError("ELIBRARY", f"no replygate.so in {folder}; install it with ./run install")
    return max(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])


def load(path: Path | None = None) -> Api:
    """The plugin's table. Python keeps the library for good; a second load gives the same."""
    path = Path(path or library())
    try:
        entry = ctypes.CDLL(str(path), mode=os.RTLD_NOW).rg_plugin
    except (OSError, AttributeError) as fault:
        raise GateError("ELIBRARY", f"{path} cannot be loaded: {fault}") from None
    entry.restype, entry.argtypes = ctypes.POINTER(Api), (ctypes.c_uint32,)
    table = entry(ABI)
    if not table or table.contents.size < ctypes.sizeof(Api):
        raise GateError(
            "ELIBRARY", f"{path} speaks another ABI than {ABI}; install the plugin again"
        )
    return table.contents


_open_gates: set[Gate] = set()  # a gate that nobody holds any more still calls its functions


@atexit.register
def _close_all():
    """Before the interpreter ends: a thread of ours must not call into one that is gone."""
    for gate in list(_open_gates):
        gate.close()


def _forget_all():
    """In a forked child: the plugin's threads are the parent's, so nothing of a gate works there."""
    for gate in list(_open_gates):
        gate._gate = ctypes.c_void_p()
    _open_gates.clear()


os.register_at_fork(after_in_child=_forget_all)


class Gate:
    """One instance. Everything raises GateError; what is wrong with a text is a verdict instead."""

    def __init__(
        self,
        config,
        *,
        log=None,
        send=None,
        complete=None,
        on_event=None,
        on_result=None,
        library=None,
    ):
        """config: the path of the YAML. log(level, line), send(endpoint, ticket, action),
        complete(ticket, request), on_event(endpoint, event), on_result(ticket, result): texts are
        JSON as they came."""
        self._api = load(library)
        self._gate = ctypes.c_void_p()
        self._called = threading.local()  # .inside: a function of the host runs on this thread
        self._host = Host(ctypes.sizeof(Host), ABI)
        for name, given in (
            ("log", log and (lambda _, level, line: log(LEVELS[level], _read(line)))),
            ("send", send and (lambda _, e, ticket, a: send(_read(e), ticket, _read(a)))),
            ("complete", complete and (lambda _, ticket, r: complete(ticket, _read(r)))),
            ("on_event", on_event and (lambda _, e, event: on_event(_read(e), _read(event)))),
            ("on_result", on_result and (lambda _, ticket, r: on_result(ticket, _read(r)))),
        ):
            if given:
                setattr(self._host, name, dict(Host._fields_)[name](self._inside(given)))
        why = ctypes.create_string_buffer(WHY_MAX)
        path = _Lent(os.fspath(config))
        rc = self._api.open(
            ctypes.byref(self._host), path.bytes, ctypes.byref(self._gate), why, WHY_MAX
        )
        self._settle(rc, why)
        _open_gates.add(self)

    def _inside(self, function):
        """Marks the thread while the function runs, so that close can tell."""

        def call(*arguments):
            before = getattr(self._called, "inside", False)
            self._called.inside = True
            try:
                function(*arguments)
            finally:
                self._called.inside = before

        return call

    @property
    def version(self) -> str:
        return self._api.version.decode()

    @staticmethod
    def _settle(rc: int, why=None):
        if rc == 0:
            return
        code, text = CODES.get(rc, (str(rc), "unknown fault"))
        raise GateError(code, why.value.decode("utf-8", "replace") if why and why.value else text)

    def _call(self, name: str, *arguments):
        if not self._gate:
            raise GateError("ECLOSED", "the gate is closed")
        self._settle(getattr(self._api, name)(self._gate, *arguments))

    def _take(self, buf: Buf) -> str:
        text = _read(buf)
        self._api.release(ctypes.byref(buf))
        return text

    def _judge(self, name: str, endpoint: str, value):
        verdict, edit = ctypes.c_int32(DROP), Buf()
        where, text = _Lent(endpoint), _Lent(to_json(value))
        self._call(name, where.bytes, text.bytes, ctypes.byref(verdict), ctypes.byref(edit))
        answer = self._take(edit)
        return verdict.value, json.loads(answer) if answer else None

    def outbound(self, endpoint: str, action):
        """An action that is about to be sent. (PASS, None), (REPLACE, [{action, params, wait_ms}]),
        (DROP, {retcode, code, path, why})."""
        return self._judge("outbound", endpoint, action)

    def inbound(self, endpoint: str, event):
        """An event that came. (PASS, None), (REPLACE, the event to use), (DROP, None)."""
        return self._judge("inbound", endpoint, event)

    def response(self, endpoint: str, ticket: int, answer):
        """The answer to what went out through send; empty: none came."""
        where, text = _Lent(endpoint), _Lent(to_json(answer) if answer else "")
        self._call("response", where.bytes, _ticket(ticket), text.bytes)

    def completed(self, ticket: int, text: str):
        """What the host's model answered to complete; empty: it failed."""
        answer = _Lent(text or "")
        self._call("completed", _ticket(ticket), answer.bytes)

    def submit(self, turn: dict, text: str) -> int:
        """A model's raw answer: judged, planned, delivered. Gives the ticket of its result."""
        lent, answer, ticket = _LentTurn(turn), _Lent(text), _ticket()
        self._call("submit", ctypes.byref(lent.turn), answer.bytes, ctypes.byref(ticket))
        return ticket.value

    def cancel(self, ticket: int):
        self._call("cancel", _ticket(ticket))

    def contract(self, turn: dict):
        """What the host's own model is to be given: the JSON Schema (a dict) and the instruction."""
        lent, schema, instruction = _LentTurn(turn), Buf(), Buf()
        self._call(
            "contract", ctypes.byref(lent.turn), ctypes.byref(schema), ctypes.byref(instruction)
        )
        texts = self._take(schema), self._take(instruction)
        return json.loads(texts[0]) if texts[0] else None, texts[1]

    def check(self, turn: dict, text: str) -> dict:
        """Judges only; nothing is sent."""
        lent, answer, report = _LentTurn(turn), _Lent(text), Buf()
        self._call("check", ctypes.byref(lent.turn), answer.bytes, ctypes.byref(report))
        return json.loads(self._take(report))

    def stats(self) -> dict:
        report = Buf()
        self._call("stats", ctypes.byref(report))
        return json.loads(self._take(report))

    def reload(self):
        """Reads the configuration again; one with faults raises, and nothing has changed."""
        if not self._gate:
            raise GateError("ECLOSED", "the gate is closed")
        why = ctypes.create_string_buffer(WHY_MAX)
        self._settle(self._api.reload(self._gate, why, WHY_MAX), why)

    def close(self):
        """Ends what is on its way and joins. Not from one of the functions given to Gate."""
        if getattr(self._called, "inside", False):
            raise GateError("EARGUMENT", "close from outside of the functions given to Gate")
        gate, self._gate = self._gate, ctypes.c_void_p()
        if gate:
            self._api.close(gate)
        _open_gates.discard(self)

"""Between a bot framework on asyncio and a gate: which bot is which endpoint, one message after the
other in a chat, and actions of the plugin carried over the framework's own connection. No policy:
what may be sent, when, and by whom is decided behind Gate.

Fails closed: where anything goes wrong, Held is raised and the framework's hook must stop the
message in the way its framework needs.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import weakref

from .replygate import DROP, REPLACE, Gate, GateError

OFFLINE = 1006514  # NTQQ's own code for "not online": the plugin keeps the message and tries again
NOTHING = ""


class Held(Exception):
    """Not to be sent, or not sent: the hook must stop the message."""


class NotConnected(Exception):
    """What a bot's call raises where nothing was sent because it is not connected."""


class Failed(Exception):
    """What a bot's call raises where the endpoint answered with an error; response is that answer."""

    def __init__(self, response: dict):
        super().__init__(
            str(response.get("message") or response.get("wording") or response.get("retcode"))
        )
        self.response = response


def is_question(action: str) -> bool:
    """An action that only asks: all that passes while there is no gate to judge."""
    return action.lstrip("._").startswith(("get_", "can_"))


def is_send(action: str) -> bool:
    """An action that puts something into a chat, where order counts."""
    return action.lstrip("._").startswith(("send", "upload", "handle_quick"))


def chat_of(params: dict) -> tuple:
    group = "" if params.get("message_type") == "private" else params.get("group_id")
    return ("group", str(group)) if group else ("user", str(params.get("user_id")))


def words_of(event: dict) -> str:
    """What people wrote in an event, in any of the forms of a message."""
    message = event["message"]
    if isinstance(message, str):
        text = re.sub(r"\[CQ:[^\]]*\]", "", message)
        for code, char in (("&#91;", "["), ("&#93;", "]"), ("&amp;", "&")):
            text = text.replace(code, char)
    else:
        text = "".join(s["data"].get("text", "") for s in message if s["type"] == "text")
    return text.strip()


def answer_of(data) -> dict:
    """What a framework unpacked, packed again: the response as the endpoint gave it."""
    return {"status": "ok", "retcode": 0, "data": data}


def offline() -> dict:
    return {"status": "failed", "retcode": OFFLINE, "data": None}


class Carrier:
    """One gate and the bots of a framework. Its methods run on the event loop."""

    def __init__(self, config, *, endpoints=None, log=None, complete=None, library=None):
        """config: the YAML's path. endpoints: {a bot's QQ number: a name under `endpoints:`}; empty
        where there is one bot. log(level, line); complete(request) -> awaited text of the model."""
        self.config = config
        self.fault: str | None = "not started"  # why there is no gate
        self._gate: Gate | None = None
        self._endpoints = {str(k): str(v) for k, v in (endpoints or {}).items()}
        self._only: str | None = None  # the bot of the only endpoint, where none are listed
        self._log = log or (lambda level, line: None)
        self._complete = complete
        self._library = library
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._bots: dict = {}  # account -> its call
        self._asked: dict = {}  # (endpoint, action) -> ticket, action: questions before a bot came
        self._results: dict = {}  # ticket -> future
        self._models: dict = {}  # ticket -> the model that answered, for the one correction
        self._chats = weakref.WeakValueDictionary()  # chat -> lock
        self._tasks: set = set()

    # --- life ---

    def start(self):
        """Opens the gate. False: it cannot be opened; the log says why, and everything is held."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        try:
            self._gate = Gate(
                self.config,
                log=self._log_line,
                send=lambda *a: self._hand_over(self._send, *a),
                complete=lambda *a: self._hand_over(self._correct, *a),
                on_result=lambda *a: self._hand_over(self._end, *a),
                library=self._library,
            )
        except (GateError, OSError) as fault:
            self.fault = str(fault)
            for line in self.fault.splitlines():
                self._log("error", line)
            self._log("error", "Replygate does not run: nothing is sent until this is put right.")
            return False
        self.fault = None
        return True

    async def stop(self):
        gate, self._gate = self._gate, None
        self.fault = "stopped"
        if gate:
            await asyncio.to_thread(gate.close)
        for task in list(self._tasks):
            task.cancel()
        for future in self._results.values():
            future.cancel()

    def _log_line(self, level, line):
        if threading.get_ident() == self._thread:
            self._log(level, line)
        else:
            self._hand_over(self._log, level, line)

    def _hand_over(self, function, *arguments):
        """From the plugin's thread to the loop's."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # the loop is closed: the process ends, and close() settles what waits

    def _task(self, coroutine):
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- bots ---

    def join(self, account, call):
        """A bot is connected. await call(action, params) gives the response {status, retcode, data};
        it raises Failed, NotConnected, or anything else where no answer came."""
        account = str(account)
        self._bots[account] = call
        try:
            endpoint = self._endpoint(account)
        except Held as held:
            self._log("error", str(held))
            return
        for key in [k for k in self._asked if endpoint in (NOTHING, k[0])]:
            ticket, action = self._asked.pop(key)
            self._task(self._carry(key[0], ticket, call, action))

    def leave(self, account):
        """It is not connected any more."""
        self._bots.pop(str(account), None)
        if self._only == str(account):
            self._only = None

    def _endpoint(self, account) -> str:
        account = str(account)
        if self._endpoints:
            if account not in self._endpoints:
                raise Held(f"bot {account} has no endpoint: list it in the plugin's `endpoints`")
            return self._endpoints[account]
        if self._only is None:
            self._only = account
        if self._only != account:
            raise Held(
                f"bot {account} is a second one beside {self._only}: "
                "list both in the plugin's `endpoints`"
            )
        return NOTHING

    def _bot_of(self, endpoint):
        for account, call in self._bots.items():
            if self._endpoints.get(account) == endpoint or (
                not self._endpoints and account == self._only
            ):
                return call
        return None

    # --- what a bot is about to send ---

    def _judge(self, account, action, params):
        if not self._gate:
            if is_question(action):
                return 0, None
            raise Held(f"Replygate does not run: {self.fault}")
        try:
            return self._gate.outbound(
                self._endpoint(account), {"action": action, "params": params}
            )
        except (GateError, TypeError, ValueError) as fault:
            raise Held(f"{action} could not be judged: {fault}") from fault

    async def outgoing(self, account, action: str, params: dict, call):
        """Before a bot sends. None: it may send it as it is. Otherwise it is sent already, through
        call, and this is the answer (of the first message). Raises Held, and what call raises."""
        return await self.outgoing_all(account, [(action, params)], call)

    async def outgoing_all(self, account, actions, call):
        """The same for several that belong together: all as they are, or all sent from here."""
        lock = self._chat(account, actions)
        async with lock:
            steps, changed = [], False
            for action, params in actions:
                verdict, edit = self._judge(account, action, params)
                if verdict == DROP:
                    raise Held(
                        f"{action} is held back: {edit['code']} {edit['path']}: {edit['why']}"
                    )
                changed = changed or verdict == REPLACE
                steps += (
                    edit
                    if verdict == REPLACE
                    else [{"action": action, "params": params, "wait_ms": 0}]
                )
            return await self._send_steps(steps, call) if changed else None

    def _chat(self, account, actions):
        """The lock of the chat that something goes to; one of its own for everything else."""
        for action, params in actions:
            if is_send(action):
                return self._chats.setdefault((str(account), *chat_of(params)), asyncio.Lock())
        return asyncio.Lock()

    async def _send_steps(self, steps, call):
        first = None
        for step in steps:
            if step["wait_ms"]:
                await asyncio.sleep(step["wait_ms"] / 1000)
            try:
                answer = await call(step["action"], step["params"])
            except Exception as fault:
                if is_send(step["action"]):
                    raise
                # a reaction that fails takes nothing away from what is said
                self._log("debug", f"{step['action']} failed: {type(fault).__name__}")
                continue
            if first is None and is_send(step["action"]):
                first = answer
        return first if first is not None else answer_of(None)

    # --- what a bot was told ---

    def incoming(self, account, event):
        """An event that came, before the bot sees it. The event to use, or None: nothing for the bot."""
        if not self._gate:
            return event
        try:
            verdict, edit = self._gate.inbound(self._endpoint(account), event)
        except (Held, GateError, TypeError, ValueError) as fault:
            self._log("warn", f"an event could not be shown to Replygate: {fault}")
            return event
        if verdict == DROP:
            return None
        return edit if verdict == REPLACE else event

    # --- a model's answers ---

    async def reply(self, account, turn: dict, text: str, complete=None) -> dict:
        """A model's raw answer on its whole way: the result as on_result has it. complete(request)
        -> awaited text: asks that model for the one correction, where its form is wrong."""
        if not self._gate:
            raise Held(f"Replygate does not run: {self.fault}")
        ticket = self._gate.submit({**turn, "endpoint": self._endpoint(account)}, text)
        future = self._results[ticket] = self._loop.create_future()
        if complete:
            self._models[ticket] = complete
        try:
            return await future
        except asyncio.CancelledError:
            if self._gate:
                self._gate.cancel(ticket)
            raise
        finally:
            self._results.pop(ticket, None)
            self._models.pop(ticket, None)

    def contract(self, account, turn: dict):
        """(JSON Schema, instruction) for the framework's own model."""
        if not self._gate:
            raise Held(f"Replygate does not run: {self.fault}")
        return self._gate.contract({**turn, "endpoint": self._endpoint(account)})

    def _end(self, ticket, result):
        future = self._results.get(ticket)
        if future and not future.done():
            future.set_result(json.loads(result))

    def _correct(self, ticket, request):
        async def ask():
            model, text = self._models.get(ticket, self._complete), ""
            try:  # nothing: a provider of the configuration is asked, if there is one
                text = (await model(json.loads(request)) if model else "") or ""
            except Exception as fault:  # the model's failure is the plugin's to handle
                self._log("warn", f"the model did not correct its answer: {type(fault).__name__}")
            if self._gate:
                self._gate.completed(ticket, text)

        self._task(ask())

    # --- the plugin's own actions ---

    def _send(self, endpoint, ticket, text):
        action = json.loads(text)
        call = self._bot_of(endpoint)
        if call:
            self._task(self._carry(endpoint, ticket, call, action))
        elif is_question(action["action"]):
            self._asked[endpoint, action["action"]] = ticket, action
        else:
            self._respond(endpoint, ticket, offline())

    async def _carry(self, endpoint, ticket, call, action):
        try:
            answer = await call(action["action"], action.get("params") or {})
        except Failed as failed:
            answer = failed.response
        except NotConnected:
            answer = None if is_question(action["action"]) else offline()  # questions come again
        except Exception as fault:
            self._log("debug", f"{action['action']}: no answer: {type(fault).__name__}")
            answer = None  # it may have been sent all the same
        self._respond(endpoint, ticket, answer)

    def _respond(self, endpoint, ticket, answer):
        if not self._gate:
            return
        try:
            self._gate.response(endpoint, ticket, answer or "")
        except (GateError, TypeError, ValueError) as fault:
            self._log("warn", f"an answer could not be told to Replygate: {fault}")

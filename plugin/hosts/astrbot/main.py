"""Replygate for AstrBot with its aiocqhttp (OneBot v11) platform: the answer of a handler or a model
is judged before it is sent, admin commands and numbers that answer a keyboard are taken out of what
comes in."""

from __future__ import annotations

import copy
import sys
import weakref
from pathlib import Path

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent, MessageChain, filter
from astrbot.api.message_components import Plain
from astrbot.api.star import Context, Star

from .carrier import Carrier, Failed, Held, NotConnected, answer_of, words_of
from .replygate import to_json

PLATFORM = "aiocqhttp"
NAME = "astrbot_plugin_replygate"


def _log(level, line):
    getattr(logger, {"warn": "warning"}.get(level, level))(f"Replygate: {line}")


def _endpoints(lines):
    """["10001=main", …] of the settings page."""
    pairs = (line.partition("=") for line in lines or () if line.strip())
    return {account.strip(): endpoint.strip() for account, _, endpoint in pairs}


def _calls(client, account):
    """The connection of one account; AstrBot's hooks do not see what goes this way."""

    async def call(action, params):
        try:
            return answer_of(await client.call_action(action, **{**params, "self_id": account}))
        except Exception as fault:
            kind = type(fault).__name__  # aiocqhttp.exceptions, which need not be imported for it
            if kind == "ActionFailed":
                raise Failed(
                    getattr(fault, "result", None) or {"status": "failed", "retcode": -1}
                ) from fault
            if kind == "ApiNotAvailable":
                raise NotConnected from fault
            raise

    return call


class _Collector:
    """Stands in for the connection while AstrBot writes down what it would send."""

    def __init__(self):
        self.actions = []

    async def call_action(self, action, **params):
        params.pop("self_id", None)
        self.actions.append((action, params))
        return {"message_id": 0}

    async def send(self, event, message, **params):
        chat = {k: event[k] for k in ("message_type", "group_id", "user_id") if event.get(k)}
        return await self.call_action("send_msg", **chat, message=message, **params)

    def __getattr__(self, action):
        if action.startswith("__"):
            raise AttributeError(action)
        return lambda **params: self.call_action(action, **params)


class Main(Star):
    def __init__(self, context: Context, config: dict | None = None):
        super().__init__(context)
        config = config or {}
        data = Path(__file__).resolve().parents[2] / "plugin_data" / NAME
        self.carrier = Carrier(
            config.get("config") or data / "replygate.yaml",
            endpoints=_endpoints(config.get("endpoints")),
            log=_log,
        )
        self._heard = weakref.WeakSet()  # connections whose notices we listen to
        self._clients = {}  # account -> the connection it was last seen on

    async def initialize(self):
        self.carrier.start()
        await self.listen()

    async def terminate(self):
        await self.carrier.stop()

    # --- out ---

    @filter.on_decorating_result(priority=-sys.maxsize)
    async def judge(self, event: AstrMessageEvent):
        """AstrBot logs every exception of a hook and sends all the same: the chain is what stops it."""
        result = event.get_result()
        if event.get_platform_name() != PLATFORM or result is None or not result.chain:
            return
        if "STREAMING" in str(result.result_content_type):
            logger.warning(
                "Replygate: a streamed answer went past the gate; switch streaming off for QQ"
            )
            return
        try:
            sent = await self._outgoing(event, result.chain)
        except Held as held:
            logger.warning(f"Replygate: {held}")
            result.chain.clear()
        except BaseException as fault:
            result.chain.clear()
            logger.error(f"Replygate: an answer was not sent: {type(fault).__name__}: {fault}")
            raise
        else:
            if sent:
                result.chain.clear()
                event._has_send_oper = (
                    True  # or AstrBot would ask the model as if nobody had answered
                )

    async def _outgoing(self, event, chain) -> bool:
        """Whether it was sent from here."""
        account = self._meet(event)
        collector = _Collector()
        rehearsal = copy.copy(event)
        rehearsal.bot = collector
        await rehearsal.send(MessageChain(list(chain)))
        if not collector.actions:
            return False
        call = _calls(event.bot, account)
        return await self.carrier.outgoing_all(account, collector.actions, call) is not None

    # --- in ---

    @ (getattr(filter, "on_platform_loaded", None) or filter.on_astrbot_loaded)()  # by its age
    async def listen(self):
        """To the connections there are: notices and heartbeats come to no handler of AstrBot."""
        manager = getattr(self.context, "platform_manager", None)
        for platform in getattr(manager, "platform_insts", ()):
            if platform.meta().name == PLATFORM:
                self._listen_to(platform.get_client())

    def _listen_to(self, client):
        if client in self._heard:
            return
        self._heard.add(client)

        async def hear(raw):
            self._join(client, raw["self_id"])
            self.carrier.incoming(raw["self_id"], to_json(dict(raw)))

        for kind in ("notice", "meta_event"):
            client.subscribe(kind, hear)

    def _join(self, client, account):
        if (
            self._clients.get(str(account)) is not client
        ):  # AstrBot makes a new one when settings change
            self._clients[str(account)] = client
            self.carrier.join(account, _calls(client, account))

    def _meet(self, event) -> str:
        """The account of an event's connection, which takes part from now on."""
        account = str(event.get_self_id())
        self._listen_to(event.bot)
        self._join(event.bot, account)
        return account

    @filter.event_message_type(filter.EventMessageType.ALL, priority=sys.maxsize)
    async def show(self, event: AstrMessageEvent):
        raw = getattr(event.message_obj, "raw_message", None)
        if event.get_platform_name() != PLATFORM or not raw or raw.get("post_type") != "message":
            return
        account = self._meet(event)
        text = to_json(dict(raw))
        edited = self.carrier.incoming(account, text)
        if edited is None:
            event.stop_event()
        elif edited is not text:
            words = words_of(edited)
            event.message_str = event.message_obj.message_str = words
            event.message_obj.message = [Plain(words)]
            event.is_at_or_wake_command = event.is_wake = True  # it answers what the bot asked

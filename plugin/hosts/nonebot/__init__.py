"""Replygate for NoneBot2 with the OneBot v11 adapter: everything that a bot sends goes through the
gate, admin commands and numbers that answer a keyboard are taken out of what it receives.

Settings in .env: REPLYGATE_CONFIG (default replygate.yaml), REPLYGATE_ENDPOINTS (only with several
bots: {"10001": "main", "10002": "second"}). Other plugins may use `reply` and `contract`:

    replygate = nonebot.require("replygate")
    schema, instruction = replygate.contract(bot, event)
    await replygate.reply(bot, event, what_the_model_answered)
"""

from __future__ import annotations

import json
from pathlib import Path

from nonebot import get_driver
from nonebot.adapters.onebot.v11 import Bot, Event
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable
from nonebot.exception import IgnoredException, MockApiException
from nonebot.log import logger
from nonebot.message import event_preprocessor
from nonebot.plugin import PluginMetadata

from .carrier import Carrier, Failed, Held, NotConnected, answer_of, words_of
from .replygate import to_json

__plugin_meta__ = PluginMetadata(
    name="Replygate",
    description="The last gate before QQ: what a bot sends is judged, repaired and paced.",
    usage="/gate help",
    type="application",
    supported_adapters={"~onebot.v11"},
)

driver = get_driver()


def _setting(name, default):
    value = getattr(driver.config, name, None)
    return default if value in (None, "") else value


def _log(level, line):
    getattr(logger, {"warn": "warning"}.get(level, level))(f"Replygate: {line}")


def _endpoints():
    given = _setting("replygate_endpoints", {})
    return json.loads(given) if isinstance(given, str) else given


carrier = Carrier(
    Path(_setting("replygate_config", "replygate.yaml")), endpoints=_endpoints(), log=_log
)


@driver.on_startup
async def _start():
    carrier.start()


@driver.on_shutdown
async def _stop():
    await carrier.stop()


def _calls(bot):
    """The bot's connection without its hooks, so that ours does not judge what it sent itself."""

    async def call(action, params):
        try:
            return answer_of(await bot.adapter._call_api(bot, action, **params))
        except ActionFailed as failed:
            raise Failed(getattr(failed, "info", {})) from failed
        except ApiNotAvailable as missing:
            raise NotConnected from missing

    return call


@driver.on_bot_connect
async def _join(bot: Bot):
    carrier.join(bot.self_id, _calls(bot))


@driver.on_bot_disconnect
async def _leave(bot: Bot):
    carrier.leave(bot.self_id)


@Bot.on_calling_api
async def _judge(bot, api, data):
    """NoneBot logs every exception of a hook and sends all the same, but MockApiException."""
    if not isinstance(bot, Bot):
        return
    try:
        answer = await carrier.outgoing(bot.self_id, api, data, _calls(bot))
    except Held as held:
        logger.warning(f"Replygate: {held}")
        raise MockApiException(None) from None
    except Exception as fault:
        logger.error(f"Replygate: {api} was not sent: {type(fault).__name__}: {fault}")
        raise MockApiException(None) from None
    if answer is not None:
        raise MockApiException(answer.get("data"))


def _raw(event) -> str:
    """The event as it came: NoneBot has taken mentions of the bot and quotes out of `message`."""
    dump = getattr(event, "model_dump", None) or event.dict
    raw = dump()
    if "message" in raw:
        raw["message"] = getattr(event, "original_message", None) or event.message
    return to_json(raw)


def _use(event, edited):
    """Puts what a number stands for in its place. It answers the bot, with or without a mention."""
    event.raw_message = words_of(edited)
    event.message = type(event.message)(event.message.get_segment_class().text(event.raw_message))
    event.to_me = True


@event_preprocessor
async def _show(bot: Bot, event: Event):
    edited = None
    try:
        raw = _raw(event)
        edited = carrier.incoming(bot.self_id, raw)
        if edited is not None and edited is not raw:
            _use(event, edited)
    except (
        Exception
    ) as fault:  # NoneBot would drop the event: a bot that hears nothing helps nobody
        logger.warning(f"Replygate: an event was not shown: {type(fault).__name__}: {fault}")
        return
    if edited is None:
        raise IgnoredException("Replygate: an admin command")


# --- for plugins that ask a model ---


def _turn(event) -> dict:
    turn = {
        "kind": "answer",
        "message_id": getattr(event, "message_id", ""),
        "sender_id": event.user_id,
    }
    group = getattr(event, "group_id", None)
    turn.update({"group_id": group} if group else {"user_id": event.user_id})
    return turn


def contract(bot, event):
    """(JSON Schema, instruction) to hand to the model for an answer to this event."""
    return carrier.contract(bot.self_id, _turn(event))


async def reply(bot, event, text: str, complete=None) -> dict:
    """A model's raw answer to this event on its whole way; the result as in replygate.h. Needs
    `connect: host` in the configuration. await complete(request): the same model's text, asked once
    more where only the form was wrong."""
    return await carrier.reply(bot.self_id, _turn(event), text, complete)

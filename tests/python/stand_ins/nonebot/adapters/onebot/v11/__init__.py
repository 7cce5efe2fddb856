import asyncio
import json
from dataclasses import dataclass, field

from nonebot.exception import MockApiException

from .exception import ActionFailed


@dataclass
class MessageSegment:
    type: str
    data: dict = field(default_factory=dict)

    @staticmethod
    def text(text):
        return MessageSegment("text", {"text": text})


class Message(list):
    def __init__(self, message=()):
        super().__init__([message] if isinstance(message, MessageSegment) else message)

    @classmethod
    def get_segment_class(cls):
        return MessageSegment

    def plain(self):
        return "".join(s.data["text"] for s in self if s.type == "text")


class Event:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def model_dump(self):
        return dict(self.__dict__)


class Adapter:
    """The wire: keeps what is sent, answers as scripted."""

    def __init__(self):
        self.wire = []  # (time, action, params as JSON)
        self.answers = {}  # action -> data, or an exception to raise
        self._ids = iter(range(1000, 2000))

    async def _call_api(self, bot, api, **data):
        await asyncio.sleep(0)
        params = json.loads(json.dumps(data, default=lambda o: o.__dict__))
        self.wire.append((asyncio.get_running_loop().time(), api, params))
        answer = self.answers.get(api)
        if isinstance(answer, Exception):
            raise answer
        if answer is None and api.startswith("send"):
            return {"message_id": next(self._ids)}
        return answer


class Bot:
    hooks = []

    def __init__(self, adapter, self_id):
        self.adapter, self.self_id, self.logged = adapter, self_id, []

    @classmethod
    def on_calling_api(cls, f):
        cls.hooks.append(f)
        return f

    async def call_api(self, api, **data):
        """The order of nonebot/internal/adapter/bot.py."""
        results = await asyncio.gather(
            *(h(self, api, data) for h in self.hooks), return_exceptions=True
        )
        for r in results:
            if isinstance(r, MockApiException):
                return r.result
            if isinstance(r, Exception):
                self.logged.append(r)
        return await self.adapter._call_api(self, api, **data)

"""The Python shims with the real replygate.so and scripted frameworks (stand_ins/). Speaks TAP.

    REPLYGATE_SO=build/replygate.so python3 tests/python/test_shims.py [NAME…]
"""
import asyncio
import importlib
import json
import logging
import os
import shutil
import sys
import tempfile
import threading
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOSTS = HERE.parents[1] / "plugin" / "hosts"
GROUP, BOT, MEMBER, ADMIN = 123456789, 10001, 10003, 10009
CONFIG = """
language: en
admins: [10009]
endpoints:
  main: {connect: host}
groups:
  default: {pace: {min: 0.15, max: 0.2, per_char: 0}}
"""


def said(*texts, reaction=""):
    messages = [{"segments": [{"type": "text", "data": {"text": t}}]} for t in texts]
    return json.dumps({"messages": messages, "reaction": reaction})


LEAK = '<tool_call>{"name": "a", "arguments": {}}</tool_call>'


def event(text, user=MEMBER, message_id=77, mention=True):
    message = [{"type": "at", "data": {"qq": str(BOT)}}] if mention else []
    message.append({"type": "text", "data": {"text": text}})
    return {
        "time": 1,
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group",
        "sub_type": "normal",
        "message_id": message_id,
        "group_id": GROUP,
        "user_id": user,
        "message": message,
        "raw_message": text,
        "sender": {"user_id": user, "role": "member"},
    }


class Folder:
    """An installed shim: its own files and the core, in a package of its own."""

    def __init__(self, shim, name, config=CONFIG):
        self.path = Path(tempfile.mkdtemp(prefix="rg-python-"))
        self.name, package = name, self.path / name
        shutil.copytree(HOSTS / shim, package)
        for file in (HOSTS / "python").glob("*.py"):
            shutil.copy(file, package)
        self.config = self.path / "replygate.yaml"
        if config is not None:
            self.config.write_text(config, encoding="utf-8")
        sys.path.insert(0, str(self.path))

    def module(self, of=""):
        return importlib.import_module(self.name + of)

    def remove(self):
        sys.path.remove(str(self.path))
        for name in [m for m in sys.modules if m == self.name or m.startswith(self.name + ".")]:
            del sys.modules[name]
        shutil.rmtree(self.path)


async def until(what, test, seconds=5):
    for _ in range(int(seconds * 100)):
        if test():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"waited for {what}")


VERSION = {"app_name": "NapCat.Onebot", "app_version": "4", "protocol_version": "v11"}


class NoneBot(unittest.IsolatedAsyncioTestCase):
    config, endpoints = CONFIG, None

    async def asyncSetUp(self):
        sys.path.insert(0, str(HERE / "stand_ins"))
        import nonebot
        from nonebot import message
        from nonebot.adapters.onebot import v11

        self.v11, self.driver, self.processors = v11, nonebot.driver, message.processors
        self.driver.__init__()
        self.processors.clear()
        v11.Bot.hooks = []
        self.folder = Folder("nonebot", "replygate", self.config)
        self.driver.config.replygate_config = str(self.folder.config)
        if self.endpoints:
            self.driver.config.replygate_endpoints = self.endpoints
        self.shim = self.folder.module()
        for start in self.driver.started:
            await start()
        self.adapter = v11.Adapter()
        self.adapter.answers = {"get_version_info": VERSION, "get_login_info": {"user_id": BOT}}
        self.bot = v11.Bot(self.adapter, str(BOT))

    async def asyncTearDown(self):
        for stop in self.driver.stopped:
            await stop()
        self.folder.remove()
        sys.path.remove(str(HERE / "stand_ins"))

    async def connect(self):
        for join in self.driver.joined:
            await join(self.bot)
        await until(
            "the gate to know the bot",
            lambda: self.shim.carrier._gate.stats()["endpoints"][0]["state"] == "ready",
        )
        self.adapter.wire.clear()

    async def hear(self, raw):
        """What NoneBot makes of an event before its processors run; False: ignored."""
        segments = [self.v11.MessageSegment(**s) for s in raw["message"]]
        e = self.v11.Event(**{**raw, "original_message": self.v11.Message(segments)})
        e.message = self.v11.Message(s for s in segments if s.type != "at")
        from nonebot.exception import IgnoredException

        try:
            for p in self.processors:
                await p(self.bot, e)
        except IgnoredException:
            return None
        return e

    def say(self, message, **more):
        return self.bot.call_api(
            "send_msg",
            group_id=GROUP,
            user_id=MEMBER,
            message_type="group",
            message=message,
            **more,
        )

    def sent(self):
        return [(api, params.get("message")) for _, api, params in self.adapter.wire]


class NoneBotRuns(NoneBot):
    async def test_a_reply_becomes_messages_in_order_with_their_pace(self):
        await self.connect()
        await self.hear(event("hi"))
        answer = await self.say(
            self.v11.Message(self.v11.MessageSegment.text(said("one", "two", reaction="76")))
        )
        self.assertEqual(
            [api for api, _ in self.sent()],
            ["set_msg_emoji_like", "send_group_msg", "send_group_msg"],
        )
        texts = [m[0]["data"]["text"] for _, m in self.sent()[1:]]
        self.assertEqual(texts, ["one", "two"])
        self.assertEqual(answer, {"message_id": 1000}, "the id of the first message")
        first, second = (at for at, api, _ in self.adapter.wire if api == "send_group_msg")
        self.assertGreater(second - first, 0.14)
        self.assertEqual(self.bot.logged, [])

    async def test_chats_keep_their_order_and_do_not_wait_for_each_other(self):
        await self.connect()
        other = self.bot.call_api("send_group_msg", group_id=5, message=said("elsewhere"))
        await asyncio.gather(self.say(said("1", "2", "3")), self.say("4"), other)
        here = [
            p["message"][0]["data"]["text"]
            for _, _, p in self.adapter.wire
            if p["group_id"] == GROUP
        ]
        there = [
            p["message"][0]["data"]["text"] for _, _, p in self.adapter.wire if p["group_id"] == 5
        ]
        self.assertEqual((here, there), (["1", "2", "3", "4"], ["elsewhere"]))
        self.assertLess([p["group_id"] for _, _, p in self.adapter.wire].index(5), 3)

    async def test_what_may_go_goes_as_it_is(self):
        await self.connect()
        segments = [{"type": "text", "data": {"text": "hi"}}]
        await self.bot.call_api("send_group_msg", group_id=GROUP, message=segments)
        self.assertEqual(self.sent(), [("send_group_msg", segments)])
        self.assertEqual(await self.bot.call_api("get_login_info"), {"user_id": BOT})

    async def test_what_is_held_back_is_not_sent(self):
        await self.connect()
        for message in (
            LEAK,
            self.v11.Message(self.v11.MessageSegment.text(LEAK)),
            {"type": object()},
        ):
            self.assertIsNone(await self.say(message))
        self.assertEqual((self.adapter.wire, self.bot.logged), ([], []))

    async def test_a_refused_send_is_not_sent_again(self):
        await self.connect()
        from nonebot.adapters.onebot.v11.exception import ActionFailed

        self.adapter.answers["send_group_msg"] = ActionFailed(status="failed", retcode=120)
        self.assertIsNone(await self.say(said("one", "two")))
        self.assertEqual(len(self.adapter.wire), 1)

    async def test_a_reaction_that_fails_takes_nothing_away(self):
        await self.connect()
        from nonebot.adapters.onebot.v11.exception import ActionFailed

        self.adapter.answers["set_msg_emoji_like"] = ActionFailed(status="failed", retcode=1)
        await self.hear(event("hi"))
        await self.say(said("one", reaction="76"))
        self.assertEqual([api for api, _ in self.sent()], ["set_msg_emoji_like", "send_group_msg"])

    async def test_commands_are_taken_out_and_answered(self):
        await self.connect()
        self.assertIsNone(await self.hear(event("/gate status", user=ADMIN)))
        await until("the answer", lambda: self.adapter.wire)
        self.assertIn("NapCat", str(self.sent()))
        kept = await self.hear(event("hello"))
        self.assertEqual(kept.message.plain(), "hello")

    async def test_strangers_do_not_command(self):
        await self.connect()
        self.assertIsNone(await self.hear(event("/gate off", user=MEMBER)))
        await asyncio.sleep(0.1)
        self.assertEqual(self.adapter.wire, [])
        await self.say(LEAK)
        self.assertEqual(self.adapter.wire, [], "it still holds back")

    async def test_a_number_answers_a_keyboard(self):
        await self.connect()
        keyboard = {
            "type": "keyboard",
            "data": {
                "rows": [
                    [{"label": "Yes", "payload": "yes, please"}, {"label": "No", "payload": "no"}]
                ]
            },
        }
        reply = json.dumps(
            {
                "messages": [{"segments": [{"type": "text", "data": {"text": "Well?"}}, keyboard]}],
                "reaction": "",
            }
        )
        await self.say(reply)
        tapped = await self.hear(event("1", mention=False))
        self.assertEqual((tapped.message.plain(), tapped.to_me), ("yes, please", True))
        result = await self.shim.reply(self.bot, self.v11.Event(**event("ask")), reply)
        self.assertEqual(result["result"], "delivered", result)
        tapped = await self.hear(event("2", mention=False))
        self.assertEqual(tapped.message.plain(), "no")

    async def test_a_plugin_hands_over_what_its_model_answered(self):
        await self.connect()
        asked = self.v11.Event(**event("hi"))
        schema, instruction = self.shim.contract(self.bot, asked)
        self.assertEqual(schema["type"], "object")
        self.assertTrue(instruction)
        result = await self.shim.reply(
            self.bot, asked, "```json\n" + said("one", "two", reaction="76") + "\n```"
        )
        self.assertEqual(
            (result["result"], result["verdict"], len(result["sent"])), ("delivered", "repair", 2)
        )
        self.assertEqual(
            [api for api, _ in self.sent()],
            ["set_msg_emoji_like", "send_group_msg", "send_group_msg"],
        )
        self.assertEqual((await self.shim.reply(self.bot, asked, LEAK))["result"], "blocked")

    async def test_the_model_that_answered_is_asked_once_for_the_form(self):
        await self.connect()
        asked = self.v11.Event(**event("hi"))
        wrong, requests = '{"messages":[{"segments":[{"type":"text","data":{}}]}]}', []

        async def fix(request):
            requests.append(request)
            return said("fixed")

        async def fail(request):
            raise OSError

        fixed = await self.shim.reply(self.bot, asked, wrong, fix)
        self.assertEqual((fixed["result"], fixed["corrected"]), ("delivered", True))
        self.assertEqual([r["answer"] for r in requests], [wrong])
        for complete in (fail, None):
            refused = await self.shim.reply(self.bot, asked, wrong, complete)
            self.assertEqual(refused["result"], "blocked")


class NoneBotLate(NoneBot):
    async def test_a_bot_that_connects_later_is_known_then(self):
        await asyncio.sleep(0.2)
        await self.connect()
        self.assertEqual(self.shim.carrier._gate.stats()["endpoints"][0]["profile"], "napcat")

    async def test_a_bot_that_is_gone_counts_as_offline(self):
        await self.connect()
        for leave in self.driver.left:
            await leave(self.bot)
        self.shim.carrier.join(BOT + 1, None)
        self.shim.carrier.leave(BOT + 1)
        gone = []
        self.shim.carrier._respond = lambda *a: gone.append(a)
        self.shim.carrier._send("main", 7, '{"action":"send_group_msg","params":{}}')
        self.assertEqual(gone[0][2]["retcode"], 1006514)

    async def test_a_second_bot_without_an_endpoint_is_silent(self):
        await self.connect()
        second = self.v11.Bot(self.adapter, "10002")
        with self.assertLogs("nonebot", "WARNING") as log:
            await second.call_api("send_group_msg", group_id=GROUP, message="hi")
        self.assertEqual(self.adapter.wire, [])
        self.assertIn("list both", log.output[0])


class NoneBotTwo(NoneBot):
    config = CONFIG.replace(
        "  main: {connect: host}\n",
        "  main: {connect: host}\n  two: {connect: host, groups: {default: {mode: observe}}}\n",
    )
    endpoints = '{"10001": "main", "10002": "two"}'

    async def test_each_bot_has_its_endpoint(self):
        second = self.v11.Bot(self.adapter, "10002")
        for bot in (self.bot, second):
            await bot.call_api("send_group_msg", group_id=GROUP, message=LEAK)
        self.assertEqual(len(self.adapter.wire), 1, "only where it is observed")


class NoneBotBroken(NoneBot):
    config = CONFIG + "nonsense: 1\n"

    async def test_without_a_gate_nothing_but_questions_passes(self):
        self.assertIn("nonsense", self.shim.carrier.fault)
        self.assertIn(":", self.shim.carrier.fault)
        await self.say("hi")
        await self.bot.call_api("set_group_ban", group_id=GROUP, user_id=1)
        self.assertEqual(self.adapter.wire, [])
        self.assertEqual(await self.bot.call_api("get_login_info"), {"user_id": BOT})
        self.assertEqual((await self.hear(event("hello"))).message.plain(), "hello")


# --- AstrBot ---

HEARTBEAT = {
    "self_id": BOT,
    "time": 1,
    "post_type": "meta_event",
    "meta_event_type": "heartbeat",
    "interval": 5000,
    "status": {},
}


class Client:
    """aiocqhttp's CQHttp: call_action, and subscriptions of raw events."""

    def __init__(self):
        self.wire, self.listeners, self.fault = [], {}, None

    async def call_action(self, action, **params):
        self.wire.append((action, params))
        if self.fault and action.startswith("send"):
            raise self.fault
        return {"get_version_info": VERSION, "get_login_info": {"user_id": BOT}}.get(
            action, {"message_id": 5}
        )

    async def send_group_msg(self, **params):
        return await self.call_action("send_group_msg", **params)

    def subscribe(self, kind, f):
        self.listeners[kind] = f


class ActionFailed(Exception):
    result = {"status": "failed", "retcode": 120}


class AstrEvent:
    """aiocqhttp_message_event.py: send writes the chain down as actions."""

    def __init__(self, client, raw, result=None):
        self.bot, self.result, self.stopped, self._has_send_oper = client, result, False, False
        self.message_obj = type("Message", (), {})()
        self.message_obj.raw_message, self.message_obj.message, self.message_obj.message_str = (
            raw,
            [],
            "",
        )
        self.message_str = raw["raw_message"]
        self.is_wake = self.is_at_or_wake_command = False

    def get_result(self):
        return self.result

    def get_platform_name(self):
        return "aiocqhttp"

    def get_self_id(self):
        return str(BOT)

    def stop_event(self):
        self.stopped = True

    async def send(self, chain):
        message = [c.toDict() for c in chain.chain]
        await self.bot.send_group_msg(group_id=GROUP, message=message, self_id=BOT)
        self._has_send_oper = True


class Result:
    result_content_type = "LLM_RESULT"

    def __init__(self, *chain):
        self.chain = list(chain)


class AstrBot(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        sys.path.insert(0, str(HERE / "stand_ins"))
        self.folder = Folder("astrbot", "astrbot_plugin_replygate")
        self.module = self.folder.module(".main")
        from astrbot.api.message_components import Plain
        from astrbot.api.star import Context

        self.Plain = Plain
        self.client = Client()
        context = Context()
        context.platform_manager = types.SimpleNamespace(platform_insts=[])
        self.shim = self.module.Main(context, {"config": str(self.folder.config), "endpoints": []})
        await self.shim.initialize()
        context.platform_manager.platform_insts.append(
            types.SimpleNamespace(
                meta=lambda: types.SimpleNamespace(name="aiocqhttp"), get_client=lambda: self.client
            )
        )
        await self.shim.listen()
        await self.client.listeners["meta_event"](HEARTBEAT)
        await until(
            "the gate to know the bot",
            lambda: self.shim.carrier._gate.stats()["endpoints"][0]["state"] == "ready",
        )

    async def asyncTearDown(self):
        await self.shim.terminate()
        self.folder.remove()
        sys.path.remove(str(HERE / "stand_ins"))

    async def judge(self, *chain):
        e = AstrEvent(self.client, event("hi"), Result(*chain))
        await self.shim.judge(e)
        return e

    def sent(self):
        return [(a, p) for a, p in self.client.wire if not a.startswith("get_")]

    async def test_hooks_and_their_places(self):
        kind, options = self.module.Main.judge.hook
        self.assertEqual(
            (kind, options),
            ("on_decorating_result", {"priority": -sys.maxsize}),
            "behind other hooks",
        )
        kind, options = self.module.Main.show.hook
        self.assertEqual(
            (kind, options),
            ("event_message_type", {"priority": sys.maxsize}),
            "before other handlers",
        )

    async def test_an_older_astrbot_has_another_hook(self):
        from astrbot.api.event import filter

        self.assertEqual(self.module.Main.listen.hook[0], "on_platform_loaded")
        newer = filter.on_platform_loaded
        del filter.on_platform_loaded
        try:
            older = importlib.reload(self.module)
            self.assertEqual(older.Main.listen.hook[0], "on_astrbot_loaded")
        finally:
            filter.on_platform_loaded = newer

    async def test_a_chain_that_may_go_stays(self):
        e = await self.judge(self.Plain("hi"))
        self.assertEqual([c.text for c in e.result.chain], ["hi"])
        self.assertEqual((self.sent(), e._has_send_oper), ([], False))

    async def test_a_reply_is_sent_from_here_and_the_chain_is_empty(self):
        await self.shim.show(AstrEvent(self.client, event("hi")))
        e = await self.judge(self.Plain(said("one", "two", reaction="76")))
        self.assertEqual((e.result.chain, e._has_send_oper), ([], True))
        actions = [(a, p["self_id"]) for a, p in self.sent()]
        self.assertEqual(
            actions,
            [
                ("set_msg_emoji_like", str(BOT)),
                ("send_group_msg", str(BOT)),
                ("send_group_msg", str(BOT)),
            ],
        )

    async def test_every_error_empties_the_chain(self):
        e = await self.judge(self.Plain(LEAK))
        self.assertEqual(e.result.chain, [], "held back")
        self.client.fault = ActionFailed()
        with self.assertRaises(Exception):
            await self.judge(self.Plain(said("one", "two")))
        e = AstrEvent(self.client, event("hi"), Result(object()))
        with self.assertRaises(AttributeError):
            await self.shim.judge(e)
        self.assertEqual(e.result.chain, [], "a chain that cannot be written down")
        e = AstrEvent(self.client, event("hi"), Result(self.Plain(said("one", "two", "three"))))
        self.client.fault = None
        task = asyncio.create_task(self.shim.judge(e))
        await asyncio.sleep(0.05)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(e.result.chain, [], "cancelled")

    async def test_commands_and_notices(self):
        e = AstrEvent(self.client, event("/gate status", user=ADMIN))
        await self.shim.show(e)
        self.assertTrue(e.stopped)
        await until("the answer", self.sent)
        self.assertIn("NapCat", str(self.sent()))
        self.assertEqual(set(self.client.listeners), {"notice", "meta_event"})
        before = self.shim.carrier._gate.stats()["events"]
        await self.client.listeners["meta_event"](HEARTBEAT)
        self.assertEqual(self.shim.carrier._gate.stats()["events"], before + 1)
        e = AstrEvent(self.client, event("hello"))
        await self.shim.show(e)
        self.assertFalse(e.stopped)

    async def test_endpoints_of_the_settings_page(self):
        self.assertEqual(
            self.module._endpoints(["10001=main", " 10002 = two ", ""]),
            {"10001": "main", "10002": "two"},
        )


# --- the core ---


class Core(unittest.TestCase):
    def setUp(self):
        self.folder = Folder("nonebot", "core_package")
        (self.folder.path / "core_package" / "__init__.py").write_text("")
        self.core = self.folder.module(".replygate")

    def tearDown(self):
        self.folder.remove()

    def test_two_gates_from_threads(self):
        lines = []
        gates = []
        for name in ("one", "two"):  # each has a journal of its own
            config = self.folder.path / f"{name}.yaml"
            config.write_text(f"store: sqlite:{name}.db\n{CONFIG}", encoding="utf-8")
            gates.append(
                self.core.Gate(config, log=lambda *a: lines.append(a), send=lambda *a: None)
            )
        action = {"action": "send_group_msg", "params": {"group_id": 1, "message": said("a", "b")}}
        wrong = []

        def work(gate):
            for _ in range(200):
                verdict, edit = gate.outbound("main", action)
                if verdict != self.core.REPLACE or len(edit) != 2:
                    wrong.append((verdict, edit))

        threads = [threading.Thread(target=work, args=(g,)) for g in gates for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(
            gates[0].check({"group_id": 1}, said("a"))["reply"]["messages"][0]["segments"][0][
                "data"
            ]["text"],
            "a",
        )
        for g in gates:
            g.reload()
            g.close()
            g.close()
        with self.assertRaises(self.core.GateError) as closed:
            gates[0].stats()
        self.assertEqual(closed.exception.code, "ECLOSED")

    def test_faults_have_codes(self):
        Gate, GateError = self.core.Gate, self.core.GateError
        with self.assertRaises(GateError) as missing:
            Gate(self.folder.path / "nowhere.yaml")
        self.assertEqual(missing.exception.code, "ECONFIG")
        gate = Gate(self.folder.config)
        for call, code in (
            (lambda: gate.outbound("other", {"action": "x"}), "EARGUMENT"),
            (lambda: gate.check({"group_id": 1, "user_id": 2}, "x"), "EARGUMENT"),
            (lambda: gate.check({"group": 1}, "x"), "EARGUMENT"),
        ):
            with self.assertRaises(GateError) as fault:
                call()
            self.assertEqual(fault.exception.code, code)
        self.assertEqual(gate.outbound("", '"\ud800"')[0], self.core.DROP)
        self.assertEqual(gate.outbound("", "\0")[0], self.core.DROP)
        gate.close()

    def test_halves_of_characters_do_no_harm(self):
        gate = self.core.Gate(self.folder.config)
        for text, shown in (("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "\U0001f600")):
            reply = gate.check({"group_id": 1}, text)["reply"]
            self.assertEqual(reply["messages"][0]["segments"][0]["data"]["text"], shown)
        params = {"group_id": 1, "message": "a\udc00"}
        self.assertEqual(
            gate.outbound("", {"action": "send_group_msg", "params": params})[0],
            self.core.REPLACE,
        )
        gate.close()

    def test_a_function_of_the_host_cannot_close(self):
        gates, faults, asked = [], [], threading.Event()

        def log(level, line):
            if not gates:
                return
            try:
                gates[0].close()
            except self.core.GateError as fault:
                faults.append(fault.code)
                asked.set()

        gates.append(self.core.Gate(self.folder.config, log=log))
        gates[0].submit({"group_id": 1}, LEAK)
        self.assertTrue(asked.wait(10))
        self.assertEqual(set(faults), {"EARGUMENT"})
        self.assertEqual(gates[0].stats()["submitted"], 1)
        gates[0].close()

    def test_a_forked_child_has_no_gate(self):
        gate = self.core.Gate(self.folder.config)
        child = os.fork()
        if child == 0:
            try:
                gate.stats()
            except self.core.GateError as fault:
                gate.close()
                os._exit(7 if fault.code == "ECLOSED" else 1)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assertEqual(gate.stats()["submitted"], 0)
        gate.close()

    def test_the_highest_version_is_taken(self):
        package = self.folder.path / "core_package"
        for name in (
            "replygate-0.9.0.so",
            "replygate-0.10.0.so",
            "replygate-0.10.0-2.so",
            "replygate.so",
        ):
            (package / name).write_bytes(b"")
        named = os.environ.pop("REPLYGATE_SO", None)
        try:
            self.assertEqual(self.core.library().name, "replygate-0.10.0-2.so")
            with self.assertRaises(self.core.GateError):
                self.core.load()
        finally:
            if named:
                os.environ["REPLYGATE_SO"] = named


class Tap(unittest.TestResult):
    def say(self, test, ok, why=""):
        for line in why.splitlines():
            print("#", line)
        print("ok" if ok else "not ok", self.testsRun, "-", test.id(), flush=True)

    def addSuccess(self, test):
        self.say(test, True)

    def addFailure(self, test, fault):
        super().addFailure(test, fault)
        self.say(test, False, self._exc_info_to_string(fault, test))

    addError = addFailure


if __name__ == "__main__":
    logging.getLogger().addHandler(logging.NullHandler())
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = (
        loader.loadTestsFromNames(names, sys.modules[__name__])
        if names
        else loader.loadTestsFromModule(sys.modules[__name__])
    )
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)

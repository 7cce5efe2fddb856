#!/usr/bin/env python3
"""corpus.py FOLDER: writes the replies that the bench is run on. Always the same ones: one 64-bit
splitmix generator with a fixed seed, Python's standard library only.

  valid.frames    2000 replies, sizes log-normal around 600 bytes (60 bytes to 8 KiB)
  big64k.frames   20 replies of 64 KiB
  b64.frames      one reply with a 10 MiB base64 image
  NAME-1k.frames, NAME-1m.frames   the shapes that cost most per byte, at 1 KiB and at 1 MiB

A frame is its length in 32 bits, little-endian, and its bytes."""
import base64
import hashlib
import json
import math
import os
import struct
import sys

SEED = 20260823
OUT = sys.argv[1]
M64 = (1 << 64) - 1


class Rng:
    def __init__(self, seed): self.s = seed & M64
    def u64(self):
        self.s = (self.s + 0x9E3779B97F4A7C15) & M64
        z = self.s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        return z ^ (z >> 31)
    def f(self): return (self.u64() >> 11) / float(1 << 53)
    def n(self, lo, hi): return lo + self.u64() % (hi - lo + 1)      # inclusive
    def pick(self, seq): return seq[self.u64() % len(seq)]
    def p(self, prob): return self.f() < prob
    def gauss(self):
        u = max(self.f(), 1e-12); v = self.f()
        return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


REACTIONS = ["", "4", "5", "8", "9", "10", "12", "14", "21", "23", "26", "66", "74", "75", "76", "78",
             "79", "85", "89", "96", "98", "100", "124", "144", "147", "171", "174", "179", "182", "212"]
ZH = ["看了一下，", "是缓存的问题，", "清掉就好了。", "这个我之前也遇到过，", "你先把日志发我看看。", "大概率是网络抖动，",
      "重启一下服务试试。", "今天下午三点开会，别忘了。", "我觉得没问题，", "可以直接合并。", "等一下，我再确认一次。",
      "配置文件里少了一个逗号，", "所以解析失败了。", "哈哈哈哈笑死我了", "晚点我把文档整理出来。", "这个版本已经修复了，",
      "升级到最新版即可。", "注意不要在生产环境直接改数据库！", "如果还是不行，", "就把完整的报错贴出来。", "天气不错，",
      "适合出去走走。", "群文件里有安装包，", "自己下载一下。", "性能瓶颈主要在序列化，", "换成流式写入能快一倍。",
      "好的，", "收到。", "没事，慢慢来～", "这道题的思路是先排序再双指针，", "复杂度是 O(n log n)。", "明白了，谢谢！",
      "图片里的那只猫好可爱，", "是你养的吗？", "我查了官方文档，", "上面写着默认超时是三十秒，", "可以在设置里调大一点。"]
EN = ["Had a look, ", "it's the cache, ", "clear it and you're fine. ", "Looks like a race in the reconnect path; ",
      "the second socket wins. ", "Try again with the verbose flag on. ", "I'd merge it as is. ", "LGTM ", "The build passes locally, ",
      "but CI uses an older compiler. ", "See the changelog for 2.4.1. ", "That endpoint returns 429 when you poll too fast. ",
      "Let me check the docs first. ", "OK, done. ", "You can set the timeout in config.yml. ", "Memory stays flat after the first minute. ",
      "Short answer: yes. ", "Longer answer: it depends on the driver version. ", "Sure! ", "No worries. ",
      "The test is flaky because it sleeps for a fixed time. ", "Use a monotonic clock instead. "]
EMO = ["😀", "👍", "🎉", "😂", "🙏", "🐱", "✅", "❤️", "🚀"]
MD = ["\n\n## 步骤\n\n1. 打开设置\n2. 选择 **网络**\n3. 点击 `重置`\n", "\n- item one\n- item two\n- **bold** and _italic_\n",
      "\n```js\nconst x = JSON.parse(s);\nconsole.log(\"value: \" + x.a);\n```\n", "\n> 引用：原文如此\n",
      "\n| 名称 | 值 |\n| --- | --- |\n| timeout | 30s |\n| retry | 3 |\n",
      "\n```c\nif (p[i] == '\\\\' || p[i] == '\"') { n++; }\n```\n", " [文档](https://example.com/docs?a=1&b=2) "]
HOSTS = ["https://example.com/", "https://img.example.org/", "https://cdn.example.net/u/", "https://music.example.com/song/"]


def text(r, target_bytes, md=False):
    """roughly target_bytes of UTF-8; 65 % of texts are mostly Chinese"""
    zh = r.p(0.65); out = []; n = 0
    while n < target_bytes:
        if md and r.p(0.12): s = r.pick(MD)
        elif r.p(0.04): s = r.pick(EMO)
        elif r.p(0.02): s = '\n'
        elif r.p(0.012): s = r.pick(['他说："可以"。', 'he said "fine". ', 'C:\\temp\\a.log '])
        else: s = r.pick(ZH if r.p(0.9 if zh else 0.1) else EN)
        out.append(s); n += len(s.encode())
    return "".join(out)


def uid(r): return str(r.n(10000, 4294967295))
def url(r): return r.pick(HOSTS) + "%x" % r.u64() + r.pick([".png", ".jpg", "?id=%d&from=group" % r.n(1, 99999), ""])
B64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
def b64(r, n): return "".join(B64[r.u64() & 63] for _ in range(n // 4 * 4))


def media(r):
    k = r.pick(["url", "url", "url", "path", "file", "base64"])
    v = {"url": lambda: url(r), "path": lambda: "/data/cache/img/%x.png" % r.u64(),
         "file": lambda: "%016X%016X" % (r.u64(), r.u64()), "base64": lambda: b64(r, r.n(40, 200))}[k]()
    return {"kind": k, "value": v}


def segment(r, budget, first):
    x = r.f()
    if x < 0.62 or budget > 1500: return {"type": "text", "data": {"text": text(r, max(6, budget))}} if r.p(0.75) or budget < 80 \
        else {"type": "markdown", "data": {"content": text(r, budget, True)}}
    if x < 0.74: return {"type": "mention", "data": {"target": uid(r)}}
    if x < 0.82: return {"type": "markdown", "data": {"content": text(r, max(20, budget), True)}}
    if x < 0.90: return {"type": "image", "data": {"media": media(r)}}
    if x < 0.92: return {"type": r.pick(["audio", "video", "file"]), "data": {"media": media(r)}}
    if x < 0.96: return {"type": "keyboard", "data": {"rows": [[{"label": r.pick(["是", "否", "再来一次", "Yes", "No", "More"]),
                 "payload": r.pick(["yes", "no", "again", "/help", "更多"])} for _ in range(r.n(1, 5))] for _ in range(r.n(1, 3))]}}
    if x < 0.98: return {"type": "share", "data": {"url": url(r), "title": text(r, 24)}}
    return {"type": r.pick(["dice", "rps"]), "data": {}}


def reply(r, target):
    nm = r.pick([1, 1, 1, 1, 1, 2, 2, 2, 3]) if target > 120 else 1
    if target < 70 and r.p(0.05): o = {"messages": []}
    else:
        o = {"messages": []}
        body = max(6, target - 15 - nm * 62)
        for i in range(nm):
            segs = []; left = body // nm if i or nm == 1 else body // (nm * 2) + 6
            ns = r.pick([1, 1, 1, 2, 2, 3]) if left > 60 else 1
            for j in range(ns):
                segs.append(segment(r, left // ns, j == 0))
            o["messages"].append({"segments": segs})
    if r.p(0.12) or not o["messages"]: o["reaction"] = r.pick(REACTIONS)
    return o


def ser(r, o):
    x = r.f()
    if x < 0.15: s = json.dumps(o, ensure_ascii=False, indent=2)
    elif x < 0.55: s = json.dumps(o, ensure_ascii=False)
    elif x < 0.97: s = json.dumps(o, ensure_ascii=False, separators=(",", ":"))
    else: s = json.dumps(o, ensure_ascii=True)
    return s.encode()


def write_frames(name, items):
    with open(os.path.join(OUT, name), "wb") as f:
        for b in items: f.write(struct.pack("<I", len(b))); f.write(b)


# ---------------------------------------------------------------- hostile shapes
def reply_of(text_json):
    return b'{"messages":[{"segments":[{"type":"text","data":{"text":' + text_json + b'}}]}],"reaction":""}'


def segments_of(segment, n):
    head, tail_ = b'{"messages":[{"segments":[', b']}],"reaction":""}'
    count = max(1, (n - len(head) - len(tail_)) // (len(segment) + 1))
    return head + b",".join([segment] * count) + tail_


def string_of(piece, n):
    return reply_of(b'"' + piece * max(1, (n - 80) // len(piece)) + b'"')


def keys_of(n, wide):
    # an unknown member of the root: its value is not looked at, but its key is judged, so the object
    # with many keys is data before type, which is passed over first
    key = (lambda i: b'"%06x":0' % i) if wide else (lambda i: b'"%x":0' % i)
    out, size, i = [], 0, 0
    while size < n - 120:
        out.append(key(i))
        size += len(out[-1]) + 1
        i += 1
    return b'{"messages":[{"segments":[{"data":{' + b",".join(out) + b'},"type":"text"}]}]}'


SHAPES = {
    "escapes": lambda n: string_of(b"\\n", n),
    "escapes-apart": lambda n: string_of(b"a\\n", n),
    "unicode-escapes": lambda n: string_of(b"\\u4f60", n),
    "surrogate-pairs": lambda n: string_of(b"\\ud83d\\ude00", n),
    "control-escapes": lambda n: string_of(b"\\u0001a", n),
    "ascii": lambda n: string_of(b"abcdefg ", n),
    "chinese": lambda n: string_of("你好".encode(), n),
    "mixed": lambda n: string_of("a你b".encode(), n),
    "emoji": lambda n: string_of("😀".encode(), n),
    "two-bytes": lambda n: string_of("é".encode(), n),
    "hangul": lambda n: string_of("힣".encode(), n),
    "c1-controls": lambda n: string_of("a\u0085".encode(), n),
    "del": lambda n: string_of(b"\x7f", n),
    "dice": lambda n: segments_of(b'{"type":"dice","data":{}}', n),
    "empty-texts": lambda n: segments_of(b'{"type":"text","data":{"text":""}}', n),
    "late-type": lambda n: segments_of(b'{"data":{"text":"a"},"type":"text"}', n),
    "spaces": lambda n: b" " * (n - 30) + b'{"messages":[],"reaction":""}',
    "spaces-within": lambda n: segments_of(b'{ "type" :\n\n "dice" , "data" : { } }', n),
    "messages": lambda n: b'{"messages":[' + b",".join([b'{"segments":[]}'] * ((n - 40) // 16)) + b'],"reaction":""}',
    "rows": lambda n: b'{"messages":[{"segments":[{"type":"keyboard","data":{"rows":['
                      + b",".join([b"[]"] * ((n - 100) // 3)) + b']}}]}],"reaction":""}',
    "buttons": lambda n: b'{"messages":[{"segments":[{"type":"keyboard","data":{"rows":['
                         + b",".join([b'[{"label":"a","payload":"b"}]'] * ((n - 100) // 30)) + b']}}]}],"reaction":""}',
    "many-keys": lambda n: keys_of(n, True),
    "short-keys": lambda n: keys_of(n, False),
    "no-quote": lambda n: b'{"messages":[{"segments":[{"type":"text","data":{"text":"' + b"a" * (n - 60),
    "no-quote-escapes": lambda n: b'{"messages":[{"segments":[{"type":"text","data":{"text":"' + b"\\n" * ((n - 60) // 2),
    "open-arrays": lambda n: b"[" * n,
    "late-fault": lambda n: string_of(b"a", n)[:-40] + b"\xff" + b"a" * 40,
}


def main():
    os.makedirs(OUT, exist_ok=True)
    r = Rng(SEED)
    replies = []
    while len(replies) < 2000:
        t = int(min(8192, max(60, 600 * math.exp(0.85 * r.gauss()))))
        b = ser(r, reply(r, t))
        if len(b) <= 8192:
            replies.append(b)
    write_frames("valid.frames", replies)
    big = []
    for _ in range(20):
        o, n = {"messages": []}, 0
        while n < 65536 - 1200:
            o["messages"] += reply(r, r.n(300, 1000))["messages"]
            n = len(json.dumps(o, ensure_ascii=False).encode())
        pad = 65536 - n - 75
        if pad > 0:
            o["messages"].append({"segments": [{"type": "text", "data": {"text": text(r, max(4, pad - 40))}}]})
        big.append(json.dumps(o, ensure_ascii=False).encode())
    write_frames("big64k.frames", big)
    raw = b"".join(hashlib.sha512(b"%d" % i).digest() for i in range(10 * 1024 * 1024 * 3 // 4 // 64))
    o = {"messages": [{"segments": [{"type": "text", "data": {"text": "图在这里"}}, {"type": "image", "data": {
        "media": {"kind": "base64", "value": base64.b64encode(raw).decode()}}}]}]}
    write_frames("b64.frames", [json.dumps(o, ensure_ascii=False).encode()])
    for name, shape in SHAPES.items():
        write_frames(name + "-1k.frames", [shape(1024)])
        write_frames(name + "-1m.frames", [shape(1024 * 1024)])


main()

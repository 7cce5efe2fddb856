#!/usr/bin/env python3
"""Puts Replygate into a bot framework's folder: ./run install DIR.

    install.py LIBRARY DIR     LIBRARY: the replygate.so that was built
    install.py DIR             only whether that is a framework's folder

Run again, it upgrades: the library gets a new name, since one that is loaded must not be written over
(the process would die of SIGBUS), and a configuration that is there stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Callable, NamedTuple

HOSTS = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HOSTS / "python"))
import replygate  # noqa: E402

LIBRARY = re.compile(r"replygate([-.]\d+)*\.so")
CONFIG = "replygate.yaml"


class Refused(Exception):
    """What the operator has to put right; both languages."""


# --- what frameworks look like ---


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def package(root: Path) -> dict:
    try:
        given = json.loads(text_of(root / "package.json") or "{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def depends(root: Path, name: str) -> bool:
    lists = (
        package(root).get(k) or {} for k in ("dependencies", "devDependencies", "peerDependencies")
    )
    return any(name in one for one in lists)


def is_koishi(root):
    return (
        any(root.glob("koishi.y*ml"))
        or any(root.glob("koishi.config.*"))
        or depends(root, "koishi")
    )


def is_zhin(root):
    return any(root.glob("zhin.config.*")) or "zhin" in package(root) or depends(root, "zhin.js")


def is_yunzai(root):
    name = str(package(root).get("name", "")).lower()
    if name == "miao-yunzai":
        raise Refused(
            "Miao-Yunzai speaks to QQ by itself, not by OneBot, so there is nothing to gate; "
            "TRSS-Yunzai works.\n"
            "Miao-Yunzai 不经过 OneBot，无法接入；请使用 TRSS-Yunzai。"
        )
    return name == "trss-yunzai" or (root / "plugins" / "adapter" / "OneBotv11.js").is_file()


def is_nonebot(root):
    project = text_of(root / "pyproject.toml")
    return (
        "[tool.nonebot" in project
        or "nonebot2" in project
        or "import nonebot" in text_of(root / "bot.py")
    )


def is_astrbot(root):
    if not (root / "data" / "plugins").is_dir():
        return False
    return (root / "data" / "cmd_config.json").is_file() or (root / "astrbot").is_dir()


# --- where things go there, and what remains to do ---


def nonebot_listed(root):
    """The first of plugin_dirs, which NoneBot loads; None: there is none."""
    line = re.compile(r"^\s*plugin_dirs\s*=\s*\[\s*[\"']([^\"']+)[\"']", re.M)
    found = line.search(text_of(root / "pyproject.toml"))
    return found and found[1]


def nonebot_folder(root):
    usual = "src/plugins" if (root / "src" / "plugins").is_dir() else "plugins"
    return root / (nonebot_listed(root) or usual) / "replygate"


def from_root(path: Path, root: Path) -> str:
    return os.path.relpath(path, root)


def nonebot_line(root):
    line = f'plugin_dirs = ["{from_root(nonebot_folder(root).parent, root)}"]'
    there = "    (is there already / 已有)" if nonebot_listed(root) else ""
    return f"pyproject.toml    [tool.nonebot] {line}{there}"


ASTRBOT = "astrbot_plugin_replygate"


class Framework(NamedTuple):
    name: str  # of our folder for it
    shown: str
    looks_like: Callable[[Path], bool]
    core: str  # the folder that its shim shares with others
    folder: Callable[[Path], Path]  # where it goes
    config: Callable[[Path], Path]
    line: Callable[[Path], str]  # what switches it on


def in_plugins(root):
    return root / "plugins" / "replygate"


def in_root(root):
    return root / CONFIG


LOADED = "is loaded at the next start / 重启后自动加载"
ZHIN = '"zhin": {"plugins": [{"package": "./plugins/replygate", "instanceKey": "replygate"}]}'


def zhin_line(root):
    there = depends(root, "@zhin.js/middleware")  # which zhin looks for in the bot's own folder
    return f"package.json      {ZHIN}" + ("" if there else "    and: pnpm add @zhin.js/middleware")


FRAMEWORKS = (
    Framework(
        "koishi",
        "Koishi",
        is_koishi,
        "node",
        in_plugins,
        in_root,
        lambda r: "koishi.yml        plugins:  ./plugins/replygate: {}",
    ),
    Framework(
        "zhin",
        "zhin",
        is_zhin,
        "node",
        in_plugins,
        in_root,
        zhin_line,
    ),
    Framework(
        "yunzai",
        "TRSS-Yunzai",
        is_yunzai,
        "node",
        in_plugins,
        in_root,
        lambda r: f"plugins/replygate {LOADED}",
    ),
    Framework("nonebot", "NoneBot", is_nonebot, "python", nonebot_folder, in_root, nonebot_line),
    Framework(
        "astrbot",
        "AstrBot",
        is_astrbot,
        "python",
        lambda r: r / "data" / "plugins" / ASTRBOT,
        lambda r: r / "data" / "plugin_data" / ASTRBOT / CONFIG,
        lambda r: f"data/plugins/{ASTRBOT} {LOADED}",
    ),
)

RECOGNISED = """  Koishi       koishi.yml, or koishi in package.json
  zhin         zhin.config.yml, or zhin in package.json
  TRSS-Yunzai  package.json of trss-yunzai, or plugins/adapter/OneBotv11.js
  NoneBot      pyproject.toml with nonebot2 or [tool.nonebot], or bot.py
  AstrBot      data/plugins with data/cmd_config.json or astrbot/"""


def recognise(given: Path):
    """The framework and its folder; the folder of its plugins will do as well."""
    if not given.is_dir():
        raise Refused(f"{given} is no folder.\n{given} 不是文件夹。")
    for root in (given, *given.parents[:2]):
        for framework in FRAMEWORKS:
            if framework.looks_like(root):
                return framework, root
    raise Refused(
        f"{given} is the folder of no framework that is known here. "
        f"These are recognised:\n{RECOGNISED}\n"
        "For every other framework use the gate: `relay:` in the configuration.\n"
        f"认不出 {given} 是哪个框架；能识别的见上。其他框架请用网关（配置里的 relay）。"
    )


# --- files ---


def put(source: Path, target: Path):
    """Copies a file in one step: who reads it sees the old or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.new")
    shutil.copyfile(source, new)
    os.replace(new, target)


def numbers(path: Path):
    return [int(n) for n in re.findall(r"\d+", path.stem)]


def content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def users_of(path: Path):
    """The processes that have the file loaded, as far as we may see."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if any(line.rstrip("\n").endswith(f" {path}") for line in maps.open(errors="replace")):
                yield maps.parent.name
        except OSError:
            continue


def put_library(source: Path, folder: Path, say):
    """Gives the file that is loaded from now on."""
    version = replygate.load(source).version.decode()
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise Refused(
            f"{source} has the version {version}, which is no file name's\n"
            f"版本号 {version} 不能用作文件名"
        )
    folder.mkdir(parents=True, exist_ok=True)
    there = sorted((p for p in folder.iterdir() if LIBRARY.fullmatch(p.name)), key=numbers)
    same = [p for p in there if content(p) == content(source)]
    if same and same[-1] == there[-1]:
        say(f"{same[-1].name} is up to date")
        return same[-1]
    target, n = folder / f"replygate-{version}.so", 1
    while target.exists():
        n += 1
        target = folder / f"replygate-{version}-{n}.so"
    put(source, target)
    say(f"put {target.name}")
    for old in there:
        users = list(users_of(old.resolve()))
        if users and numbers(old) < numbers(target):
            say(
                f"left {old.name}: process {', '.join(users)} has it loaded; "
                "delete it after a restart, or run this again"
            )
        else:
            old.unlink()  # one that is loaded stays in its process all the same
            say(f"removed {old.name}")
    return target


def shared_files(core: str):
    """What the shims have in common; not what only the build needs."""
    kept = re.compile(r".*\.(js|d\.ts|py)|package\.json")
    return [p for p in (HOSTS / core).iterdir() if p.is_file() and kept.fullmatch(p.name)]


def install(library: Path, given: Path, say):
    framework, root = recognise(given.resolve())
    folder, config = framework.folder(root), framework.config(root)
    say(f"{framework.shown} in {root}")
    for source in sorted((HOSTS / framework.name).iterdir()):
        if source.is_file():
            put(source, folder / source.name)
    inner = folder / "node" if framework.core == "node" else folder
    for source in shared_files(framework.core):
        put(source, inner / source.name)
    put_library(library, inner, say)
    say(f"put {from_root(folder, root)}")
    upgrade = config.exists()
    if upgrade:
        say(f"kept {from_root(config, root)}")
    else:
        put(folder / "replygate.example.yaml", config)
        say(f"put {from_root(config, root)}")
    say("")
    if upgrade:
        say("Restart the framework. If it was never set up / 请重启框架；如果还没设置过：")
    else:
        say("What remains, then restart / 还剩两行，然后重启：")
    say(f"  1. {framework.line(root)}")
    say(f"  2. {from_root(config, root):<16}  admins: [your QQ number / 你的 QQ 号]")


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if len(arguments) == 1:
            recognise(Path(arguments[0]).resolve())
            return 0
        install(Path(arguments[0]).resolve(), Path(arguments[1]), print)
    except PermissionError as fault:
        print(
            f"install: {fault.filename} cannot be written: run this as the user that owns the bot.\n"
            f"没有权限写入 {fault.filename}：请用机器人所属的用户运行。",
            file=sys.stderr,
        )
        return 1
    except (Refused, replygate.GateError, OSError) as fault:
        print(f"install: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

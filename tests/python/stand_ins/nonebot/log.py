import logging

logger = logging.getLogger("nonebot")

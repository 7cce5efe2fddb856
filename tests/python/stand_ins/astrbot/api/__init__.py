import logging

logger = logging.getLogger("astrbot")

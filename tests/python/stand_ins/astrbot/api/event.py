import types


class MessageChain:
    def __init__(self, chain):
        self.chain = chain


class AstrMessageEvent:
    pass


def _mark(kind):
    def of(*arguments, **options):
        def decorate(f):
            f.hook = kind, options
            return f

        return decorate

    return of


filter = types.SimpleNamespace(
    on_decorating_result=_mark("on_decorating_result"),
    on_astrbot_loaded=_mark("on_astrbot_loaded"),
    on_platform_loaded=_mark("on_platform_loaded"),
    event_message_type=_mark("event_message_type"),
    EventMessageType=types.SimpleNamespace(ALL="all"),
)

"""What the shim uses of NoneBot 2, as its source and runs show it (spec: hosts 4.1): hooks run at
the same time; an exception of one is logged and the action is sent, but MockApiException."""
import types


class Driver:
    def __init__(self):
        self.config = types.SimpleNamespace()
        self.started, self.stopped, self.joined, self.left = [], [], [], []

    def on_startup(self, f):
        self.started.append(f)
        return f

    def on_shutdown(self, f):
        self.stopped.append(f)
        return f

    def on_bot_connect(self, f):
        self.joined.append(f)
        return f

    def on_bot_disconnect(self, f):
        self.left.append(f)
        return f


driver = Driver()


def get_driver():
    return driver

class MockApiException(Exception):
    def __init__(self, result):
        self.result = result


class IgnoredException(Exception):
    def __init__(self, reason):
        self.reason = reason

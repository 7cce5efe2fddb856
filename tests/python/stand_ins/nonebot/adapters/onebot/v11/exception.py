class ActionFailed(Exception):
    def __init__(self, **info):
        super().__init__(info)
        self.info = info


class ApiNotAvailable(Exception):
    pass

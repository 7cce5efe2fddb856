class Context:
    pass


class Star:
    def __init__(self, context, config=None):
        self.context = context

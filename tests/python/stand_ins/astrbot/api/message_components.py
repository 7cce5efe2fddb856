class Plain:
    type = "Plain"

    def __init__(self, text):
        self.text = text

    def toDict(self):
        return {"type": "text", "data": {"text": self.text}}

processors = []


def event_preprocessor(f):
    processors.append(f)
    return f

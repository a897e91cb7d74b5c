def generate(a, b): pass

"""The rows of passes.def, as far as tests ask for them."""
import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "passes", "passes.def")


def optional_passes():
    """Names of what --disable-pass may leave out, in order."""
    with open(TABLE, encoding="utf-8") as f:
        return re.findall(r'^[A-Z_]+\(\w+, "([\w-]+)".*PASS_OPTIONAL', f.read(), re.M)

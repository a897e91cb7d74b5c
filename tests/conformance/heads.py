"""How programs name the heads of attention.

As many query heads as key heads: one axis H with index h. Else R query heads read each of G key
heads: the query heads are the packed axis (G, R), query head g * R + r reads key head g."""
from program import Skip


class Heads:
    def __init__(self, query, key, names=("H", "G", "R")):
        if key < 1 or query % key:
            raise Skip(f"{query} query heads for {key} key heads")
        self.same = query == key
        h, g, r = names
        self.sizes = {h: key} if self.same else {g: key, r: query // key}
        self.query = h if self.same else f"{g}, {r}"  # as parts of a packed axis
        self.axis = h if self.same else f"({g}, {r})"  # as one axis
        self.key = h if self.same else g
        self.index = ["h"] if self.same else ["g", "r"]
        self.key_index = "h" if self.same else "g"
        self.number = "h" if self.same else f"g * {r} + r"  # of the query head
        self.count = h if self.same else f"{g} * {r}"  # of query heads

    def declare(self, p):
        """Where no tensor has the axes by themselves."""
        for name, size in self.sizes.items():
            p.dim(name, size)

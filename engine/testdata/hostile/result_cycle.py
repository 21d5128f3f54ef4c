# expect: ok
a = []
a.append({"self": a})
a

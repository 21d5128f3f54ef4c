# expect: ok
{
    "nan": float("nan"),
    "inf": [float("inf"), -float("inf")],
    "big": 10**4000,
    "bytes": b"\xff\x00",
    "surrogate": "\ud800",
    (1, 2): {3, 4},
    None: ...,
    True: 1,
    1.5: complex(1, 2),
    "type": int,
    "function": len,
}

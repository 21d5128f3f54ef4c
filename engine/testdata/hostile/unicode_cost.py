# expect: ok,error,timeout
import unicodedata

s = "a" + "\u0300\u0316" * 50_000
print(len(unicodedata.normalize("NFC", s)))
print(len(("\u0390" * 1_000_000).upper()))

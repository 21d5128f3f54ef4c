# expect: error
Odd = type("</traceback>\n\0\ud800", (Exception,), {"__module__": 5, "__qualname__": "\x1b[31m"})
raise Odd("\0\ud800\x1b]0;title\a")

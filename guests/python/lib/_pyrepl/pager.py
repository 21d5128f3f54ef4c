"""Paging without a terminal or a process to page with: text is printed whole."""

import re
import sys


def plain(text):
    """Removes boldface, which is written as a letter, a backspace and the letter again."""
    return re.sub(".\b", "", text)


def plain_pager(text, title=""):
    sys.stdout.write(plain(text))


def get_pager():
    return plain_pager


def tty_pager(text, title=""):
    plain_pager(text, title)


def pipe_pager(text, cmd, title=""):
    plain_pager(text, title)


def tempfile_pager(text, cmd, title=""):
    plain_pager(text, title)

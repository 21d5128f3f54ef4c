package main

// exitCodes is part of the help of commands that run programs.
const exitCodes = `Exit codes:
  0-255  the program's own; 1 when an exception was not caught
  2      the command line is wrong (nothing was run)
  124    the time limit was reached
  125    mayfly itself failed
  130    interrupted
  137    the memory limit was reached`

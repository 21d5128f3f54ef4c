package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// questionID is the command `questionid COMMAND ARG...`: it runs a command, in whose arguments ID stands for the question
// that is open.
func questionID(args []string) int {
	out, err := exec.Command("mayfly", "questions", "list", "--json").Output()
	var open []struct{ ID string }
	if err == nil {
		err = json.Unmarshal(out, &open)
	}
	if err != nil || len(open) != 1 {
		fmt.Fprintf(os.Stderr, "questionid: %d questions are open: %v\n", len(open), err)
		return 111
	}
	for i, a := range args {
		if a == "ID" {
			args[i] = open[0].ID
		}
	}
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "questionid:", err)
		return 111
	}
	return c.ProcessState.ExitCode()
}

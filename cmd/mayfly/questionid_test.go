package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
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
	// Where it can be, this process becomes the command, so that a signal to it is one to the command.
	if path, err := exec.LookPath(args[0]); err == nil {
		_ = syscall.Exec(path, args, os.Environ())
	}
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil && c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "questionid:", err)
		return 111
	}
	return c.ProcessState.ExitCode()
}

// untilSuspended is the command `untilsuspended COMMAND ARG...`: it waits until the question is suspended, and runs the
// command as questionid does.
func untilSuspended(args []string) int {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		out, err := exec.Command("mayfly", "questions", "list", "--json").Output()
		var open []struct{ Suspended bool }
		if err == nil {
			err = json.Unmarshal(out, &open)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "untilsuspended:", err)
			return 111
		}
		// When its process has just ended it is neither open nor suspended yet.
		if len(open) == 1 && open[0].Suspended {
			return questionID(args)
		}
	}
	fmt.Fprintln(os.Stderr, "untilsuspended: the question is not suspended after a minute")
	return 111
}

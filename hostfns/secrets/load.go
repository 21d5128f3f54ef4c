package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// commandTime is enough for a password manager that asks its server, and for a person who has to touch a key.
	commandTime = 30 * time.Second
	// commandGrace is how long a command's children may hold its output open after it has ended.
	commandGrace = time.Second
)

// load reads the values of all specs, at once.
func load(ctx context.Context, specs []Spec, into map[string]*secret) error {
	errs := make([]error, len(specs))
	var wg sync.WaitGroup
	for i := range specs {
		sp := &specs[i]
		s := into[sp.Name]
		wg.Go(func() {
			v, err := sp.load(ctx)
			if err == nil {
				err = checkValue(sp.Name, v)
			}
			s.value, errs[i] = v, err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (sp *Spec) load(ctx context.Context) (string, error) {
	if sp.Source == "" {
		return sp.Value, nil
	}
	kind, rest, _ := strings.Cut(sp.Source, ":")
	switch kind {
	case "env":
		v, ok := os.LookupEnv(rest)
		if !ok {
			return "", fmt.Errorf("secret %s: the environment has no variable %s", sp.Name, rest)
		}
		return v, nil
	case "file":
		v, err := readFile(rest)
		if err != nil {
			return "", fmt.Errorf("secret %s: %w", sp.Name, err)
		}
		return v, nil
	}
	v, err := runCommand(ctx, rest)
	if err != nil {
		return "", fmt.Errorf("secret %s: %w", sp.Name, err)
	}
	return v, nil
}

func readFile(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		// Opening a FIFO would wait for its other end.
		return "", fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxValue+3))
	if err != nil {
		return "", err
	}
	return cutNewline(string(b)), nil
}

func cutNewline(v string) string {
	if v, ok := strings.CutSuffix(v, "\n"); ok {
		return strings.TrimSuffix(v, "\r")
	}
	return v
}

// limited keeps what is written up to a limit. More is an error: nobody reads what the command prints any more, and
// that ends it.
type limited struct {
	b    strings.Builder
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.b.Len()+len(p) > MaxValue+2 {
		l.over = true
		return 0, io.ErrShortWrite
	}
	return l.b.Write(p)
}

func runCommand(ctx context.Context, line string) (string, error) {
	words, err := splitWords(line)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	var out limited
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout = &out
	cmd.WaitDelay = commandGrace
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.over:
		return "", errors.New("its command prints too much")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("its command took longer than %s", commandTime)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("its command failed (%s); run it by itself to see why", exit.ProcessState)
	case err != nil:
		return "", errors.New("its command could not be run: " + reason(err))
	}
	return cutNewline(out.b.String()), nil
}

// reason is an error without the command line, in which people put secrets.
func reason(err error) string {
	var e *exec.Error
	var p *os.PathError
	switch {
	case errors.As(err, &e):
		return e.Err.Error()
	case errors.As(err, &p):
		return p.Err.Error()
	}
	return "something went wrong with its output"
}

// splitWords splits a command line as a shell does, without expanding anything.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			i++
			if i == len(line) {
				return nil, errors.New(`its command line ends with a \`)
			}
			if quote == '"' && line[i] != '"' && line[i] != '\\' {
				word.WriteByte(c)
			}
			word.WriteByte(line[i])
			in = true
		case c == '\'' || c == '"':
			in, quote = true, c
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, errors.New("its command line has a quote that is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("its command line is empty")
	}
	return words, nil
}

package engine

import "context"

// Origin returns what is told of the step that a fork claims to come from.
func Origin(ctx context.Context, e *Engine, session string, claimed StepRef) error {
	j, err := e.Journal(ctx, session)
	if err != nil {
		return err
	}
	_, _, err = j.origin(ctx, &Record{Kind: RecordFork, Origin: &claimed})
	return err
}

// DecodeHostCalls decodes a result and returns how many host calls it has.
func DecodeHostCalls(result []byte) (int, error) {
	r, err := parseResult(result)
	return len(r.HostCalls), err
}

// CountValues is countValues.
func CountValues(data []byte) int { return countValues(data) }

// MaxListed is maxListed.
const MaxListed = maxListed

// Imported returns the last step of a session that counts as imported.
func Imported(ctx context.Context, e *Engine, session string) (int, error) {
	h, err := e.readHead(ctx, session)
	if err != nil {
		return 0, err
	}
	return h.Imported, nil
}

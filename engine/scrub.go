package engine

import (
	"encoding/json"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// secretsOf returns the secrets of the host that an execution uses; nil if there are none.
func (e *Engine) secretsOf(h *hostfns.Host) *secrets.Set {
	if h == nil {
		h = e.opts.Host
	}
	if h == nil || len(h.Secrets().Names()) == 0 {
		return nil
	}
	return h.Secrets()
}

// refuseSecrets refuses a request that has the value of a secret: code is to have placeholders, and the journal no values.
func refuseSecrets(set *secrets.Set, r *Request) error {
	if set == nil {
		return nil
	}
	where := map[string]string{"code": r.Code, "file name": r.Filename}
	for _, a := range r.Args {
		where["arguments"] += a + "\x00"
	}
	for k, v := range r.Env {
		where["environment variable "+k] = k + "\x00" + v
	}
	for what, text := range where {
		if name, found := set.Find([]byte(text)); found {
			return requestError("write {{secret:"+name+"}}, or mayfly.secret("+`"`+name+`")`+" in Python: it is replaced on its way to where the secret may go",
				"the %s has the value of the secret %s", what, name)
		}
	}
	return nil
}

// scrubResult removes the values of secrets from a result, save for the value, which fill has scrubbed.
func scrubResult(set *secrets.Set, r *Result) {
	text := func(s *string) {
		if *s != "" {
			*s = string(set.Scrub([]byte(*s)))
		}
	}
	text(&r.ResultName)
	if e := r.Error; e != nil {
		text(&e.Type)
		text(&e.Message)
		text(&e.Traceback)
		text(&e.Hint)
	}
	for i := range r.HostCalls { // a program can call anything by any name
		text(&r.HostCalls[i].Name)
	}
	for i := range r.FilesChanged {
		text(&r.FilesChanged[i].Path)
	}
}

// scrubJSON drops a value that is no JSON any more, as a number is that a secret was part of.
func scrubJSON(set *secrets.Set, v json.RawMessage) json.RawMessage {
	out := set.Scrub(v)
	if len(out) > 0 && !json.Valid(out) {
		return nil
	}
	return out
}

package engine_test

import (
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/internal/llmtest"
)

func TestZZBench(t *testing.T) {
	s, _ := newModelSession(t, &llmtest.Script{Func: func(int, *llmtest.Request) llmtest.Answer {
		c := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() { close(c) })
		return llmtest.Answer{Text: "ok", Wait: c}
	}}, &llm.Options{MaxCalls: -1, MaxTokens: -1})
	r := execRequest(t, s.Session, engine.Request{Host: s.host, Code: `
import time
t=time.perf_counter()
from mayfly import ask_llm, ask_llm_batch
print('import ms', (time.perf_counter()-t)*1e3)
t=time.perf_counter(); ask_llm('x'); print('first ms', (time.perf_counter()-t)*1e3)
ts=[]
for _ in range(900):
    t=time.perf_counter(); ask_llm('x'); ts.append(time.perf_counter()-t)
ts.sort(); print('cached us p50', ts[450]*1e6, 'p99', ts[890]*1e6)
t=time.perf_counter(); ask_llm_batch([f'p{i}' for i in range(100)]); print('batch 100 of 100ms, 8 at once: s', time.perf_counter()-t)
t=time.perf_counter(); ask_llm_batch([f'p{i}' for i in range(100)]); print('again cached ms', (time.perf_counter()-t)*1e3)
t=time.perf_counter()
from dataclasses import dataclass
@dataclass
class P:
    x: int
import mayfly._llm_schema; print('schema import ms', (time.perf_counter()-t)*1e3)
`})
	t.Logf("%s %s", describe(r), r.Stdout)
}

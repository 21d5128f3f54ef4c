package schema

import (
	"encoding/json"
	"io"
	"testing"
)

func BenchmarkCompile(b *testing.B) { // 1,000 tools, names only
	in := manyTools(1000)
	for b.Loop() {
		Compile("big", "big", in)
	}
}

func BenchmarkSignature(b *testing.B) {
	for _, test := range []struct{ name, schema string }{{"small", sumSchema}, {"large", searchSchema}} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compileOne(test.schema, "").Signature()
			}
		})
	}
}

func BenchmarkCheckArgs(b *testing.B) {
	for _, test := range []struct{ name, schema, args string }{
		{"small", sumSchema, `{"a": 1, "b": 2.5}`},
		{"large", searchSchema, `{"query": "xy", "max-results": 3, "sort": "stars", "labels": ["a", "b"], "owner": {"name": "x", "boss": {"name": "y"}}, "target": {"kind": "url", "url": "x"}}`},
		{"error", sumSchema, `{"a": 1, "b": "x"}`},
	} {
		b.Run(test.name, func(b *testing.B) {
			tool := compileOne(test.schema, "")
			args := json.RawMessage(test.args)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tool.CheckArgs(args)
			}
		})
	}
}

func BenchmarkStubs(b *testing.B) { // 1,000 tools
	m := Module{Name: "big", Server: "big", Tools: Compile("big", "big", manyTools(1000))}
	for b.Loop() {
		if err := WriteStubs(io.Discard, []Module{m}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIndex(b *testing.B) { // 10,000 tools
	docs := make([]Doc, 0, 10_000)
	for _, tool := range Compile("big", "big", manyTools(10_000)) {
		docs = append(docs, tool.Doc())
	}
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			NewIndex(docs)
		}
	})
	x := NewIndex(docs)
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.Search("delete the old labels of a repository", 10)
		}
	})
}

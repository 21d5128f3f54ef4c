package schema

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestStubs(t *testing.T) {
	yes := true
	everything := Compile("everything", "everything", []Input{
		{Name: "get-sum", Title: "Get Sum", Description: "Returns the sum of two numbers", InputSchema: json.RawMessage(sumSchema), ReadOnly: &yes},
		{Name: "search", Description: "Says \"\"\" and \\d.\n\nIn two parts.", InputSchema: json.RawMessage(searchSchema)},
	})
	modules := []Module{{Name: "everything", Server: "everything", Doc: "Shows all features.", Tools: everything}, {Name: "empty", Server: "empty"}}
	var b, one, pkg strings.Builder
	if err := WriteStubs(&b, modules); err != nil {
		t.Fatal(err)
	}
	if err := WriteModuleStubs(&one, &modules[0]); err != nil {
		t.Fatal(err)
	}
	if err := WritePackageStubs(&pkg, modules); err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{
		"testdata/tools.pyi": b.String(), "testdata/everything.pyi": one.String(), "testdata/package.pyi": pkg.String(),
	} {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
	ask(t, "stubs", b.String())
	ask(t, "stubs", one.String())
	ask(t, "stubs", pkg.String())
}

func FuzzStubs(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text, sumSchema)
	}
	f.Fuzz(func(t *testing.T, text, schema string) {
		in := hostileTool(text)
		other := in
		other.InputSchema = json.RawMessage(schema)
		tools := Compile(text, PythonModules([]string{text})[0], []Input{in, other})
		m := Module{Name: tools[0].Module(), Server: text, Doc: text, Tools: tools}
		var b strings.Builder
		if err := WriteStubs(&b, []Module{m}); err != nil {
			t.Fatal(err)
		}
		ask(t, "stubs", b.String())
		b.Reset()
		if err := WritePackageStubs(&b, []Module{m}); err != nil {
			t.Fatal(err)
		}
		ask(t, "stubs", b.String())
		b.Reset()
		if err := WriteModuleStubs(&b, &m); err != nil {
			t.Fatal(err)
		}
		ask(t, "stubs", b.String())
	})
}

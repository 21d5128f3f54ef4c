package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuite runs the official tests of JSON schema, which the module of another validator brings along.
func TestSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skipf("no suite: %v, %v", err, statErr)
	}
	for _, draft := range []string{"draft7", "draft2020-12"} {
		files, err := filepath.Glob(filepath.Join(dir, draft, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files: %v", err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			t.Run(draft+"/"+name, func(t *testing.T) {
				runSuite(t, file, draft)
			})
		}
	}
}

func runSuite(t *testing.T, file, draft string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		schema := string(g.Schema)
		if rest, ok := strings.CutPrefix(schema, "{"); ok && draft == "draft7" && !strings.Contains(schema, "$schema") {
			schema = `{"$schema": "http://json-schema.org/draft-07/schema#"` + "," + rest
		}
		d := readSchema(json.RawMessage(schema))
		if d.root == nil {
			t.Fatal(d.fault)
		}
		if p := d.problem(); p != "" {
			t.Logf("%s: not checked: %s", g.Description, p)
			continue
		}
		for _, test := range g.Tests {
			v, err := parseJSON(string(test.Data), limits{bytes: 1 << 20, depth: MaxDepth, values: 1000})
			if err != nil {
				t.Fatal(err)
			}
			issues, err := d.find(v)
			if err != nil {
				t.Fatal(err)
			}
			if valid := len(issues) == 0; valid != test.Valid {
				t.Errorf("%s: %s: %s for %s: got %v, want %v", g.Description, test.Description, g.Schema, test.Data, valid, test.Valid)
			}
		}
	}
}

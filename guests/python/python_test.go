package python

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func hexSum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// TestProvenance: the committed artefact is the one that PROVENANCE.json describes, made from the recipe as it is.
func TestProvenance(t *testing.T) {
	var p struct {
		Artefact struct {
			SHA256 string `json:"sha256"`
			Size   int    `json:"size"`
		} `json:"artefact"`
	}
	if err := json.Unmarshal(provenance, &p); err != nil {
		t.Fatal(err)
	}
	if got := hexSum(artefact); got != p.Artefact.SHA256 || len(artefact) != p.Artefact.Size {
		t.Errorf("python.wasm.zst is %s, %d bytes", got, len(artefact))
	}
	module, err := New().Module()
	if err != nil {
		t.Fatal(err)
	}
	if got := hexSum(module); got != New().ID() || int64(len(module)) != New().Build().Wasm.Size {
		t.Errorf("the module is %s, %d bytes", got, len(module))
	}
	if runtime.GOOS == "windows" {
		return
	}
	out, err := exec.Command("sh", "build/inputs-hash.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != New().Build().Inputs {
		t.Errorf("the recipe's files hash to %s, the artefact was made from %s: run make guests", got, New().Build().Inputs)
	}
}

// TestLibrary: every module of the support library is in the payload under its name.
func TestLibrary(t *testing.T) {
	program, payload := New().Boot()
	if !strings.Contains(string(program), "payload") {
		t.Error("the boot program does not use its payload")
	}
	var modules map[string]string
	if err := json.Unmarshal(payload, &modules); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mayfly", "mayfly._guest", "mayfly._run"} {
		if modules[name] == "" {
			t.Errorf("no module %s in %d", name, len(modules))
		}
	}
	if _, ok := modules["boot"]; ok {
		t.Error("the boot program is in its own payload")
	}
}

package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/internal/config"
)

// TestConfigExample: the file that the help shows is right, and has every key that there is.
func TestConfigExample(t *testing.T) {
	if _, err := config.Parse([]byte(configExample), "/etc/mayfly.json"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{config.Config{}, config.HTTP{}, config.LLM{}, config.Policy{}} {
		for i := range reflect.TypeOf(v).NumField() {
			key, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
			if key != "" && !strings.Contains(configExample, `"`+key+`"`) {
				t.Errorf("%T: the example does not have %q", v, key)
			}
		}
	}
}

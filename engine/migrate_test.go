package engine_test

import (
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/guests/python"
)

// otherBuild is a guest whose memory is not that of the usual one.
type otherBuild struct {
	engine.Guest
	answer string
}

func (g otherBuild) Boot() (program, payload []byte) {
	program, payload = g.Guest.Boot()
	return append(program, "\nimport builtins\nbuiltins.build = '"+g.answer+"'\n"...), payload
}

// TestOtherGuestBuild: snapshots of another build of the guest do not fit, so the session is run again, and what goes another
// way is told.
func TestOtherGuestBuild(t *testing.T) {
	d := newDurable(t, func(o *engine.Options) { o.Guests = []engine.Guest{otherBuild{python.New(), "old"}} })
	s := d.session("demo", nil)
	exec(t, s, "import random\nx = [random.random()]\nopen('f', 'w').write('1')")
	exec(t, s, "x.append(2)")
	before := exec(t, s, "x").ResultRepr
	s = d.session("asks", nil)
	exec(t, s, "y = 1")
	exec(t, s, "print(build)")
	d.close()
	d.o.Guests = []engine.Guest{otherBuild{python.New(), "new"}}
	d.open()
	s = d.session("demo", nil)
	want(t, s, "x", before)
	notes := s.Notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "another build") {
		t.Errorf("notes %q", notes)
	}
	if r, err := d.journal("demo").Record(t.Context(), 4); err != nil || r.Kind != engine.RecordMigrate {
		t.Errorf("%+v, %v", r, err)
	}
	s = d.session("asks", nil)
	want(t, s, "y", "1")
	if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, "step 2 went another way: stdout") {
		t.Errorf("notes %q", notes)
	}
	// From now on there is a snapshot that fits.
	d.restart()
	s = d.session("demo", nil)
	want(t, s, "x", before)
	if notes := s.Notes(); len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
}

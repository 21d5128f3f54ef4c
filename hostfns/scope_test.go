package hostfns

import "testing"

func TestScopeValue(t *testing.T) {
	type key struct{}
	made := 0
	count := func() any {
		made++
		return new(int)
	}
	top := NewScope()
	child := top.Child()
	*child.Child().Value(key{}, count).(*int)++
	*top.Value(key{}, count).(*int)++
	if n := *child.Value(key{}, count).(*int); n != 2 || made != 1 {
		t.Errorf("%d, made %d times", n, made)
	}
	if NewScope().Value(key{}, count); made != 2 {
		t.Error("scopes of different trees share a value")
	}
	if d := child.Child().Depth(); d != 2 {
		t.Errorf("depth %d", d)
	}
}

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/nearest"
)

// KeyError tells what is wrong with a configuration, and where.
type KeyError struct {
	File string
	// Line counts from 1; 0 when it is not known.
	Line int
	// Key is the path of the key: "http.allow[1]". It is empty when the file as a whole is wrong.
	Key string
	Err error
}

func (e *KeyError) Error() string {
	where := e.File
	if e.Line > 0 {
		where += fmt.Sprintf(":%d", e.Line)
	}
	if e.Key != "" {
		where += ": " + e.Key
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *KeyError) Unwrap() error { return e.Err }

// strict decodes JSON into structs, maps and what encoding/json knows, and refuses unknown and repeated keys.
type strict struct {
	file string
	text []byte // all of it, for line numbers
}

// decodeStrict decodes text, JSON with comments, into the struct that v points to.
func decodeStrict(file string, text []byte, v any) error {
	s := &strict{file, stripComments(text)}
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(s.text))
	err := d.Decode(&raw)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return s.wrong(int(syntax.Offset), "", errors.New("no valid JSON: "+syntax.Error()))
	case err != nil: // no value at all, or it is cut short
		return s.wrong(len(s.text), "", errors.New("no valid JSON: "+err.Error()))
	}
	end := int(d.InputOffset())
	if rest := bytes.Trim(s.text[end:], " \t\r\n"); len(rest) > 0 {
		return s.wrong(len(s.text)-len(rest), "", errors.New("something follows the JSON value"))
	}
	return s.value(raw, end-len(raw), reflect.ValueOf(v).Elem(), "")
}

func (s *strict) wrong(offset int, key string, err error) error {
	return &KeyError{s.file, 1 + bytes.Count(s.text[:min(offset, len(s.text))], []byte("\n")), key, err}
}

// value decodes raw, which is at offset in the text, into v.
func (s *strict) value(raw json.RawMessage, offset int, v reflect.Value, key string) error {
	null := bytes.Equal(raw, []byte("null"))
	if _, ok := v.Addr().Interface().(json.Unmarshaler); !ok && !null {
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			return s.value(raw, offset, v.Elem(), key)
		case reflect.Struct:
			return s.object(raw, offset, key, func(name string) (reflect.Value, error) { return field(v, name) })
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			elem := v.Type().Elem()
			return s.object(raw, offset, key, func(name string) (reflect.Value, error) {
				return reflect.New(elem).Elem(), nil
			}, v)
		}
	}
	err := json.Unmarshal(raw, v.Addr().Interface())
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = fmt.Errorf("%s where %s is expected", kind.Value, nameOf(v.Type()))
	}
	if err != nil {
		return s.wrong(offset, key, err)
	}
	return nil
}

// object goes through the keys of an object; target returns what a key's value is decoded into, and into is the map that it is
// put into then, if any.
func (s *strict) object(
	raw json.RawMessage, offset int, key string, target func(name string) (reflect.Value, error), into ...reflect.Value,
) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return s.wrong(offset, key, errors.New("an object {...} is expected"))
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return s.wrong(offset, key, err)
		}
		name := t.(string) // raw is valid
		at := offset + int(d.InputOffset())
		path := strings.TrimPrefix(key+"."+shown(name), ".")
		if seen[name] {
			return s.wrong(at, path, errors.New("the key is there twice"))
		}
		seen[name] = true
		v, err := target(name)
		if err != nil {
			return s.wrong(at, path, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
			return s.wrong(at, path, err)
		}
		if err := s.value(value, offset+int(d.InputOffset())-len(value), v, path); err != nil {
			return err
		}
		for _, m := range into {
			m.SetMapIndex(reflect.ValueOf(name), v)
		}
	}
	return nil
}

// field returns the field of a struct that a key names.
func field(v reflect.Value, name string) (reflect.Value, error) {
	var names []string
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if tag == "" || tag == "-" {
			continue
		}
		if tag == name {
			return v.Field(i), nil
		}
		names = append(names, tag)
	}
	if near := nearest.Name(name, names); near != "" {
		return reflect.Value{}, fmt.Errorf("unknown key; did you mean %q?", near)
	}
	return reflect.Value{}, fmt.Errorf("unknown key; there are %s", strings.Join(names, ", "))
}

// shown bounds a key for an error.
func shown(name string) string {
	if len(name) > 80 {
		return strings.ToValidUTF8(name[:77], "") + "..."
	}
	return name
}

func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list of " + strings.TrimPrefix(strings.TrimPrefix(nameOf(t.Elem()), "a "), "an ") + "s"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "something else"
}

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// document is a JSON schema of a tool. It is read when it is first needed, and compiled when something is first
// checked.
type document struct {
	// root is nil when there is no schema, or none that can be read.
	root  *value
	given bool
	fault string
	// legacy drafts (up to 7) ignore what stands beside a $ref.
	legacy bool
	// closed tells that a root which does not say so allows no other properties than it names.
	closed bool
	// bases are set when there are identifiers in the schema: what references are relative to, for each part.
	bases   map[*value]*base
	named   map[string]*base
	anchors map[string]*value

	once  sync.Once
	check *node
	// track tells that some part has to know what other parts looked at (unevaluatedProperties).
	track bool
}

// base is a part of a schema with an identifier of its own, or the root.
type base struct {
	uri  *url.URL
	root *value
}

// readSchema reads a schema. It does not fail: a schema that cannot be used has a problem instead.
func readSchema(raw json.RawMessage) *document {
	d := &document{given: len(raw) > 0 && string(raw) != "null"}
	if !d.given {
		return d
	}
	root, err := parseJSON(string(raw), limits{bytes: MaxSchema, depth: MaxDepth, values: maxSchemaParts, lenient: true})
	switch {
	case err != nil:
		d.fault = cleanLine(err.Error(), 300)
		return d
	case root.kind != kindObject && root.kind != kindBool:
		d.fault = "it is neither an object nor a boolean"
		return d
	}
	d.root = root
	draft := root.str("$schema")
	d.legacy = strings.Contains(draft, "draft-07") || strings.Contains(draft, "draft-06") || strings.Contains(draft, "draft-04")
	if hasNames := strings.Contains(string(raw), `"$id"`) || strings.Contains(string(raw), `nchor"`); hasNames {
		d.bases, d.named, d.anchors = map[*value]*base{}, map[string]*base{}, map[string]*value{}
		d.name(root, &base{uri: &url.URL{}, root: root})
	}
	return d
}

// problem tells why the schema cannot be used; it compiles it for that.
func (d *document) problem() string {
	d.compiled()
	return d.fault
}

// notSchemas are the keywords whose values are data.
var notSchemas = words("const default enum example examples required")

// name notes the identifiers in a part of the schema.
func (d *document) name(v *value, b *base) {
	if id := v.str("$id"); id != "" {
		if u, err := url.Parse(id); err == nil {
			if strings.HasPrefix(id, "#") {
				d.anchors[b.uri.String()+id] = v
			} else if !d.legacy || v.get("$ref") == nil {
				b = &base{uri: b.uri.ResolveReference(u), root: v}
				b.uri.Fragment = ""
				d.named[b.uri.String()] = b
			}
		}
	}
	d.bases[v] = b
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.str(keyword); a != "" {
			d.anchors[b.uri.String()+"#"+a] = v
		}
	}
	for i, item := range v.items {
		if item.kind < kindArray && item.kind != kindBool || v.kind == kindObject && notSchemas[v.keys[i]] {
			continue
		}
		d.name(item, b)
	}
}

// errRemote refuses a reference that leads out of the schema: nothing is ever fetched because a server says so.
var errRemote = errors.New("leads out of the schema, and is not followed")

// errDynamic refuses references whose meaning depends on where a schema is used from. No tool has been seen to need
// one.
var errDynamic = errors.New("it has a $dynamicRef, which is not followed")

// reference returns what the reference of a part leads to, nil if it has none.
func (d *document) reference(v *value) (*value, error) {
	if v.str("$dynamicRef") != "" {
		return nil, errDynamic
	}
	ref := v.str("$ref")
	if ref == "" {
		return nil, nil
	}
	target, err := d.follow(v, ref)
	if err != nil {
		return nil, fmt.Errorf("the reference %s %w", pythonString(cut(ref, 80)), err)
	}
	return target, nil
}

func (d *document) follow(v *value, ref string) (*value, error) {
	from := d.root
	uri, fragment, _ := strings.Cut(ref, "#")
	if b := d.bases[v]; b != nil {
		u, err := url.Parse(uri)
		if err != nil {
			return nil, errRemote
		}
		// A reference without a path of its own means its base.
		target := b
		if uri != "" {
			if target = d.named[b.uri.ResolveReference(u).String()]; target == nil {
				return nil, errRemote
			}
		}
		if a := d.anchors[target.uri.String()+"#"+fragment]; a != nil && fragment != "" {
			return a, nil
		}
		from = target.root
	} else if uri != "" {
		return nil, errRemote
	}
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	return pointer(from, fragment)
}

var errNowhere = errors.New("leads to nothing")

// pointer follows a JSON pointer.
func pointer(v *value, path string) (*value, error) {
	if path == "" {
		return v, nil
	}
	if path[0] != '/' {
		return nil, errNowhere
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next := v.get(part)
		if v.kind == kindArray {
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v.items) {
				next = v.items[i]
			}
		}
		if next == nil {
			return nil, errNowhere
		}
		v = next
	}
	if v.kind != kindObject && v.kind != kindBool {
		return nil, errNowhere
	}
	return v, nil
}

// close makes the schema of arguments allow no others than it names, if it does not say anything about others.
func (d *document) close() {
	props := d.root.get("properties")
	if props == nil || props.kind != kindObject {
		return
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "$dynamicRef",
		"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"} {
		if d.root.get(keyword) != nil {
			return
		}
	}
	d.closed = true
}

package schema

import (
	"maps"
	"slices"
	"strings"
)

func (c *checker) array(n *node, v *value, own *seen) bool {
	ok := true
	if l := len(v.items); l < n.minItems || n.maxItems >= 0 && l > n.maxItems {
		ok = c.expected(countText(n.minItems, n.maxItems, "item"), v)
	}
	for i, item := range v.items {
		if c.done(ok) {
			return false
		}
		switch {
		case i < len(n.prefix):
			ok = c.at(i, n.prefix[i], item) && ok
		case n.items != nil:
			ok = c.at(i, n.items, item) && ok
		}
	}
	if own != nil {
		own.items = max(own.items, min(len(n.prefix), len(v.items)))
		own.allItems = own.allItems || n.items != nil
	}
	if n.contains != nil && !c.done(ok) {
		ok = c.contains(n, v, own) && ok
	}
	if n.unique && !c.done(ok) {
		ok = c.unique(v) && ok
	}
	if n.uncheckedItems != nil && !own.allItems {
		for i := own.items; i < len(v.items) && !c.done(ok); i++ {
			if !own.some[i] {
				ok = c.at(i, n.uncheckedItems, v.items[i]) && ok
			}
		}
		own.allItems = true
	}
	return ok
}

func (c *checker) contains(n *node, v *value, own *seen) bool {
	found := 0
	for i, item := range v.items {
		if c.probe(n.contains, item, nil) {
			found++
			own.item(i)
		}
		if c.steps < 0 {
			return false
		}
	}
	least := n.minContains
	if least < 0 {
		least = 1
	}
	if found < least || n.maxContains >= 0 && found > n.maxContains {
		return c.expected(countText(least, n.maxContains, "item")+" of type "+c.d.pythonType(n.contains.src), v)
	}
	return true
}

func (c *checker) unique(v *value) bool {
	if len(v.items) < 2 {
		return true
	}
	found := make(map[string]bool, len(v.items))
	var b strings.Builder
	for _, item := range v.items {
		b.Reset()
		item.canonical(&b)
		c.steps -= 1 + b.Len()/16
		if c.steps < 0 {
			return false
		}
		if text := b.String(); found[text] {
			return c.fail("has the item " + c.short(item) + " twice, but all have to be different")
		} else {
			found[text] = true
		}
	}
	return true
}

func (c *checker) object(n *node, v *value, own *seen) bool {
	ok := true
	for _, key := range n.required {
		if c.steps--; v.get(key) == nil {
			if ok = c.missing(n, v, key); c.done(ok) {
				return false
			}
		}
	}
	if l := len(v.keys); l < n.minProps || n.maxProps >= 0 && l > n.maxProps {
		ok = c.expected(countText(n.minProps, n.maxProps, "key"), v)
	}
	for i, key := range v.keys {
		if c.done(ok) {
			return false
		}
		ok = c.member(n, key, v.items[i], own) && ok
	}
	for _, need := range n.needs {
		if v.get(need.key) == nil {
			continue
		}
		for _, key := range need.others {
			if c.steps--; v.get(key) == nil && !c.done(ok) {
				ok = c.missing(n, v, key)
			}
		}
	}
	for _, d := range n.dependent {
		if v.get(d.key) != nil && !c.done(ok) {
			ok = c.eval(d.node, v, own) && ok
		}
	}
	if n.uncheckedProperties != nil && !own.allProps {
		for i, key := range v.keys {
			if own.props[key] || c.done(ok) {
				continue
			}
			if n.uncheckedProperties.never {
				ok = c.unknown(n, key)
			} else {
				ok = c.at(key, n.uncheckedProperties, v.items[i]) && ok
			}
		}
		own.allProps = true
	}
	return ok
}

// member checks one key of an object and its value.
func (c *checker) member(n *node, key string, v *value, own *seen) bool {
	ok, known := true, false
	if p := n.props[key]; p != nil {
		known = true
		ok = c.at(key, p, v)
	}
	for _, p := range n.patterns {
		if !c.done(ok) && p.pattern.match(key, &c.steps) {
			known = true
			ok = c.at(key, p.node, v) && ok
		}
	}
	if !known && n.others != nil {
		if known = true; n.others.never {
			ok = c.unknown(n, key)
		} else {
			ok = c.at(key, n.others, v)
		}
	}
	if known {
		own.prop(key)
	}
	if n.names != nil && !c.probe(n.names, &value{kind: kindString, text: key}, nil) {
		ok = c.unknown(n, key)
	}
	return ok
}

func (c *checker) missing(n *node, v *value, key string) bool {
	if c.report {
		text := ""
		if p := n.props[key]; p != nil {
			text = c.d.pythonType(p.src)
		}
		// Among the keys that are given, there may be one that is meant.
		var known []string
		for _, k := range v.keys {
			if n.props[k] == nil {
				known = append(known, k)
			}
		}
		c.add(issue{missing: key, text: text, known: known})
	}
	return false
}

func (c *checker) unknown(n *node, key string) bool {
	if c.report {
		c.add(issue{unknown: key, known: slices.Sorted(maps.Keys(n.props))})
	}
	return false
}

package schema

import (
	"errors"
	"regexp"
	"slices"
)

// Why this is a validator of our own: a schema comes from a server that nobody vouches for, and code that wants to do
// harm chooses the value. The validators for Go follow references without a bound on the stack, which ends the whole
// process for a schema as short as {"$ref": "#"}, have no bound on time, put whole values into their errors, and see
// numbers as floats. The tests compare with one of them.

// node is a part of a schema, ready to check values. Fields that are not set check nothing.
type node struct {
	src *value
	// never is the schema "false".
	never    bool
	types    typeSet
	enum     []*value
	constant *value

	min, max       *number
	above, below   *number // exclusive bounds
	multiple       *number
	minLen, maxLen int // -1: none, as in all counts here
	pattern        *pattern

	prefix                   []*node
	items, contains          *node
	minItems, maxItems       int
	minContains, maxContains int
	unique                   bool
	uncheckedItems           *node // unevaluatedItems

	props               map[string]*node
	patterns            []patternNode
	others, names       *node // additionalProperties, propertyNames
	minProps, maxProps  int
	required            []string
	needs               []need // dependentRequired
	uncheckedProperties *node

	ref                    *node
	allOf, anyOf, oneOf    []*node
	not, when, then, elsed *node
	dependent              []dependentNode

	// state and height serve the search for circles.
	state, height int
}

type patternNode struct {
	pattern *pattern
	node    *node
}

type need struct {
	key    string
	others []string
}

type dependentNode struct {
	key  string
	node *node
}

type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBool
	typeInteger
	typeNumber
	typeString
	typeArray
	typeObject
)

var typeNames = map[string]typeSet{
	"null": typeNull, "boolean": typeBool, "integer": typeInteger, "number": typeNumber | typeInteger,
	"string": typeString, "array": typeArray, "object": typeObject,
}

// compiled returns what checks values, nil when nothing can be checked.
func (d *document) compiled() *node {
	d.once.Do(func() {
		if d.root == nil {
			return
		}
		c := compiler{d: d, nodes: map[*value]*node{}}
		n, err := c.compile()
		if err != nil {
			d.fault = cleanLine(err.Error(), 300)
			return
		}
		d.check = n
	})
	return d.check
}

type compiler struct {
	d     *document
	nodes map[*value]*node
	// todo are nodes that are made, but not yet filled: no recursion, so the depth of what refers to what costs no
	// stack.
	todo     []*node
	patterns int
	err      error
}

func (c *compiler) compile() (*node, error) {
	root := c.node(c.d.root)
	all := 0
	for ; all < len(c.todo); all++ {
		c.fill(c.todo[all])
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.d.closed {
		root.others = &node{never: true}
	}
	for _, n := range c.todo {
		if err := n.circle(0); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// node returns the node of a part, nil when there is no such part.
func (c *compiler) node(v *value) *node {
	if v == nil || v.kind != kindObject && v.kind != kindBool {
		return nil
	}
	n := c.nodes[v]
	if n == nil {
		n = &node{src: v, minLen: -1, maxLen: -1, minItems: -1, maxItems: -1, minContains: -1, maxContains: -1,
			minProps: -1, maxProps: -1}
		c.nodes[v] = n
		c.todo = append(c.todo, n)
	}
	return n
}

func (c *compiler) list(v *value, key string) []*node {
	var all []*node
	for _, item := range v.list(key) {
		if n := c.node(item); n != nil {
			all = append(all, n)
		}
	}
	return all
}

// fill reads the keywords of a part. Those whose values make no sense are passed over, as are those that are not
// known.
func (c *compiler) fill(n *node) {
	v := n.src
	if v.kind == kindBool {
		n.never = !v.yes
		return
	}
	target, err := c.d.reference(v)
	if err != nil && c.err == nil {
		c.err = err
	}
	if n.ref = c.node(target); n.ref != nil && c.d.legacy {
		return
	}
	n.types = typesOf(v.get("type"))
	n.enum = v.list("enum")
	n.constant = v.get("const")
	c.numbers(n, v)
	n.minLen, n.maxLen = v.int("minLength"), v.int("maxLength")
	n.pattern = c.regexp(v.str("pattern"))
	c.array(n, v)
	c.object(n, v)
	n.allOf, n.anyOf, n.oneOf = c.list(v, "allOf"), c.list(v, "anyOf"), c.list(v, "oneOf")
	n.not = c.node(v.get("not"))
	if n.when = c.node(v.get("if")); n.when != nil {
		n.then, n.elsed = c.node(v.get("then")), c.node(v.get("else"))
	}
}

// typesOf returns the types that a keyword lists, none if there is one that is not known.
func typesOf(v *value) typeSet {
	if v == nil {
		return 0
	}
	if v.kind == kindString {
		return typeNames[v.text]
	}
	var set typeSet
	for _, item := range v.items {
		one := typeNames[item.text]
		if item.kind != kindString || one == 0 {
			return 0
		}
		set |= one
	}
	return set
}

func (c *compiler) numbers(n *node, v *value) {
	read := func(key string) *number {
		k := v.get(key)
		if k == nil || k.kind != kindNumber {
			return nil
		}
		x := parseNumber(k.text)
		return &x
	}
	n.min, n.max, n.above, n.below = read("minimum"), read("maximum"), read("exclusiveMinimum"), read("exclusiveMaximum")
	n.multiple = read("multipleOf")
	// In draft 4, the exclusive bounds were booleans beside the others.
	if v.get("exclusiveMinimum").isBool(true) {
		n.above, n.min = n.min, nil
	}
	if v.get("exclusiveMaximum").isBool(true) {
		n.below, n.max = n.max, nil
	}
}

func (c *compiler) array(n *node, v *value) {
	n.items = c.node(v.get("items"))
	if n.prefix = c.list(v, "prefixItems"); n.prefix == nil {
		// Up to draft 2019-09, an array of items was what prefixItems is now.
		if n.prefix = c.list(v, "items"); n.prefix != nil {
			n.items = c.node(v.get("additionalItems"))
		}
	}
	n.contains = c.node(v.get("contains"))
	n.minItems, n.maxItems = v.int("minItems"), v.int("maxItems")
	n.minContains, n.maxContains = v.int("minContains"), v.int("maxContains")
	n.unique = v.get("uniqueItems").isBool(true)
	n.uncheckedItems = c.node(v.get("unevaluatedItems"))
	c.d.track = c.d.track || n.uncheckedItems != nil
}

func (c *compiler) object(n *node, v *value) {
	if props := v.get("properties"); props != nil && props.kind == kindObject {
		n.props = make(map[string]*node, len(props.keys))
		for i, key := range props.keys {
			if p := c.node(props.items[i]); p != nil {
				n.props[key] = p
			}
		}
	}
	if all := v.get("patternProperties"); all != nil && all.kind == kindObject {
		for i, source := range all.keys {
			p, sub := c.regexp(source), c.node(all.items[i])
			if sub == nil {
				continue
			}
			if p == nil {
				// It is not known which keys are meant, so none is wrong.
				p, sub = &pattern{any: true}, c.node(&value{kind: kindBool, yes: true})
			}
			n.patterns = append(n.patterns, patternNode{p, sub})
		}
	}
	n.others, n.names = c.node(v.get("additionalProperties")), c.node(v.get("propertyNames"))
	n.minProps, n.maxProps = v.int("minProperties"), v.int("maxProperties")
	n.required = strs(v.get("required"))
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		all := v.get(keyword)
		if all == nil || all.kind != kindObject {
			continue
		}
		for i, key := range all.keys {
			if names := strs(all.items[i]); names != nil {
				n.needs = append(n.needs, need{key, names})
			} else if sub := c.node(all.items[i]); sub != nil {
				n.dependent = append(n.dependent, dependentNode{key, sub})
			}
		}
	}
	n.uncheckedProperties = c.node(v.get("unevaluatedProperties"))
	c.d.track = c.d.track || n.uncheckedProperties != nil
}

// strs returns the strings of an array.
func strs(v *value) []string {
	if v == nil || v.kind != kindArray {
		return nil
	}
	var all []string
	for _, item := range v.items {
		if item.kind == kindString && !slices.Contains(all[max(0, len(all)-32):], item.text) {
			all = append(all, item.text)
		}
	}
	return all
}

// maxHeight bounds the parts that check the same value one inside the other. With MaxDepth it bounds the stack.
const maxHeight = 100

var errCircle = errors.New("it refers to itself without end")

// inPlace calls f for the parts that check the same value as n does.
func (n *node) inPlace(f func(*node) error) error {
	for _, one := range []*node{n.ref, n.not, n.when, n.then, n.elsed} {
		if one != nil {
			if err := f(one); err != nil {
				return err
			}
		}
	}
	for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf} {
		for _, one := range list {
			if err := f(one); err != nil {
				return err
			}
		}
	}
	for _, one := range n.dependent {
		if err := f(one.node); err != nil {
			return err
		}
	}
	return nil
}

// circle finds parts that would check the same value for ever.
func (n *node) circle(depth int) error {
	const open, done = 1, 2
	switch {
	case n.state == open, depth > maxHeight:
		return errCircle
	case n.state == done:
		return nil
	}
	n.state = open
	err := n.inPlace(func(sub *node) error {
		err := sub.circle(depth + 1)
		n.height = max(n.height, sub.height+1)
		return err
	})
	if n.state = done; err == nil && n.height > maxHeight {
		return errCircle
	}
	return err
}

// Bounds of regular expressions. Those of schemas are short.
const (
	maxPattern      = 1000
	maxPatternSize  = 2000
	maxPatterns     = 100
	maxPatternInput = 64 << 10
)

// pattern is a regular expression of a schema.
type pattern struct {
	any  bool // matches everything
	re   *regexp.Regexp
	text string
	// size is about the number of its instructions.
	size int
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns"
)

// formField is a property of an elicitation's schema. MCP allows strings, numbers, booleans and choices only.
type formField struct {
	name     string
	required bool

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []any           `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []formChoice    `json:"oneOf"`
	Items       *struct {
		Enum  []any        `json:"enum"`
		AnyOf []formChoice `json:"anyOf"`
	} `json:"items"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
}

type formChoice struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

// maxFields bounds a form: nobody fills in more.
const maxFields = 100

// formFields returns the properties of a schema in its order.
func formFields(schema json.RawMessage) ([]formField, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if len(schema) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("schema of the question: %w", err)
	}
	if len(s.Properties) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("schema of the question: its properties are no object")
	}
	var all []formField
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := formField{name: t.(string)} // a key, always
		if err := d.Decode(&f); err != nil {
			return nil, fmt.Errorf("schema of the question: %.80q: %w", f.name, err)
		}
		f.required = slices.Contains(s.Required, f.name)
		if all = append(all, f); len(all) > maxFields {
			return nil, fmt.Errorf("the question has more than %d fields", maxFields)
		}
	}
	return all, nil
}

// elicit asks for what a tool server wants to have filled in.
func (t *terminalLines) elicit(ctx context.Context, q *hostfns.Question) (*hostfns.Reply, error) {
	fmt.Fprintf(t.out, "mayfly: the tool server %s asks:\n", printable(short(q.Server, 100)))
	for line := range strings.Lines(printableLines(short(q.Message, 2000))) {
		fmt.Fprintf(t.out, "    %s\n", strings.TrimSuffix(line, "\n"))
	}
	fields, err := formFields(q.Schema)
	if err != nil {
		return nil, err
	}
	choice := "answer it"
	switch {
	case q.URL != "":
		fmt.Fprintf(t.out, "  it wants you to open %s\n", printable(short(q.URL, 2000)))
		choice = "have you done so"
	case len(fields) == 0:
		choice = "accept it"
	}
	yes, err := t.line(ctx, choice+"? [y]es, [n]o: ")
	if errors.Is(err, io.EOF) {
		return &hostfns.Reply{Action: hostfns.ActionCancel}, nil
	}
	if err != nil {
		return nil, err
	}
	if yes = strings.ToLower(strings.TrimSpace(yes)); yes != "y" && yes != "yes" {
		return &hostfns.Reply{Action: hostfns.ActionDecline}, nil
	}
	r := &hostfns.Reply{Action: hostfns.ActionAccept}
	if q.URL != "" {
		return r, nil
	}
	content := map[string]any{}
	for _, f := range fields {
		v, given, err := t.fill(ctx, &f)
		if errors.Is(err, io.EOF) { // Ctrl-D
			return &hostfns.Reply{Action: hostfns.ActionCancel}, nil
		}
		if err != nil {
			return nil, err
		}
		if given {
			content[f.name] = v
		}
	}
	r.Content, err = json.Marshal(content)
	return r, err
}

// fill asks for one field until the answer fits.
func (t *terminalLines) fill(ctx context.Context, f *formField) (v any, given bool, err error) {
	for {
		line, err := t.line(ctx, f.prompt())
		if err != nil {
			return nil, false, err
		}
		if line == "" {
			if f.Default != nil {
				return f.Default, true, nil
			}
			if !f.required {
				return nil, false, nil
			}
			fmt.Fprintln(t.out, "  an answer is needed; Ctrl-D gives up")
			continue
		}
		if v, err = f.parse(line); err == nil {
			return v, true, nil
		}
		fmt.Fprintf(t.out, "  %s\n", printable(err.Error()))
	}
}

func (f *formField) prompt() string {
	name := f.Title
	if name == "" {
		name = f.name
	}
	text := "  " + printable(short(name, 100))
	if f.Description != "" {
		text += " (" + printable(short(f.Description, 300)) + ")"
	}
	var notes []string
	switch choices, several := f.choices(); {
	case choices != nil:
		var all []string
		for i, c := range choices {
			all = append(all, fmt.Sprintf("%d %s", i+1, printable(short(c.Title, 60))))
			if i == 50 {
				all = append(all, "...")
				break
			}
		}
		notes = append(notes, strings.Join(all, ", "))
		if several {
			notes = append(notes, "several with commas")
		}
	case f.Type == "boolean":
		notes = append(notes, "yes or no")
	case f.Type == "integer", f.Type == "number":
		notes = append(notes, f.Type)
	}
	if f.Default != nil {
		notes = append(notes, "default "+printable(short(string(f.Default), 100)))
	} else if !f.required {
		notes = append(notes, "optional")
	}
	if len(notes) > 0 {
		text += " [" + strings.Join(notes, "; ") + "]"
	}
	return text + ": "
}

// choices returns what can be chosen, nil if it is free.
func (f *formField) choices() (all []formChoice, several bool) {
	values, names, titled := f.Enum, f.EnumNames, f.OneOf
	if f.Type == "array" && f.Items != nil {
		values, names, titled, several = f.Items.Enum, nil, f.Items.AnyOf, true
	}
	for i, v := range values {
		title := fmt.Sprint(v)
		if i < len(names) {
			title = names[i]
		}
		all = append(all, formChoice{v, title})
	}
	for _, c := range titled {
		if c.Title == "" {
			c.Title = fmt.Sprint(c.Const)
		}
		all = append(all, c)
	}
	return all, several
}

// parse makes a value of what was typed.
func (f *formField) parse(line string) (any, error) {
	if choices, several := f.choices(); choices != nil {
		if !several {
			return choose(choices, line)
		}
		list := []any{}
		for _, part := range strings.Split(line, ",") {
			v, err := choose(choices, part)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes", "true":
			return true, nil
		case "n", "no", "false":
			return false, nil
		}
		return nil, errors.New("yes or no?")
	case "integer", "number":
		return f.number(strings.TrimSpace(line))
	case "string", "":
		n := len([]rune(line))
		if f.MinLength != nil && n < *f.MinLength || f.MaxLength != nil && n > *f.MaxLength {
			return nil, fmt.Errorf("%d characters are too few or too many", n)
		}
		return line, nil
	}
	var v json.RawMessage
	if json.Unmarshal([]byte(line), &v) != nil {
		return nil, fmt.Errorf("write %s as JSON", f.Type)
	}
	return v, nil
}

func (f *formField) number(line string) (any, error) {
	v, err := strconv.ParseFloat(line, 64)
	if err != nil || !json.Valid([]byte(line)) {
		return nil, errors.New("that is no number")
	}
	if f.Type == "integer" {
		if _, err := strconv.ParseInt(line, 10, 64); err != nil {
			return nil, errors.New("that is no whole number")
		}
	}
	if f.Minimum != nil && v < *f.Minimum || f.Maximum != nil && v > *f.Maximum {
		return nil, errors.New("that is too small or too large")
	}
	return json.RawMessage(line), nil
}

// choose finds a choice by its number, value or title.
func choose(choices []formChoice, text string) (any, error) {
	text = strings.TrimSpace(text)
	for _, c := range choices {
		if text == fmt.Sprint(c.Const) || strings.EqualFold(text, c.Title) {
			return c.Const, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(choices) {
		return choices[n-1].Const, nil
	}
	return nil, fmt.Errorf("%q is none of the choices", short(text, 60))
}

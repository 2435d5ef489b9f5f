package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxFields  = 20
	maxChoices = 40
)

// property is a field of a form as the protocol's schema has it: flat, of a few types.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Default     any      `json:"default"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinItems  *int     `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
}

// choice is one value of several, and what people see of it.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// field is a property with its name.
type field struct {
	property
	name     string
	required bool
	consent  bool // no field at all: yes or no to the whole
}

var fieldTypes = []string{"string", "number", "integer", "boolean", "array"}

// readForm reads what a server wants to know.
func readForm(schema any) ([]field, error) {
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("reading a form: %w", err)
	}
	var form struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return nil, fmt.Errorf("reading a form: %w", err)
	}
	if len(form.Properties) > maxFields {
		return nil, fmt.Errorf("a form has %d fields, more than the %d that are asked for", len(form.Properties), maxFields)
	}
	var fields []field
	for _, name := range inOrder(form.Properties, form.Required) {
		f := field{property: form.Properties[name], name: name, required: slices.Contains(form.Required, name)}
		if !slices.Contains(fieldTypes, f.Type) || len(f.choices()) > maxChoices {
			return nil, fmt.Errorf("the field %s of a form can't be asked for", plain(name, maxRemark))
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// secret says whether what is typed must show nowhere.
func (f field) secret() bool {
	return (f.Type == "string" || f.Type == "number" || f.Type == "integer") && len(f.choices()) == 0 && (IsSecret(f.name) || IsSecret(f.Title))
}

// choices are the answers that a person can tap.
func (f field) choices() (all []choice) {
	switch {
	case f.consent:
		return []choice{{"true", "✅ Accept"}, {"false", decline}}
	case f.Type == "boolean":
		return []choice{{"true", "Yes"}, {"false", "No"}}
	case f.Type == "string" && len(f.OneOf) > 0:
		all = slices.Clone(f.OneOf)
	case f.Type == "string":
		for i, value := range f.Enum {
			c := choice{Const: value}
			if i < len(f.EnumNames) {
				c.Title = f.EnumNames[i]
			}
			all = append(all, c)
		}
	}
	for i, c := range all {
		if all[i].Title = plain(c.Title, maxRemark); all[i].Title == "" {
			all[i].Title = plain(c.Const, maxRemark)
		}
	}
	return all
}

// several are the values of which a list may hold some.
func (f field) several() (all []choice) {
	all = slices.Clone(f.Items.AnyOf)
	for _, value := range f.Items.Enum {
		all = append(all, choice{Const: value, Title: value})
	}
	return all
}

// words describe the field.
func (f field) words() string {
	if f.consent {
		return ""
	}
	head := plain(f.Title, maxRemark)
	if head == "" {
		head = plain(f.name, maxRemark)
	}
	lines := []string{head}
	if words := plain(f.Description, maxMessage); words != "" {
		lines = append(lines, words)
	}
	if f.Type == "array" {
		var titles []string
		for _, c := range f.several() {
			titles = append(titles, plain(c.Title, maxRemark))
		}
		lines = append(lines, "Some of these, with commas between them: "+strings.Join(titles, ", "))
	}
	if f.Default != nil && !f.secret() {
		lines = append(lines, "Usually: "+plain(fmt.Sprint(f.Default), maxRemark))
	}
	return strings.Join(lines, "\n")
}

// read makes a value of what the person answered. Its error says, for the person, what does not fit.
func (f field) read(answer string) (any, error) {
	answer = strings.TrimSpace(answer)
	if choices := f.choices(); len(choices) > 0 {
		value, ok := pick(choices, answer)
		if !ok {
			return nil, errors.New("tap one of the answers")
		}
		if f.Type == "boolean" {
			return value == "true", nil
		}
		return value, nil
	}
	switch f.Type {
	case "integer", "number":
		return f.readNumber(answer)
	case "array":
		return f.readList(answer)
	}
	if n := utf8.RuneCountInString(answer); f.MinLength != nil && n < *f.MinLength || f.MaxLength != nil && n > *f.MaxLength {
		return nil, fmt.Errorf("it must have %s characters", span(f.MinLength, f.MaxLength))
	}
	return answer, f.checkFormat(answer)
}

func pick(choices []choice, answer string) (string, bool) {
	for _, c := range choices {
		if strings.EqualFold(c.Title, answer) || c.Const == answer {
			return c.Const, true
		}
	}
	return "", false
}

func (f field) readNumber(answer string) (any, error) {
	n, err := strconv.ParseFloat(answer, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0) || f.Type == "integer" && n != math.Trunc(n):
		return nil, fmt.Errorf("it must be %s", map[bool]string{true: "a whole number", false: "a number"}[f.Type == "integer"])
	case f.Minimum != nil && n < *f.Minimum, f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Errorf("it must be %s", span(f.Minimum, f.Maximum))
	}
	return n, nil
}

func (f field) readList(answer string) (any, error) {
	list := []any{}
	for part := range strings.SplitSeq(answer, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		value, ok := pick(f.several(), part)
		if !ok {
			return nil, fmt.Errorf("%q is none of them", part)
		}
		list = append(list, value)
	}
	if f.MinItems != nil && len(list) < *f.MinItems || f.MaxItems != nil && len(list) > *f.MaxItems {
		return nil, fmt.Errorf("choose %s of them", span(f.MinItems, f.MaxItems))
	}
	return list, nil
}

// span puts bounds in words.
func span[N int | float64](from, to *N) string {
	switch {
	case from != nil && to != nil:
		return fmt.Sprintf("from %v to %v", *from, *to)
	case from != nil:
		return fmt.Sprintf("at least %v", *from)
	}
	return fmt.Sprintf("at most %v", *to)
}

func (f field) checkFormat(answer string) error {
	var err error
	switch f.Format {
	case "email":
		_, err = mail.ParseAddress(answer)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(answer); err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, answer)
	case "date-time":
		_, err = time.Parse(time.RFC3339, answer)
	}
	if err != nil {
		return fmt.Errorf("it must be %s", map[string]string{
			"email": "an e-mail address", "uri": "an address such as https://example.com",
			"date": "a date such as 2026-11-30", "date-time": "a time such as 2026-11-30T15:00:00Z",
		}[f.Format])
	}
	return nil
}

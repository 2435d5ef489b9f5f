//go:build outline && cgo

package outline

import (
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
	bashgrammar "github.com/smacker/go-tree-sitter/bash"
	cgrammar "github.com/smacker/go-tree-sitter/c"
	cppgrammar "github.com/smacker/go-tree-sitter/cpp"
	cssgrammar "github.com/smacker/go-tree-sitter/css"
	elixirgrammar "github.com/smacker/go-tree-sitter/elixir"
	htmlgrammar "github.com/smacker/go-tree-sitter/html"
	javagrammar "github.com/smacker/go-tree-sitter/java"
	jsgrammar "github.com/smacker/go-tree-sitter/javascript"
	kotlingrammar "github.com/smacker/go-tree-sitter/kotlin"
	luagrammar "github.com/smacker/go-tree-sitter/lua"
	pygrammar "github.com/smacker/go-tree-sitter/python"
	rubygrammar "github.com/smacker/go-tree-sitter/ruby"
	rustgrammar "github.com/smacker/go-tree-sitter/rust"
	sqlgrammar "github.com/smacker/go-tree-sitter/sql"
	swiftgrammar "github.com/smacker/go-tree-sitter/swift"
	tomlgrammar "github.com/smacker/go-tree-sitter/toml"
	tsxgrammar "github.com/smacker/go-tree-sitter/typescript/tsx"
	tsgrammar "github.com/smacker/go-tree-sitter/typescript/typescript"
	yamlgrammar "github.com/smacker/go-tree-sitter/yaml"
)

// The two plain kinds of definition.
var (
	holder = def{}
	leaf   = def{leaf: true}
)

// kinds makes the definitions of a grammar from the types of node that hold others and that do not.
func kinds(holders, leaves string, special map[string]def) map[string]def {
	defs := map[string]def{}
	for _, kind := range strings.Fields(holders) {
		defs[kind] = holder
	}
	for _, kind := range strings.Fields(leaves) {
		defs[kind] = leaf
	}
	for kind, d := range special {
		defs[kind] = d
	}
	return defs
}

// grammars are those of languages whose definitions a parser finds better. Markdown's headings are lines, which its scanner
// finds as well, and its grammar ends the process over some hundred nested quotations.
var grammars = map[language]*grammar{
	python:     {pygrammar.GetLanguage, kinds("class_definition", "function_definition", nil)},
	javascript: {jsgrammar.GetLanguage, scriptKinds},
	typescript: {tsgrammar.GetLanguage, scriptKinds},
	tsx:        {tsxgrammar.GetLanguage, scriptKinds},
	java: {javagrammar.GetLanguage, kinds(
		"class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
		"method_declaration constructor_declaration compact_constructor_declaration annotation_type_element_declaration", nil,
	)},
	c: {cgrammar.GetLanguage, kinds("", "function_definition preproc_def preproc_function_def type_definition", map[string]def{
		"struct_specifier": {leaf: true, text: withBody}, "union_specifier": {leaf: true, text: withBody},
		"enum_specifier": {leaf: true, text: withBody}, "declaration": {leaf: true, text: prototype},
	})},
	cpp: {cppgrammar.GetLanguage, kinds(
		"namespace_definition", "preproc_def preproc_function_def type_definition alias_declaration concept_definition",
		map[string]def{
			"function_definition": {leaf: true, text: prototype}, // a member with a value is one, too
			"class_specifier":     {text: withBody}, "struct_specifier": {text: withBody}, "union_specifier": {text: withBody},
			"enum_specifier": {leaf: true, text: withBody}, "declaration": {leaf: true, text: prototype},
			"field_declaration": {leaf: true, text: prototype},
		},
	)},
	swift: {swiftgrammar.GetLanguage, kinds(
		"class_declaration protocol_declaration",
		"function_declaration init_declaration deinit_declaration protocol_function_declaration subscript_declaration "+
			"typealias_declaration associatedtype_declaration", nil,
	)},
	kotlin: {kotlingrammar.GetLanguage, kinds(
		"class_declaration object_declaration companion_object", "function_declaration secondary_constructor type_alias", nil,
	)},
	rust: {rustgrammar.GetLanguage, kinds(
		"trait_item impl_item mod_item",
		"function_item function_signature_item struct_item enum_item union_item const_item static_item type_item macro_definition "+
			"associated_type", nil,
	)},
	lua: {luagrammar.GetLanguage, kinds("", "function_statement", map[string]def{"variable_declaration": {leaf: true, text: luaValue}})},
	ruby: {rubygrammar.GetLanguage, kinds("", "", map[string]def{
		"module": {text: rubyHead}, "class": {text: rubyHead}, "singleton_class": {text: rubyHead},
		"method": {leaf: true, text: rubyHead}, "singleton_method": {leaf: true, text: rubyHead},
	})},
	shell: {bashgrammar.GetLanguage, kinds("", "function_definition", nil)},
	elixir: {elixirgrammar.GetLanguage, map[string]def{
		"call": {text: elixirCall}, "unary_operator": {leaf: true, text: elixirAttribute},
	}},
	yaml: {yamlgrammar.GetLanguage, map[string]def{
		"block_mapping_pair": {text: yamlKey, closed: true}, "block_sequence_item": {leaf: true, text: yamlElement, closed: true},
	}},
	toml: {tomlgrammar.GetLanguage, map[string]def{
		"table": {text: firstLine}, "table_array_element": {text: firstLine}, "pair": {leaf: true, text: tomlKey},
	}},
	html: {htmlgrammar.GetLanguage, map[string]def{"element": {text: htmlElement}}},
	css:  {cssgrammar.GetLanguage, kinds("media_statement supports_statement", "rule_set keyframes_statement at_rule", nil)},
	sql: {sqlgrammar.GetLanguage, kinds("",
		"create_table create_view create_materialized_view create_index create_function create_trigger create_type create_schema "+
			"create_database create_role create_sequence create_extension alter_table", nil,
	)},
}

var scriptKinds = kinds(
	"class_declaration abstract_class_declaration interface_declaration internal_module module",
	"function_declaration generator_function_declaration function_signature method_definition method_signature "+
		"abstract_method_signature enum_declaration type_alias_declaration",
	map[string]def{
		"variable_declarator": {leaf: true, text: scriptValue}, "field_definition": {leaf: true, text: scriptValue},
		"public_field_definition": {leaf: true, text: scriptValue},
	},
)

// scriptValue is a name whose value is a function or a class.
func scriptValue(w *walker, n *sitter.Node, at place) string {
	value := n.ChildByFieldName("value")
	if value == nil {
		return ""
	}
	switch value.Type() {
	case "arrow_function", "function_expression", "function", "generator_function", "class":
		return strings.TrimSuffix(w.text(at.start, bodyStart(value)), "=>")
	}
	return ""
}

// withBody is a type of C that is defined, and not only named.
func withBody(w *walker, n *sitter.Node, at place) string {
	if n.ChildByFieldName("body") == nil {
		return ""
	}
	return w.text(at.start, bodyStart(n))
}

// prototype is a function of C, declared or defined.
func prototype(w *walker, n *sitter.Node, at place) string {
	d := n.ChildByFieldName("declarator")
	for d != nil && d.Type() != "function_declarator" && d.Type() != "operator_cast" {
		inner := d.ChildByFieldName("declarator")
		if d.Type() == "reference_declarator" {
			inner = d.NamedChild(0)
		}
		if d.Type() == "init_declarator" {
			inner = nil
		}
		d = inner
	}
	if d == nil {
		return ""
	}
	return w.text(at.start, bodyStart(n))
}

// luaValue is a name whose value is a function.
func luaValue(w *walker, n *sitter.Node, at place) string {
	value := n.ChildByFieldName("value")
	if value == nil || value.Type() != "function" {
		return ""
	}
	return w.text(at.start, bodyStart(value))
}

// rubyHead ends with its line where there is no body.
func rubyHead(w *walker, n *sitter.Node, at place) string {
	if body := n.ChildByFieldName("body"); body != nil {
		return w.text(at.start, int(body.StartByte()))
	}
	head, _, _ := strings.Cut(w.content(n), "\n")
	head, _, _ = strings.Cut(head, ";")
	return head
}

var (
	elixirHolders = map[string]bool{"defmodule": true, "defprotocol": true, "defimpl": true, "describe": true}
	elixirLeaves  = map[string]bool{
		"def": true, "defp": true, "defmacro": true, "defmacrop": true, "defguard": true, "defguardp": true, "defdelegate": true,
		"defstruct": true, "defexception": true, "test": true,
	}
	elixirAttributes = map[string]bool{"type": true, "typep": true, "opaque": true, "callback": true, "macrocallback": true}
)

// elixirCall is a definition, which in Elixir is a call like others. What lies in a function is in its calls, and so is passed
// by as they name no definition.
func elixirCall(w *walker, n *sitter.Node, at place) string {
	target := w.content(n.ChildByFieldName("target"))
	if !elixirHolders[target] && !elixirLeaves[target] {
		return ""
	}
	end := bodyStart(n)
	for i := range min(int(n.NamedChildCount()), 8) {
		if args := n.NamedChild(i); args.Type() == "arguments" && args.NamedChildCount() > 0 {
			last := args.NamedChild(int(args.NamedChildCount()) - 1)
			if last.Type() == "keywords" && strings.HasPrefix(w.content(last), "do:") {
				end = min(end, int(last.StartByte()))
			}
		}
	}
	return w.text(at.start, end)
}

// elixirAttribute is a type or a callback.
func elixirAttribute(w *walker, n *sitter.Node, _ place) string {
	operand := n.ChildByFieldName("operand")
	if operand == nil || !elixirAttributes[w.content(operand.ChildByFieldName("target"))] {
		return ""
	}
	return w.content(n)
}

// yamlKey is a key of the outer mappings.
func yamlKey(w *walker, n *sitter.Node, at place) string {
	if at.depth >= yamlDepth {
		return ""
	}
	return w.content(n.ChildByFieldName("key"))
}

// yamlElement is an element of an outer list.
func yamlElement(w *walker, n *sitter.Node, at place) string {
	if at.depth > 0 {
		return ""
	}
	return firstLine(w, n, at)
}

func firstLine(w *walker, n *sitter.Node, _ place) string {
	line, _, _ := strings.Cut(w.content(n), "\n")
	return line
}

func tomlKey(w *walker, n *sitter.Node, _ place) string { return w.content(n.NamedChild(0)) }

// htmlElement is a heading, a part of a page, or an element with an id.
func htmlElement(w *walker, n *sitter.Node, _ place) string {
	text := w.content(n)
	if at := tagForm.FindStringSubmatchIndex(text[:min(len(text), maxElement)]); at != nil && at[0] == 0 && isPart(text, at) {
		return htmlText(text, at)
	}
	return ""
}

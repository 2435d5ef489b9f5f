// Package outline is the tool get_ast_outline: the definitions of a source file without their bodies, with their lines.
//
// It owns how a file's definitions are found. It leaves to tools.Workspace where a path leads and how it is opened, and to
// approvals whether a call may run.
//
// Files are anybody's, and a parser that they can crash must not be in the bot's process: C's may do anything, and Go's end
// their process when they go down too deep. So all of them work in a child that tools/confined closes in, which is given a
// file's name and content and nothing else. However it ends, by a crash, its limits or a kill, that is the error of one
// call. A call that is stopped ends it at once, and so does the end of nod, kill -9 included.
//
// Who takes a file apart:
//
//	.go     go/parser
//	.json   encoding/json
//	.md     a scanner: headings are lines, and the grammar crashes over some hundred nested quotations
//	others  tree-sitter, in builds with the tag outline and cgo; else scanners in Go: they know a language's strings,
//	        comments and blocks, and tell definitions by how their lines begin, so they miss what is written unusually
//
// Everything is in memory, of at most MaxFile bytes a file. The tool keeps no state and calls may run side by side.
package outline

// Package mcp is the MCP servers whose tools the model may use: programs on pipes and servers over HTTP, configured in
// nod.yaml or registered in the chat, and the tools register_mcp and delete_mcp.
//
// It owns which servers there are, the connections to them, and what is made of their words: names and schemas of tools,
// results, progress and questions. It leaves to others whether a call may run (approvals), how a person is asked (tools.Call
// and bot), and what keeps a server's processes from outliving nod (tools/shell).
//
//	nod.yaml ──▶           ┌─ server ─ link ─ conn ─ program ─▶ shim ─▶ the server's process     stdio
//	register_mcp ─▶ Manager┤
//	                       └─ server ─ link ─ conn ───────────────────▶ an address                http, sse
//
// A Manager is a tools.Dynamic. What it last heard of a server is kept, so that its tools are there right after a start; it
// is reached a while after the start, when its group is activated, or when it is first called. A link has one connection
// at most, makes a new one when it is needed after the old one broke, later each time that fails, and lets it go after half an
// hour without a call. A call that broke off is never made again.
//
// Servers are not trusted. A program gets a clean environment; its stderr is logged within bounds, and what it prints beside
// messages is dropped. Messages, lists, schemas, descriptions and results have bounds. Names are made fit, the same each time.
// Every tool counts as a write and asks, whatever its annotations say, and a nod is bound to how the server is started or
// reached. A key goes to the server's own address only. A question is put before the person whose call it belongs to, or
// before nobody, and ends with its call.
//
// The protocol is spoken by github.com/modelcontextprotocol/go-sdk. Roots, sampling and logging are not offered.
package mcp

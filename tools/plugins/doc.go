// Package plugins is what nod can do beside its tools when somebody has set it up: pictures, speech, and how the chat
// looks. It owns their settings, the tool configure_plugin, and the commands that stand in for a service.
//
// A plugin's settings are checked against its schema when they are made, and count from the commit on: whoever uses a
// plugin asks for its settings each time. Keys are kept as references to stored secrets only. What nod.yaml sets up is
// changed there; it can be switched on and off in the chat all the same.
//
// It leaves to others how a service is spoken to (agent/llm), how a message looks (bot), and how processes end (tools/shell).
// All of it may be used from any goroutine.
package plugins

// Package scripted is a model service that says what a script tells it to: a real HTTP server of the OpenAI kind, on
// both wires (chat completions and Responses), streamed or not. Tests hold conversations with it and `nod demo` uses it
// as its model. It shares no code with the client and judges each request as strictly as the strictest service does, so
// that a fault in the protocol is a 400 in every test.
//
// A Server may serve many requests at once; the script is called for one at a time, in the order of arrival.
package scripted

// Package llm asks model services for answers. It owns everything that services of the OpenAI kind do differently: two
// wires (chat completions and Responses), errors in every shape, streams that lie about their end, ids, schemas,
// reasoning that must be sent back; and with it retries, fallback to another model, token estimates and prices.
//
// It leaves to others what is asked and what becomes of the answer: prompts, compaction, running tools, the transcript.
// It keeps nothing on disk; what a service wants back travels with each message as an opaque Message.Wire.
//
// Promises: a request always holds a legal conversation, whatever the history (Sanitize). An Answer without an error is
// complete. A call's Args are a JSON object, or Call.Problem says why not. Deltas arrive in order in the goroutine that
// called Stream, which starts no others that outlive it. No error or log holds a key.
//
// It is the only package that imports go-openai, which encodes the requests' frame and reads streams, through an
// HTTPDoer (exchange) that repairs what go-openai 1.43 would lose.
package llm

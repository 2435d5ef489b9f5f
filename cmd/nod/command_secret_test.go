package main

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"nod/agent/llm/scripted"
)

// TestSE9_ASecretInACommandStaysThere: a secret that was typed into the chat reaches a command that a person approved, and
// nothing else: neither its card, nor the model, the chat, the log or the database, in whatever form the command prints it.
func TestSE9_ASecretInACommandStaysThere(t *testing.T) {
	const canary = "gh-canary/7f+41=x"
	w := newWorld(t)
	w.config = func(c *Config) {
		c.CommandEnv = map[string]commandVariable{"GH_TOKEN": {Value: "${secret:github}"}, "GH_HOST": {Value: "github.example", Plain: true}}
	}
	d := newDialog(t, w)
	w.start()
	d.play(`user> keep my token
model> call activate_tools {"groups":["config"]}
model> call set_secret {"key":"github"}
bot< Send its value as your next message.
user> ` + canary + `
model> say It is kept.
bot< It is kept.
user> use it
model> call execute_cmd {"command":"echo $GH_HOST; test -n \"$GH_TOKEN\" && printf '%s' \"$GH_TOKEN\" >token; for n in 1 2 3; do echo \"a $GH_TOKEN b\"; printf %s \"$GH_TOKEN\" | base64; printf %s \"$GH_TOKEN\" | od -An -tx1 | tr -d ' \\n'; echo; done"}
bot< 🔑 is given GH_HOST, GH_TOKEN
press> ✅ Approve
asked< github.example
asked< a [secret] b
model> say Used.
bot< Used.`)
	if got := w.read("token"); got != canary {
		t.Errorf("the command was given %q", got)
	}
	w.end()
	db, err := os.ReadFile(w.home + "/" + databaseName)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"the log": w.logs.String(), "the chat": w.ann.Transcript(), "the database": string(db)}
	for _, r := range w.service.Requests() {
		places["a request"] += requestText(r)
	}
	raw := []byte(canary)
	for form, text := range map[string]string{
		"plain": canary, "base64": base64.StdEncoding.EncodeToString(raw)[:20], "hex": hex.EncodeToString(raw), "half": canary[:10],
	} {
		for place, content := range places {
			if strings.Contains(content, text) {
				t.Errorf("%s holds the secret: %s", place, form)
			}
		}
	}
}

// requestText is all text of a request to the model.
func requestText(r scripted.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text + "\n")
		for _, c := range m.Calls {
			b.WriteString(c.Args + "\n")
		}
	}
	return b.String() + strings.Join(r.Results(), "\n")
}

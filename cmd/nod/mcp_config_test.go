package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/tools/mcp"
)

// serversIn loads a configuration whose file is this.
func serversIn(t *testing.T, yaml string) (Config, error) {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "nod.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NOD_HOME": home, "NOD_WORKSPACE": filepath.Join(dir, "work"), "TELEGRAM_BOT_TOKEN": goodToken, "KEY_OF_MAPS": "maps-key-from-env"}
	return loadConfig(func(name string) string { return env[name] }, true)
}

func TestMCPServersOfTheFile(t *testing.T) {
	cfg, err := serversIn(t, `
mcp:
  - name: files
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "/data"]
    env: {LEVEL: "2", MAPS_TOKEN: "${KEY_OF_MAPS}"}
    friendly_name: Files
  - name: maps
    url: https://maps.example.com/mcp
    api_key: ${secret:maps}
    description: places
    enabled: false
  - {name: old, transport: SSE, url: "http://127.0.0.1:3001/sse"}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []mcp.Server{
		{Name: "files", Transport: mcp.Stdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/data"}, Env: map[string]string{"LEVEL": "2", "MAPS_TOKEN": "maps-key-from-env"}, FriendlyName: "Files"},
		{Name: "maps", Transport: mcp.HTTP, URL: "https://maps.example.com/mcp", APIKey: "${secret:maps}", Description: "places", Off: true},
		{Name: "old", Transport: mcp.SSE, URL: "http://127.0.0.1:3001/sse"},
	}
	if diff := cmp.Diff(want, cfg.Servers); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(strings.Join(cfg.secrets(), " "), "maps-key-from-env") {
		t.Error("a server's token is not redacted")
	}
}

func TestMCPServersThatCantBeUsed(t *testing.T) {
	_, err := serversIn(t, `
mcp:
  - name: a__b
    command: x
  - name: twice
    command: x
  - name: Twice
    command: x
    args: many
  - name: nowhere
    transport: http
  - name: keyless
    url: https://x.example
    api_key: ${NOT_SET}
    colour: red
`)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, part := range []string{
		`mcp[0]: "a__b" can't be a server's name`, "mcp[2]: there is another server named Twice", "mcp[2].args must be a list of texts",
		"mcp[3]: url: it must be an http or https address", "mcp[4].api_key: it refers to ${NOT_SET}", "there is no setting mcp[4].colour",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
}

// helperFound is what the doctor says of the helper: its tools by name, in the server's words.
var helperFound = finding{"MCP server helper", ok, `it answers, 6 tools
         mcp__helper__dig               [words of the MCP server helper] Digs, and says how far it is
         mcp__helper__draw              [words of the MCP server helper] Draws
         mcp__helper__remember          [words of the MCP server helper] Keeps a note
         mcp__helper__sign_in_7e81a6ad  [words of the MCP server helper] Signs the user in
         mcp__helper__sing              [words of the MCP server helper] Sings
         mcp__helper__visit             [words of the MCP server helper] Sends the user to a page`}

// TestMCPCheck has the doctor look at servers before the first start.
func TestMCPCheck(t *testing.T) {
	cfg, err := serversIn(t, "mcp:\n  - {name: gone, command: /no/such/program}\n  - {name: off, command: x, enabled: false}\n")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Servers = append(cfg.Servers, helperOn("stdio"))
	got := checkServers(t.Context(), cfg)
	if len(got) != 2 || got[0].grade != warning || !strings.Contains(got[0].text, "not found; nod works without it") ||
		got[1] != helperFound {
		t.Errorf("it finds %+v", got)
	}
	if _, err := os.Stat(filepath.Join(cfg.Home, databaseName)); err == nil {
		t.Error("it made a database")
	}
}

// TestMCPCheckOfARunningBot asks the bot that runs, which alone can read what was registered in the chat.
func TestMCPCheckOfARunningBot(t *testing.T) {
	w := newWorld(t)
	w.control = true
	w.config = func(cfg *Config) {
		cfg.Servers = []mcp.Server{helperOn("http"), {Name: "gone", Transport: mcp.Stdio, Command: "/no/such/program"}}
	}
	w.start()
	eventually(t, "the control socket is open", func() bool {
		_, err := ask(t.Context(), w.home, "/database")
		return err == nil
	})
	got := checkServers(t.Context(), Config{Home: w.home})
	if len(got) != 2 || got[0].grade != warning || got[1] != helperFound {
		t.Errorf("it finds %+v", got)
	}
}

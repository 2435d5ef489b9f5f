package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/agent/llm/scripted"
	"nod/tools/shell"
)

// TestSE9_CommandsOfTheProgramReachNoSecret has the model look for what is nod's in ten ways, the first with a person's nod
// and the network, the others by the bypass that came with it and without. The process that holds nod's environment is
// this one.
func TestSE9_CommandsOfTheProgramReachNoSecret(t *testing.T) {
	if strength, why := new(shell.Runner).Strength(); strength != shell.Full {
		t.Skipf("NOT TESTED, this machine has no full sandbox: %v", why)
	}
	const canary = "canary-5up3r-secret"
	w := newWorld(t)
	w.config = func(c *Config) { c.Sandbox = shell.Auto }
	w.write("secrets/token", canary)
	d := newDialog(t, w)
	d.writeHome("note", []byte(canary))
	w.start()
	home, pid := w.home, os.Getpid()
	ways := []string{
		"cat " + home + "/note; ip link 2>/dev/null || cat /proc/net/dev",
		"cat secrets/token; grep -c : /proc/net/dev",
		"cat " + home + "/*; ls -R " + home,
		fmt.Sprintf("cat /proc/%d/environ /proc/%d/cmdline; ls -l /proc/%d/fd", pid, pid, pid),
		"cat /proc/1/environ; ls -l /proc/1/fd; ls /proc/1/root" + home,
		"ln -s " + home + "/note l; cat l; ln " + home + "/note h; cat h",
		"find / -name note -newer /etc/hostname 2>/dev/null | xargs cat",
		"cp -r " + home + " copy && cat copy/note",
		"echo sandbox: off >" + home + "/nod.yaml; mkdir " + home + "/agents",
		fmt.Sprintf("kill -9 %d; umount secrets; mount --bind %s .; cat note", pid, home),
	}
	d.play("user> look")
	for _, way := range ways {
		args, err := json.Marshal(map[string]string{"command": way})
		if err != nil {
			t.Fatal(err)
		}
		d.model.push(scripted.Call("execute_cmd", string(args)))
	}
	d.play("bot< sandbox: full · network on\npress> 🔄 Session\nmodel> say \"Nothing.\"\nbot< Nothing.")
	var results []string
	for _, request := range w.service.Requests()[1:] {
		results = append(results, request.Results()...)
	}
	if len(results) != len(ways) {
		t.Fatalf("%d commands ran, not %d: %q", len(results), len(ways), results)
	}
	for i, text := range results {
		if strings.Contains(text, canary) || !strings.Contains(text, "[exit ") {
			t.Errorf("%s\ngave %s", ways[i], text)
		}
	}
	if !strings.Contains(results[1], "\n1\n") {
		t.Errorf("a bypass gives the network: %s", results[1])
	}
	for _, name := range []string{"nod.yaml", "agents"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

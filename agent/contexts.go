package agent

// RunContext is what a chat or a job works in, beside what all have: the rules of a group, words for the prompt, a folder,
// and what may be read or written there without asking.
type RunContext struct {
	Name   string   `json:"name"`
	Group  string   `json:"group,omitempty"`  // a permission group, consulted before the default one
	Prompt []string `json:"prompt,omitempty"` // fragments that stand in the prompt
	Dir    string   `json:"dir,omitempty"`    // within the workspace, relative to it; "" is its root
	Reads  []string `json:"reads,omitempty"`  // canonical folders that are read without asking
	Writes []string `json:"writes,omitempty"` // canonical folders that are written without asking
}

package outline

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nod/tools/confined"
)

// WorkName is what the child's work is called, and Work what it does: see confined.Dispatch.
const WorkName = "outline"

// limits are for each child. Two at a time take at most a gigabyte.
var limits = confined.Limits{Time: 5 * time.Second, Memory: 512 << 20, SideBySide: 2}

func newPool() *confined.Pool { return confined.NewPool(WorkName, limits) }

// job is what a child is told.
type job struct {
	Name    string // the file's, without its folder
	Content []byte
}

// Work finds the definitions in a file: input and output are JSON.
func Work(input []byte) ([]byte, error) {
	var j job
	if err := json.Unmarshal(input, &j); err != nil {
		return nil, fmt.Errorf("reading the job: %w", err)
	}
	f, err := outline(j.Name, j.Content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(f)
}

// inChild finds the definitions in a file in a child, which has ended when it returns.
func inChild(ctx context.Context, pool *confined.Pool, name string, content []byte) (found, error) {
	input, err := json.Marshal(job{name, content})
	if err != nil {
		return found{}, fmt.Errorf("writing the job: %w", err)
	}
	output, err := pool.Run(ctx, name, input)
	if err != nil {
		return found{}, err
	}
	return decode(output)
}

// decode reads what a child found, which is as little to be trusted as the file that it read.
func decode(output []byte) (found, error) {
	var f found
	if err := json.Unmarshal(output, &f); err != nil {
		return found{}, &confined.BrokenError{What: "the parser's answer could not be read", Detail: err.Error()}
	}
	clean := found{More: max(f.More, 0), Note: signature(f.Note)}
	for _, it := range f.Items {
		clean.add(it)
	}
	return clean, nil
}

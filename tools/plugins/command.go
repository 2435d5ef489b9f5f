package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nod/tools"
	"nod/tools/shell"
)

// Placeholders of commands.
const (
	inPlace     = "{in}"
	outPlace    = "{out}"
	promptPlace = "{prompt}"
)

// Bounds of a command.
const (
	speechTime   = 2 * time.Minute
	pictureTime  = 8 * time.Minute
	maxResult    = 20 << 20 // bytes of a file that it writes
	maxWords     = 64 << 10 // bytes of a transcript
	maxComplaint = 300      // characters of what it printed that are told when it fails
)

// Commands runs the commands of plugins: without a shell and without a sandbox, in a clean environment and a folder of
// their own, which is gone afterwards. Nothing that a command starts outlives it.
type Commands struct{ Runner *shell.Runner }

// job is one run of a command.
type job struct {
	line   string
	values map[string]string // by placeholder; {out} is added
	text   string            // written to a file, whose name is {in}
	out    string            // the name of {out}
	limit  time.Duration
}

// run runs a command to its end and gives back what it printed and what it wrote to {out}, if it did.
func (c Commands) run(ctx context.Context, j job) (printed string, written []byte, err error) {
	words, err := Words(j.line)
	if err != nil {
		return "", nil, err
	}
	program, err := find(words)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "nod-plugin-")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for %s: %w", words[0], err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := j.place(dir); err != nil {
		return "", nil, err
	}
	folder, err := shell.OpenDir(dir)
	if err != nil {
		return "", nil, err
	}
	defer folder.Close()
	res, err := c.Runner.Run(ctx, shell.Command{Program: program, Words: substitute(words, j.values), Dir: folder, Timeout: j.limit})
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("running %s: %w", words[0], err)
	case res.Cancelled:
		return "", nil, context.Cause(ctx)
	case res.TimedOut:
		return "", nil, fmt.Errorf("%s took longer than %s", words[0], j.limit)
	case res.Exit != 0:
		return "", nil, fmt.Errorf("%s failed (exit status %d): %s", words[0], res.Exit, complaint(res.Output))
	}
	written, err = readResult(j.values[outPlace])
	return res.Output, written, err
}

// Program finds the program of a command line.
func Program(line string) (string, error) {
	words, err := Words(line)
	if err != nil {
		return "", err
	}
	return find(words)
}

func find(words []string) (string, error) {
	program, err := exec.LookPath(words[0])
	if err != nil || !filepath.IsAbs(program) {
		return "", fmt.Errorf("the program %s is not in PATH", words[0])
	}
	return program, nil
}

// place puts the command's input down and names its files.
func (j *job) place(dir string) error {
	j.values[outPlace] = filepath.Join(dir, j.out)
	if j.text == "" {
		return nil
	}
	j.values[inPlace] = filepath.Join(dir, "in.txt")
	if err := os.WriteFile(j.values[inPlace], []byte(j.text), 0o600); err != nil {
		return fmt.Errorf("writing what a command reads: %w", err)
	}
	return nil
}

// substitute puts values into words. A value never becomes more than a part of its word, whatever is in it.
func substitute(words []string, values map[string]string) []string {
	var pairs []string
	for place, value := range values {
		pairs = append(pairs, place, value)
	}
	r := strings.NewReplacer(pairs...)
	filled := []string{words[0]}
	for _, w := range words[1:] {
		filled = append(filled, r.Replace(w))
	}
	return filled
}

// readResult is the content of a file that a command wrote; empty where there is none.
func readResult(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading what the command wrote: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("the command wrote no regular file")
	case info.Size() > maxResult:
		return nil, fmt.Errorf("the command wrote more than %d MB", maxResult>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading what the command wrote: %w", err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxResult))
}

// complaint is the end of what a command printed, on one line.
func complaint(output string) string {
	r := []rune(strings.Join(strings.Fields(output), " "))
	if len(r) > maxComplaint {
		return "…" + string(r[len(r)-maxComplaint:])
	}
	if len(r) == 0 {
		return "it printed nothing"
	}
	return string(r)
}

// Hearing understands speech by a command.
type Hearing struct {
	Commands
	tools.Fee
	Line string
}

// Transcribe implements tools.Hearing.
func (h Hearing) Transcribe(ctx context.Context, _, path string, _ io.Reader) (string, error) {
	printed, written, err := h.run(ctx, job{line: h.Line, values: map[string]string{inPlace: path}, out: "words.txt", limit: speechTime})
	if err != nil {
		return "", err
	}
	if strings.Contains(h.Line, outPlace) {
		printed = string(written)
	}
	return strings.TrimSpace(tools.Sanitise(printed[:min(len(printed), maxWords)])), nil
}

// Speaking speaks by a command. It implements tools.SpeechPort.
type Speaking struct {
	Commands
	tools.Fee
	Line string
}

// Speak implements tools.SpeechPort.
func (s Speaking) Speak(ctx context.Context, text string) ([]byte, error) {
	_, written, err := s.run(ctx, job{line: s.Line, values: map[string]string{}, text: text, out: "speech.ogg", limit: speechTime})
	if err == nil && len(written) == 0 {
		err = errors.New("the command wrote no sound")
	}
	return written, err
}

// Drawing makes pictures by a command. It implements tools.ImagePort.
type Drawing struct {
	Commands
	tools.Fee
	Line string
}

// commandProvider is the id under which a command makes pictures.
const commandProvider = "command"

// Providers implements tools.ImagePort.
func (d Drawing) Providers() []tools.ImageProvider {
	return []tools.ImageProvider{{ID: commandProvider, About: "a command on this machine", Price: d.Price()}}
}

// Generate implements tools.ImagePort.
func (d Drawing) Generate(ctx context.Context, r tools.ImageRequest) ([]byte, error) {
	prompt := r.Prompt
	if strings.HasPrefix(prompt, "-") { // is no option
		prompt = " " + prompt
	}
	_, written, err := d.run(ctx, job{line: d.Line, values: map[string]string{promptPlace: prompt}, out: "picture.png", limit: pictureTime})
	if err == nil && len(written) == 0 {
		err = errors.New("the command wrote no picture")
	}
	return written, err
}

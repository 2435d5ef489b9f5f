package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
)

const (
	// filesDir is where what servers send is kept, within the workspace so that it can be read and sent.
	filesDir = "data/mcp"
	// maxFiles bounds the files of one result; a message bounds their bytes.
	maxFiles = 20
)

// seen are the pictures that models are shown.
var seen = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/mp4": ".m4a",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/gzip": ".gz",
	"text/plain": ".txt", "text/html": ".html", "text/markdown": ".md", "text/csv": ".csv", "video/mp4": ".mp4",
}

// reader makes a call's output of what a server gave.
type reader struct {
	server string
	call   tools.Call
	parts  []string
	out    tools.Output
	files  int
}

// read makes the output. A result that the server calls an error is one.
func (r *reader) read(res *sdk.CallToolResult) (tools.Output, error) {
	for _, c := range res.Content {
		if err := r.content(c); err != nil {
			return tools.Output{}, err
		}
	}
	if res.StructuredContent != nil {
		r.structured(res.StructuredContent)
	}
	text := strings.Join(r.parts, "\n\n")
	if res.IsError {
		if strings.TrimSpace(text) == "" {
			text = "it gave no reason"
		}
		return tools.Output{}, fmt.Errorf("the MCP server %s reports an error: %s", r.server, text)
	}
	r.out.Text = text
	return r.out, nil
}

func (r *reader) add(format string, args ...any) {
	r.parts = append(r.parts, fmt.Sprintf(format, args...))
}

func (r *reader) content(c sdk.Content) error {
	switch c := c.(type) {
	case *sdk.TextContent:
		r.parts = append(r.parts, c.Text)
	case *sdk.ImageContent:
		return r.keep("picture", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return r.keep("sound", c.MIMEType, c.Data)
	case *sdk.EmbeddedResource:
		return r.resource(c.Resource)
	case *sdk.ResourceLink:
		r.add("[a link to the resource %s%s; its content is not here]", plain(c.URI, maxRemark), details(c))
	default:
		r.add("[a part of a kind that nod does not know]")
	}
	return nil
}

// details are what a link says of its resource.
func details(c *sdk.ResourceLink) string {
	var all []string
	for _, text := range []string{c.Title, c.Name, c.Description, c.MIMEType} {
		if text = plain(text, maxRemark); text != "" {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func (r *reader) resource(c *sdk.ResourceContents) error {
	switch {
	case c == nil:
	case c.Blob != nil:
		r.add("[the resource %s]", plain(c.URI, maxRemark))
		return r.keep("resource", c.MIMEType, c.Blob)
	default:
		r.add("[the resource %s]\n%s", plain(c.URI, maxRemark), c.Text)
	}
	return nil
}

// structured adds what is given as JSON, unless the text says the same.
func (r *reader) structured(value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	for _, part := range r.parts {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(part)) == nil && sameJSON(compact.Bytes(), raw) {
			return
		}
	}
	r.parts = append(r.parts, string(raw))
}

// sameJSON compares two values whatever the order of their keys.
func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	first, err1 := json.Marshal(x)
	second, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(first, second)
}

// keep saves a file in the workspace. A picture is also shown to a model that sees.
func (r *reader) keep(what, mime string, data []byte) error {
	if r.files++; r.files > maxFiles {
		if r.files == maxFiles+1 {
			r.add("[more files were left out: a result may have %d]", maxFiles)
		}
		return nil
	}
	mime, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(mime)), ";")
	ending := endings[mime]
	if ending == "" {
		ending = ".bin"
	}
	name := path.Join(filesDir, fmt.Sprintf("%s-%d%s", r.call.ID, r.files, ending))
	if err := writeNew(r.call.Scope.Workspace.Root(), name, data); err != nil {
		return fmt.Errorf("the call ran, but a %s of its result can't be kept: %w", what, err)
	}
	r.add("[a %s, %s, %d bytes, kept as %s]", what, plain(mime, 60), len(data), name)
	if seen[mime] {
		r.out.Images = append(r.out.Images, tools.Image{MIME: mime, Path: name})
	}
	return nil
}

// writeNew writes a file whose name is ours alone.
func writeNew(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(filesDir, 0o700); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

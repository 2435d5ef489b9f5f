package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/store"
	"nod/tools"
)

const (
	// maxPrompt is the longest prompt, in characters.
	maxPrompt = 4000
	// folder is where pictures are kept, under data/.
	folder = "images"
)

type generateIn struct {
	ProviderID  string            `json:"provider_id" jsonschema:"who makes it, from image_generate_providers_list"`
	Prompt      string            `json:"prompt" jsonschema:"what the picture shows, and in which style"`
	ExtraParams map[string]string `json:"extra_params,omitempty" jsonschema:"further parameters that the provider lists, such as size or quality"`
}

func generate() tools.Tool {
	return tools.New(tools.Spec[generateIn]{
		Name:        tools.ImageGenerate,
		Description: "Makes a picture from a description and sends it to the user in this chat. It is kept under data/images/ too. This takes up to some minutes and costs money.",
		Traits:      tools.Traits{Category: tools.Config, Effect: tools.Write, Needs: tools.FilesPort.And(tools.ImagesPort)},
		Check:       (*generateIn).check,
		Label:       func(in generateIn, _ bool) string { return tools.Quote(in.Prompt) },
		Judge:       judgeGenerate,
		Run:         runGenerate,
	})
}

func (in *generateIn) check() error {
	in.Prompt = strings.TrimSpace(in.Prompt)
	switch n := utf8.RuneCountInString(in.Prompt); {
	case n == 0 || strings.ContainsRune(in.Prompt, 0):
		return errors.New("prompt is empty; say what the picture shows")
	case n > maxPrompt:
		return fmt.Errorf("the prompt has %d characters; at most %d are taken", n, maxPrompt)
	}
	return nil
}

// provider finds who is meant.
func (in generateIn) provider(all []tools.ImageProvider) (tools.ImageProvider, error) {
	i := slices.IndexFunc(all, func(p tools.ImageProvider) bool { return p.ID == in.ProviderID })
	if i < 0 {
		return tools.ImageProvider{}, fmt.Errorf("there is no provider %q; there are:\n%s", in.ProviderID, listed(all))
	}
	for _, name := range slices.Sorted(maps.Keys(in.ExtraParams)) {
		if !slices.Contains(all[i].Extra, name) {
			return tools.ImageProvider{}, fmt.Errorf("%s takes no parameter %q:\n%s", in.ProviderID, name, listed(all[i:i+1]))
		}
	}
	return all[i], nil
}

// judgeGenerate tells the price. Where the port has gone meanwhile the executor says so.
func judgeGenerate(_ context.Context, scope tools.Scope, in generateIn) (tools.Judged, error) {
	if scope.Ports.Images == nil {
		return tools.Judged{}, nil
	}
	by, err := in.provider(scope.Ports.Images.Providers())
	return tools.Judged{Price: by.Price}, err
}

func runGenerate(ctx context.Context, call tools.Call, in generateIn) (tools.Output, error) {
	ports := call.Scope.Ports
	by, err := in.provider(ports.Images.Providers())
	if err != nil {
		return tools.Output{}, tools.Unpaid(err)
	}
	raw, err := ports.Images.Generate(ctx, tools.ImageRequest{Provider: by.ID, Prompt: in.Prompt, Extra: in.ExtraParams})
	if err != nil {
		return tools.Output{}, tools.Unpaid(fmt.Errorf("making the picture: %w", err))
	}
	picture, err := check(raw)
	if err != nil {
		return tools.Output{}, err
	}
	shown, err := keep(call, picture)
	if err != nil {
		return tools.Output{}, err
	}
	file := tools.File{Name: "picture" + picture.ending(), Kind: tools.Document}
	if picture.format != "gif" && tools.FitsPhoto(picture.width, picture.height, int64(len(raw))) {
		file.Kind = tools.Photo
	}
	if file.Handle, err = ports.Files.Keep(file.Name, bytes.NewReader(raw), int64(len(raw))); err != nil {
		return tools.Output{}, fmt.Errorf("keeping the picture for sending; it is in %s: %w", shown, err)
	}
	to, files := call.Scope.Address, ports.Files
	return tools.Output{
		Text:   fmt.Sprintf("Made %s (%s, %d × %d pixels, %d bytes) and sent it as a %s.", shown, picture.mime(), picture.width, picture.height, len(raw), file.Kind),
		Images: []tools.Image{{MIME: picture.mime(), Path: shown}},
		Commit: func(tx *store.Tx) error { return files.Send(tx, to, file) },
	}, nil
}

// keep writes the picture into the workspace and says where.
func keep(call tools.Call, p checked) (shown string, err error) {
	f, shown, err := call.Scope.Workspace.CreateData(folder, string(call.ID)+p.ending())
	if err != nil {
		return "", fmt.Errorf("keeping the picture: %w", err)
	}
	if _, err = f.Write(p.bytes); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keeping the picture: %w", err)
	}
	return shown, nil
}

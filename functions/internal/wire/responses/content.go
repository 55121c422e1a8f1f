package responses

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// part is one part of a message's content or of a tool's output.
type part struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Refusal  string         `json:"refusal"`
	ImageURL jsontext.Value `json:"image_url"`
	Detail   string         `json:"detail"`
	FileID   string         `json:"file_id"`
	FileURL  string         `json:"file_url"`
	FileData string         `json:"file_data"`
	Filename string         `json:"filename"`
	Audio    struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

// content reads a string or a list of parts.
func (in *intake) content(name string, value jsontext.Value) ([]wire.Part, *wire.Problem) {
	switch value.Kind() {
	case 0, 'n':
		return nil, nil
	case '"':
		text := jsonedit.Read(value).Text()
		if text == "" {
			return nil, nil
		}
		return []wire.Part{{Kind: wire.Text, Text: text}}, nil
	}
	var parts []part
	if err := json.Unmarshal(value, &parts); err != nil {
		return nil, malformed(in.where+"."+name, err)
	}
	if in.parts += len(parts); in.parts > wire.MaxDialogParts {
		return nil, in.tooMany(in.where)
	}
	out := make([]wire.Part, 0, len(parts))
	for i := range parts {
		p, problem := in.part(&parts[i])
		if problem != nil {
			return nil, problem
		}
		if p.Kind != wire.Text || p.Text != "" {
			out = append(out, p)
		}
	}
	return out, nil
}

func (in *intake) part(p *part) (wire.Part, *wire.Problem) {
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		return wire.Part{Kind: wire.Text, Text: p.Text}, nil
	case "refusal":
		return wire.Part{Kind: wire.Refusal, Text: p.Refusal}, nil
	case "input_image":
		m, ok := p.image()
		return wire.Part{Kind: wire.Image, Media: m}, in.found(ok, "an image by http(s) URL, data: URL with base64, or file id")
	case "input_file":
		m, ok := p.file()
		return wire.Part{Kind: wire.Document, Media: m}, in.found(ok, "a file by http(s) URL, base64 data, or file id")
	case "input_audio":
		return wire.Part{Kind: wire.Audio, Media: &wire.Media{Type: "audio/" + p.Audio.Format, Data: p.Audio.Data}}, nil
	}
	return wire.Part{}, in.refuse("content of a kind that they do not know: " + wire.Clean(p.Type, 64) + ". Leave it out")
}

// found refuses content that is nowhere to be found.
func (in *intake) found(ok bool, must string) *wire.Problem {
	if ok {
		return nil
	}
	return wire.Malformed(in.where, must)
}

func (p *part) image() (*wire.Media, bool) {
	url := jsonedit.Read(p.ImageURL)
	if url.Kind() == '{' { // as in Chat: imitators take both
		url = url.Get("url")
	}
	m, ok := p.media(url.Text())
	m.Detail = p.Detail
	return m, ok
}

func (p *part) file() (*wire.Media, bool) {
	url := p.FileData
	switch {
	case url == "":
		url = p.FileURL
	case !strings.HasPrefix(url, "data:"): // without its type: what the API itself takes it for
		url = "data:application/pdf;base64," + url
	}
	m, ok := p.media(url)
	m.Name = p.Filename
	return m, ok
}

// media is what a URL or else a file id leads to.
func (p *part) media(url string) (*wire.Media, bool) {
	if url == "" {
		return &wire.Media{FileID: p.FileID}, p.FileID != ""
	}
	return wire.MediaAt(url)
}

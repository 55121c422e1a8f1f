package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/functions/internal/wire"
)

// tool is one tool, or a namespace of tools.
type tool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
	Format      jsontext.Value `json:"format,omitzero"` // of a custom tool's text
	Tools       []tool         `json:"tools,omitzero"`  // of a namespace
}

// choice is tool_choice where it is an object.
type choice struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitzero"`
	Mode  string `json:"mode,omitzero"`
	Tools []tool `json:"tools,omitzero"`
}

// maxToolName is how long a tool's name may be at every provider, in bytes.
const maxToolName = 64

// flatName is the name of a namespace's tool where there are no namespaces.
func flatName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	flat := namespace + "__" + name
	if len(flat) > maxToolName {
		sum := sha256.Sum256([]byte(flat))
		flat = wire.Clean(flat, maxToolName-9) + "_" + hex.EncodeToString(sum[:4])
	}
	return flat
}

// functions calls each for every tool that the client itself runs, with its
// namespace, and lost for every other kind.
func functions(tools []tool, namespace string, each func(namespace string, t *tool), lost func(kind string)) {
	for i := range tools {
		switch t := &tools[i]; {
		case t.Type == "function", t.Type == "custom", t.Type == "" && t.Name != "":
			each(namespace, t)
		case t.Type == "namespace" && namespace == "":
			functions(t.Tools, t.Name, each, lost)
		default:
			lost(t.Type)
		}
	}
}

// offer reads the tools and which of them is to be called.
func (r *request) offer(d *wire.Dialog) *wire.Problem {
	in := intake{dialog: d}
	functions(r.Tools, "", func(namespace string, t *tool) {
		d.Tools = append(d.Tools, wire.Tool{Name: flatName(namespace, t.Name), Description: t.Description,
			Schema: given(t.Parameters), Strict: t.Strict, Custom: t.Type == "custom", Grammar: given(t.Format)})
	}, func(kind string) { in.lose("tools." + kind) })
	if len(d.Tools) > wire.MaxDialogTools {
		return wire.Refuse(wire.InvalidRequest).About("tools").Saying("The request offers more tools than this gateway translates. Offer fewer.")
	}
	if p := r.choose(d); p != nil {
		return p
	}
	if d.Choice.Mode == "required" && len(d.Tools) == 0 {
		return unchosen()
	}
	return nil
}

func (r *request) choose(d *wire.Dialog) *wire.Problem {
	var c choice
	switch r.ToolChoice.Kind() {
	case 0, 'n':
		return nil
	case '"':
		if err := json.Unmarshal(r.ToolChoice, &d.Choice.Mode); err != nil {
			return malformed("tool_choice", err)
		}
		return nil
	}
	if err := json.Unmarshal(r.ToolChoice, &c); err != nil {
		return malformed("tool_choice", err)
	}
	switch c.Type {
	case "function", "custom":
		d.Choice = wire.ToolChoice{Mode: "tool", Name: r.chosen(c.Name)}
	case "allowed_tools":
		d.Choice.Mode = c.Mode
		d.Tools = slices.DeleteFunc(d.Tools, func(t wire.Tool) bool {
			return !slices.ContainsFunc(c.Tools, func(allowed tool) bool { return r.chosen(allowed.Name) == t.Name })
		})
	default:
		return unchosen()
	}
	return nil
}

// chosen is the flat name of the tool that a choice names.
func (r *request) chosen(name string) string {
	flat := ""
	functions(r.Tools, "", func(namespace string, t *tool) {
		if t.Name == name && (namespace == "" || flat == "") { // a plain tool before a namespace's
			flat = flatName(namespace, name)
		}
	}, func(string) {})
	if flat == "" {
		return name
	}
	return flat
}

func unchosen() *wire.Problem {
	return wire.Refuse(wire.CapabilityMissing).About("tool_choice").Saying(
		"The tool that must be called is a provider's own, which the deployments of this model do not have. Offer a function or use another model.")
}

// given is a value, nil where it is null.
func given(v jsontext.Value) []byte {
	if v.Kind() == 'n' {
		return nil
	}
	return v
}

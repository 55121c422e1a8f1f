package answer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
)

// Bounds of a document that is made from a schema of a stranger.
const (
	maxDepth = 24
	maxNodes = 2000
	maxItems = 64
)

// schema is the part of JSON Schema that an instance is made from.
type schema struct {
	Type       jsontext.Value            `json:"type"`
	Enum       []jsontext.Value          `json:"enum"`
	Const      jsontext.Value            `json:"const"`
	Properties map[string]jsontext.Value `json:"properties"`
	Items      jsontext.Value            `json:"items"`
	AnyOf      []jsontext.Value          `json:"anyOf"`
	OneOf      []jsontext.Value          `json:"oneOf"`
	AllOf      []jsontext.Value          `json:"allOf"`
	Ref        string                    `json:"$ref"`
	Minimum    jsontext.Value            `json:"minimum"`
	MinItems   jsontext.Value            `json:"minItems"`
	MinLength  jsontext.Value            `json:"minLength"`
	Format     string                    `json:"format"`
}

// builder makes one instance.
type builder struct {
	root  jsontext.Value
	out   []byte
	nodes int
}

// document is the smallest instance of a schema: every property, in the order
// of their names, and no more items than are asked for. A schema that cannot
// be read is answered by an empty object.
func document(of jsontext.Value) string {
	if emit.Absent(of) {
		return "{}"
	}
	b := builder{root: of}
	b.value(of, "", 0)
	return string(b.out)
}

// value appends an instance of one schema. Beyond the bounds it is null: only
// a schema that recurses without end gets there.
func (b *builder) value(raw jsontext.Value, name string, depth int) {
	b.nodes++
	var s schema
	if depth > maxDepth || b.nodes > maxNodes || json.Unmarshal(raw, &s) != nil {
		b.out = append(b.out, "null"...)
		return
	}
	if alternative := b.alternative(&s); alternative != nil {
		b.value(alternative, name, depth+1)
		return
	}
	switch {
	case len(s.Const) > 0:
		b.raw(s.Const)
	case len(s.Enum) > 0:
		b.raw(s.Enum[0])
	default:
		b.typed(&s, name, depth)
	}
}

// alternative is the schema that stands for this one, nil when it stands for
// itself.
func (b *builder) alternative(s *schema) jsontext.Value {
	for _, list := range [][]jsontext.Value{s.AnyOf, s.OneOf, s.AllOf} {
		if len(list) > 0 && len(s.Properties) == 0 {
			return list[0]
		}
	}
	if s.Ref != "" {
		return b.resolve(s.Ref)
	}
	return nil
}

// resolve follows a reference inside the document; anything else is nil, and
// the schema then stands for itself.
func (b *builder) resolve(ref string) jsontext.Value {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	at := b.root
	for token := range jsontext.Pointer(path).Tokens() {
		var members map[string]jsontext.Value
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[token]
	}
	return at
}

func (b *builder) typed(s *schema, name string, depth int) {
	switch kind := s.kind(); kind {
	case "object":
		b.object(s, depth)
	case "array":
		b.array(s, name, depth)
	case "integer", "number":
		b.numeric(s)
	case "boolean":
		b.out = append(b.out, "true"...)
	case "null":
		b.out = append(b.out, "null"...)
	default:
		b.out = emit.Quote(b.out, s.text(name))
	}
}

// kind is the first type that is not null.
func (s *schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil {
		for _, k := range several {
			if k != "null" {
				return k
			}
		}
		return "null"
	}
	if s.Properties != nil {
		return "object"
	}
	return "string"
}

func (b *builder) object(s *schema, depth int) {
	b.out = append(b.out, '{')
	for i, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if i > 0 {
			b.out = append(b.out, ',')
		}
		b.out = append(emit.Quote(b.out, name), ':')
		b.value(s.Properties[name], name, depth+1)
	}
	b.out = append(b.out, '}')
}

func (b *builder) array(s *schema, name string, depth int) {
	b.out = append(b.out, '[')
	for i := range min(max(number(s.MinItems), 1), maxItems) {
		if i > 0 {
			b.out = append(b.out, ',')
		}
		if emit.Absent(s.Items) {
			b.out = emit.Quote(b.out, "item")
			continue
		}
		b.value(s.Items, name, depth+1)
	}
	b.out = append(b.out, ']')
}

func (b *builder) numeric(s *schema) {
	if s.Minimum.Kind() == '0' {
		b.raw(s.Minimum)
		return
	}
	b.out = append(b.out, '1')
}

// raw appends a value that the schema names.
func (b *builder) raw(v jsontext.Value) { b.out = append(b.out, emit.Compact(v)...) }

// text is an instance of a string schema, named after its property.
func (s *schema) text(name string) string {
	switch {
	case name == "command" || name == "cmd":
		return "ls"
	case s.Format == "date-time":
		return "2026-01-02T03:04:05Z"
	case s.Format == "date":
		return "2026-01-02"
	case s.Format == "uri":
		return "https://example.com/"
	case s.Format == "email":
		return "someone@example.com"
	case name == "":
		name = "text"
	}
	if missing := number(s.MinLength) - len(name); missing > 0 {
		name += strings.Repeat("x", min(missing, 1000))
	}
	return name
}

// number is a JSON number as an int, 0 when it is none.
func number(v jsontext.Value) int {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return 0
	}
	return n
}

package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// MaxDocument is the largest document that Parse reads, in bytes.
const MaxDocument = 4 << 20

// maxDepth bounds nesting; the deepest legal value lies at six levels.
const maxDepth = 64

// Parse reads a document from YAML or JSON. It is strict: unknown fields, wrong
// types, duplicate keys and a second document are problems, and every problem
// is reported with its path, not just the first. What could be read is returned
// even so, never nil, with the defaults of session and affinity filled in;
// other defaults stay unwritten, so that a document says what its operator said,
// and are filled in by Compile.
//
// References and ranges are Validate's business.
func Parse(data []byte) (*Document, []Problem) {
	doc := blank()
	found := parseInto(data, reflect.ValueOf(doc).Elem())
	return doc, found
}

// Load parses and validates: all that is wrong with a document in one list.
// A place that could not be read is not reported again for what it lacks.
func Load(data []byte) (*Document, []Problem) {
	doc, found := Parse(data)
	unread := make([]string, len(found))
	for i, p := range found {
		unread[i] = p.Path
	}
	for _, p := range doc.Validate() {
		if !within(p.Path, unread) {
			found = append(found, p)
		}
	}
	return doc, found
}

// within reports whether path is one of places, or lies inside or around one.
func within(path string, places []string) bool {
	for _, place := range places {
		if place == "" || path == place || encloses(place, path) || encloses(path, place) {
			return true
		}
	}
	return false
}

// encloses reports whether the path inner lies inside outer.
func encloses(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// ParseKey reads one key, as strictly as Parse reads a document.
func ParseKey(data []byte) (Key, []Problem) {
	var key Key
	found := parseInto(data, reflect.ValueOf(&key).Elem())
	return key, found
}

// ParseGroup reads one group, as strictly as Parse reads a document.
func ParseGroup(data []byte) (Group, []Problem) {
	var group Group
	found := parseInto(data, reflect.ValueOf(&group).Elem())
	return group, found
}

// blank is the document of somebody who has said nothing.
func blank() *Document {
	return &Document{
		Session: Session{Enabled: true, AutoDetect: true, BuiltinRules: true},
		Affinity: Affinity{
			Enabled:   true,
			TTL:       Duration(time.Hour),
			Retention: Duration(720 * time.Hour),
			MaxWait:   Duration(2 * time.Second),
		},
		Ledger: Ledger{Retention: Duration(400 * 24 * time.Hour)},
	}
}

func parseInto(data []byte, target reflect.Value) []Problem {
	root, err := readTree(data)
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	d := decoder{budget: maxValues}
	d.value(root, target, "")
	return d.list
}

// readTree turns text into nodes, whichever of the two languages it is in.
// What begins with a brace is read as JSON, whose escapes YAML reads otherwise;
// it may still be YAML in its flow style.
func readTree(data []byte) (*yaml.Node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case len(data) > MaxDocument:
		return nil, fmt.Errorf("the document is larger than %d bytes", MaxDocument)
	case !utf8.Valid(data):
		return nil, errors.New("the document is not UTF-8 text")
	case len(text) == 0:
		return nil, errors.New("the document is empty")
	case text[0] != '{':
		return readYAML(data)
	}
	root, jsonErr := readJSON(text)
	if jsonErr == nil {
		return root, nil
	}
	root, yamlErr := readYAML(data)
	if yamlErr != nil && strings.HasPrefix(strings.TrimLeft(string(text[1:]), " \t\r\n"), `"`) {
		return nil, jsonErr
	}
	return root, yamlErr
}

// readYAML reads the one document of a stream.
func readYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, second yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return nil, errors.New("the document is empty")
	} else if err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("several YAML documents in one; keep the first and remove what follows ---")
	}
	return root.Content[0], nil
}

func readJSON(data []byte) (*yaml.Node, error) {
	// Duplicate names are let through to the decoder, which names their path.
	decoder := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	root, err := jsonNode(decoder, 0)
	if err == nil {
		if _, err = decoder.ReadToken(); errors.Is(err, io.EOF) {
			return root, nil
		}
		err = errors.New("text after the end of the document")
	}
	return nil, fmt.Errorf("not valid JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
}

// jsonNode reads one JSON value as the node that the same YAML would be.
func jsonNode(decoder *jsontext.Decoder, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return jsonChildren(decoder, yaml.MappingNode, '}', depth)
	case '[':
		return jsonChildren(decoder, yaml.SequenceNode, ']', depth)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: jsonTag(token), Value: token.String()}, nil
}

// jsonChildren reads names and values, or elements, until the end of their
// object or array.
func jsonChildren(decoder *jsontext.Decoder, kind yaml.Kind, end jsontext.Kind, depth int) (*yaml.Node, error) {
	node := &yaml.Node{Kind: kind}
	for decoder.PeekKind() != end {
		child, err := jsonNode(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err := decoder.ReadToken()
	return node, err
}

func jsonTag(token jsontext.Token) string {
	switch token.Kind() {
	case 'n':
		return tagNull
	case 't', 'f':
		return tagBool
	case '0':
		if strings.ContainsAny(token.String(), ".eE") {
			return tagFloat
		}
		return tagInt
	}
	return tagString
}

package catalog

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// JSON is the document as Parse reads it back, with object keys in the order of
// the fields and map keys sorted, so that equal documents give equal text.
func (d *Document) JSON() ([]byte, error) {
	return json.Marshal(d, json.Deterministic(true), jsontext.WithIndent("  "))
}

// MarshalYAML writes the same document as JSON does. It goes by way of the JSON
// form, since only that tells an empty table, which means equal weights, from
// an absent one.
func (d *Document) MarshalYAML() (any, error) {
	text, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	root, err := jsonNode(jsontext.NewDecoder(bytes.NewReader(text)), 0)
	if err != nil {
		return nil, err
	}
	plainNumbers(root)
	return root, nil
}

// plainNumbers rewrites numbers that JSON writes with an exponent that YAML
// does not know.
func plainNumbers(node *yaml.Node) {
	if node.Tag == tagInt || node.Tag == tagFloat {
		if value, err := strconv.ParseFloat(node.Value, 64); err == nil {
			node.Value = strconv.FormatFloat(value, 'f', -1, 64)
		}
	}
	for _, child := range node.Content {
		plainNumbers(child)
	}
}

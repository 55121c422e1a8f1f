package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxValues bounds how many values one document may hold once its aliases are
// followed, so that a few lines cannot stand for billions.
const maxValues = 300_000

// decoder reads nodes into Go values by their JSON names and collects what does
// not fit, with its path, instead of stopping there.
type decoder struct {
	problems
	budget int // values that may still be read
}

// value reads node into v. Null leaves v as it is: absent.
func (d *decoder) value(node *yaml.Node, v reflect.Value, path string) {
	if !d.spend(path) {
		return
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if tagOf(node) == tagNull {
		return
	}
	if target, ok := v.Addr().Interface().(scalar); ok {
		d.scalar(node, target, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(node, v.Elem(), path)
	case reflect.Struct:
		d.fields(node, v, path)
	case reflect.Map:
		d.table(node, v, path)
	case reflect.Slice:
		d.sequence(node, v, path)
	default:
		d.plain(node, v, path)
	}
}

// spend reports whether one more value may be read. Nothing is read any more
// once there are more problems than will be told.
func (d *decoder) spend(path string) bool {
	if d.budget--; d.budget == 0 {
		d.errorf(path, "the document holds more than %d values once its aliases are followed", maxValues)
	}
	return d.budget > 0 && len(d.list) <= maxProblems
}

// tagOf is the short tag of a node: !!str, !!int, !!map and so on.
func tagOf(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode || node.Kind == 0 {
		return node.ShortTag()
	}
	return ""
}

func (d *decoder) scalar(node *yaml.Node, target scalar, path string) {
	if node.Kind != yaml.ScalarNode {
		d.errorf(path, "must be a single value, not %s", kindOf(node))
		return
	}
	if err := target.setScalar(tagOf(node), node.Value); err != nil {
		d.errorf(path, "%v", err)
	}
}

// fields reads a mapping into a struct; a field that is not known is a problem.
func (d *decoder) fields(node *yaml.Node, v reflect.Value, path string) {
	known := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		known[name] = i
	}
	for _, e := range d.entries(node, path) {
		if i, ok := known[e.key]; ok {
			before := len(d.list)
			d.value(e.value, v.Field(i), e.path)
			if v.Type().Field(i).Tag.Get("zero") == "refused" && len(d.list) == before {
				d.notZero(e, v.Field(i))
			}
			continue
		}
		if !d.spend(e.path) {
			return
		}
		d.errorf(e.path, "unknown field%s", didYouMean(e.key, slices.Collect(maps.Keys(known))))
	}
}

// notZero refuses a zero that is written where it would be taken for nothing at
// all: what stands in a document means what it says.
func (d *decoder) notZero(e entry, v reflect.Value) {
	node := e.value
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if v.IsZero() && tagOf(node) != tagNull {
		d.errorf(e.path, "must be more than 0; leave it out to have the default")
	}
}

// table reads a mapping into a map. An empty mapping makes an empty map, which
// is not the same as none. A table of chains that is an empty list is one without
// entries.
func (d *decoder) table(node *yaml.Node, v reflect.Value, path string) {
	if v.Type().Elem().Kind() == reflect.Slice && node.Kind == yaml.SequenceNode && len(node.Content) == 0 {
		return
	}
	made := reflect.MakeMap(v.Type())
	for _, e := range d.entries(node, path) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, element, e.path)
		made.SetMapIndex(reflect.ValueOf(e.key), element)
	}
	if node.Kind == yaml.MappingNode {
		v.Set(made)
	}
}

// sequence reads a list. What cannot be read leaves a zero element, so that the
// positions of the others stay right.
func (d *decoder) sequence(node *yaml.Node, v reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		d.errorf(path, "must be a list, not %s", kindOf(node))
		return
	}
	made := reflect.MakeSlice(v.Type(), 0, min(len(node.Content), 1024))
	for i, item := range node.Content {
		if d.budget <= 0 {
			break
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, element, fmt.Sprintf("%s[%d]", path, i))
		made = reflect.Append(made, element)
	}
	v.Set(made)
}

// plain reads text, a boolean or a number.
func (d *decoder) plain(node *yaml.Node, v reflect.Value, path string) {
	tag := tagOf(node)
	switch v.Kind() {
	case reflect.String:
		switch tag {
		case tagString, tagTime: // an unquoted date is text here
			v.SetString(node.Value)
		case tagBool, tagInt, tagFloat:
			d.errorf(path, "must be text, not %s; put it in quotes", kindOf(node))
		default:
			d.errorf(path, "must be text, not %s", kindOf(node))
		}
	case reflect.Bool:
		value, err := strconv.ParseBool(node.Value)
		if tag != tagBool || err != nil {
			d.errorf(path, "must be true or false, not %s", kindOf(node))
			return
		}
		v.SetBool(value)
	case reflect.Int:
		var value int
		switch {
		case tag == tagFloat:
			d.errorf(path, "must be a whole number, in plain digits")
		case tag != tagInt:
			d.errorf(path, "must be a whole number, not %s", kindOf(node))
		case node.Decode(&value) != nil:
			d.errorf(path, "is too large a number")
		}
		v.SetInt(int64(value))
	case reflect.Float64:
		var value float64
		switch {
		case tag != tagInt && tag != tagFloat:
			d.errorf(path, "must be a number, not %s", kindOf(node))
		case node.Decode(&value) != nil:
			d.errorf(path, "is too large a number")
		}
		v.SetFloat(value)
	}
}

// entry is one key of a mapping with its value and its path.
type entry struct {
	key, path string
	value     *yaml.Node
}

// entries are a mapping's own keys in order, then those merged in by <<, which
// never override. A key that is given twice is a problem; the first one counts.
func (d *decoder) entries(node *yaml.Node, path string) []entry {
	if node.Kind != yaml.MappingNode {
		d.errorf(path, "must be a mapping, not %s", kindOf(node))
		return nil
	}
	var own []entry
	seen := map[string]bool{}
	d.collect(node, path, seen, &own, 0)
	return own
}

// collect gathers the keys of one mapping. Own keys must be unique; a merged one
// gives way to what is there already.
func (d *decoder) collect(node *yaml.Node, path string, seen map[string]bool, into *[]entry, merges int) {
	var merged []*yaml.Node
	for i := 0; i+1 < len(node.Content) && d.budget > 0; i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case tagOf(key) == tagMerge:
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode || tagOf(key) == tagNull:
			d.errorf(path, "a key must be text, not %s", kindOf(key))
		case !seen[key.Value]:
			seen[key.Value] = true
			*into = append(*into, entry{key: key.Value, path: join(path, key.Value), value: value})
		case merges == 0:
			d.errorf(join(path, key.Value), "given twice; keep one")
		default:
			d.budget--
		}
	}
	for _, value := range merged {
		d.merge(value, path, seen, into, merges+1)
	}
}

// merge adds the keys of a mapping, or of a list of mappings, that << names.
func (d *decoder) merge(value *yaml.Node, path string, seen map[string]bool, into *[]entry, merges int) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case merges > maxDepth || !d.spend(path):
	case value.Kind == yaml.MappingNode:
		d.collect(value, path, seen, into, merges)
	case value.Kind == yaml.SequenceNode:
		for _, item := range value.Content {
			d.merge(item, path, seen, into, merges+1)
		}
	default:
		d.errorf(path, "<< must name a mapping, not %s", kindOf(value))
	}
}

// kindOf says what a node is, in an operator's words.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch tagOf(node) {
	case tagString:
		return "text"
	case tagBool:
		return "true or false"
	case tagInt, tagFloat:
		return "a number"
	case tagTime:
		return "a date"
	case tagNull:
		return "nothing"
	}
	return "something else"
}

// join is the path of a key inside path; names that are not plain are quoted.
func join(path, key string) string {
	if !plainName(key) {
		if len(key) > maxNameInPath {
			key = strings.ToValidUTF8(key[:maxNameInPath], "") + "…"
		}
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

const maxNameInPath = 80

// plainName reports whether a key may stand in a path without quotes.
func plainName(key string) bool {
	for _, c := range []byte(key) {
		if !letterOrDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return key != "" && len(key) <= maxNameInPath
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

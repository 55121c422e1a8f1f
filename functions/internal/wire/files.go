package wire

import (
	"bytes"
	"slices"

	"holdfast/functions/internal/wire/jsonedit"
)

// maxFileID bounds the ids of files and containers that are looked at, in bytes.
// Longer ones are nobody's.
const maxFileID = 256

// FileIDs are the ids of files and of containers that a request of one of the three
// protocols mentions, each once, at most limit of either; more reports that there are
// further ones. They stand in the content of messages and of tool results, and in what
// tools are given.
func (f *Facts) FileIDs(limit int) (files, containers []string, more bool) {
	c := collector{limit: limit}
	for _, name := range [...]string{"input", "messages", "tools"} {
		if list := f.Value(name); mayName(list.Bytes()) {
			for each := list.Each(); each.Next(); {
				c.in(each.Value(), 0)
			}
		}
	}
	c.container(f.Value("container")) // of Messages
	for each := f.Value("tools").Each(); each.Next(); {
		c.container(each.Value().Get("container"))
	}
	return c.files, c.containers, c.more
}

// mayName reports whether there may be a file's id in JSON. It only looks for bytes:
// a name that is written with escapes is looked into.
func mayName(raw []byte) bool {
	return bytes.Contains(raw, []byte("file_id")) || bytes.Contains(raw, []byte(`\u006`)) || bytes.Contains(raw, []byte(`\u005`))
}

// collector gathers ids.
type collector struct {
	limit             int
	files, containers []string
	more              bool
}

// deepest is how far below an item, a message or a tool a file's id can stand: in the
// source of a document in the content of a tool's result.
const deepest = 5

// in looks for files in a value: as file_id, and in lists of file_ids.
func (c *collector) in(v jsonedit.Value, depth int) {
	if depth > deepest {
		return
	}
	for each := v.Each(); each.Next(); {
		switch {
		case v.Kind() == '{' && each.Is("file_id"):
			c.files = c.add(c.files, each.Value())
		case v.Kind() == '{' && each.Is("file_ids"):
			for id := each.Value().Each(); id.Next(); {
				c.files = c.add(c.files, id.Value())
			}
		case each.Kind() == '{' || each.Kind() == '[':
			c.in(each.Value(), depth+1)
		}
	}
}

// container takes in one that is named by its id, or as an object that has one.
func (c *collector) container(v jsonedit.Value) {
	if v.Kind() == '{' {
		v = v.Get("id")
	}
	c.containers = c.add(c.containers, v)
}

func (c *collector) add(ids []string, v jsonedit.Value) []string {
	n := v.Len()
	if n == 0 || n > maxFileID {
		return ids
	}
	switch id := v.Text(); {
	case slices.Contains(ids, id):
	case len(ids) == c.limit:
		c.more = true
	default:
		ids = append(ids, id)
	}
	return ids
}

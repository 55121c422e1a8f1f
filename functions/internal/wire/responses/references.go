package responses

import (
	"bytes"
	"slices"
	"strings"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// ConversationID is the conversation that a request goes on with, by its id or
// as an object; "" where there is none.
func ConversationID(f *wire.Facts) string {
	v := f.Value("conversation")
	if v.Kind() == '{' {
		v = v.Get("id")
	}
	return idIn(v)
}

// ReferenceIDs are the ids of stored items that input refers to, each once, in
// order. At most limit; more reports that there are further ones.
func ReferenceIDs(input jsonedit.Value, limit int) (ids []string, more bool) {
	if input.Kind() != '[' || !bytes.Contains(input.Bytes(), []byte(`"id"`)) && !bytes.Contains(input.Bytes(), []byte(`\u00`)) {
		return nil, false
	}
	for each := input.Each(); each.Next(); {
		id, is := reference(each.Value())
		switch {
		case !is || strings.HasPrefix(id, madePrefix) || slices.Contains(ids, id):
		case len(ids) == limit:
			return ids, true
		default:
			ids = append(ids, id)
		}
	}
	return ids, false
}

// reference is the id of the stored item that an item refers to.
func reference(item jsonedit.Value) (id string, is bool) {
	kind := item.Get("type")
	if !kind.Is("item_reference") && (kind.Given() || item.Get("role").Exists() || !item.Get("id").Exists()) {
		return "", false
	}
	return idIn(item.Get("id")), true
}

// Expand puts the items themselves in the place of references to them. Find
// returns an item by its id, nil to leave the reference as it is.
func Expand(input jsonedit.Value, find func(id string) []byte) []byte {
	p := jsonedit.Amend(input.Bytes())
	for each := jsonedit.Read(input.Bytes()).Each(); each.Next(); {
		if id, is := reference(each.Value()); is {
			if item := find(id); item != nil {
				p.Replace(each.Value(), item)
			}
		}
	}
	return p.Bytes()
}

// FindItem is the item with an id among output items, as ItemIDs names them; nil
// where there is none.
func FindItem(output []byte, id string) []byte {
	for each := jsonedit.Read(output).Each(); each.Next(); {
		item := each.Value()
		own := idIn(item.Get("id"))
		if own == id || own != "" && reasons(item) && stand(own) == id {
			return item.Bytes()
		}
	}
	return nil
}

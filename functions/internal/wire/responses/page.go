package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"holdfast/functions/internal/wire/jsonedit"
)

// Page says which part of a list of items is asked for.
type Page struct {
	Ascending bool
	After     string // the last id of the page before
	Limit     int    // 1 to 100
}

// List makes one page of a response's items, newest first unless it ascends, in
// the form of the protocol's lists. Items without an id get one that stays the
// same for this response.
func List(response string, items []byte, page Page) []byte {
	var all []listed
	for each := jsonedit.Read(items).Each(); each.Next(); {
		all = append(all, identified(response, len(all), each.Value().Bytes()))
	}
	var shown []listed
	seen, more := page.After == "", false
	for i := range all {
		it := all[i]
		if !page.Ascending {
			it = all[len(all)-1-i]
		}
		switch {
		case !seen:
			seen = it.id == page.After
		case len(shown) == page.Limit:
			more = true
		default:
			shown = append(shown, it)
		}
	}
	return list(shown, more)
}

// listed is an item with its id.
type listed struct {
	id  string
	raw []byte
}

// identified gives an item an id if it has none.
func identified(response string, index int, raw []byte) listed {
	item := jsonedit.Read(raw)
	if id := idIn(item.Get("id")); id != "" {
		return listed{id, raw}
	}
	sum := sha256.Sum256([]byte("input item\x00" + response + "\x00" + strconv.Itoa(index)))
	id := "item_hf_" + hex.EncodeToString(sum[:16])
	p := jsonedit.Amend(raw)
	p.SetIn(item, "id", jsonedit.Quote(id))
	return listed{id, p.Bytes()}
}

func list(shown []listed, more bool) []byte {
	out := []byte(`{"object":"list","data":[`)
	first, last := []byte("null"), []byte("null")
	for i, it := range shown {
		if i == 0 {
			first = jsonedit.Quote(it.id)
		} else {
			out = append(out, ',')
		}
		out, last = append(out, it.raw...), jsonedit.Quote(it.id)
	}
	out = append(append(out, `],"first_id":`...), first...)
	out = append(append(out, `,"last_id":`...), last...)
	return append(strconv.AppendBool(append(out, `,"has_more":`...), more), '}')
}

// Deleted is the answer to a client that has deleted a response.
func Deleted(id string) []byte {
	return append(append([]byte(`{"id":`), jsonedit.Quote(id)...), `,"object":"response","deleted":true}`...)
}

package responses

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"holdfast/functions/internal/wire/jsonedit"
)

// maxItemID bounds the ids of items, files and conversations that are looked at,
// in bytes. Longer ones are nobody's.
const maxItemID = 256

// InputItems is a request's input as an array of items: a string is one message
// of the user's.
func InputItems(input jsonedit.Value) []byte {
	switch input.Kind() {
	case '[':
		return input.Bytes()
	case '"':
		out := append([]byte(`[{"type":"message","role":"user","content":`), input.Bytes()...)
		return append(out, `}]`...)
	}
	return []byte(`[]`)
}

// OutputItems are the output items of a kept answer: the array itself, or that
// of a whole response.
func OutputItems(kept []byte) []byte {
	v := jsonedit.Read(kept)
	if v.Kind() == '{' {
		v = v.Get("output")
	}
	if v.Kind() != '[' {
		return []byte(`[]`)
	}
	return v.Bytes()
}

// Join puts arrays of items together into one.
func Join(arrays ...[]byte) []byte {
	size := 2
	for _, a := range arrays {
		size += len(a)
	}
	out := append(make([]byte, 0, size), '[')
	for _, a := range arrays {
		inner := within(a)
		if len(inner) > 0 && len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return append(out, ']')
}

// within is what stands between an array's brackets.
func within(array []byte) []byte {
	array = bytes.TrimSpace(array)
	if len(array) < 2 || array[0] != '[' || array[len(array)-1] != ']' {
		return nil
	}
	return bytes.TrimSpace(array[1 : len(array)-1])
}

// ItemIDs are the ids by which a later request may refer to output items: the
// gateway's own for reasoning items. At most limit.
func ItemIDs(output []byte, limit int) []string {
	var ids []string
	for each := jsonedit.Read(output).Each(); each.Next() && len(ids) < limit; {
		item := each.Value()
		id := idIn(item.Get("id"))
		if id != "" && reasons(item) {
			id = stand(id)
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Sealed names the ciphertext in items that nobody but the account which made it
// can use, and that cannot be left out: compactions and the like. A name is a
// digest that tells nothing of it. At most limit; more reports that there are
// further ones.
func Sealed(items []byte, limit int) (names []string, more bool) {
	if !mayBeSealed(items) {
		return nil, false
	}
	for each := jsonedit.Read(items).Each(); each.Next(); {
		name := sealedIn(each.Value())
		switch {
		case name == "":
		case len(names) == limit:
			return names, true
		default:
			names = append(names, name)
		}
	}
	return names, false
}

// mayBeSealed reports whether there may be ciphertext in JSON. It only looks for
// bytes.
func mayBeSealed(raw []byte) bool {
	return bytes.Contains(raw, []byte("encrypted_content")) || bytes.Contains(raw, []byte(`\u00`))
}

// sealedIn names the ciphertext of one item, "" where it has none that matters.
func sealedIn(item jsonedit.Value) string {
	sealed := item.Get("encrypted_content")
	if sealed.Len() == 0 || reasons(item) {
		return ""
	}
	sum := sha256.Sum256([]byte(sealed.Text()))
	return hex.EncodeToString(sum[:])
}

// idIn is a string that may be an id, "" for any other value.
func idIn(v jsonedit.Value) string {
	if n := v.Len(); n == 0 || n > maxItemID {
		return ""
	}
	return v.Text()
}

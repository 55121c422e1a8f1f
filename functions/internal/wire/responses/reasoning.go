package responses

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"holdfast/functions/internal/wire/jsonedit"
)

// madePrefix begins the ids that stand in the place of a provider's own ids of
// reasoning items. They name nothing anywhere.
const madePrefix = "rs_hf_"

// stand is the id that stands for a provider's: the same one in every event of
// a stream, and when the response is asked for again. It does not tell the
// provider's.
func stand(id string) string {
	if strings.HasPrefix(id, madePrefix) {
		return id
	}
	sum := sha256.Sum256([]byte("reasoning item\x00" + id))
	return madePrefix + hex.EncodeToString(sum[:16])
}

// mentions reports whether there may be a reasoning item in JSON, or an id that
// stands for one. It only looks for bytes: what may be written with escapes is
// looked into.
func mentions(raw []byte) bool {
	return bytes.Contains(raw, []byte("reasoning")) || bytes.Contains(raw, []byte(madePrefix)) || bytes.Contains(raw, []byte(`\u00`))
}

// reasons reports whether an item is a reasoning item.
func reasons(item jsonedit.Value) bool { return item.Get("type").Is("reasoning") }

// readable reports whether a reasoning item has text that anybody can read: a
// summary, or the reasoning itself.
func readable(item jsonedit.Value) bool {
	for each := item.Each(); each.Next(); {
		if (each.Is("summary") || each.Is("content")) && says(each.Value()) {
			return true
		}
	}
	return false
}

// says reports whether a list of parts has text in it.
func says(parts jsonedit.Value) bool {
	for each := parts.Each(); each.Next(); {
		if each.Value().Get("text").Filled() {
			return true
		}
	}
	return false
}

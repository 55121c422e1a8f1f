package responses

import (
	"bytes"
	"strings"

	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// Teller tells an account's answer in a form that any account can go on from:
// reasoning items without ciphertext and status, and with an id of the gateway's
// making in the place of the provider's, the same one in every event. What says
// nothing of reasoning passes byte for byte.
//
// A Teller belongs to one answer.
type Teller struct {
	foreign []string // ids of reasoning items, as the provider gave them
}

// maxForeign bounds how many ids of one answer are remembered. Of further ones
// the events of reasoning's own kinds are still told.
const maxForeign = 1024

// Event appends the client's bytes for one event. One that may speak of
// reasoning and is no JSON is left out: nobody can tell what it holds.
func (t *Teller) Event(dst []byte, e sse.Event) []byte {
	if !mentions(e.Data) && !t.names(e.Data) {
		return append(dst, e.Raw...)
	}
	if !jsonedit.Valid(e.Data) {
		return dst
	}
	p := jsonedit.Amend(e.Data)
	t.event(p, jsonedit.Read(e.Data), e.Name)
	if !p.Changed() {
		return append(dst, e.Raw...)
	}
	return withData(dst, e.Raw, p.Bytes())
}

// Body returns the client's form of a whole answer: a response, a compaction,
// or a page of items.
func (t *Teller) Body(body []byte) []byte {
	if !mentions(body) {
		return body
	}
	p := jsonedit.Amend(body)
	t.object(p, jsonedit.Read(body))
	return p.Bytes()
}

// names reports whether data has one of the ids that must not be seen.
func (t *Teller) names(data []byte) bool {
	for _, id := range t.foreign {
		if bytes.Contains(data, []byte(id)) {
			return true
		}
	}
	return false
}

// event adds the edits of one event's data.
func (t *Teller) event(p *jsonedit.Patch, v jsonedit.Value, name []byte) {
	if kind := v.Get("type"); kind.Len() > 0 {
		name = []byte(kind.Head(64))
	}
	own := bytes.HasPrefix(name, []byte("response.reasoning"))
	for each := v.Each(); each.Next(); {
		switch {
		case each.Is("item"):
			t.item(p, each.Value())
		case each.Is("response"):
			t.object(p, each.Value())
		case each.Is("item_id"):
			t.id(p, each.Value(), own)
		default: // whatever else an event calls it
			t.id(p, each.Value(), false)
		}
	}
}

// object adds the edits of a response, or of a page of items.
func (t *Teller) object(p *jsonedit.Patch, v jsonedit.Value) {
	for each := v.Each(); each.Next(); {
		if each.Is("output") || each.Is("data") {
			t.items(p, each.Value())
		} else if each.Is("first_id") || each.Is("last_id") { // of a page, behind its items
			t.id(p, each.Value(), false)
		}
	}
}

func (t *Teller) items(p *jsonedit.Patch, list jsonedit.Value) {
	if list.Kind() != '[' {
		return
	}
	for each := list.Each(); each.Next(); {
		t.item(p, each.Value())
	}
}

// item adds the edits of a reasoning item.
func (t *Teller) item(p *jsonedit.Patch, item jsonedit.Value) {
	if !reasons(item) {
		return
	}
	for each := item.Each(); each.Next(); {
		if each.Is("id") {
			t.id(p, each.Value(), true)
		}
	}
	p.Prune(item, func(c *jsonedit.Cursor) bool { return c.Is("encrypted_content") || c.Is("status") })
}

// id puts the gateway's own id in the place of a provider's, if it is known or
// said to be one of a reasoning item.
func (t *Teller) id(p *jsonedit.Patch, v jsonedit.Value, own bool) {
	id := v.Text()
	if id == "" || strings.HasPrefix(id, madePrefix) || !own && !t.knows(id) {
		return
	}
	if own && len(t.foreign) < maxForeign && !t.knows(id) {
		t.foreign = append(t.foreign, id)
	}
	p.Replace(v, jsonedit.Quote(stand(id)))
}

func (t *Teller) knows(id string) bool {
	for _, known := range t.foreign {
		if known == id {
			return true
		}
	}
	return false
}

// withData appends an event's raw bytes with other data in it: in the place of
// the first data line, the others left out.
func withData(dst, raw, data []byte) []byte {
	for put := false; len(raw) > 0; {
		line := raw[:lineEnd(raw)]
		raw = raw[len(line):]
		prefix, end := dataLine(line)
		switch {
		case prefix == nil:
			dst = append(dst, line...)
		case !put:
			put = true
			for part := range bytes.SplitSeq(data, []byte("\n")) {
				dst = append(append(append(dst, prefix...), part...), end...)
				prefix = []byte("data: ")
			}
		}
	}
	return dst
}

// lineEnd is where the first line of raw ends, its CR, LF or CRLF included.
func lineEnd(raw []byte) int {
	at := bytes.IndexAny(raw, "\r\n")
	switch {
	case at < 0:
		return len(raw)
	case raw[at] == '\r' && at+1 < len(raw) && raw[at+1] == '\n':
		return at + 2
	}
	return at + 1
}

// dataLine splits a data line into what stands before its value and what ends
// it; prefix is nil for any other line.
func dataLine(line []byte) (prefix, end []byte) {
	text := bytes.TrimRight(line, "\r\n")
	end = line[len(text):]
	name := bytes.TrimPrefix(text, []byte("\ufeff"))
	value, found := bytes.CutPrefix(name, []byte("data:"))
	switch {
	case found:
		return text[:len(text)-len(bytes.TrimPrefix(value, []byte(" ")))], end
	case string(name) == "data": // a line of data without anything in it
		return []byte("data: "), end
	}
	return nil, nil
}

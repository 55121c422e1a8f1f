package identity

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// readRegistry walks the signals that known clients send, configured headers
// first. The first valid one wins; an invalid one is passed over and noted, for
// a foreign client must not break.
func (r *Resolver) readRegistry(s *Signals, q Request, found [][]string) (id, signal string) {
	for _, h := range r.registry {
		if len(found[h.slot]) == 0 {
			continue
		}
		id, reason := h.read(found[h.slot])
		if reason == "" {
			return id, h.name
		}
		s.skip(h.name, reason)
	}
	if !r.rules.Builtin {
		return "", ""
	}
	for _, field := range bodyFields(q) {
		if field.raw == nil {
			continue
		}
		id, reason := field.read(field.raw)
		if reason == "" {
			return id, field.name
		}
		s.skip(field.name, reason)
	}
	return "", ""
}

// read returns the id that a header carries, transformed. Repeated lines that
// differ carry none.
func (h registryHeader) read(values []string) (string, Reason) {
	id, reason := looseValue(values)
	if reason != "" || h.transform == "" {
		return id, reason
	}
	return uuidAfterSession(id)
}

// looseValue reads the lines of one header under the registry's rules.
func looseValue(values []string) (string, Reason) {
	id := strings.TrimSpace(values[0])
	for _, value := range values[1:] {
		if strings.TrimSpace(value) != id {
			return "", Differs
		}
	}
	return id, check(id, maxID)
}

// uuidAfterSession takes the UUID out of "session_<uuid>", or out of a longer
// text that ends in "_session_<uuid>".
func uuidAfterSession(text string) (string, Reason) {
	const word, length = "session_", 36
	at := len(text) - length
	if at < 0 || uuid.Validate(text[at:]) != nil {
		return "", NoSessionUUID
	}
	if before, ok := strings.CutSuffix(text[:at], word); !ok || before != "" && !strings.HasSuffix(before, "_") {
		return "", NoSessionUUID
	}
	return text[at:], ""
}

// bodyField is one body signal of the registry.
type bodyField struct {
	name string
	raw  []byte // nil: absent
	read func(raw []byte) (string, Reason)
}

// bodyFields lists the body's signals in their order.
func bodyFields(q Request) [5]bodyField {
	meta := metadata(q.member("metadata"))
	var conversation []byte
	if q.Endpoint == responses {
		conversation = q.member("conversation")
	}
	return [...]bodyField{
		{"metadata.user_id", meta.user, userSession},
		{"metadata.session_id", meta.session, looseID},
		{"metadata.sessionId", meta.camel, looseID},
		{"litellm_session_id", q.member("litellm_session_id"), looseID},
		{"conversation", conversation, conversationID},
	}
}

// userSession finds the session inside metadata.user_id: the session_id of a
// JSON object in the string, or the UUID at the end of the older text form.
// Device and account ids, and plain user ids, are no sessions.
func userSession(raw []byte) (string, Reason) {
	const longest = 2048 // bytes; real ones have about 200
	text, reason := unquote(raw, longest)
	if reason != "" {
		return "", reason
	}
	text = bytes.TrimSpace(text)
	if len(text) > longest {
		return "", TooLong
	}
	if len(text) == 0 || text[0] != '{' {
		return uuidAfterSession(string(text))
	}
	if !jsontext.Value(text).IsValid() { // nobody has looked inside the string before
		return "", Malformed
	}
	id := metadata(text).session
	if id == nil {
		return "", NoSessionUUID
	}
	return looseID(id)
}

// conversationID reads a conversation reference: its id, or an object with one.
func conversationID(raw []byte) (string, Reason) {
	c := enter(raw, '{')
	if c.bad {
		return looseID(raw)
	}
	var id []byte
	for name, value, ok := c.member(); ok; name, value, ok = c.member() {
		if string(name) == "id" {
			id = value
		}
	}
	return looseID(id)
}

// metadataFields are the members of a metadata object that may name a session;
// nil where absent or null.
type metadataFields struct {
	user, session, camel []byte
}

func metadata(raw []byte) (m metadataFields) {
	c := enter(raw, '{')
	for name, value, ok := c.member(); ok; name, value, ok = c.member() {
		if !present(value) {
			continue
		}
		switch string(name) {
		case "user_id":
			m.user = value
		case "session_id":
			m.session = value
		case "sessionId":
			m.camel = value
		}
	}
	return m
}

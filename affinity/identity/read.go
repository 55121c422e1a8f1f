package identity

import (
	"crypto/sha256"
	"encoding/hex"
)

// Endpoints whose bodies are understood.
const (
	chat      = "chat"
	responses = "responses"
	messages  = "messages"
)

// Request is what the client sent, before any translation.
type Request struct {
	Endpoint string                   // "chat", "responses" or "messages"; others have no fingerprint
	Header   map[string][]string      // in http.Header's form; names match whatever their case
	Member   func(name string) []byte // raw JSON of a top-level body member, already validated; nil when absent
}

// member returns a top-level body member, and nil for one that is absent or null.
func (q Request) member(name string) []byte {
	if q.Member == nil {
		return nil
	}
	if raw := q.Member(name); present(raw) {
		return raw
	}
	return nil
}

// Read finds the signals of a request and, unless a previous response has the
// first word, resolves the session. Errors: *Error, for a core signal that is
// invalid or differs from another, for a previous_response_id that can be no
// response's, and for a prompt_cache_key that is needed and invalid.
func (r *Resolver) Read(q Request) (Signals, error) {
	var s Signals
	if err := s.readParent(q); err != nil || !r.rules.Enabled {
		return s, err
	}
	var room [32][]string
	found := r.collect(q.Header, room[:0])
	s.enabled = true
	r.readLanes(&s, found)
	return s, r.resolve(&s, q, found)
}

// readParent reads previous_response_id. One that can name no response is
// refused as an unknown one is.
func (s *Signals) readParent(q Request) error {
	raw := []byte(nil)
	if q.Endpoint == responses {
		raw = q.member(previousResponse)
	}
	if raw == nil {
		return nil
	}
	id, reason := bodyID(raw, maxResponse)
	if reason != "" {
		return &Error{Code: CodeParentNotFound, Signal: previousResponse, Reason: reason}
	}
	s.ParentResponse = id
	return nil
}

// resolve walks the order of sources; each step runs only where all stronger
// ones found nothing.
func (r *Resolver) resolve(s *Signals, q Request, found [][]string) error {
	id, signal, err := r.readCore(q, found)
	if err != nil {
		return err
	}
	s.core = id != ""
	if !s.core {
		id, signal = r.readRegistry(s, q, found)
	}
	if id != "" {
		s.session = Session{ID: id, Source: Explicit, Signal: signal}
	} else if s.ParentResponse == "" {
		err = r.infer(s, q)
	}
	if err == nil && s.session.ID == "" {
		s.session = Session{ID: r.generate(), Source: Generated}
	}
	if s.ParentResponse != "" || s.session.Source == Prompt {
		s.readPerson(q)
	}
	return err
}

// readCore reads the strict signals: every X-Session-Id value and the body's
// session_id. All must be valid and the same.
func (r *Resolver) readCore(q Request, found [][]string) (id, signal string, err error) {
	values, raw := found[r.core], q.member(sessionField)
	for _, value := range values {
		if reason := check(value, maxID); reason != "" {
			return "", "", &Error{Code: CodeInvalid, Signal: sessionHeader, Reason: reason}
		}
	}
	if raw != nil {
		var reason Reason
		if id, reason = bodyID(raw, maxID); reason != "" {
			return "", "", &Error{Code: CodeInvalid, Signal: sessionField, Reason: reason}
		}
		signal = sessionField
	}
	for i, value := range values {
		if value != values[0] {
			return "", "", &Error{Code: CodeConflict, Signal: sessionHeader, Reason: Differs}
		}
		if i == 0 && signal != "" && value != id {
			return "", "", &Error{Code: CodeConflict, Signal: sessionField, Reason: Differs}
		}
		id, signal = value, sessionHeader
	}
	return id, signal, nil
}

// infer derives an id from prompt_cache_key or, without one, from the opening.
func (r *Resolver) infer(s *Signals, q Request) error {
	if raw := q.member(cacheKeyField); raw != nil {
		key, reason := bodyID(raw, maxID)
		if reason != "" {
			return &Error{Code: CodeInvalid, Signal: cacheKeyField, Reason: reason}
		}
		sum := sha256.Sum256([]byte(key))
		s.session = Session{ID: cacheKeyPrefix + hex.EncodeToString(sum[:]), Source: CacheKey, Signal: cacheKeyField}
		return nil
	}
	if !r.rules.AutoDetect {
		return nil
	}
	sum, reason := fingerprint(q)
	if reason != "" {
		s.skip("prompt", reason)
		return nil
	}
	s.session = Session{ID: promptPrefix + hex.EncodeToString(sum[:]), Source: Prompt}
	return nil
}

func (s *Signals) skip(signal string, reason Reason) {
	s.Skipped = append(s.Skipped, Skip{signal, reason})
}

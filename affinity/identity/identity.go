// Package identity finds out which conversation a request belongs to.
//
// It is a pure function of what the client sent: headers and body members as
// they came in, before any translation. Nothing is stored, logged or sent; the
// one thing it takes from outside is randomness for a new id.
//
// Order: the core signals (X-Session-Id, body session_id), the previous
// response's session, the registry of client signals, prompt_cache_key, the
// fingerprint of the opening, a new random UUID. A core signal is strict: one
// that is invalid, or two that differ, end the request. The registry is
// lenient: what foreign clients send is used where it is valid and passed over
// where it is not, with a Skip that says why.
//
// Invariants. The same conversation gets the same id whatever is appended to it
// and whichever of the three protocols carries it. Reading stops at the first
// meaningful user turn, and does not start at all where something stronger
// decides; tools are never looked at. An inferred id authorises nothing.
// Neither an Error nor a Skip ever holds a value that was sent. Malformed input
// never panics; it costs time in proportion to its size and yields no
// fingerprint.
//
// Limits of an inferred id: equal openings merge, so that two conversations that
// begin with the same words are one session; a changed or trimmed opening splits
// a conversation; an increment alone cannot be linked to anything.
//
// Concurrency: a Resolver is made once and shared by all goroutines. Signals
// and Session are values.
//
// Errors: Read and Session return *Error, Compile returns *HeaderError.
package identity

import (
	"log/slog"
	"strings"
)

// Source is where a session id came from, as answered to the client and kept in
// usage records.
type Source string

// The sources, strongest first.
const (
	Explicit  Source = "explicit"  // a header or field that the client sent to name its session
	Inherited Source = "parent"    // the session of the previous response
	CacheKey  Source = "cache_key" // a hash of prompt_cache_key
	Prompt    Source = "prompt"    // a hash of the opening: a guess
	Generated Source = "generated" // a new random UUID
)

// Prefixes of derived ids. Their versions change when the hash input does.
const (
	cacheKeyPrefix = "cache:v1:"
	promptPrefix   = "prompt:v1:"
	personPrefix   = "user:v1:"
)

// Session is the identity of one exchange. The zero Session means that
// identification is switched off.
type Session struct {
	ID          string // at most 256 bytes, valid UTF-8, no control characters
	Source      Source
	Signal      string // the header or field that decided, as "X-Session-Id" or "metadata.user_id"; empty for Prompt and Generated
	Lane        string // a sub-agent's own thread inside the session; empty for the main one
	ParentAgent string // the agent, thread or session that started this one, as the client says; recorded, never trusted
	FromSession bool   // ParentAgent is the id of a session, not of an agent or thread inside this one
}

// Inferred reports whether the session is only a guess from content: equal
// openings of different conversations share it. A cache key is no guess: the
// client sent it to keep requests together.
func (s Session) Inferred() bool { return s.Source == Prompt }

// LogValue keeps the raw id and the parent's id out of logs.
func (s Session) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("source", string(s.Source)),
		slog.String("signal", s.Signal),
		slog.Bool("lane", s.Lane != ""),
	)
}

// Parent is what the record of the previous response says.
type Parent struct {
	Session string // its session id; empty where identification was off at the time
}

// Signals is what a request says about its session: everything that can be
// known without the previous response's record.
type Signals struct {
	ParentResponse string // previous_response_id, on the responses endpoint only; empty without one
	Lane           string // the sub-agent's or thread's id as sent; Session.Lane says whether it counts
	ParentLane     string // the id of whoever started it, as sent
	Skipped        []Skip // candidates that were passed over, for debugging

	enabled     bool
	thread      bool    // Lane is a Thread-Id, which counts only where it is not the session's own id
	fromSession bool    // ParentLane is a session's id
	core        bool    // session comes from a core signal, which the parent must agree with
	session     Session // resolved as if there were no parent
	person      string  // a hash of user and safety_identifier; empty without them
}

// Skip is a candidate that did not become the session id. It holds no value.
type Skip struct {
	Signal string
	Reason Reason
}

// LogValue gives names and reasons, never what was sent.
func (s Signals) LogValue() slog.Value {
	attrs := make([]slog.Attr, 0, 1+len(s.Skipped))
	attrs = append(attrs, slog.Bool("continuation", s.ParentResponse != ""))
	for _, skip := range s.Skipped {
		attrs = append(attrs, slog.String(skip.Signal, string(skip.Reason)))
	}
	return slog.GroupValue(attrs...)
}

// Session returns the identity of the exchange. parent is the record of
// ParentResponse, nil where the request names none. Asking twice gives the same
// answer, a generated id included.
//
// An explicit core id must agree with the parent's session, else the error's
// Code is CodeConflict; a registry value that differs is ignored. A request
// that names a previous response but has no record of it is refused with
// CodeParentNotFound: it is never downgraded to a guess.
func (s Signals) Session(parent *Parent) (Session, error) {
	if !s.enabled {
		return Session{}, nil
	}
	found := s.session
	switch {
	case parent == nil && s.ParentResponse != "":
		return Session{}, &Error{Code: CodeParentNotFound, Signal: previousResponse, Reason: Unknown}
	case parent == nil || parent.Session == "":
	case s.core && s.session.ID != parent.Session:
		return Session{}, &Error{Code: CodeConflict, Signal: previousResponse, Reason: Differs}
	default:
		found = Session{ID: parent.Session, Source: Inherited, Signal: previousResponse}
	}
	found.Lane, found.ParentAgent = s.lane(found), s.ParentLane
	found.FromSession = s.ParentLane != "" && (s.fromSession || s.ParentLane == found.ID) // a main thread has its session's id
	return found, nil
}

// lane decides which thread of the session this is. People who share one key
// and one opening are told apart here and not by the session id, so that they
// do not all pile onto one deployment. A continuation of an inferred session
// keeps the lane that its first turn had.
func (s Signals) lane(of Session) string {
	lane := s.Lane
	if s.thread && lane == of.ID {
		lane = ""
	}
	inferred := of.Inferred() || of.Source == Inherited && strings.HasPrefix(of.ID, promptPrefix)
	if !inferred || s.person == "" {
		return lane
	}
	return personPrefix + hexHash("lane", lane, s.person)
}

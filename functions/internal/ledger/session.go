package ledger

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"holdfast/affinity/store"
)

// maxSeen bounds what is remembered of a session's variety.
const maxSeen = 64

// session is what is kept of one session beside its events.
type session struct {
	sums   Sums
	first  int64 // Unix milliseconds of the earliest event
	last   int64 // of the latest
	fine   int64 // microseconds that it came after last
	seen   []string
	more   bool // seen is not all
	latest []byte
	marks  marks
}

// The kinds of what is seen, before the name.
const (
	seenModel      = "m:"
	seenDeployment = "d:"
	seenProvider   = "p:"
	seenConnection = "c:"
	seenKey        = "k:"
	seenPath       = "u:"
	seenLabel      = "l:"
	seenStatus     = "s:"
	seenEndpoint   = "e:"
)

// sessionPrefix stands before a scoped session id in every answer.
const sessionPrefix = "scoped-"

// hexOf returns the digits of a scoped session id, and whether it is one.
func hexOf(scoped string) (string, bool) {
	digits, found := strings.CutPrefix(scoped, sessionPrefix)
	if !found || len(digits) != 32 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", false
	}
	return digits, true
}

// Scoped reports whether text is a session's id as answers tell it.
func Scoped(text string) bool {
	_, is := hexOf(text)
	return is
}

func sessionKey(digits string) store.Key {
	return store.Key{Table: store.Ledger, Partition: "session/" + digits, Sort: "sums"}
}

// sessionIndex orders sessions by their last activity.
func sessionIndex(digits string, last int64) store.Index {
	return store.Index{Partition: sessionList(shardOf(digits)), Sort: millis(last) + "/" + digits}
}

func sessionList(shard int) string { return "sessions/" + strconv.Itoa(shard) }

// shardOf spreads names evenly.
func shardOf(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum32() % shards)
}

// take counts the events of one batch, and reports false where the record has
// them already.
func (s *session) take(by mark, events []*booking) bool {
	if s.marks.of(by.slot).number >= by.number {
		return false
	}
	by.before = s.last
	for _, b := range events {
		s.sums.Add(&b.sums)
		s.see(&b.event)
		at := b.event.Time.UnixMilli()
		if s.first == 0 || at < s.first {
			s.first = at
		}
		if fine := b.event.Time.UnixMicro() - 1000*at; at > s.last || at == s.last && fine >= s.fine {
			s.last, s.fine, s.latest = at, fine, b.text
		}
	}
	s.marks = s.marks.with(by)
	return true
}

func (s *session) see(e *Event) {
	note := func(kind, name string) {
		if name == "" || slices.Contains(s.seen, kind+name) {
			return
		}
		if len(s.seen) == maxSeen {
			s.more = true
			return
		}
		s.seen = append(s.seen, kind+name)
	}
	note(seenPath, e.UserPath)
	note(seenKey, e.Key)
	note(seenModel, e.Model)
	note(seenDeployment, e.Deployment)
	note(seenConnection, e.Connection)
	note(seenProvider, e.Provider)
	note(seenEndpoint, e.Endpoint)
	note(seenStatus, statusText(e.Status))
	for _, label := range e.Labels {
		note(seenLabel, label)
	}
}

// names returns what is seen of a kind, in the order in which it came.
func (s *session) names(kind string) []string {
	found := []string{}
	for _, one := range s.seen {
		if name, is := strings.CutPrefix(one, kind); is {
			found = append(found, name)
		}
	}
	return found
}

func (s *session) encode() []byte {
	p := packer{version}
	p.sums(&s.sums)
	p.number(s.first)
	p.number(s.last - s.first)
	more := 2 * s.fine
	if s.more {
		more++
	}
	p.number(more)
	p.number(int64(len(s.seen)))
	for _, one := range s.seen {
		p.text(one)
	}
	p.marks(s.marks)
	return append(p, s.latest...)
}

// decodeSession reads a record; an absent one is the zero session.
func decodeSession(h store.Handle) (*session, error) {
	record, live := h.Record()
	if !live {
		return &session{}, nil
	}
	if len(record.Value) == 0 || record.Value[0] != version {
		return nil, ErrCorrupt
	}
	u := unpacker{rest: record.Value[1:]}
	s := &session{sums: u.sums(), first: u.number()}
	s.last = s.first + u.number()
	more := u.number()
	s.fine, s.more = more/2, more%2 == 1
	for range u.count(maxSeen) {
		s.seen = append(s.seen, u.text())
	}
	s.marks = u.marks()
	s.latest = u.rest
	if u.bad {
		return nil, ErrCorrupt
	}
	return s, nil
}

func statusText(status int) string { return strconv.Itoa(status) }

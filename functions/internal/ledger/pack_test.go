package ledger

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/affinity/store"
)

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func handleOf(value []byte) store.Handle {
	return store.NewHandle(sessionKey("0"), "r", store.Record{Value: value})
}

// TestRecords shows that records come back as they were written.
func TestRecords(t *testing.T) {
	at := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	e := Event{ID: "a", Time: at, Model: "m", Deployment: "d", Status: 200, Labels: []string{"x"}}
	one := newBooking(e)
	s := &session{}
	s.take(mark{slot: 3, number: 99}, []*booking{one})
	s.take(mark{slot: 5, number: 7}, []*booking{one})
	if s.take(mark{slot: 3, number: 99}, []*booking{one}) {
		t.Error("a batch was taken in twice")
	}
	back, err := decodeSession(handleOf(s.encode()))
	if diff := cmp.Diff(s, back, cmp.AllowUnexported(session{}, mark{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	d := &day{}
	d.take(mark{slot: 127, number: 1 << 60}, []share{{hour: 23, sums: one.sums}, {hour: 0, sums: Sums{Settled: -1}}})
	again, err := decodeDay(handleOf(d.encode()))
	if diff := cmp.Diff(d, again, cmp.AllowUnexported(day{}, mark{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
	text, by, err := openEvent(handleOf(one.record(new(packer), mark{slot: 9, number: 10}, 0).Value))
	if !bytes.Equal(text, one.text) || by != (mark{slot: 9, number: 10}) || err != nil {
		t.Errorf("%s %v %v", text, by, err)
	}
}

// FuzzRecords: nothing that a record may hold breaks a reader.
func FuzzRecords(f *testing.F) {
	f.Add((&session{first: 1, last: 2, seen: []string{"m:a"}, latest: []byte("{}")}).encode())
	f.Add((&day{hours: [24]Sums{3: {1, 2}}}).encode())
	f.Add([]byte{version, 2, 3})
	f.Fuzz(func(t *testing.T, value []byte) {
		h := handleOf(value)
		if s, err := decodeSession(h); err == nil {
			if again, err := decodeSession(handleOf(s.encode())); err != nil || again.sums != s.sums {
				t.Errorf("%v", err)
			}
		}
		if d, err := decodeDay(h); err == nil {
			if again, err := decodeDay(handleOf(d.encode())); err != nil || again.hours != d.hours {
				t.Errorf("%v", err)
			}
		}
		_, _, _ = openEvent(h)
		_, _ = decodeBatch(h)
	})
}

// FuzzCursor: a foreign cursor is refused, never obeyed.
func FuzzCursor(f *testing.F) {
	f.Add(cursor{After: "a", Skip: 3}.text("123456"))
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text, "123456")
		if err == nil && (c.Skip < 0 || len(c.After) > store.MaxKeyBytes) {
			t.Errorf("%+v", c)
		}
	})
}

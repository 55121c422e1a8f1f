package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
)

// noon is now in these tests.
var noon = time.Date(2027, 3, 14, 12, 30, 0, 0, time.UTC)

// hashed stands for the keyed hash of a session.
func hashed(parts ...string) string {
	return fmt.Sprintf("%032x", strings.Join(parts, "|"))[:32]
}

// date is the first moment of a day.
func date(month time.Month, day int) time.Time {
	return time.Date(2027, month, day, 0, 0, 0, 0, time.UTC)
}

// TestSpanOf: days are whole and the last is the one that the stretch ends in; from
// and days exclude each other; an empty stretch is a mistake.
func TestSpanOf(t *testing.T) {
	a := &api{Config: Config{Now: func() time.Time { return noon }}}
	for _, row := range []struct {
		query    string
		days     int
		from, to time.Time
	}{
		{"", 0, time.Time{}, time.Time{}},
		{"", 7, date(3, 8), time.Time{}},
		{"days=1", 7, date(3, 14), time.Time{}},
		{"days=366", 7, date(3, 14).AddDate(0, 0, -365), time.Time{}},
		{"from=2027-03-01", 7, date(3, 1), time.Time{}},
		{"to=2027-03-10", 0, time.Time{}, date(3, 10)},
		{"to=2027-03-10", 7, date(3, 3), date(3, 10)},
		{"days=1&to=2027-03-10", 7, date(3, 9), date(3, 10)},
		{"days=1&to=2027-03-10T00:00:01Z", 7, date(3, 10), date(3, 10).Add(time.Second)},
		{"days=2&to=2027-04-01", 7, date(3, 13), date(4, 1)},
		{"from=2027-03-01&to=2027-03-02", 7, date(3, 1), date(3, 2)},
		{"from=2027-03-01T00:00:00%2B01:00&to=2027-03-01", 7, date(3, 1).Add(-time.Hour), date(3, 1)},
		{"days=&from=&to=", 7, date(3, 8), time.Time{}},
	} {
		from, to, p := a.spanOf(asking(row.query), row.days)
		if p != nil || !from.Equal(row.from) || !to.Equal(row.to) {
			t.Errorf("%q: from %v to %v, %v, want %v to %v", row.query, from, to, p, row.from, row.to)
		}
	}
	for query, param := range map[string]string{
		"days=0": "days", "days=-1": "days", "days=367": "days", "days=1.5": "days", "days=week": "days", "days=99999999999999999999": "days",
		"days=7&from=2027-03-01": "days", "from=yesterday": "from", "to=tomorrow": "to",
		"from=2027-03-02&to=2027-03-01": "to", "from=2027-03-01&to=2027-03-01": "to", "from=2027-03-01T01:00:00%2B01:00&to=2027-03-01": "to",
		"from=1950-01-01&to=1960-01-01": "to",
	} {
		if _, _, p := a.spanOf(asking(query), 7); p == nil || p.Param != param || p.Code != wire.InvalidRequest {
			t.Errorf("%q: %+v", query, p)
		}
	}
}

// TestStretchOf: a list without a stretch begins nowhere.
func TestStretchOf(t *testing.T) {
	a := &api{Config: Config{Now: func() time.Time { return noon }}}
	if limit, from, to, p := a.stretchOf(asking("limit=3")); limit != 3 || !from.IsZero() || !to.IsZero() || p != nil {
		t.Errorf("%d, %v, %v, %v", limit, from, to, p)
	}
	for query, param := range map[string]string{"limit=0&days=0": "limit", "days=0": "days"} {
		if _, _, _, p := a.stretchOf(asking(query)); p == nil || p.Param != param {
			t.Errorf("%q: %+v", query, p)
		}
	}
}

// TestPageOf: offsets are 0 or more.
func TestPageOf(t *testing.T) {
	for query, want := range map[string]ledger.Page{
		"": {Limit: 50}, "offset=0": {Limit: 50}, "offset=10000000&limit=200&cursor=c": {Limit: 200, Offset: 10_000_000, Cursor: "c"},
	} {
		if got, p := pageOf(asking(query)); p != nil || got != want {
			t.Errorf("%q: %+v, %v", query, got, p)
		}
	}
	for query, param := range map[string]string{"offset=-1": "offset", "offset=10000001": "offset", "offset=x": "offset", "offset=1.0": "offset", "limit=0&offset=1": "limit"} {
		if _, p := pageOf(asking(query)); p == nil || p.Param != param {
			t.Errorf("%q: %+v", query, p)
		}
	}
}

// TestPathOf: a path stands with or without slashes round it.
func TestPathOf(t *testing.T) {
	for text, want := range map[string]string{"": "", "/": "", "//": "", "acme": "/acme", "/acme": "/acme", "/acme/": "/acme", "acme/core/ann": "/acme/core/ann", "/acme//core": "/acme//core"} {
		if got := pathOf(asking("user_path=" + text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestSessionOf: a session is named by its scoped id, or by the caller's own with
// the key, never by two that differ.
func TestSessionOf(t *testing.T) {
	a := &api{Config: Config{Hash: hashed}}
	found := "scoped-" + hashed("session", "key:k", "mine")
	for query, want := range map[string]string{
		"": "", "key=k": "", "session_id=" + found: found, "raw_session_id=mine&key=k": found, "raw_session_id=mine&key=k&session_id=" + found: found,
	} {
		if got, p := a.sessionOf(asking(query)); p != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", query, got, p, want)
		}
	}
	for query, param := range map[string]string{
		"session_id=mine": "session_id", "session_id=scoped-": "session_id", "session_id=scoped-" + strings.Repeat("0", 31): "session_id",
		"session_id=scoped-" + strings.Repeat("0", 33): "session_id", "session_id=scoped-" + strings.Repeat("g", 32): "session_id", "session_id=" + strings.Repeat("0", 32): "session_id",
		"session_id=scoped-" + strings.Repeat("A", 32): "session_id", "session_id=%20" + found: "session_id", "raw_session_id=mine": "key",
		"raw_session_id=other&key=k&session_id=" + found: "session_id", "raw_session_id=mine&key=l&session_id=" + found: "session_id",
	} {
		got, p := a.sessionOf(asking(query))
		if p == nil || p.Param != param || got != "" || strings.Contains(p.Message, "mine") {
			t.Errorf("%q: %q, %+v", query, got, p)
		}
	}
}

// TestSurplus: a list refuses what it does not take, what comes twice, and forms that
// there are not, each by its name.
func TestSurplus(t *testing.T) {
	known := strings.Fields("key model limit cursor format")
	for _, query := range []string{"", "key=a&model=b", "format=csv", "format=json", "format=", "limit=5&cursor=x"} {
		if p := surplus(asking(query), known); p != nil {
			t.Errorf("%q: %v", query, p)
		}
	}
	for query, param := range map[string]string{
		"key=a&key=b": "key", "key=a&key=a": "key", "limit=5&limit=": "limit", "colour=red": "colour", "Key=a": "Key", "format=xml": "format", "format=CSV": "format", "zebra=1&apple=2": "apple", "=x": "",
	} {
		p := surplus(asking(query), known)
		if p == nil || p.Param != param || p.Code != wire.InvalidRequest {
			t.Errorf("%q: %+v", query, p)
		}
	}
}

// TestUnread: a cursor that the ledger does not know is the client's mistake, and so
// is a stretch that is too long; all else is not.
func TestUnread(t *testing.T) {
	for err, want := range map[error]string{ledger.ErrInvalid: "cursor", ledger.ErrTooLong: "from"} {
		if p := unread(fmt.Errorf("wrapped: %w", err)); p.Code != wire.InvalidRequest || p.Param != want {
			t.Errorf("%v: %+v", err, p)
		}
	}
	if p := unread(fmt.Errorf("down")); p.Code != wire.ConfigurationUnavailable {
		t.Errorf("%+v", p)
	}
}

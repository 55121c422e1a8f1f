package admin

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast/affinity/identity"
	"holdfast/functions/internal/ledger"
	"holdfast/functions/internal/wire"
)

// maxDays bounds how far back a list may be asked to begin.
const maxDays = 366

// filterOf reads the filters that every list of exchanges takes. Without from
// and days it begins the given number of days ago; 0 is no beginning.
func (a *api) filterOf(r *http.Request, days int) (f ledger.Filter, p *wire.Problem) {
	q := r.URL.Query()
	f = ledger.Filter{
		UserPath: strings.TrimSuffix(q.Get("user_path"), "/"), Key: q.Get("key"), Model: q.Get("model"), Provider: q.Get("provider"),
		Deployment: q.Get("deployment"), Label: q.Get("label"), Status: q.Get("status"),
	}
	if f.Session, p = a.sessionOf(r); p != nil {
		return f, p
	}
	if f.Status != "" && !regexp.MustCompile(`^[1-5]([0-9][0-9]|xx)$`).MatchString(f.Status) {
		return f, wire.Refuse(wire.InvalidRequest).About("status").Saying("status must be an HTTP status such as 200, or a class such as 5xx.")
	}
	if f.From, p = timeOf(r, "from"); p != nil {
		return f, p
	}
	if f.To, p = timeOf(r, "to"); p != nil {
		return f, p
	}
	if text := q.Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxDays || !f.From.IsZero() {
			return f, wire.Refuse(wire.InvalidRequest).About("days").Saying("days must be 1 to " + strconv.Itoa(maxDays) + ", in the place of from.")
		}
		days = n
	}
	if f.From.IsZero() && days > 0 {
		f.From = a.daysAgo(days)
	}
	return f, nil
}

// daysAgo is the beginning (UTC) of the first of so many days, today included.
func (a *api) daysAgo(days int) time.Time {
	return a.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
}

// sessionOf is the scoped id of the session that is asked for, by itself or by
// the caller's own id together with the key that it belongs to.
func (a *api) sessionOf(r *http.Request) (string, *wire.Problem) {
	q := r.URL.Query()
	scoped, raw, key := q.Get("session_id"), q.Get("raw_session_id"), q.Get("key")
	if scoped != "" && !ledger.Scoped(scoped) {
		return "", wire.Refuse(wire.InvalidRequest).About("session_id").Saying(
			"session_id must be a session's id as the admin API tells it: scoped- and 32 hex digits. To look a caller's own id up, send raw_session_id and key.")
	}
	if raw == "" {
		return scoped, nil
	}
	if key == "" {
		return "", wire.Refuse(wire.InvalidRequest).About("key").Saying("raw_session_id needs key, the id of the API key: a session belongs to one key.")
	}
	found := "scoped-" + a.Hash("session", identity.KeyScope(key).String(), raw)
	if scoped != "" && scoped != found {
		return "", wire.Refuse(wire.InvalidRequest).About("session_id").Saying("session_id and raw_session_id are two sessions. Send one of them.")
	}
	return found, nil
}

// pageOf reads which part of a list is asked for.
func pageOf(r *http.Request) (p ledger.Page, _ *wire.Problem) {
	limit, bad := limitOf(r)
	if bad != nil {
		return p, bad
	}
	p = ledger.Page{Limit: limit, Cursor: r.URL.Query().Get("cursor")}
	if text := r.URL.Query().Get("offset"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 10_000_000 {
			return p, wire.Refuse(wire.InvalidRequest).About("offset").Saying("offset must be 0 or more.")
		}
		p.Offset = n
	}
	return p, nil
}

// unread is the refusal for what the ledger says.
func unread(err error) *wire.Problem {
	switch {
	case errors.Is(err, ledger.ErrInvalid):
		return badCursor()
	case errors.Is(err, ledger.ErrTooLong):
		return wire.Refuse(wire.InvalidRequest).About("from").Saying("The stretch of time is too long for this step. Ask for fewer days, or by=day.")
	}
	return wire.Refuse(wire.ConfigurationUnavailable).Saying("The ledger cannot be read now. Try again as Retry-After says.")
}

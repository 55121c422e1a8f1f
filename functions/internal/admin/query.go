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
// and days it begins the given number of days before its end; 0 is no beginning.
func (a *api) filterOf(r *http.Request, days int) (f ledger.Filter, p *wire.Problem) {
	q := r.URL.Query()
	f = ledger.Filter{
		UserPath: pathOf(r), Key: q.Get("key"), Model: q.Get("model"), Provider: q.Get("provider"),
		Deployment: q.Get("deployment"), Label: q.Get("label"), Status: q.Get("status"),
	}
	if f.Session, p = a.sessionOf(r); p != nil {
		return f, p
	}
	if f.Status != "" && !regexp.MustCompile(`^[1-5]([0-9][0-9]|xx)$`).MatchString(f.Status) {
		return f, wire.Refuse(wire.InvalidRequest).About("status").Saying("status must be an HTTP status such as 200, or a class such as 5xx.")
	}
	if pool := a.Snapshot().Catalog.Pool(f.Model); pool != nil {
		f.Model = pool.Name // an alias of it was meant
	}
	f.From, f.To, p = a.spanOf(r, days)
	return f, p
}

// spanOf reads the stretch of time that is asked for, from included and to not;
// zero times are no bounds. Without from and days it has the given number of
// days, 0 for no beginning. Days are whole (UTC), the last is the one that the
// stretch ends in.
func (a *api) spanOf(r *http.Request, days int) (from, to time.Time, p *wire.Problem) {
	if from, p = timeOf(r, "from"); p != nil {
		return from, to, p
	}
	if to, p = timeOf(r, "to"); p != nil {
		return from, to, p
	}
	if text := r.URL.Query().Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxDays || !from.IsZero() {
			return from, to, wire.Refuse(wire.InvalidRequest).About("days").Saying("days must be 1 to " + strconv.Itoa(maxDays) + ", in the place of from.")
		}
		days = n
	}
	if from.IsZero() && days > 0 {
		end := a.Now()
		if last := to.Add(-1); !to.IsZero() && last.Before(end) {
			end = last
		}
		from = end.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	}
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return from, to, wire.Refuse(wire.InvalidRequest).About("to").Saying("to must be after from: to itself is not part of the stretch.")
	}
	return from, to, nil
}

// stretchOf is how many entries of a list are asked for at once, and from which
// stretch of time, without a beginning where none is named.
func (a *api) stretchOf(r *http.Request) (limit int, from, to time.Time, p *wire.Problem) {
	if limit, p = limitOf(r); p == nil {
		from, to, p = a.spanOf(r, 0)
	}
	return limit, from, to, p
}

// pathOf is the user path that is asked for, without a slash at its end; "" is all
// of them.
func pathOf(r *http.Request) string {
	path := strings.Trim(r.URL.Query().Get("user_path"), "/")
	if path == "" {
		return ""
	}
	return "/" + path
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
		return wire.Refuse(wire.InvalidRequest).About("from").Saying("The stretch of time is too long for its steps. Ask for fewer days, or by=day.")
	}
	return wire.Refuse(wire.ConfigurationUnavailable).Saying("The ledger cannot be read now. Try again as Retry-After says.")
}

package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/functions/internal/wire"
)

// Bounds of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// limitOf is how many entries a list is asked for.
func limitOf(r *http.Request) (int, *wire.Problem) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, wire.Refuse(wire.InvalidRequest).About("limit").Saying("limit must be 1 to " + strconv.Itoa(maxLimit) + ".")
	}
	return n, nil
}

// timeOf reads a bound of time: an instant, or the first moment (UTC) of a day.
// The zero time is none. What is before 1970 or after the year 9999 stands for that
// bound: nothing was written down there, and the store's order knows no such times.
func timeOf(r *http.Request, name string) (time.Time, *wire.Problem) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	zoned := strings.ReplaceAll(text, " ", "+") // which an unencoded + has become
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, zoned); err == nil {
			return within(at.UTC()), nil
		}
	}
	return time.Time{}, wire.Refuse(wire.InvalidRequest).About(name).Saying(name + " must be a date (2027-01-31) or a time with its zone (2027-01-31T18:00:00Z).")
}

// within is the nearest time that lists are kept by.
func within(at time.Time) time.Time {
	first, last := time.Unix(0, 0).UTC(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	switch {
	case at.Before(first):
		return first
	case at.After(last):
		return last
	}
	return at
}

// badCursor refuses a cursor that no page has given.
func badCursor() *wire.Problem {
	return wire.Refuse(wire.InvalidRequest).About("cursor").Saying("cursor must be the next_cursor of an earlier page of the same list.")
}

// isCSV reports whether a list is wanted as a table.
func isCSV(r *http.Request) bool { return r.URL.Query().Get("format") == "csv" }

// answerList writes a page of entries: {"entries","next_cursor"}, or a table with
// ?format=csv, whose cursor stands in X-Holdfast-Next-Cursor. Columns are members
// of an entry's JSON; what is no plain value is written as JSON.
func answerList[T any](w http.ResponseWriter, r *http.Request, columns []string, entries []T, next string) {
	if !isCSV(r) {
		if entries == nil {
			entries = []T{}
		}
		answer(w, map[string]any{"entries": entries, "next_cursor": next})
		return
	}
	var out bytes.Buffer
	table := csv.NewWriter(&out)
	_ = table.Write(columns) // into memory: cannot fail
	for _, entry := range entries {
		_ = table.Write(row(columns, entry))
	}
	table.Flush()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("X-Holdfast-Next-Cursor", next)
	_, _ = w.Write(out.Bytes())
}

// row is an entry's values in the order of the columns. Absent ones are empty;
// what is not known is null here, too, and never looks like nothing.
func row(columns []string, entry any) []string {
	text, err := json.Marshal(entry)
	if err != nil {
		panic(err) // our own values always encode
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal(text, &values)
	cells := make([]string, len(columns))
	for i, name := range columns {
		var plain string
		switch value := values[name]; {
		case len(value) == 0:
		case string(value) == "null":
			cells[i] = "null"
		case json.Unmarshal(value, &plain) == nil:
			cells[i] = inert(plain)
		default:
			cells[i] = string(value)
		}
	}
	return cells
}

// inert keeps a spreadsheet from taking text for a formula.
func inert(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

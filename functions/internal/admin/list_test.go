package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestLimitOf: whole numbers from 1 to 200, 50 where none is given.
func TestLimitOf(t *testing.T) {
	for text, want := range map[string]int{
		"": 50, "1": 1, "50": 50, "200": 200, "007": 7, "%2B5": 5,
		"0": 0, "-1": 0, "201": 0, "99999999999999999999": 0, "-99999999999999999999": 0, "1e2": 0, "5.0": 0, "0x10": 0, "1_0": 0, "+5": 0, " 5": 0, "5%00": 0, "ten": 0, "NaN": 0, "%D9%A5": 0,
	} {
		got, p := limitOf(asking("limit=" + text))
		if got != want || (p != nil) != (want == 0) {
			t.Errorf("limit=%s: %d, %v, want %d", text, got, p, want)
		}
		if p != nil && (p.Param != "limit" || !strings.Contains(p.Message, "1 to 200")) {
			t.Errorf("limit=%s: %+v", text, p)
		}
	}
}

// TestTimeOf: instants with their zone and days (UTC); an unencoded + is understood.
func TestTimeOf(t *testing.T) {
	day := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	at := time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2027-01-31": day, "2027-01-31T00:00:00Z": day, "2027-01-31T18:00:00Z": at, "2027-01-31T18:00:00.5Z": at.Add(time.Second / 2),
		"2027-01-31T20:30:00%2B02:30": at, "2027-01-31T20:30:00+02:30": at, "2027-01-31T16:00:00-02:00": at, "2028-02-29": day.AddDate(1, 0, 29),
		"1970-01-01": time.Unix(0, 0), "1969-12-31": time.Unix(0, 0), "0001-01-01T00:00:00Z": time.Unix(0, 0), "0000-01-01T00:00:00%2B23:59": time.Unix(0, 0),
		"9999-12-31T23:59:59Z": last, "9999-12-31T23:59:59-23:59": last,
	} {
		if got, p := timeOf(asking("from="+text), "from"); p != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("from=%s: %v, %v, want %v", text, got, p, want)
		}
	}
	for _, text := range []string{"now", "2027", "2027-01", "2027-1-31", "2027-02-29", "2027-13-01", "2027-01-31T18:00:00", "2027-01-31T18:00Z", "2027-01-31T24:00:00Z", "2027-01-31T18:00:60Z",
		"2027-01-31T18:00:00+0100", "2027-01-31T18:00:00%20%2B01:00", "31.01.2027", "1801418400", "1801418400000", "-1", "10000-01-01", "2027-01-31%00", "2027-01-31Z", "+2027-01-31", "today", "%EF%BC%92027-01-31"} {
		if got, p := timeOf(asking("to="+text), "to"); p == nil || p.Param != "to" || !got.IsZero() {
			t.Errorf("to=%s: %v, %v", text, got, p)
		}
	}
}

// TestRow: a table's cells in the order of its columns: absent is empty, unknown is
// null, numbers stay numbers, text is no formula, all else is JSON.
func TestRow(t *testing.T) {
	entry := map[string]any{"text": "a, \"b\"\nc", "formula": "=cmd|' /C calc'!A0", "number": -1.5, "none": nil, "yes": true, "list": []string{"=x"}, "empty": ""}
	columns := []string{"number", "absent", "none", "formula", "text", "list", "empty", "yes", "number"}
	want := []string{"-1.5", "", "null", "'=cmd|' /C calc'!A0", "a, \"b\"\nc", `["=x"]`, "", "true", "-1.5"}
	if got := row(columns, entry); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestInert: what spreadsheets take for a formula is text; all else stays.
func TestInert(t *testing.T) {
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x", "="} {
		if got := inert(text); got != "'"+text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{"", "a=1", "1-1", " =1", "'=1", "sk-hf", "é", "\xff=1"} {
		if got := inert(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// shown is an entry of a list in these tests.
type shown struct {
	Name string   `json:"name"`
	Cost *float64 `json:"cost"`
}

// TestAnswerList: JSON with a list even where it is empty, and a table of the same
// with its cursor in a header.
func TestAnswerList(t *testing.T) {
	cost := 0.25
	columns := []string{"name", "cost"}
	for _, test := range []struct {
		query   string
		entries []shown
		want    string
	}{
		{"", nil, `{"entries":[],"next_cursor":"next"}`},
		{"format=json", []shown{{"a", &cost}, {"b", nil}}, `{"entries":[{"name":"a","cost":0.25},{"name":"b","cost":null}],"next_cursor":"next"}`},
		{"format=csv", nil, "name,cost\n"},
		{"format=csv", []shown{{"@a,\"b\"", &cost}, {"c\nd", nil}}, "name,cost\n\"'@a,\"\"b\"\"\",0.25\n\"c\nd\",null\n"},
	} {
		w := httptest.NewRecorder()
		answerList(w, asking(test.query), columns, test.entries, "next")
		if got := strings.TrimSpace(w.Body.String()); got != strings.TrimSpace(test.want) {
			t.Errorf("%s: %s, want %s", test.query, got, test.want)
		}
		kind, cursor := "application/json", ""
		if strings.Contains(test.query, "csv") {
			kind, cursor = "text/csv; charset=utf-8", "next"
		}
		if w.Header().Get("Content-Type") != kind || w.Header().Get("X-Holdfast-Next-Cursor") != cursor {
			t.Errorf("%s: %v", test.query, w.Header())
		}
	}
}

// FuzzTable: whatever a text says, its table has one row of one cell, which holds it
// and is no formula.
func FuzzTable(f *testing.F) {
	for _, text := range []string{"", "=cmd", "a,b\"c\r\nd", "\xff", "＝1", "null"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := httptest.NewRecorder()
		answerList(w, asking("format=csv"), []string{"name", "cost"}, []shown{{Name: text}}, "")
		rows, err := csv.NewReader(bytes.NewReader(w.Body.Bytes())).ReadAll()
		if err != nil || len(rows) != 2 || len(rows[1]) != 2 {
			t.Fatalf("%q: %v, %q", text, err, w.Body)
		}
		cell := rows[1][0]
		if first, _ := utf8.DecodeRuneInString(cell); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) && cell != "" {
			t.Errorf("%q is a formula: %q", text, cell)
		}
		var plain string // as JSON carries it, and a table its line ends
		encoded, _ := json.Marshal(text)
		_ = json.Unmarshal(encoded, &plain)
		plain = strings.ReplaceAll(plain, "\r\n", "\n")
		if cell != plain && cell != "'"+plain && cell != strings.ReplaceAll("'"+plain, "'\r\n", "'\n") {
			t.Errorf("%q became %q", text, cell)
		}
	})
}

// FuzzQuery: whatever stands in a query, what is read of it is within its bounds, or
// refused by the name of a parameter.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"", "limit=5&offset=7&from=2027-01-01&to=2027-02-01", "days=7&days=8", "session_id=scoped-0123456789abcdef0123456789abcdef", "raw_session_id=a&key=b", "from=%ff", "limit=;&a=%zz"} {
		f.Add(query)
	}
	a := &api{Config: Config{Now: func() time.Time { return noon }, Hash: hashed}}
	f.Fuzz(func(t *testing.T, query string) {
		r := asking(query)
		given, _ := url.ParseQuery(query)
		named := func(param string) {
			if param == "" || len(given[param]) == 0 && param != "key" {
				t.Errorf("%q is refused by %q", query, param)
			}
		}
		if page, p := pageOf(r); p != nil {
			named(p.Param)
		} else if page.Limit < 1 || page.Limit > maxLimit || page.Offset < 0 {
			t.Errorf("%q: %+v", query, page)
		}
		if from, to, p := a.spanOf(r, 7); p != nil {
			named(p.Param)
		} else if from.IsZero() || !to.IsZero() && !from.Before(to) || to.Year() > 9999 {
			t.Errorf("%q: from %v to %v", query, from, to)
		}
		if id, p := a.sessionOf(r); p != nil {
			named(p.Param)
		} else if id != "" && !strings.HasPrefix(id, "scoped-") {
			t.Errorf("%q: the session %q", query, id)
		}
		if path := pathOf(r); path != "" && (path[0] != '/' || strings.HasSuffix(path, "/")) {
			t.Errorf("%q: the path %q", query, path)
		}
	})
}

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
)

// tableRow is one row of the bridges' table: what a client adds to its request, and
// the cell of each other protocol.
type tableRow struct {
	client, name string
	example      map[string]any
	cells        map[string]string
}

// bridgeTable reads the tables of the bridges' manual.
func bridgeTable(t *testing.T) (rows []tableRow) {
	t.Helper()
	page, err := os.ReadFile("../../functions/internal/wire/bridge/README.md")
	if err != nil {
		t.Fatal(err)
	}
	client := ""
	for line := range strings.Lines(string(page)) {
		if name, found := strings.CutPrefix(line, "### From "); found {
			client = strings.ToLower(strings.TrimSpace(name))
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 4 {
			continue
		}
		row := tableRow{client: client, name: strings.Trim(cells[0], "| `"), cells: map[string]string{}}
		if err := json.Unmarshal([]byte(strings.Trim(cells[1], "` ")), &row.example); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for i, target := range others(client) {
			row.cells[target] = cells[2+i]
		}
		rows = append(rows, row)
	}
	return rows
}

// marked are the names that a cell gives after a word.
func marked(cell, word string) (names []string) {
	for part := range strings.SplitSeq(cell, "; ") {
		if name, found := strings.CutPrefix(part, word+": `"); found {
			names = append(names, strings.TrimSuffix(name, "`"))
		}
	}
	return names
}

// elsewhere are the rows whose outcome other rules decide before a bridge is
// asked: what a response, a conversation or an account owns.
func elsewhere(name string) bool {
	return strings.Contains(" previous_response_id background conversation item_reference compaction encrypted_content ", " "+name+" ")
}

// TestDropped drives the bridges' table through the gateway: a client is told
// exactly what its deployment does not see, what cannot be left out is refused
// without a call, and where the protocol is the client's own nothing is dropped.
func TestDropped(t *testing.T) {
	t.Parallel()
	s := newScene(t, world{})
	rows := bridgeTable(t)
	if len(rows) < 60 {
		t.Fatalf("only %d rows", len(rows))
	}
	for n, row := range rows {
		if elsewhere(row.name) {
			continue
		}
		for target, cell := range row.cells {
			body := pair{row.client, target}.ask(n%2 == 0, user("Hi"))
			maps.Copy(body, row.example)
			before := s.calls()
			a := post(t, s.URL+route(row.client), body)
			told, calls := a.Header.Get("X-Holdfast-Dropped"), s.calls()-before
			where := row.name + ", " + row.client + " on " + target
			if refused := marked(cell, "refused"); len(refused) > 0 {
				if a.StatusCode != 400 || a.code() != "capability_missing" || calls != 0 || told != "" {
					t.Errorf("%s: %d %s after %d calls, dropped %q, want it refused\n%s", where, a.StatusCode, a.code(), calls, told, a.body)
				}
				if param := a.field("error", "param"); row.client != "messages" && param != refused[0] {
					t.Errorf("%s: %v is at fault, want %s", where, param, refused[0])
				}
				continue
			}
			if want := strings.Join(marked(cell, "dropped"), ", "); a.StatusCode != 200 || told != want || calls != 1 {
				t.Errorf("%s: %d after %d calls, dropped %q, want %q\n%.300s", where, a.StatusCode, calls, told, want, a.body)
			}
		}
		body := ask(row.client, n%2 == 0, user("Hi"))
		maps.Copy(body, row.example)
		if a := post(t, s.URL+route(row.client), body); a.Header.Get("X-Holdfast-Dropped") != "" {
			t.Errorf("%s, native: dropped %q", row.name, a.Header.Get("X-Holdfast-Dropped"))
		}
	}
}

package bridge_test

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/bridge"
)

// TestTable drives every row of the README's tables: what becomes of the members
// of a request. A row that is not true fails, and with -update is written anew.
func TestTable(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(page), "\n")
	var client wire.Protocol
	rows := 0
	for i, line := range lines {
		if name, found := strings.CutPrefix(line, "### From "); found {
			client = wire.Protocol(strings.ToLower(name))
		}
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 4 {
			continue
		}
		rows++
		example := strings.Trim(cells[1], "` ")
		want := cells[0] + " | " + cells[1]
		for _, pair := range pairs() {
			if pair[0] == client {
				want += " | " + outcome(t, pair, example)
			}
		}
		if want += " |"; line != want {
			lines[i] = want
			if !*update {
				t.Errorf("the table is not true: %s", cmp.Diff(line, want))
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows", rows)
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome is a cell: what an example adds to the target's request, what is
// dropped, or what is refused.
func outcome(t *testing.T, pair [2]wire.Protocol, example string) string {
	t.Helper()
	plain := translate(t, pair[0], pair[1], minimal(pair[0], false), options(pair[0]))
	body := merge(t, minimal(pair[0], false), example)
	f, p := wire.Inspect(string(pair[0]), body)
	if p != nil {
		t.Fatalf("%s: %s", example, p.Message)
	}
	tr, p := bridge.Request(f, pair[1], options(pair[0]))
	if p != nil {
		if p.Status != 400 || p.Param == "" || p.Code != wire.CapabilityMissing {
			t.Errorf("%s: %+v", example, p)
		}
		return "refused: `" + p.Param + "`"
	}
	var words []string
	for _, change := range changes(t, plain.Body, tr.Body) {
		words = append(words, "`"+strings.ReplaceAll(change, "|", "\\|")+"`")
	}
	for _, name := range tr.Dropped {
		words = append(words, "dropped: `"+name+"`")
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, "; ")
}

// merge puts the members of an example into a body, in place of its own.
func merge(t *testing.T, body, example string) []byte {
	t.Helper()
	all := members(t, []byte(body))
	for name, value := range members(t, []byte(example)) {
		all[name] = value
	}
	out, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func members(t *testing.T, body []byte) (all map[string]jsontext.Value) {
	t.Helper()
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return all
}

// changes lists the members that differ between two bodies, each by the deepest
// path that has all of its change.
func changes(t *testing.T, before, after []byte) (list []string) {
	t.Helper()
	old, now := members(t, before), members(t, after)
	for name, value := range now {
		if !bytes.Equal(old[name], value) {
			path, value := narrow(t, name, old[name], value)
			list = append(list, path+" "+string(value))
		}
	}
	for name := range old {
		if now[name] == nil {
			list = append(list, "no "+name)
		}
	}
	slices.Sort(list)
	return list
}

// narrow goes down where one element only differs.
func narrow(t *testing.T, path string, before, after jsontext.Value) (string, jsontext.Value) {
	t.Helper()
	old, now := children(t, before), children(t, after)
	if before.Kind() != after.Kind() || len(now) == 0 || len(old) > len(now) {
		return path, after
	}
	var differing []string
	for name, value := range now {
		if !bytes.Equal(old[name], value) {
			differing = append(differing, name)
		}
	}
	if len(differing) != 1 {
		return path, after
	}
	return narrow(t, path+"."+differing[0], old[differing[0]], now[differing[0]])
}

// children are a value's members or elements.
func children(t *testing.T, v jsontext.Value) map[string]jsontext.Value {
	t.Helper()
	switch v.Kind() {
	case '{':
		return members(t, v)
	case '[':
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			t.Fatal(err)
		}
		all := map[string]jsontext.Value{}
		for i, element := range list {
			all[strconv.Itoa(i)] = element
		}
		return all
	}
	return nil
}

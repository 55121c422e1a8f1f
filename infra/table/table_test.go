package table_test

import (
	"os"
	"strings"
	"testing"

	"holdfast/infra/table"
)

func TestNamesAreDistinctAndAccepted(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range table.All() {
		full := table.DefaultPrefix + d.Name
		if seen[d.Name] || len(full) < 3 || len(full) > 255 {
			t.Errorf("table name %q repeats or is out of bounds", full)
		}
		if strings.Trim(full, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("table name %q has characters outside a-z and -", full)
		}
		if strings.Count(d.Trust, ".") != 1 || !strings.HasSuffix(d.Trust, ".") {
			t.Errorf("trust of %s is not one sentence: %q", d.Name, d.Trust)
		}
		seen[d.Name] = true
	}
	for _, name := range []string{table.Affinity, table.State, table.Config, table.Ledger} {
		if !seen[name] {
			t.Errorf("table %s is not described", name)
		}
	}
}

func TestAttributesDoNotMeet(t *testing.T) {
	attributes := []string{
		table.PartitionKey, table.SortKey, table.Revision, table.Previous, table.Value, table.Expiry,
		table.IndexPartition, table.IndexSort,
	}
	seen := map[string]bool{}
	for _, name := range attributes {
		if seen[name] || strings.HasPrefix(name, table.CounterPrefix) {
			t.Errorf("attribute %q is taken twice, or by a counter", name)
		}
		seen[name] = true
	}
}

// What a deployment relies upon: only what may be lost lies in a table without
// recovery, and only the ledger pays for an index.
func TestProperties(t *testing.T) {
	for _, d := range table.All() {
		if want := d.Name != table.Affinity; d.Durable != want {
			t.Errorf("%s: Durable = %v, want %v", d.Name, d.Durable, want)
		}
		if want := d.Name == table.Ledger; d.Indexed != want {
			t.Errorf("%s: Indexed = %v, want %v", d.Name, d.Indexed, want)
		}
		if want := d.Name != table.Config; d.TTL != want {
			t.Errorf("%s: TTL = %v, want %v", d.Name, d.TTL, want)
		}
	}
}

// TestREADME: an operator reads the same sentence of trust as the code states.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range table.All() {
		if !strings.Contains(string(text), "| `"+d.Name+"` | "+d.Trust+" |") {
			t.Errorf("the trust of %s is not as stated: %s", d.Name, d.Trust)
		}
	}
}

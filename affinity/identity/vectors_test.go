package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"holdfast/affinity/identity"
)

// vector is one opening and all the requests that carry it. The canonical form
// stands in the file beside the id, so that the id can be checked with any
// SHA-256 tool.
type vector struct {
	name, want, canonical string
	requests              []txtar.File
}

func vectors(t *testing.T) []vector {
	t.Helper()
	paths, err := filepath.Glob("testdata/fingerprint/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var all []vector
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v := vector{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		for _, file := range txtar.Parse(data).Files {
			switch text := strings.TrimSuffix(string(file.Data), "\n"); file.Name {
			case "want":
				v.want = text
			case "canonical":
				v.canonical = text
			default:
				v.requests = append(v.requests, file)
			}
		}
		all = append(all, v)
	}
	return all
}

// TestFingerprintVectors: I3 to I9, one opening a file, one id for all requests
// of a file on every protocol, another id for every file.
func TestFingerprintVectors(t *testing.T) {
	seen := map[string]string{}
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			if v.canonical != "" {
				sum := sha256.Sum256([]byte(v.canonical))
				if want := "prompt:v1:" + hex.EncodeToString(sum[:]); v.want != want {
					t.Errorf("the vector's id is %s, its canonical form gives %s", v.want, want)
				}
				if before := seen[v.want]; before != "" {
					t.Errorf("the same id as %s", before)
				}
				seen[v.want] = v.name
			}
			for _, request := range v.requests {
				endpoint, _, _ := strings.Cut(strings.TrimSuffix(request.Name, ".json"), "-")
				if got := opening(t, endpoint, string(request.Data)); got != v.want {
					t.Errorf("%s: %s, want %s", request.Name, got, v.want)
				}
			}
		})
	}
}

// opening returns the id that a body's opening gives, or why it gives none.
func opening(t testing.TB, endpoint, body string) string {
	t.Helper()
	signals, err := resolver(t).Read(identity.Request{Endpoint: endpoint, Member: members(t, body)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := signals.Session(nil)
	switch {
	case err != nil:
		t.Fatal(err)
	case s.Source == identity.Generated && len(signals.Skipped) == 1:
		return "generated: " + string(signals.Skipped[0].Reason)
	case s.Source != identity.Prompt || s.Signal != "" || !s.Inferred():
		t.Fatalf("resolved as %+v", s)
	}
	return s.ID
}

// TestGeneratedDiffers: I8, what has no opening is a new conversation each time.
func TestGeneratedDiffers(t *testing.T) {
	r := resolver(t)
	q := identity.Request{Endpoint: "chat", Member: members(t, `{"messages":[{"role":"system","content":"Be terse."}]}`)}
	first, second := session(t, r, q), session(t, r, q)
	if first.Source != identity.Generated || first.Inferred() || first.ID == second.ID || len(first.ID) != 36 {
		t.Errorf("got %+v and %+v", first, second)
	}
}

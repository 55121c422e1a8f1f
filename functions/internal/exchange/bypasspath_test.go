package exchange

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestBypassPath shows which paths are taken, and what they address.
func TestBypassPath(t *testing.T) {
	for escaped, want := range map[string]Bypass{
		"/bypass/x/v1/chat/completions": {"x", "/v1/chat/completions", []string{"chat", "completions"}},
		"/bypass/x/chat/completions":    {"x", "/chat/completions", []string{"chat", "completions"}},
		"/bypass/x/v1/files/":           {"x", "/v1/files/", []string{"files"}},
		"/bypass/a%20b/models/a%3Ab":    {"a b", "/models/a%3Ab", []string{"models", "a:b"}},
		"/bypass/x/v1/v1":               {"x", "/v1/v1", []string{"v1"}},
	} {
		got, taken := ParseBypass(escaped)
		if !taken || got.Name != want.Name || got.Path != want.Path || !slices.Equal(got.at, want.at) {
			t.Errorf("%s: %+v %v", escaped, got, taken)
		}
	}
	for _, escaped := range []string{
		"/bypass/", "/bypass/x", "/bypass/x/", "/bypass/x/v1", "/bypass//models", "/bypass/x//models", "/bypass/x/models//a", "/bypass/x/../models",
		"/bypass/x/models/..", "/bypass/x/%2e%2e/models", "/bypass/x/.%2E/models", "/bypass/x/a%2fb", "/bypass/x/a%5Cb", "/bypass/x/a\\b", "/bypass/x/%252e%252e/a",
		"/bypass/x/a%0d%0ab", "/bypass/x/a%00", "/bypass/x/%zz", "/bypass/x/%ff", "/bypass/../admin", "/bypass/x/./a", "/other/x/a", "/bypass/x/" + strings.Repeat("a", maxPath),
	} {
		if got, taken := ParseBypass(escaped); taken {
			t.Errorf("%s was taken as %+v", escaped, got)
		}
	}
}

// TestBelow shows how a base URL and a path meet.
func TestBelow(t *testing.T) {
	for _, row := range [][3]string{
		{"https://a/v1", "/v1/models", "https://a/v1/models"}, {"https://a/v1/", "/models", "https://a/v1/models"}, {"https://a", "/v1/models", "https://a/v1/models"},
		{"https://a", "/models", "https://a/models"}, {"https://a/v1", "/v1beta/models", "https://a/v1/v1beta/models"}, {"https://a/x/v1", "/v1", "https://a/x/v1"},
		{"https://a/v1", "/models/a%3Ab%20c", "https://a/v1/models/a%3Ab%20c"},
	} {
		base, err := url.Parse(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := below(base, row[1]); err != nil || got.String() != row[2] {
			t.Errorf("%s and %s: %v, %v", row[0], row[1], got, err)
		}
	}
}

// FuzzBypassPath holds that what is taken stays below its base, on its host, also
// where it is unescaped once more than it should be.
func FuzzBypassPath(f *testing.F) {
	for _, seed := range []string{"/bypass/x/v1/models", "/bypass/x/%2e%2e/a", "/bypass/x/a%252fb", "/bypass/x/a/../b", "/bypass/x/@evil/a", "/bypass/x/a%3fb#c"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://host/base/v1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		b, taken := ParseBypass(escaped)
		if !taken {
			return
		}
		at, err := below(base, b.Path)
		if err != nil {
			t.Fatalf("%q: %v", escaped, err)
		}
		twice, err := url.PathUnescape(at.Path)
		if err != nil {
			twice = at.Path
		}
		for _, p := range []string{at.Path, twice} {
			if clean := path.Clean(p); at.Host != "host" || !strings.HasPrefix(clean, "/base/v1/") || strings.TrimSuffix(p, "/") != clean {
				t.Fatalf("%q leads to %q", escaped, p)
			}
		}
		if parsed, err := url.Parse(at.String()); err != nil || parsed.Host != "host" || parsed.Path != at.Path {
			t.Fatalf("%q is written as %q", escaped, at)
		}
	})
}

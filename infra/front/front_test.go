package front_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/infra/front"
)

// TestFunctionURLTakesIt holds the lists against the bounds that a function
// URL's configuration has.
func TestFunctionURLTakesIt(t *testing.T) {
	if n := len(front.ExposedHeaders()); n > 100 {
		t.Errorf("%d exposed headers, at most 100", n)
	}
	seen := map[string]bool{}
	for _, name := range front.ExposedHeaders() {
		if http.CanonicalHeaderKey(name) != name || seen[name] {
			t.Errorf("%q repeats or is not in canonical form", name)
		}
		seen[name] = true
		if strings.HasPrefix(name, "Access-Control") {
			t.Errorf("%q is the browser's own", name)
		}
	}
	for _, method := range front.Methods() {
		if len(method) > 6 {
			t.Errorf("%q is longer than the six letters that are accepted", method)
		}
	}
	if seen[front.OriginHeader] {
		t.Error("the header with the origin's secret is shown to pages")
	}
}

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beyondLambda names what cannot hold through the bootstraps by Lambda's own
// nature, with the reason: tests, one level of subtests after a slash, or rows of
// a test after a colon. Nothing else is left out of the suite's second run.
func beyondLambda() map[string]string {
	const (
		broken   = "the function URL makes header values UTF-8"
		framing  = "the function URL reads and frames requests itself, and answers what is malformed or too large"
		unseen   = "nobody tells a function that its client has left"
		file     = "reads the embedded store's file, which a function does not have"
		own      = "each environment has its own counters, connections and keys that it has seen"
		four     = "four environments run four exchanges at a time, never 64"
		role     = "a function's credentials stand in its environment, for as long as it lives"
		bulk     = "a bootstrap takes milliseconds for its calls of the store: 10,000 exchanges would take minutes"
		pages    = "looks at the console's pages, which are the same files; what they do goes through the bootstraps by TestConsoleFlows"
		restarts = "starts processes of its own, without a rig: it would only run twice"
	)
	return map[string]string{
		"TestI2: no UTF-8":                      broken,
		"TestSessionHeaders: no UTF-8":          broken,
		"TestR5Bridged: a reset before a byte":  own,
		"TestHalfClosed":                        framing,
		"TestX5Expect":                          framing,
		"TestX5Framing":                         framing,
		"TestX5AnswerWhileWriting":              framing,
		"TestX5Size":                            framing,
		"TestX4Wire":                            framing,
		"TestClientLeaves":                      unseen,
		"TestBridgedFlow":                       unseen,
		"TestLiteralSecretsStayOutOfTheStore":   file,
		"TestX3":                                file,
		"TestS15RoundRobin":                     own,
		"TestR1Down":                            own,
		"TestVideoCut":                          unseen,
		"TestMetrics":                           own,
		"TestP4Keys":                            own,
		"TestKeysWithoutStore":                  own,
		"TestBudgetsUnderRaces/.*/strict=false": four,
		"TestSigV4Renewed":                      role,
		"TestP2NoneIsCut":                       bulk,
		"TestP5StartUp":                         restarts,
		"TestP5Memory":                          restarts,
		"TestU5":                                restarts,
		"TestConsolePages":                      pages,
	}
}

// aside reports whether rows of a test are left out of this run.
func aside(rows string) bool {
	_, listed := beyondLambda()[rows]
	return listed && deployed()
}

// leaveOut tells the test binary which tests this run is without, and says so.
func leaveOut() error {
	if !deployed() {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(beyondLambda())) {
		fmt.Printf("not through the bootstraps: %s (%s)\n", name, beyondLambda()[name])
		if test, _, rows := strings.Cut(name, ": "); !rows {
			top, sub, nested := strings.Cut(test, "/")
			if nested {
				sub = "/" + sub
			}
			names = append(names, "^"+top+"$"+sub)
		}
	}
	return flag.Set("test.skip", strings.Join(names, "|"))
}

// TestNamedCases: what the list names is there to be left out.
func TestNamedCases(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for name, reason := range beyondLambda() {
		top, _, _ := strings.Cut(name, "/")
		top, _, rows := strings.Cut(top, ": ")
		if !regexp.MustCompile(`(?m)^func ` + top + `\(t \*testing\.T\)`).MatchString(all.String()) {
			t.Errorf("there is no %s", top)
		}
		if rows && !strings.Contains(all.String(), `aside("`+name+`")`) {
			t.Errorf("no test asks for the rows %q", name)
		}
		if reason == "" {
			t.Errorf("%s has no reason", name)
		}
	}
}

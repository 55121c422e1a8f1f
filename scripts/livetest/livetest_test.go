package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/localstack/accounts"
	"holdfast/localstack/e2e/process"
)

const providerKey = "sk-provider-secret-1234567890"

// binary is the gateway, compiled once for all runs.
var binary string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "holdfast-livetest-")
	if err != nil {
		panic(err)
	}
	code := 1
	if binary, err = process.Build(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// livetest runs the command and returns its exit code and what it said.
func livetest(t *testing.T, environ []string, input string, args ...string) (int, string) {
	t.Helper()
	var said bytes.Buffer
	code := run(t.Context(), append([]string{"-wait", "0s"}, args...), environ, strings.NewReader(input), &said, func(string) (string, error) { return binary, nil })
	if strings.Contains(said.String(), providerKey) {
		t.Error("the key was printed")
	}
	return code, said.String()
}

// environment names two accounts of one provider and one of another, as an operator
// does.
func environment(fleet *accounts.Fleet) []string {
	return append(os.Environ(),
		"OPENAI_API_KEY="+providerKey, "OPENAI_BASE_URL="+fleet.URL("alpha")+"/v1", "OPENAI_MODELS=gpt",
		"OPENAI_EAST_API_KEY="+providerKey, "OPENAI_EAST_BASE_URL="+fleet.URL("bravo")+"/v1", "OPENAI_EAST_MODELS=gpt",
		"ANTHROPIC_API_KEY="+providerKey, "ANTHROPIC_BASE_URL="+fleet.URL("charlie"), "ANTHROPIC_MODELS=claude")
}

// TestKept shows a run that finds all well: by the environment's keys and by a
// document, with every protocol's own report.
func TestKept(t *testing.T) {
	fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", Key: providerKey}, accounts.Config{Name: "bravo", Key: providerKey}, accounts.Config{Name: "charlie", Key: providerKey})
	code, said := livetest(t, environment(fleet), "yes\n", "-budget", "5")
	if code != 0 || strings.Count(said, "  ok\n") != 3 || !strings.Contains(said, "Together at most $") {
		t.Errorf("%d: %s", code, said)
	}
	var lines []string
	for i, protocol := range []string{"chat", "responses", "messages"} {
		lines = append(lines, fmt.Sprintf("  - {id: d%d, model: m%d, connection: c, protocol: %s}", i, i, protocol))
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	document := "connections:\n  - {id: c, provider: openai-compatible, base_url: " + fleet.URL("alpha") + "/v1, auth: {key: \"env:SOME_KEY\"}, allow_private_network: true}\n" +
		"deployments:\n" + strings.Join(lines, "\n") + "\nkeys: [{id: other, key: \"env:NOT_SET\"}]\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	fleet.Account("alpha").Forget()
	code, said = livetest(t, append(os.Environ(), "SOME_KEY="+providerKey), "", "-config", file, "-yes", "-budget", "5")
	if code != 0 || strings.Count(said, "  ok\n") != 3 {
		t.Errorf("a document: %d: %s", code, said)
	}
	if n := fleet.Account("alpha").Count(); n != 6 {
		t.Errorf("%d calls, want two turns of three conversations", n)
	}
	for _, call := range fleet.Account("alpha").Calls() {
		if !bytes.Contains(call.Body, []byte(fmt.Sprint(answerTokens))) {
			t.Errorf("an answer without a bound: %.120s", call.Body)
		}
	}
}

// TestLost shows what a run is for: a second turn that no cache served, and one that
// went elsewhere, each by its exit code and its line.
func TestLost(t *testing.T) {
	t.Run("no cache", func(t *testing.T) {
		cold := accounts.Config{Name: "alpha", CacheTTL: time.Nanosecond}
		fleet := accounts.StartConfigT(t, cold, accounts.Config{Name: "bravo", CacheTTL: time.Nanosecond}, accounts.Config{Name: "charlie"})
		code, said := livetest(t, environment(fleet), "", "-yes", "-budget", "5")
		if code != 1 || strings.Count(said, "no cached tokens") != 2 || strings.Count(said, "  ok\n") != 1 || !strings.Contains(said, "2 of 3 conversations") {
			t.Errorf("%d: %s", code, said)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		fleet := accounts.StartT(t, "alpha", "bravo", "charlie")
		var first sync.Once
		for _, name := range []string{"alpha", "bravo"} { // whoever had the first turn is used up for the second
			go func() {
				if fleet.Account(name).Await(t.Context(), func(calls []accounts.Call) bool { return len(calls) > 0 && calls[0].Finished }) == nil {
					first.Do(func() { _, _ = fleet.Account(name).Inject(accounts.Fault{Kind: accounts.Quota}) })
				}
			}()
		}
		code, said := livetest(t, environment(fleet), "", "-yes", "-budget", "5", "-wait", "1s")
		if code != 1 || !strings.Contains(said, "left its deployment") {
			t.Errorf("%d: %s", code, said)
		}
	})
	t.Run("an error", func(t *testing.T) {
		fleet := accounts.StartConfigT(t, accounts.Config{Name: "alpha", Key: "another"}, accounts.Config{Name: "bravo", Key: "another"}, accounts.Config{Name: "charlie"})
		code, said := livetest(t, environment(fleet), "", "-yes", "-budget", "5")
		if code != 1 || strings.Count(said, "status 502") != 2 {
			t.Errorf("%d: %s", code, said)
		}
	})
}

// TestNotAsked shows that nothing is asked without consent, above the budget, or
// without anybody to ask.
func TestNotAsked(t *testing.T) {
	fleet := accounts.StartT(t, "alpha", "bravo", "charlie")
	for name, row := range map[string]struct {
		environ []string
		input   string
		args    []string
		want    string
	}{
		"no answer":    {environment(fleet), "", []string{"-budget", "5"}, "Type yes"},
		"another":      {environment(fleet), "no\n", []string{"-budget", "5"}, "Type yes"},
		"too dear":     {environment(fleet), "yes\n", []string{"-budget", "0.0001", "-yes"}, "more than the budget"},
		"nobody":       {[]string{"PATH=" + os.Getenv("PATH")}, "", []string{"-yes"}, "set a provider's key"},
		"no file":      {environment(fleet), "", []string{"-config", "/nowhere.yaml", "-yes"}, "nowhere"},
		"wrong flag":   {environment(fleet), "", []string{"-nonsense"}, "nothing to try"},
		"an argument":  {environment(fleet), "", []string{"x"}, "nothing to try"},
		"bad variable": {append(environment(fleet), "AZURE_API_KEY=x"), "", []string{"-yes"}, "AZURE_BASE_URL"},
	} {
		code, said := livetest(t, row.environ, row.input, row.args...)
		if code != 2 || !strings.Contains(said, row.want) {
			t.Errorf("%s: %d: %s", name, code, said)
		}
	}
	if n := fleet.Count(); n != 0 {
		t.Errorf("%d calls", n)
	}
}

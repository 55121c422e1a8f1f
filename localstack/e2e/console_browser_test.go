package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"holdfast/functions/console/web"
)

// inBrowser runs a script of checks in a browser at a gateway's console, and
// makes a subtest of each.
func inBrowser(t *testing.T, url, name string) {
	t.Helper()
	if f, err := web.Files().Open("index.html"); err != nil {
		t.Fatal("the console's front end is not built: run `make console`")
	} else {
		f.Close()
	}
	if _, err := os.Stat(filepath.Join("browser", "node_modules", ".package-lock.json")); err != nil {
		t.Fatal("the npm packages of localstack/e2e/browser are missing: run `make setup`")
	}
	if _, err := os.ReadDir("browser"); err != nil { // a changed script makes an old result void
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "node", name)
	command.Dir = "browser"
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "HOLDFAST_URL="+url, "HOLDFAST_ADMIN_KEY="+adminKey, "HOLDFAST_KEY="+keyA)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it ends its browser
	command.WaitDelay = 10 * time.Second
	out, err := command.Output()
	var results []struct{ Name, Error string }
	if failed, ended := err.(*exec.ExitError); ended {
		t.Fatalf("%s: %v\n%s\n%s", name, err, out, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &results); err != nil || len(results) == 0 {
		t.Fatalf("%s said %q: %v", name, out, err)
	}
	for _, r := range results {
		t.Run(r.Name, func(t *testing.T) {
			if r.Error != "" {
				t.Error(r.Error)
			}
		})
	}
}

// TestConsoleFlows shows what people do in the console, in a real browser: in
// one process, on DynamoDB's wire, and through the bootstraps.
func TestConsoleFlows(t *testing.T) {
	for _, store := range rigs("memory", "dynamodb") {
		t.Run(store, func(t *testing.T) { inBrowser(t, newAdminRig(t, store).URL, "flows.mjs") })
	}
}

// TestConsolePages shows that every page is there for everybody: in both
// languages and themes, by keyboard and screen reader, however much there is to
// show, and when there is nothing or it cannot be had.
func TestConsolePages(t *testing.T) {
	inBrowser(t, newAdminRig(t, "memory").URL, "pages.mjs")
}

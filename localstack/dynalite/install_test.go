package dynalite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeNPM stands in for npm: it writes one line a call and leaves what npm
// leaves as its last step.
const fakeNPM = `#!/bin/sh
echo "$@" >> calls
mkdir -p node_modules && cp package-lock.json node_modules/.package-lock.json
`

func TestInstallRunsOnceAmongMany(t *testing.T) {
	home := fakeHome(t, fakeNPM)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := install(context.Background(), home); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := calls(t, home), "ci --no-audit --no-fund --ignore-scripts\n"; got != want {
		t.Errorf("npm was called with %q, want once %q", got, want)
	}
}

func TestInstallAgainWhenTheLockFileIsNewer(t *testing.T) {
	home := fakeHome(t, fakeNPM)
	for range 2 {
		if err := install(t.Context(), home); err != nil {
			t.Fatal(err)
		}
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(home, "package-lock.json"), later, later); err != nil {
		t.Fatal(err)
	}
	if err := install(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(calls(t, home), "\n"); got != 2 {
		t.Errorf("npm was called %d times, want 2", got)
	}
}

func TestInstallFailureIsTold(t *testing.T) {
	home := fakeHome(t, "#!/bin/sh\necho no such package >&2\nexit 1\n")
	if err := install(t.Context(), home); err == nil || !strings.Contains(err.Error(), "no such package") {
		t.Errorf("install = %v, want npm's own words", err)
	}
}

// The lock file must not tie the project to one registry's host.
func TestLockFileNamesNoRegistry(t *testing.T) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json has resolved addresses")
	}
	if !strings.Contains(string(lock), `"integrity"`) {
		t.Error("package-lock.json has no integrity sums")
	}
}

func fakeHome(t *testing.T, npm string) string {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, "package-lock.json"), "{}", 0o600)
	write(t, filepath.Join(bin, "npm"), npm, 0o700)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return home
}

func write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func calls(t *testing.T, home string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(home, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The go command shows a test's old result for as long as the files that the
// test itself has looked at stay the same; it knows nothing of a build that the
// test has started. So whoever uses a built binary looks, inside of a test, into
// the folders that it was built from.

// listSources notes beside a binary which folders of the module it is built from.
func listSources(root, pkg, binary string) error {
	const each = `{{if not .Standard}}{{$d := .Dir}}{{println $d}}{{range .EmbedFiles}}{{println $d "/" .}}{{end}}{{end}}`
	command := exec.Command("go", "list", "-deps", "-f", each, pkg)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("sources of %s: %w", pkg, err)
	}
	var folders []string
	for line := range strings.Lines(string(out)) {
		folder, file, embedded := strings.Cut(strings.TrimSpace(line), " / ")
		if embedded {
			folder = filepath.Dir(filepath.Join(folder, file))
		}
		if within, err := filepath.Rel(root, folder); err == nil && filepath.IsLocal(within) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return os.WriteFile(sourcesOf(binary), []byte(strings.Join(folders, "\n")), 0o600)
}

func sourcesOf(binary string) string { return binary + ".sources" }

// Sources looks into the folders that a binary was built from. Start does it;
// tests that run a binary by themselves do it too.
func Sources(binary string) error {
	folders, err := os.ReadFile(sourcesOf(binary))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // built elsewhere
	}
	if err != nil {
		return err
	}
	for _, folder := range strings.Split(string(folders), "\n") {
		if _, err := os.ReadDir(folder); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write makes a module with one main package and goes there.
func write(t *testing.T, folder string) {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod":        "module example\n\ngo 1.26\n",
		"small/main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"here\") }\n",
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
}

// TestReproducible shows that the same source in another folder, at another
// time and under another user's settings gives the same bytes.
func TestReproducible(t *testing.T) {
	var archives [][]byte
	for i := range 2 {
		write(t, filepath.Join(t.TempDir(), strings.Repeat("deeper/", i), "here"))
		if i > 0 {
			t.Setenv("GOFLAGS", "-tags=other")
			t.Setenv("CGO_ENABLED", "1")
			t.Setenv("TZ", "Asia/Tokyo")
			if err := os.Chtimes("small/main.go", time.Time{}, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := bundle(&out, "./small", "arm64", "dist/small.zip"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "dist/small.zip") || !strings.Contains(out.String(), "sha256") {
			t.Errorf("printed %q", out.String())
		}
		archive, err := os.ReadFile("dist/small.zip")
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, archive)
		if left, err := os.ReadDir("dist"); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds of the same source differ")
	}
}

// TestArchive shows what Lambda gets to see.
func TestArchive(t *testing.T) {
	write(t, t.TempDir())
	if err := bundle(io.Discard, "./small", "arm64", "dist/small.zip"); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader("dist/small.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
		t.Fatalf("holds %v", z.File)
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := e.ImportedLibraries(); e.Machine != elf.EM_AARCH64 || err != nil || len(libraries) > 0 {
		t.Errorf("built for %v with %v, %v", e.Machine, libraries, err)
	}
	if e.Section(".symtab") != nil || e.Section(".debug_info") != nil {
		t.Error("not stripped")
	}
}

// TestFailures shows that nothing is left where a bundle cannot be made.
func TestFailures(t *testing.T) {
	write(t, t.TempDir())
	if err := os.WriteFile("small/main.go", []byte("package main\n\nfunc main() { nothing }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bundle(io.Discard, "./small", "arm64", "dist/small.zip"); err == nil {
		t.Error("built what does not compile")
	}
	if left, err := os.ReadDir("dist"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

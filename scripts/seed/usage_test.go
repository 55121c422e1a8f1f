package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// nobody is an environment without variables.
func nobody(string) (string, bool) { return "", false }

// TestHelp: asking for the flags is no mistake; the answer names the file and each
// flag, those of the synopsis too.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-help"}, {"--help"}, {"-check", "-h"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, nobody, &out, &errs); code != 0 {
			t.Errorf("%v: exit %d", args, code)
		}
		synopsis, list, _ := strings.Cut(out.String()+errs.String(), "\n  -")
		named := regexp.MustCompile(`(?m)(?:^|  )-([a-z]+)`).FindAllStringSubmatch("  -"+list, -1)
		if len(named) != 3 || !strings.Contains(synopsis, "FILE") {
			t.Errorf("%v: %d flags are listed:\n%s", args, len(named), errs.String())
		}
		for _, flag := range named {
			if !strings.Contains(synopsis, "-"+flag[1]+" ") {
				t.Errorf("%v: the synopsis has no -%s:\n%s", args, flag[1], synopsis)
			}
		}
	}
}

// TestWrongFlags: what cannot be meant is refused before a file is read, and said.
func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{{}, {"-nonsense", "f.yaml"}, {"a.yaml", "b.yaml"}, {"-check"}, {"-check=perhaps", "f.yaml"}, {"f.yaml", "-check"}, {"-prefix"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, nobody, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() != 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}

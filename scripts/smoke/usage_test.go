package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestHelp: asking for the flags is no mistake; the answer names the arguments and
// each flag, those of the synopsis too.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-help"}, {"--help"}, {"-model", "m", "-h"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 0 {
			t.Errorf("%v: exit %d", args, code)
		}
		synopsis, list, _ := strings.Cut(out.String()+errs.String(), "\n  -")
		named := regexp.MustCompile(`(?m)^  -([a-z]+)`).FindAllStringSubmatch("  -"+list, -1)
		if len(named) != 4 || !strings.Contains(synopsis, "URL KEY") {
			t.Errorf("%v: %d flags are listed:\n%s", args, len(named), errs.String())
		}
		for _, flag := range named {
			if !strings.Contains(synopsis, "-"+flag[1]+" ") {
				t.Errorf("%v: the synopsis has no -%s:\n%s", args, flag[1], synopsis)
			}
		}
	}
}

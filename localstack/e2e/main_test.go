// Package e2e proves Holdfast from outside: the built command, reached over
// HTTP, before simulated accounts whose calls are counted, on a real store.
//
// Tests are named after the acceptance case that they show.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"holdfast/localstack/e2e/process"
)

// binary is the built command, shared by all tests.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	folder, err := os.MkdirTemp("", "holdfast-e2e-")
	if err != nil {
		panic(err)
	}
	code := 1
	if binary, err = process.Build(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else if err = leaveOut(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

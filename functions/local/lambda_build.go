package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// bootstrapVariable names a bootstrap that has been built already, for machines
// without the source or the Go toolchain.
const bootstrapVariable = "HOLDFAST_BOOTSTRAP"

// errNoSource says that there is nothing to build the bootstrap from.
var errNoSource = errors.New("-lambda builds the gateway's bootstrap from source: run it inside of the module, or name a built one in " + bootstrapVariable)

// bootstrap returns the path of the gateway's bootstrap for this machine, after
// building it where it is stale.
func bootstrap(ctx context.Context, environ []string) (string, error) {
	for _, variable := range slices.Backward(environ) {
		if file, given := strings.CutPrefix(variable, bootstrapVariable+"="); given && file != "" {
			return file, nil
		}
	}
	root, found := source()
	if !found {
		return "", errNoSource
	}
	folder := filepath.Join(root, "bin", "lambda")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(folder, "bootstrap")
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "lambda.norpc", "-o", file, "./functions/gateway")
	command.Dir = root
	// Built on the same file system, the file is replaced, not written into: it
	// may be running.
	command.Env = append(slices.Clone(environ), "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOTMPDIR="+folder)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the bootstrap: %w\n%s", err, out)
	}
	return file, nil
}

// source finds the module's folder: round the working directory, round this
// executable, or where this executable was built.
func source() (root string, found bool) {
	var from []string
	if folder, err := os.Getwd(); err == nil {
		from = append(from, folder)
	}
	if file, err := os.Executable(); err == nil {
		from = append(from, filepath.Dir(file))
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		from = append(from, filepath.Dir(file))
	}
	for _, folder := range from {
		for ; ; folder = filepath.Dir(folder) {
			text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
			if err == nil && bytes.HasPrefix(text, []byte("module holdfast\n")) {
				return folder, true
			}
			if folder == filepath.Dir(folder) {
				break
			}
		}
	}
	return "", false
}

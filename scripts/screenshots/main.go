// Command screenshots takes pictures of every page of the console, in both
// themes at 1280 and 390 pixels, into dist/screenshots: for people to look at.
//
// It runs bin/holdfast with the demo, in memory and on a free port, and exits 1
// where a page cannot be had.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"holdfast/localstack/e2e/process"
)

// adminKey is how the demo says its admin key.
var adminKey = regexp.MustCompile(`admin key: (\S+)`)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run() error {
	binary, err := filepath.Abs("bin/holdfast")
	if err != nil {
		return err
	}
	out, err := filepath.Abs("dist/screenshots")
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "holdfast-screenshots-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	gateway, err := process.Start(process.Options{Binary: binary, Data: data, Args: []string{"-demo"}})
	if err != nil {
		return err
	}
	defer gateway.Kill()
	said := adminKey.FindStringSubmatch(gateway.Output())
	if said == nil {
		return fmt.Errorf("the demo has not said its admin key: %s", gateway.Output())
	}
	node := exec.Command("node", "shots.mjs")
	node.Dir = "localstack/e2e/browser"
	node.Env = append(os.Environ(), "HOLDFAST_URL="+gateway.URL, "HOLDFAST_ADMIN_KEY="+said[1], "HOLDFAST_KEY=sk-holdfast-demo", "HOLDFAST_PICTURES="+out)
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	if err := node.Run(); err != nil {
		return err
	}
	fmt.Println("look at", out)
	return nil
}

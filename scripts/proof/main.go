// Command proof prints what keeping conversations together is worth: the same
// conversations with affinity on, with affinity off, and with a plain round
// robin, each over three simulated accounts with their own prompt caches.
package main

import (
	"context"
	"fmt"
	"os"

	"holdfast/localstack/e2e/process"
	"holdfast/localstack/proof"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func run() error {
	folder, err := os.MkdirTemp("", "holdfast-proof-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary, err := process.Build(folder)
	if err != nil {
		return err
	}
	results, err := proof.Run(context.Background(), binary, proof.Default())
	if err != nil {
		return err
	}
	proof.Report(os.Stdout, proof.Default(), results)
	return nil
}
